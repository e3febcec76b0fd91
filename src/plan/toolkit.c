/* See toolkit.h. */
#include "src/plan/toolkit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { PATH = 4096, MOST = 4 << 20 /* bytes of a configuration */ };

int mf_program_find(const char *name, char *path, size_t room)
{
    const char *at = getenv("PATH");

    for (size_t n; at && *at; at += n + (at[n] == ':')) {
        n = strcspn(at, ":");
        if ((size_t)snprintf(path, room, "%.*s/%s", (int)n, at, name) < room && access(path, X_OK) == 0) return 1;
    }
    *path = '\0';
    return 0;
}

/* -- what is installed -- */

static int is_there(const char *root, const char *path)
{
    char *whole = mf_format("%s%s", root, path);
    const int is = access(whole, F_OK) == 0;

    free(whole);
    return is;
}

/* A text of the system; NULL: there is none, or it cannot be read. The caller frees. */
static char *text_of(const char *path)
{
    char *text = NULL;
    size_t count;

    if (access(path, R_OK) != 0 || mf_text_load(path, MOST, &text, &count) != MF_OK) mf_err_clear();
    return text;
}

/* mode = "cdi" in the section of the runtime itself; modes of its parts have sections of their own. */
static void read_mode(const char *root, char *mode, size_t room)
{
    char *path = mf_format("%s/etc/nvidia-container-runtime/config.toml", root), *text = text_of(path), *rest = text;
    int is_runtime = 0;
    char word[24];

    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        line += strspn(line, " \t");
        if (*line == '[') is_runtime = strncmp(line, "[nvidia-container-runtime]", 26) == 0;
        if (is_runtime && sscanf(line, "mode = \"%23[a-z-]", word) == 1) snprintf(mode, room, "%s", word);
    }
    free(text);
    free(path);
}

static int describes_gpus(const char *path)
{
    char *text = mf_ends_with(path, ".yaml") || mf_ends_with(path, ".json") ? text_of(path) : NULL;
    const int does = text && strstr(text, "nvidia.com/gpu") != NULL;

    free(text);
    return does;
}

static void find_cdi(const char *root, const char *folder, char cdi[MF_TOOLKIT_TEXT])
{
    char *whole = mf_format("%s%s", root, folder);
    DIR *list = *cdi ? NULL : opendir(whole);

    for (const struct dirent *one; list && !*cdi && (one = readdir(list));) {
        char path[PATH];

        if ((size_t)snprintf(path, sizeof path, "%s/%s", whole, one->d_name) < sizeof path && describes_gpus(path))
            snprintf(cdi, MF_TOOLKIT_TEXT, "%.90s/%.90s", folder, one->d_name);
    }
    if (list) closedir(list);
    free(whole);
}

static int is_enforced(const char *root)
{
    char *path = mf_format("%s/sys/fs/selinux/enforce", root), *text = text_of(path);
    const int is = text && *text == '1';

    free(text);
    free(path);
    return is;
}

void mf_toolkit_look(const char *root, struct mf_toolkit *t)
{
    static const char *const hooks[] = {"/usr/bin/nvidia-container-runtime-hook",
                                        "/usr/local/bin/nvidia-container-runtime-hook",
                                        "/usr/local/nvidia/toolkit/nvidia-container-runtime-hook"};
    static const char *const folders[] = {"/etc/cdi", "/var/run/cdi", "/run/cdi"};

    *t = (struct mf_toolkit){.is_tegra = is_there(root, "/etc/nv_tegra_release")};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; ++i) t->hook = t->hook || is_there(root, hooks[i]);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) find_cdi(root, folders[i], t->cdi);
    read_mode(root, t->mode, sizeof t->mode);
    t->is_labelled = is_enforced(root);
}

/* -- what follows -- */

/* The hook of --gpus refuses in every mode of the runtime but these two. */
static int hook_refuses(const struct mf_toolkit *t)
{
    return t->is_tegra || (*t->mode && strcmp(t->mode, "auto") != 0 && strcmp(t->mode, "legacy") != 0);
}

static int flag_of_docker(const struct mf_toolkit *t, enum mf_gpu_flag *flag, char why[MF_TOOLKIT_TEXT])
{
    const int refuses = hook_refuses(t);

    if (t->hook && !refuses) {
        *flag = MF_GPUS_BY_OPTION;
        snprintf(why, MF_TOOLKIT_TEXT, "--gpus works by the hook of NVIDIA's container toolkit");
    } else if (*t->cdi) {
        *flag = MF_GPUS_BY_CDI;
        snprintf(why, MF_TOOLKIT_TEXT, "%.80s describes the GPUs for CDI (docker 25 or newer)", t->cdi);
    } else if (refuses) {
        *flag = MF_GPUS_BY_RUNTIME;
        snprintf(why, MF_TOOLKIT_TEXT, "NVIDIA's runtime is in mode '%s', in which --gpus fails",
                 *t->mode ? t->mode : "csv");
    } else {
        *flag = MF_GPUS_BY_OPTION;
        snprintf(why, MF_TOOLKIT_TEXT, "NVIDIA's container toolkit is not here");
        return 0;
    }
    return 1;
}

int mf_toolkit_flag(const struct mf_toolkit *t, enum mf_box box, enum mf_gpu_flag *flag, char why[MF_TOOLKIT_TEXT])
{
    if (box == MF_BOX_DOCKER) return flag_of_docker(t, flag, why);
    *flag = box == MF_BOX_PODMAN ? MF_GPUS_BY_CDI : MF_GPUS_BY_CUDA;
    if (box != MF_BOX_PODMAN)
        snprintf(why, MF_TOOLKIT_TEXT, "--nv takes the driver's libraries from here");
    else if (*t->cdi)
        snprintf(why, MF_TOOLKIT_TEXT, "%.80s describes the GPUs for CDI", t->cdi);
    else
        snprintf(why, MF_TOOLKIT_TEXT, "no file in /etc/cdi or /var/run/cdi describes the GPUs for CDI");
    return box != MF_BOX_PODMAN || *t->cdi;
}
