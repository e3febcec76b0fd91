/* The header of a .safetensors file: one JSON object, cut into its members. See safetensors_priv.h. */
#include <stdlib.h>
#include <string.h>

#include "io/safetensors_priv.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/room.h"

/* Limits of a header: bytes of one array's member, arrays, keys of the metadata. */
enum { MEMBER_MOST = 1 << 20, ARRAYS_MOST = 1 << 20, KEYS_MOST = 1 << 16 };

int mf_safetensors_wrong(const char *path, const char *what, const char *name)
{
    return mf_fail(MF_INPUT, "'%.300s' is not a valid safetensors file: %s%s%.60s%s", path, what, name ? " '" : "",
                   name ? name : "", name ? "'" : "");
}

size_t mf_safetensors_numbers(const struct mf_safetensors_entry *e)
{
    size_t n = 1;

    for (size_t i = 0; i < e->ndim; ++i) n *= e->dims[i];
    return n;
}

/* ---- members ---- */

static char *skip_blanks(char *at) { return at + strspn(at, " \t\r\n"); }

/* Past a JSON string that begins here; NULL: it does not end. */
static char *skip_string(char *at)
{
    for (++at; *at && *at != '"'; ++at)
        if (*at == '\\' && *++at == '\0') return NULL;
    return *at ? at + 1 : NULL;
}

/* The comma or bracket behind a value; NULL: there is none. */
static char *skip_value(char *at)
{
    int depth = 0;

    while (at && *at) {
        if (depth == 0 && (*at == ',' || *at == '}')) return at;
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (depth < 0) return NULL;
        at = *at == '"' ? skip_string(at) : at + 1;
    }
    return NULL;
}

/* The end of the object: only blanks follow. */
static int end_of(char *at) { return *skip_blanks(at) == '\0' ? 0 : -1; }

int mf_safetensors_member(char *text, char **at, char **key, char **value)
{
    const int first = *at == NULL;
    char *next, last;

    *key = skip_blanks(first ? text : *at);
    if (first && **key != '{') return -1;
    if (first) *key = skip_blanks(*key + 1);
    if (**key == '}' && first) return end_of(*key + 1);
    if (**key == '\0' && !first) return 0; /* the last bracket is cut off */
    next = **key == '"' ? skip_string(*key) : NULL;
    *value = next ? skip_blanks(next) : NULL;
    if (!*value || **value != ':') return -1;
    *next = '\0';
    next = skip_value(++*value);
    if (!next) return -1;
    last = *next;
    *next = '\0';
    *at = next + 1;
    if (last == ',') return *skip_blanks(*at) == '"' ? 1 : -1;
    return end_of(*at) == 0 ? 1 : -1;
}

int mf_safetensors_text(const char *json, char **text)
{
    struct mf_json *value = json[strspn(json, " \t\r\n")] == '"' ? mf_json_parse(json) : NULL;
    int rc = MF_OK;

    *text = NULL;
    if (mf_json_kind(value) == MF_JSON_TEXT) {
        rc = MF_ROOM(*text, mf_json_length(value) + 1, "a name in a header");
        if (rc == MF_OK) strcpy(*text, mf_json_to_text(value));
    }
    mf_json_free(value);
    return rc;
}

/* ---- one array ---- */

static const struct type {
    const char *name;
    unsigned bytes;
    enum mf_type type;
} types[] = {{"F32", 4, MF_F32},      {"F16", 2, MF_F16},   {"BF16", 2, MF_BF16},     {"I64", 8, MF_I64},
             {"I32", 4, MF_I32},      {"U8", 1, MF_U8},     {"F64", 8, MF_F64},       {"BOOL", 1, MF_TYPES},
             {"I8", 1, MF_TYPES},     {"I16", 2, MF_TYPES}, {"U16", 2, MF_TYPES},     {"U32", 4, MF_TYPES},
             {"U64", 8, MF_TYPES},    {"C64", 8, MF_TYPES}, {"F8_E4M3", 1, MF_TYPES}, {"F8_E5M2", 1, MF_TYPES},
             {"F8_E8M0", 1, MF_TYPES}};

