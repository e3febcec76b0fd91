/* See json.h: the reading half. */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/room.h"
#include "src/base/text.h"

static const json_t *in(const struct mf_json *value) { return (const json_t *)(const void *)value; }
static struct mf_json *out(json_t *value) { return (struct mf_json *)(void *)value; }

/* A mark of UTF-8 that some editors put first. */
static size_t mark_of(const char *text, size_t bytes)
{
    static const char mark[] = "\xEF\xBB\xBF";

    return bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
}

/* Has a text more than @p most commas and brackets? */
static int is_crowded(const char *text, size_t n, size_t most)
{
    size_t count = 0;

    for (size_t i = 0; i < n; ++i) count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return count > most;
}

/* NULL, with the code json_error_out_of_memory: no memory. */
static struct mf_json *parse(const char *text, size_t bytes, size_t how, json_error_t *error)
{
    if (!mf_fault("room")) return out(json_loadb(text, bytes, JSON_REJECT_DUPLICATES | how, error));
    error->text[JSON_ERROR_TEXT_LENGTH - 1] = json_error_out_of_memory;
    return NULL;
}

static int load(const char *path, size_t most, size_t values, size_t how, struct mf_json **value)
{
    json_error_t error;
    size_t bytes = 0, mark;
    char *text = NULL;
    int fits;

    *value = NULL;
    MF_TRY(mf_text_load(path, most, &text, &bytes));
    mark = mark_of(text, bytes);
    fits = bytes <= most && !is_crowded(text, bytes, values);
    if (fits) *value = parse(text + mark, bytes - mark, how, &error);
    free(text);
    if (*value) return MF_OK;
    if (bytes > most) return mf_fail(MF_INPUT, "'%.300s' is longer than %zu bytes, too long for its kind", path, most);
    if (!fits) return mf_fail(MF_INPUT, "'%.300s' has more than %zu values, too many for its kind", path, values);
    if (json_error_code(&error) == json_error_out_of_memory) return mf_room_none(bytes, "the values of '%.300s'", path);
    return mf_fail(MF_INPUT, "'%.300s' is not JSON: %s (line %d, column %d)", path, error.text, error.line,
                   error.column);
}

int mf_json_load(const char *path, size_t most, struct mf_json **value) { return load(path, most, SIZE_MAX, 0, value); }

enum { FOREIGN = JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL };

int mf_json_load_foreign(const char *path, size_t most, size_t values, struct mf_json **value)
{
    return load(path, most, values, FOREIGN, value);
}

struct mf_json *mf_json_parse_foreign(const char *text, size_t bytes, char *why, size_t room)
{
    json_error_t error;
    struct mf_json *value = parse(text, bytes, FOREIGN, &error);

    *why = '\0';
    if (!value && json_error_code(&error) != json_error_out_of_memory)
        snprintf(why, room, "%s (column %d)", error.text, error.column);
    return value;
}

size_t mf_json_length(const struct mf_json *text) { return json_string_length(in(text)); }

enum mf_json_kind mf_json_kind(const struct mf_json *value)
{
    switch (value ? json_typeof(in(value)) : JSON_NULL) {
    case JSON_OBJECT: return MF_JSON_OBJECT;
    case JSON_ARRAY: return MF_JSON_ARRAY;
    case JSON_STRING: return MF_JSON_TEXT;
    case JSON_INTEGER: return MF_JSON_INT;
    case JSON_REAL: return MF_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE: return MF_JSON_BOOL;
    default: return MF_JSON_NULL;
    }
}

const char *mf_json_kind_name(const struct mf_json *value)
{
    static const char *const names[] = {"nothing", "true or false", "a whole number", "a number",
                                        "text",    "an array",      "an object"};

    return names[mf_json_kind(value)];
}

struct mf_json *mf_json_get(const struct mf_json *object, const char *key)
{
    return out(json_object_get(in(object), key));
}

struct mf_json *mf_json_item(const struct mf_json *array, size_t i) { return out(json_array_get(in(array), i)); }

size_t mf_json_count(const struct mf_json *array) { return json_array_size(in(array)); }

double mf_json_to_real(const struct mf_json *value) { return json_number_value(in(value)); }

double mf_json_to_finite(const struct mf_json *value) { return json_is_null(in(value)) ? NAN : mf_json_to_real(value); }

long long mf_json_to_int(const struct mf_json *value) { return json_integer_value(in(value)); }

int mf_json_to_bool(const struct mf_json *value) { return json_is_true(in(value)); }

const char *mf_json_to_text(const struct mf_json *value)
{
    const char *text = json_string_value(in(value));

    return text ? text : "";
}

double mf_json_get_real(const struct mf_json *object, const char *key)
{
    return mf_json_to_real(mf_json_get(object, key));
}

long long mf_json_get_int(const struct mf_json *object, const char *key)
{
    return mf_json_to_int(mf_json_get(object, key));
}

const char *mf_json_get_text(const struct mf_json *object, const char *key)
{
    return mf_json_to_text(mf_json_get(object, key));
}

void mf_json_each(const struct mf_json *object,
                  void (*see)(void *context, const char *key, const struct mf_json *value), void *context)
{
    const char *key;
    json_t *all = (json_t *)(void *)object, *member;

    json_object_foreach(all, key, member) see(context, key, out(member));
}

const char *mf_json_stranger(const struct mf_json *object, const char *const *known)
{
    const char *key;
    json_t *all = (json_t *)(void *)object, *member;

    json_object_foreach(all, key, member)
    {
        size_t i = 0;

        while (known[i] && strcmp(known[i], key) != 0) ++i;
        if (!known[i]) return key;
    }
    return NULL;
}
