/* See fields.h. */
#include "src/model/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int mf_field_is_number(const struct mf_json *value)
{
    return value && (mf_json_kind(value) == MF_JSON_REAL || mf_json_kind(value) == MF_JSON_INT) &&
           isfinite(mf_json_to_real(value));
}

size_t mf_field_count(const struct mf_json *array)
{
    return array && mf_json_kind(array) == MF_JSON_ARRAY ? mf_json_count(array) : SIZE_MAX;
}

int mf_field_numbers(const struct mf_json *array, size_t n, double *values)
{
    if (mf_field_count(array) != n) return 0;
    for (size_t i = 0; i < n; ++i) {
        if (!mf_field_is_number(mf_json_item(array, i))) return 0;
        values[i] = mf_json_to_real(mf_json_item(array, i));
    }
    return 1;
}

size_t mf_field_names(const struct mf_json *array, size_t n, mf_name *name, int *twice)
{
    *twice = 0;
    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *item = mf_json_item(array, i);

        if (mf_json_kind(item) != MF_JSON_TEXT || !*mf_json_to_text(item)) return i;
        snprintf(name[i], sizeof name[i], "%s", mf_json_to_text(item));
        for (size_t k = 0; k < i; ++k)
            if (strcmp(name[k], name[i]) == 0) {
                *twice = 1;
                return i;
            }
    }
    return n;
}
