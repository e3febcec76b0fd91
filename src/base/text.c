/* See text.h. */
#include "src/base/text.h"

#include <string.h>
#include <strings.h>

int mf_ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);

    return n >= m && strcasecmp(text + n - m, ending) == 0;
}