static const struct type *type_of(const struct mf_json *array)
{
    const char *name = mf_json_get_text(array, "dtype");

    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

/* A whole number that is not negative. */
static int number(const struct mf_json *value, uint64_t *to)
{
    const long long n = mf_json_to_int(value);

    if (mf_json_kind(value) != MF_JSON_INT || n < 0) return 0;
    *to = (uint64_t)n;
    return 1;
}

/* The bytes of all values, or 0 where the shape is none; *bytes begins as those of one. */
static int shape_of(const struct mf_json *array, struct mf_safetensors_entry *e, uint64_t *bytes)
{
    const struct mf_json *shape = mf_json_get(array, "shape");

    e->ndim = mf_json_count(shape);
    if (mf_json_kind(shape) != MF_JSON_ARRAY || e->ndim > MF_SAFETENSORS_DIMS) return 0;
    for (size_t i = 0; i < e->ndim; ++i) {
        uint64_t extent;

        if (!number(mf_json_item(shape, i), &extent) || __builtin_mul_overflow(*bytes, extent, bytes)) return 0;
        e->dims[i] = extent;
    }
    return 1;
}

static int range_of(const struct mf_json *array, struct mf_safetensors_place *p)
{
    const struct mf_json *at = mf_json_get(array, "data_offsets");

    return mf_json_kind(at) == MF_JSON_ARRAY && mf_json_count(at) == 2 && number(mf_json_item(at, 0), &p->begin) &&
           number(mf_json_item(at, 1), &p->end) && p->begin <= p->end;
}

static int read_array(const char *path, const struct mf_json *array, uint64_t size, struct mf_safetensors_place *p)
{
    const struct type *type = type_of(array);
    const char *name = p->entry.name;
    uint64_t bytes;

    if (mf_json_kind(array) != MF_JSON_OBJECT) return mf_safetensors_wrong(path, "no JSON object for array", name);
    if (!type) return mf_safetensors_wrong(path, "no known dtype in", name);
    p->entry.type = type->type;
    bytes = type->bytes;
    if (!shape_of(array, &p->entry, &bytes))
        return mf_safetensors_wrong(path, "no shape of up to eight extents, or one too large, in", name);
    if (!range_of(array, p)) return mf_safetensors_wrong(path, "no two data_offsets in order in", name);
    if (p->end > size) return mf_safetensors_wrong(path, "the file ends before the array", name);
    if (p->end - p->begin != bytes)
        return mf_safetensors_wrong(path, "dtype and shape do not fit the data_offsets of", name);
    return MF_OK;
}

/* ---- the header ---- */

static int next_place(struct mf_safetensors_header *h, char *name_take)
{
    if (MF_ROOM_NEXT(h->place, h->count, "the names of %zu arrays", h->count) != MF_OK) {
        free(name_take);
        return MF_MEMORY;
    }
    h->place[h->count++] = (struct mf_safetensors_place){.entry = {.name = name_take}};
    return MF_OK;
}

static int read_metadata(const char *path, char *text, struct mf_safetensors_header *h)
{
    char *at = NULL, *key, *value;
    int more;

    if (h->metadata) return mf_safetensors_wrong(path, "it has metadata twice", NULL);
    MF_TRY(MF_ROOM(h->metadata, 2, "the metadata of '%.300s'", path));
    while ((more = mf_safetensors_member(text, &at, &key, &value)) > 0) {
        char **pair;

        if (h->keys == KEYS_MOST) return mf_safetensors_wrong(path, "its metadata has more than 65536 keys", NULL);
        if ((h->keys & (h->keys - 1)) == 0)
            MF_TRY(MF_ROOM_MORE(h->metadata, 4 * h->keys + 2, "the metadata of '%.300s'", path));
        pair = &h->metadata[2 * h->keys++];
        pair[0] = pair[1] = NULL;
        MF_TRY(mf_safetensors_text(key, &pair[0]));
        MF_TRY(mf_safetensors_text(value, &pair[1]));
        if (!pair[0] || !pair[1]) return mf_safetensors_wrong(path, "its metadata has a value that is no text", NULL);
    }
    return more == 0 ? MF_OK : mf_safetensors_wrong(path, "its metadata is no JSON object of texts", NULL);
}

static int read_member(const char *path, const char *key, char *value, uint64_t size, struct mf_safetensors_header *h)
{
    struct mf_json *array;
    char *name;
    int rc;

    MF_TRY(mf_safetensors_text(key, &name));
    if (!name) return mf_safetensors_wrong(path, "its header is not JSON", NULL);
    if (strcmp(name, "__metadata__") == 0) {
        free(name);
        return read_metadata(path, value, h);
    }
    if (h->count == ARRAYS_MOST) {
        free(name);
        return mf_safetensors_wrong(path, "it has more than 1048576 arrays", NULL);
    }
    MF_TRY(next_place(h, name));
    if (strnlen(value, MEMBER_MOST) == MEMBER_MOST)
        return mf_safetensors_wrong(path, "the header is longer than 1 MiB for array", name);
    array = mf_json_parse(value);
    rc = read_array(path, array, size, &h->place[h->count - 1]);
    mf_json_free(array);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const struct mf_safetensors_place *p = a, *q = b;

    return strcmp(p->entry.name, q->entry.name);
}

int mf_safetensors_sort(const char *path, struct mf_safetensors_place *place, size_t count)
{
    if (count) qsort(place, count, sizeof *place, by_name);
    for (size_t i = 1; i < count; ++i)
        if (by_name(&place[i - 1], &place[i]) == 0)
            return mf_safetensors_wrong(path, "it has twice the array", place[i].entry.name);
    return MF_OK;
}

static int by_begin(const void *a, const void *b)
{
    const struct mf_safetensors_place *p = a, *q = b;

    if (p->begin != q->begin) return p->begin < q->begin ? -1 : 1;
    return (p->end > q->end) - (p->end < q->end);
}

/* Arrays lie one behind the other, from the first byte to the last. Leaves them in the order of their names. */
static int check_places(const char *path, uint64_t size, struct mf_safetensors_header *h)
{
    uint64_t at = 0;

    if (h->count) qsort(h->place, h->count, sizeof *h->place, by_begin);
    for (size_t i = 0; i < h->count; at = h->place[i++].end)
        if (h->place[i].begin != at) return mf_safetensors_wrong(path, "its arrays overlap, or leave gaps", NULL);
    if (at != size) return mf_safetensors_wrong(path, "there is more in it than its arrays", NULL);
    return mf_safetensors_sort(path, h->place, h->count);
}

int mf_safetensors_header(const char *path, char *text, size_t length, uint64_t size, struct mf_safetensors_header *to)
{
    char *at = NULL, *key, *value;
    int more;

    *to = (struct mf_safetensors_header){.place = NULL};
    text[length] = '\0';
    if (strlen(text) != length) return mf_safetensors_wrong(path, "its header is not JSON", NULL);
    while ((more = mf_safetensors_member(text, &at, &key, &value)) > 0) MF_TRY(read_member(path, key, value, size, to));
    if (more < 0) return mf_safetensors_wrong(path, "its header is not JSON", NULL);
    return check_places(path, size, to);
}

void mf_safetensors_header_free(struct mf_safetensors_header *h)
{
    for (size_t i = 0; i < h->count; ++i) free((char *)h->place[i].entry.name);
    for (size_t i = 0; i < 2 * h->keys; ++i) free(h->metadata[i]);
    free(h->place);
    free(h->metadata);
}
