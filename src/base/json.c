/* See json.h. A struct mf_json is a json_t, which is hidden outside of this file. */
#include "src/base/json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"

static json_t *in(struct mf_json *value) { return (json_t *)(void *)value; }
static struct mf_json *out(json_t *value)
{
    if (!value) mf_die(MF_BROKEN, __FILE__, __LINE__, "a JSON value could not be made");
    return (struct mf_json *)(void *)value;
}

struct mf_json *mf_json_object(void) { return out(json_object()); }
struct mf_json *mf_json_array(void) { return out(json_array()); }

void mf_json_put(struct mf_json *at, const char *key, struct mf_json *value_take)
{
    int rc = key ? json_object_set_new(in(at), key, in(value_take)) : json_array_append_new(in(at), in(value_take));

    if (rc != 0) mf_die(MF_BROKEN, __FILE__, __LINE__, "JSON: cannot put '%s'", key ? key : "an element");
}

void mf_json_real(struct mf_json *at, const char *key, double value)
{
    if (!isfinite(value)) mf_die(MF_BROKEN, __FILE__, __LINE__, "JSON: '%s' is not finite", key ? key : "an element");
    mf_json_put(at, key, out(json_real(value)));
}

void mf_json_int(struct mf_json *at, const char *key, long long value)
{
    mf_json_put(at, key, out(json_integer(value)));
}

/* Text from files and paths need not be UTF-8: then every byte above 127 is shown as Latin-1. */
void mf_json_text(struct mf_json *at, const char *key, const char *value)
{
    json_t *text = json_string(value);

    if (!text) {
        char *wide = malloc(2 * strlen(value) + 1);
        size_t n = 0;

        if (!wide) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a text");
        for (const unsigned char *c = (const unsigned char *)value; *c; ++c) {
            if (*c >= 128) wide[n++] = (char)(0xC0 | *c >> 6);
            wide[n++] = (char)(*c >= 128 ? 0x80 | (*c & 0x3F) : *c);
        }
        text = json_stringn(wide, n);
        free(wide);
    }
    mf_json_put(at, key, out(text));
}

void mf_json_bytes(struct mf_json *at, const char *key, const char *text, size_t n)
{
    mf_json_put(at, key, out(json_stringn(text, n)));
}

void mf_json_bool(struct mf_json *at, const char *key, int value) { mf_json_put(at, key, out(json_boolean(value))); }

void mf_json_null(struct mf_json *at, const char *key) { mf_json_put(at, key, out(json_null())); }

void mf_json_finite(struct mf_json *at, const char *key, double value)
{
    if (isfinite(value))
        mf_json_real(at, key, value);
    else
        mf_json_null(at, key);
}

void mf_json_some(struct mf_json *at, const char *key, const char *text)
{
    if (text && *text)
        mf_json_text(at, key, text);
    else
        mf_json_null(at, key);
}

void mf_json_size(struct mf_json *at, const char *key, unsigned long value) { mf_json_int(at, key, (long long)value); }

void mf_json_drop(struct mf_json *at, const char *key) { (void)json_object_del(in(at), key); }

void mf_json_reals(struct mf_json *at, const char *key, const double *values, size_t count)
{
    struct mf_json *row = mf_json_array();

    for (size_t i = 0; i < count; ++i) mf_json_real(row, NULL, values[i]);
    mf_json_put(at, key, row);
}

void mf_json_wholes(struct mf_json *at, const char *key, const double *values, size_t count)
{
    struct mf_json *row = mf_json_array();

    for (size_t i = 0; i < count; ++i) mf_json_int(row, NULL, (long long)values[i]);
    mf_json_put(at, key, row);
}

void mf_json_table(struct mf_json *at, const char *key, const double *values, size_t rows, size_t columns)
{
    struct mf_json *table = mf_json_array();

    for (size_t i = 0; i < rows; ++i) mf_json_reals(table, NULL, values + i * columns, columns);
    mf_json_put(at, key, table);
}

struct mf_json *mf_json_parse(const char *text)
{
    return (struct mf_json *)(void *)json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
}

struct mf_json *mf_json_copy(const struct mf_json *value)
{
    return out(json_deep_copy((const json_t *)(const void *)value));
}

/* Name of a stream: standard output that goes to a file has the file's name. */
static void name_of(FILE *to, char *name, size_t room)
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(to));
    n = readlink(link, name, room - 1);
    name[n > 0 ? n : 0] = '\0';
    if (name[0] != '/') snprintf(name, room, "standard output");
}

/* @p name: of the file, in sentences; NULL: what the system says. */
static int dump(const struct mf_json *value, FILE *to, size_t layout, const char *name)
{
    char found[512];
    int why;

    errno = 0;
    if (json_dumpf((const json_t *)(const void *)value, to, layout | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) == 0 &&
        fputc('\n', to) != EOF && fflush(to) == 0)
        return MF_OK;
    why = errno;
    if (!name) name_of(to, found, sizeof found);
    return mf_fail(MF_OUTPUT, "cannot write JSON to '%.400s': %s", name ? name : found,
                   why ? strerror(why) : "unknown error");
}

static _Thread_local char **printed;

void mf_json_divert(char **text) { printed = text; }

int mf_json_write(const struct mf_json *value, FILE *to)
{
    if (!printed || to != stdout) return dump(value, to, JSON_COMPACT, NULL);
    free(*printed);
    *printed = mf_json_string(value);
    return MF_OK;
}

char *mf_json_string(const struct mf_json *value)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a text");

    if (mf_json_write(value, to) != MF_OK || fclose(to) != 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a text");
    return text;
}

int mf_json_save(const struct mf_json *value, const char *path, const char *name)
{
    FILE *to = fopen(path, "w");
    int rc;

    if (!to) return mf_fail(MF_OUTPUT, "cannot write '%.300s': %s", name, strerror(errno));
    rc = dump(value, to, JSON_INDENT(2), name);
    if (fclose(to) != 0 && rc == MF_OK) rc = mf_fail(MF_OUTPUT, "cannot write '%.300s': %s", name, strerror(errno));
    return rc;
}

void mf_json_free(struct mf_json *value)
{
    if (value) json_decref(in(value));
}
