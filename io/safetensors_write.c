/* Writes .safetensors files. See safetensors.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/safetensors_priv.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/half.h"
#include "src/base/json.h"
#include "src/base/room.h"
#include "src/base/text.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays of .safetensors are little-endian");

enum { PIECE = 1 << 18 /* numbers written at a time */ };

static uint64_t bytes_of(const struct mf_safetensors_entry *e)
{
    return mf_safetensors_numbers(e) * mf_type_bytes(e->type);
}

/* ---- order and header ---- */

/* Rank and name of a type, as the reference implementation orders them. */
static int rank_of(enum mf_type type, const char **name)
{
    static const char *const names[MF_TYPES] = {
        [MF_F32] = "F32", [MF_I64] = "I64", [MF_F16] = "F16", [MF_BF16] = "BF16"};
    static const int ranks[] = {[MF_F16] = 1, [MF_BF16] = 2, [MF_F32] = 3, [MF_I64] = 4};

    MF_ASSERT(type < MF_TYPES && names[type]);
    *name = names[type];
    return ranks[type];
}

static int by_type(const void *a, const void *b)
{
    const struct mf_safetensors_entry *const *p = a, *const *q = b;
    const char *name;
    const int first = rank_of((*p)->type, &name), second = rank_of((*q)->type, &name);

    return first != second ? second - first : strcmp((*p)->name, (*q)->name);
}

static struct mf_json *pairs_of(const char *const *metadata)
{
    struct mf_json *json = mf_json_object();

    for (; *metadata; metadata += 2) mf_json_text(json, metadata[0], metadata[1]);
    return json;
}

static struct mf_json *describe(const struct mf_safetensors_entry *e, uint64_t at)
{
    struct mf_json *json = mf_json_object(), *shape = mf_json_array(), *range = mf_json_array();
    const char *type;

    (void)rank_of(e->type, &type);
    for (size_t i = 0; i < e->ndim; ++i) mf_json_size(shape, NULL, e->dims[i]);
    mf_json_size(range, NULL, at);
    mf_json_size(range, NULL, at + bytes_of(e));
    mf_json_text(json, "dtype", type);
    mf_json_put(json, "shape", shape);
    mf_json_put(json, "data_offsets", range);
    return json;
}

/* The length, and the header filled up to a multiple of eight bytes; heap. NULL: no memory. */
static char *header_of(const char *const *metadata, size_t n, const struct mf_safetensors_entry *const *entries,
                       size_t *bytes)
{
    struct mf_json *json = mf_json_object();
    uint64_t at = 0, length;
    char *text, *all;
    size_t own;

    if (metadata) mf_json_put(json, "__metadata__", pairs_of(metadata));
    for (size_t i = 0; i < n; at += bytes_of(entries[i++])) {
        MF_ASSERT(!mf_json_get(json, entries[i]->name));
        mf_json_put(json, entries[i]->name, describe(entries[i], at));
    }
    text = mf_json_string(json);
    own = strlen(text) - 1; /* without its newline */
    length = (own + 7) / 8 * 8;
    all = mf_room(1, MF_SAFETENSORS_LENGTH + length, "the header of %zu arrays", n);
    if (all) {
        memset(all, ' ', MF_SAFETENSORS_LENGTH + length);
        memcpy(all, &length, MF_SAFETENSORS_LENGTH);
        memcpy(all + MF_SAFETENSORS_LENGTH, text, own);
    }
    *bytes = MF_SAFETENSORS_LENGTH + length;
    free(text);
    mf_json_free(json);
    return all;
}

/* ---- values ---- */

static void halve(enum mf_type type, const float *from, size_t n, uint16_t *to)
{
    for (size_t i = 0; i < n; ++i) to[i] = type == MF_F16 ? mf_f16_of(from[i]) : mf_bf16_of(from[i]);
}

static int put_one(int to, const char *path, const struct mf_safetensors_entry *e, uint64_t at)
{
    const size_t n = mf_safetensors_numbers(e), bytes = mf_type_bytes(e->type), wide = bytes == 2 ? 4 : bytes;
    char *numbers = e->get ? MF_MUST(malloc(PIECE * wide), "a file") : NULL;
    uint16_t *halves = bytes == 2 ? MF_MUST(malloc(PIECE * sizeof *halves), "a file") : NULL;
    int rc = MF_OK;

    for (size_t first = 0; rc == MF_OK && first < n; first += PIECE) {
        const size_t count = n - first < PIECE ? n - first : PIECE;
        const void *from = e->get ? numbers : (const char *)e->data + first * wide;

        if (e->get) e->get(e->data, first, count, numbers);
        if (halves) halve(e->type, from, count, halves);
        rc = mf_write_at(to, path, halves ? halves : from, count * bytes, at + first * bytes);
    }
    free(numbers);
    free(halves);
    return rc;
}

