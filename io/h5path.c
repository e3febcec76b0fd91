/* Objects of an HDF5 file by their paths, and why one cannot be opened. See h5.h and h5_priv.h. */
#include "io/h5_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { PATH_TEXT = 1024, PART_TEXT = 32 };

enum where { NOWHERE, INSIDE, LED_AWAY };

/* Every step of the path must be a hard link. So nothing leads out of the file and no plug-in runs. Sets @p step to the
 * path up to a link of another kind. */
static enum where look_for(const struct mf_h5 *file, const char *path, char step[PATH_TEXT], H5L_info_t *link)
{
    const size_t n = strlen(path);

    if (path[0] != '/' || n >= PATH_TEXT) return NOWHERE;
    for (size_t i = 1; n > 1 && i <= n; ++i) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(step, path, i);
        step[i] = '\0';
        if (H5Lexists(file->id, step, H5P_DEFAULT) <= 0) return NOWHERE;
        if (H5Lget_info(file->id, step, link, H5P_DEFAULT) < 0) return NOWHERE;
        if (link->type != H5L_TYPE_HARD) return LED_AWAY;
    }
    return INSIDE;
}

int mf_h5_has(struct mf_h5 *file, const char *path)
{
    char step[PATH_TEXT];
    H5L_info_t link;
    const int is = look_for(file, path, step, &link) != NOWHERE;

    H5Eclear2(H5E_DEFAULT);
    return is;
}

/* A soft link leads to @p target, seen from its own group. */
static int refuse_soft(const struct mf_h5 *file, const char *path, const char *step, const char *target)
{
    const int group = target[0] == '/' ? 0 : (int)(strrchr(step, '/') + 1 - step);
    char *whole = mf_format("%.*s%s%s", group, step, target, path + strlen(step)), other[PATH_TEXT];
    H5L_info_t link;
    const int there = look_for(file, whole, other, &link) != NOWHERE;

    if (there)
        mf_fail(MF_INPUT, "cannot read '%s': %s is a soft link, which is not followed; try: %s:%s, or a hard link",
                file->name, step, file->name, whole + 1);
    else
        mf_fail(MF_INPUT, "cannot read '%s': %s is a soft link to %s, which is not there", file->name, step, target);
    free(whole);
    return MF_INPUT;
}

static int refuse_external(const struct mf_h5 *file, const char *step, const char *other, const char *object)
{
    const int folder = other[0] == '/' ? 0 : (int)(mf_name_base(file->name) - file->name);
    char *beside = mf_format("%.*s%s", folder, file->name, other);

    if (access(beside, F_OK) == 0)
        mf_fail(MF_INPUT, "cannot read '%s': %s leads to another file, where no link is followed; try: %s:%s",
                file->name, step, beside, object + (object[0] == '/'));
    else
        mf_fail(MF_INPUT, "cannot read '%s': %s leads to %s of '%s', which is not there", file->name, step, object,
                beside);
    free(beside);
    return MF_INPUT;
}

static int refuse_link(const struct mf_h5 *file, const char *path, const char *step, const H5L_info_t *link)
{
    char value[PATH_TEXT] = "";
    const char *other, *object;
    unsigned flags;

    if (link->u.val_size < sizeof value && H5Lget_val(file->id, step, value, sizeof value, H5P_DEFAULT) >= 0) {
        for (size_t i = 0; i < link->u.val_size; ++i)
            value[i] = (char)(value[i] > 0 && value[i] < ' ' ? '?' : value[i]);
        if (link->type == H5L_TYPE_SOFT) return refuse_soft(file, path, step, value);
        if (link->type == H5L_TYPE_EXTERNAL &&
            H5Lunpack_elink_val(value, link->u.val_size, &flags, &other, &object) >= 0)
            return refuse_external(file, step, other, object);
    }
    H5Eclear2(H5E_DEFAULT);
    return mf_h5_refuse(file, "only hard links are followed:", step);
}

/* Keeps the part that "bad version number for layout message" means. */
static herr_t keep_version(unsigned n, const H5E_error2_t *error, void *part)
{
    static const char mark[] = "bad version number for ";
    const char *at = strstr(error->desc ? error->desc : "", mark);

    (void)n;
    if (at) snprintf(part, PART_TEXT, "%.*s", (int)strcspn(at + sizeof mark - 1, " "), at + sizeof mark - 1);
    return 0;
}

/* An object that is there, but cannot be opened. h5repack keeps types as they are. */
static int refuse_object(const struct mf_h5 *file, const char *path)
{
    char part[PART_TEXT] = "";
    unsigned major = 0, minor = 0, release = 0;

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_version, part);
    if (!*part) return mf_h5_refuse(file, "it cannot open", path);
    H5Eclear2(H5E_DEFAULT);
    (void)H5get_libversion(&major, &minor, &release);
    return mf_fail(MF_INPUT,
                   "cannot read '%s': %s is there, but its %s is that of a newer HDF5 than %u.%u; try: write it with "
                   "h5py's libver=\"v110\"%s",
                   file->name, path, part, major, minor,
                   strcmp(part, "datatype") ? ", or h5repack -f GZIP=1 of that HDF5" : "");
}

hid_t mf_h5_object(const struct mf_h5 *file, const char *path)
{
    char step[PATH_TEXT];
    H5L_info_t link;
    const enum where is = file->writing ? INSIDE : look_for(file, path, step, &link);
    hid_t id = is == INSIDE ? H5Oopen(file->id, path, H5P_DEFAULT) : -1;

    if (id >= 0) return id;
    if (is == LED_AWAY)
        refuse_link(file, path, step, &link);
    else if (is == INSIDE && !file->writing)
        refuse_object(file, path);
    else
        mf_h5_refuse(file, "it has no", path);
    return -1;
}
