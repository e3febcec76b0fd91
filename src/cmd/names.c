/* See names.h. */
#include "src/cmd/names.h"

#include <string.h>

char *mf_stem(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

    return strndup(name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
}
