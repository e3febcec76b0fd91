/* See read.h. */
#include "src/text/read.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"

int mf_part_fail(const struct mf_part *part, const char *format, ...)
{
    char text[MF_ERR_TEXT];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return mf_fail(MF_INPUT, "'%.200s': %s: %.600s", part->file, part->place, text);
}

int mf_part_keys(const struct mf_part *part, const char *const *known)
{
    const char *key;

    if (mf_json_kind(part->row) != MF_JSON_OBJECT)
        return mf_part_fail(part, "must be an object, and is %s", mf_json_kind_name(part->row));
    key = mf_json_stranger(part->row, known);
    return key ? mf_part_fail(part, "the key '%.100s' is not known here", key) : MF_OK;
}

/* The member, if it is there and not null. */
static int member(const struct mf_part *part, const char *key, enum mf_json_kind kind, const char *wanted,
                  const struct mf_json **value)
{
    *value = mf_json_get(part->row, key);
    if (mf_json_kind(*value) == MF_JSON_NULL) {
        *value = NULL;
        return MF_OK;
    }
    if (mf_json_kind(*value) == kind) return MF_OK;
    return mf_part_fail(part, "'%s' must be %s, and is %s", key, wanted, mf_json_kind_name(*value));
}

int mf_part_flag(const struct mf_part *part, const char *key, int *value)
{
    const struct mf_json *found;

    MF_TRY(member(part, key, MF_JSON_BOOL, "true or false", &found));
    if (found) *value = mf_json_to_bool(found);
    return MF_OK;
}

int mf_part_text(const struct mf_part *part, const char *key, const char **value)
{
    const struct mf_json *found;

    MF_TRY(member(part, key, MF_JSON_TEXT, "text", &found));
    if (!found) return MF_OK;
    *value = mf_json_to_text(found);
    if (strlen(*value) == mf_json_length(found)) return MF_OK;
    return mf_part_fail(part, "'%s' has a NUL character", key);
}

int mf_part_needs_text(const struct mf_part *part, const char *key, const char **value)
{
    *value = NULL;
    MF_TRY(mf_part_text(part, key, value));
    return *value ? MF_OK : mf_part_fail(part, "'%s' is missing", key);
}

int mf_part_whole(const struct mf_part *part, const struct mf_json *value, size_t most, size_t *number)
{
    const double real = mf_json_to_real(value);
    const enum mf_json_kind kind = mf_json_kind(value);

    if (kind != MF_JSON_REAL && kind != MF_JSON_INT)
        return mf_part_fail(part, "a whole number is wanted, not %s", mf_json_kind_name(value));
    if (!(real >= 0 && real <= (double)most) || real != floor(real))
        return mf_part_fail(part, "%.17g is no whole number of 0 to %zu", real, most);
    *number = (size_t)real;
    return MF_OK;
}

int mf_part_number(const struct mf_part *part, const char *key, size_t most, size_t *value)
{
    const struct mf_json *found = mf_json_get(part->row, key);

    return mf_json_kind(found) == MF_JSON_NULL ? MF_OK : mf_part_whole(part, found, most, value);
}

int mf_part_pattern(const struct mf_part *part, struct mf_pattern **pattern)
{
    static const char *const known[] = {"String", "Regex", NULL};
    const struct mf_part inner = {part->file, part->place, mf_json_get(part->row, "pattern")};
    const char *plain = NULL, *regex = NULL;

    MF_TRY(mf_part_keys(&inner, known));
    MF_TRY(mf_part_text(&inner, "String", &plain));
    MF_TRY(mf_part_text(&inner, "Regex", &regex));
    if (!plain == !regex) return mf_part_fail(part, "'pattern' must have either 'String' or 'Regex'");
    if (regex) return mf_pattern_regex(regex, pattern);
    *pattern = mf_pattern_plain(plain, strlen(plain));
    return MF_OK;
}

int mf_part_type(const struct mf_part *part, const char **type)
{
    if (mf_json_kind(part->row) != MF_JSON_OBJECT)
        return mf_part_fail(part, "must be an object, and is %s", mf_json_kind_name(part->row));
    return mf_part_needs_text(part, "type", type);
}
