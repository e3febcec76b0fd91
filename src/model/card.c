/* See card.h. */
#include "src/train/card.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

int mf_card_refuse(const char *path, const char *key)
{
    return mf_fail(MF_INPUT, "'%s': its metadata do not say '%s' as this program writes it", path, key);
}

static int is_number(const struct mf_json *value)
{
    return value && (mf_json_kind(value) == MF_JSON_REAL || mf_json_kind(value) == MF_JSON_INT);
}

size_t mf_card_numbers(const struct mf_json *at, const char *key, size_t n, double *values)
{
    const struct mf_json *array = mf_json_get(at, key);
    const size_t count = array && mf_json_kind(array) == MF_JSON_ARRAY ? mf_json_count(array) : 0;

    for (size_t i = 0; i < count && i < n; ++i) {
        if (!is_number(mf_json_item(array, i))) return 0;
        values[i] = mf_json_to_real(mf_json_item(array, i));
    }
    return count;
}

int mf_card_divisors(const char *path, const char *key, size_t n, const double *values)
{
    for (size_t i = 0; i < n; ++i)
        if (!(values[i] > 0) || !isfinite(values[i]))
            return mf_fail(MF_INPUT, "'%s': '%s' of its metadata holds %g; it must be above 0", path, key, values[i]);
    return MF_OK;
}

static int read_name(const char *path, const char *key, const struct mf_json *from, size_t i, mf_name *name)
{
    if (mf_json_kind(from) != MF_JSON_TEXT || !*mf_json_to_text(from))
        return mf_fail(MF_INPUT, "'%s': '%s' of its metadata must be names (texts that are not empty)", path, key);
    snprintf(name[i], sizeof name[i], "%s", mf_json_to_text(from));
    for (size_t k = 0; k < i; ++k)
        if (strcmp(name[k], name[i]) == 0)
            return mf_fail(MF_INPUT, "'%s': '%s' of its metadata names '%s' twice", path, key, name[i]);
    return MF_OK;
}

int mf_card_names(const char *path, const struct mf_json *card, const char *key, size_t *n, mf_name **name)
{
    const struct mf_json *array = mf_json_get(card, key);

    *n = array && mf_json_kind(array) == MF_JSON_ARRAY ? mf_json_count(array) : 0;
    *name = NULL;
    if (*n == 0) return mf_card_refuse(path, key);
    *name = MF_MUST(calloc(*n, sizeof **name), "names");
    for (size_t i = 0; i < *n; ++i) MF_TRY(read_name(path, key, mf_json_item(array, i), i, *name));
    return MF_OK;
}

void mf_card_put_names(struct mf_json *card, const char *key, size_t n, const mf_name *name)
{
    struct mf_json *array = mf_json_array();

    for (size_t i = 0; i < n; ++i) mf_json_text(array, NULL, name[i]);
    mf_json_put(card, key, array);
}
