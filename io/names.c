/* See names.h. */
#include "io/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/array.h"
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