static int put_all(const struct mf_atomic *file, const char *header, size_t bytes, size_t n,
                   const struct mf_safetensors_entry *const *entries)
{
    const int to = mf_open(file->temporary, O_WRONLY);
    uint64_t at = bytes;
    int rc;

    if (to < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    rc = mf_write_at(to, file->path, header, bytes, 0);
    for (size_t i = 0; rc == MF_OK && i < n; at += bytes_of(entries[i++])) rc = put_one(to, file->path, entries[i], at);
    close(to);
    return rc;
}

int mf_safetensors_write(const char *path, const char *const *metadata, size_t n,
                         const struct mf_safetensors_entry *entries)
{
    const struct mf_safetensors_entry **order;
    struct mf_atomic file;
    struct mf_comm self;
    uint64_t all = 0;
    size_t bytes;
    char *header;
    int rc;

    MF_TRY(MF_ROOM(order, n + 1, "the names of %zu arrays", n));
    for (size_t i = 0; i < n; all += bytes_of(&entries[i++])) order[i] = &entries[i];
    qsort(order, n, sizeof *order, by_type);
    header = header_of(metadata, n, order, &bytes);
    mf_comm_self(&self);
    rc = header ? mf_atomic_open(&self, path, bytes + all, &file) : MF_MEMORY;
    if (rc == MF_OK) rc = mf_atomic_close(&self, &file, put_all(&file, header, bytes, n, order));
    free(header);
    free(order);
    return rc;
}

/* ---- split models ---- */

/* How many entries from @p first on go into one file. */
static size_t run_of(size_t n, const struct mf_safetensors_entry *entries, size_t first, uint64_t most)
{
    uint64_t bytes = bytes_of(&entries[first]);
    size_t k = first + 1;

    for (; k < n && bytes + bytes_of(&entries[k]) <= most; ++k) bytes += bytes_of(&entries[k]);
    return k - first;
}

static int write_index(const char *path, struct mf_json *map_take, uint64_t total)
{
    struct mf_json *json = mf_json_object(), *size = mf_json_object();
    struct mf_atomic file;
    struct mf_comm self;
    int rc;

    mf_json_size(size, "total_size", total);
    mf_json_put(json, "metadata", size);
    mf_json_put(json, "weight_map", map_take);
    mf_comm_self(&self);
    rc = mf_atomic_open(&self, path, 0, &file);
    if (rc == MF_OK) rc = mf_atomic_close(&self, &file, mf_json_save(json, file.temporary, path));
    mf_json_free(json);
    return rc;
}

/* The name of part @p k, from 1 on; heap. */
static char *part_name(const char *path, size_t k, size_t parts)
{
    static const char ending[] = ".safetensors";
    const size_t length = strlen(path) - (mf_ends_with(path, ending) ? sizeof ending - 1 : 0);

    return mf_format("%.*s-%05zu-of-%05zu%s", (int)length, path, k, parts, ending);
}

static int write_parts(const char *path, const char *const *metadata, size_t n,
                       const struct mf_safetensors_entry *entries, uint64_t most, size_t parts, struct mf_json *map,
                       uint64_t *total)
{
    for (size_t first = 0, k = 1; first < n; ++k) {
        const size_t count = run_of(n, entries, first, most);
        char *name = part_name(path, k, parts);
        const int rc = mf_safetensors_write(name, metadata, count, entries + first);

        for (size_t i = first; i < first + count; ++i) {
            mf_json_text(map, entries[i].name, mf_name_base(name));
            *total += bytes_of(&entries[i]);
        }
        free(name);
        MF_TRY(rc);
        first += count;
    }
    return MF_OK;
}

int mf_safetensors_write_split(const char *path, const char *const *metadata, size_t n,
                               const struct mf_safetensors_entry *entries, uint64_t most)
{
    char *index = mf_format("%s.index.json", path);
    struct mf_json *map = mf_json_object();
    uint64_t total = 0;
    size_t parts = 0;
    int rc;

    for (size_t first = 0; first < n; ++parts) first += run_of(n, entries, first, most);
    if (parts <= 1) {
        rc = mf_safetensors_write(path, metadata, n, entries);
        mf_json_free(map);
    } else {
        rc = write_parts(path, metadata, n, entries, most, parts, map, &total);
        if (rc == MF_OK)
            rc = write_index(index, map, total);
        else
            mf_json_free(map);
    }
    if (rc == MF_OK) (void)unlink(parts <= 1 ? index : path);
    free(index);
    return rc;
}
