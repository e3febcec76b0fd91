/* See box.h. */
#include "slurm/box.h"

#include <string.h>

#include "src/base/err.h"

const char *const mf_box_names[MF_BOXES] = {"none", "apptainer", "pyxis", "docker", "podman", "enroot"};
const char *const mf_gpu_flag_words[] = {"--gpus", "--device nvidia.com/gpu=", "--runtime=nvidia", "--nv"};

int mf_box_is_gpus(const char *list)
{
    static const char *const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:/-";

    for (const char *at = list;; ++at) {
        const size_t n = strspn(at, allowed);

        if (n == 0 || *at == '-') return 0;
        at += n;
        if (*at != ',') return *at == '\0';
    }
}

void mf_box_say_gpus(struct mf_words *to, enum mf_gpu_flag flag, const char *list)
{
    switch (flag) {
    case MF_GPUS_BY_OPTION: /* the list is one field of CSV, which needs extra quotes */
        mf_words_say(to, "--gpus=\"device=%s\"", list);
        break;
    case MF_GPUS_BY_CDI: /* an option for each */
        for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
            mf_words_say(to, "--device=nvidia.com/gpu=%.*s", (int)strcspn(at, ","), at);
        break;
    case MF_GPUS_BY_RUNTIME:
        mf_words_add(to, "--runtime=nvidia");
        mf_words_say(to, "--env=NVIDIA_VISIBLE_DEVICES=%s", list);
        break;
    case MF_GPUS_BY_CUDA: /* in the order of the driver, whose numbers these are */
        mf_words_add(to, "--nv");
        mf_words_add(to, "--env=CUDA_DEVICE_ORDER=PCI_BUS_ID");
        mf_words_say(to, "--env=CUDA_VISIBLE_DEVICES=%s", list);
        break;
    }
}

void mf_box_say_mount(struct mf_words *to, const char *option, const char *mount)
{
    if (strchr(mount, ':'))
        mf_words_say(to, "%s%s", option, mount);
    else
        mf_words_say(to, "%s%s:%s", option, mount, mount);
}

int mf_box_check_mount(const char *option, const char *mount)
{
    const char *first = strchr(mount, ':'), *second = first ? strchr(first + 1, ':') : NULL;

    if (!*mount || first == mount || strpbrk(mount, ",\n") ||
        (second && strcmp(second, ":ro") != 0 && strcmp(second, ":rw") != 0))
        return mf_fail(MF_USAGE,
                       "--%s '%.200s': write it as DIR, DIR:DIR or DIR:DIR:ro; ',' separates mounts "
                       "and cannot be part of one",
                       option, mount);
    if (*mount != '/')
        return mf_fail(MF_USAGE, "--%s '%.200s': docker and podman take that name for a new volume; try: ./%.200s",
                       option, mount, mount);
    if (first && first[1] != '/')
        return mf_fail(MF_USAGE,
                       "--%s '%.200s': the path in the container begins with '/', too; write it as DIR, DIR:/DIR "
                       "or DIR:/DIR:ro",
                       option, mount);
    return MF_OK;
}

int mf_box_check_image(const char *option, const char *image)
{
    if (*image && *image != '-' && !strpbrk(image, "\n")) return MF_OK;
    return mf_fail(MF_USAGE,
                   *image ? "--%s '%.200s': an image does not begin with '-'" : "--%s '%.200s': names no image", option,
                   image);
}
