/* See names.h. */
#include "io/names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "io/array.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/base/text.h"

/* "run" of ".", "../run/" and "run/x/.." alike; NULL: not a folder. A folder's name has no ending. */
static char *folder_name(const char *path)
{
    struct stat is;
    char *whole = stat(path, &is) == 0 && S_ISDIR(is.st_mode) ? realpath(path, NULL) : NULL;
    char *name = whole ? strdup(mf_name_base(whole)) : NULL;

    free(whole);
    return name;
}

char *mf_stem(const char *path)
{
    const char *array, *name, *dot;
    char *file, *stem = folder_name(path);

    if (stem) return stem;
    mf_array_split(path, &file, &array);
    name = mf_name_base(file);
    dot = strrchr(name, '.');
    stem = strndup(name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
    free(file);
    return stem;
}

int mf_name_is_picture(const char *name)
{
    const char *end = strrchr(name, '.');

    return end && (strcasecmp(end, ".png") == 0 || strcasecmp(end, ".tif") == 0 || strcasecmp(end, ".tiff") == 0);
}

static int is_picture(const struct dirent *one) { return one->d_name[0] != '.' && mf_name_is_picture(one->d_name); }

static int is_image(const struct dirent *one)
{
    return is_picture(one) || (one->d_name[0] != '.' && mf_ends_with(one->d_name, ".npy"));
}

static int by_bytes(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

int mf_names_in(const char *folder, int arrays, size_t *count, char ***name)
{
    struct dirent **found = NULL;
    const int n = scandir(folder, &found, arrays ? is_image : is_picture, by_bytes);
    int rc;

    if (n <= 0) {
        free(found);
        return mf_fail(MF_INPUT, "the folder '%s' holds no %sPNG or TIFF", folder, arrays ? ".npy, " : "");
    }
    *count = (size_t)n;
    rc = MF_ROOM(*name, *count, "the names of %zu files in '%.300s'", *count, folder);
    for (size_t i = 0; i < *count; ++i) {
        if (rc == MF_OK) (*name)[i] = mf_format("%s", found[i]->d_name);
        free(found[i]);
    }
    free(found);
    return rc;
}

char *mf_name_number(const char *path, const char *mark, uint64_t number)
{
    const char *dot = strrchr(path, '.');
    char *whole = malloc(strlen(path) + strlen(mark) + 32);

    if (!dot || strchr(dot, '/')) dot = path + strlen(path);
    if (whole) sprintf(whole, "%.*s_%s%llu%s", (int)(dot - path), path, mark, (unsigned long long)number, dot);
    return whole;
}

char *mf_name_run(const char *path, int many, uint64_t seed)
{
    char *name = strdup(mf_name_base(path)), mark[32], *at;

    snprintf(mark, sizeof mark, "_seed%llu", (unsigned long long)seed);
    at = name && many ? strstr(name, mark) : NULL;
    if (at) memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
    return name;
}
