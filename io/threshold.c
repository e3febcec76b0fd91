/* See threshold.h. */
#include "io/threshold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

int mf_threshold_read(const char *text, double *value)
{
    char *end;

    *value = NAN;
    if (strcmp(text, "otsu") == 0) return MF_OK;
    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value)) return MF_OK;
    return mf_fail(MF_USAGE, "--threshold must be 'otsu' or a number, not '%.100s'", text);
}
