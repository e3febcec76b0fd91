/* See safetensors.h. */
#include "io/safetensors.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/safetensors_priv.h"
#include "io/same_file.h"
#include "io/unread.h"
#include "src/base/err.h"
#include "src/base/half.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { INDEX_MOST = 1 << 24 };

/* One file. */
struct part {
    char *path, *name; /* the name stands in the index, or is NULL */
    int from;          /* descriptor, or -1 */
    uint64_t first;    /* byte of the arrays */
    struct mf_safetensors_header header;
};

struct mf_safetensors {
    struct part *part;
    size_t parts;
    struct mf_safetensors_place *place; /* [count], in the order of their names; the parts own the names */
    struct mf_safetensors_entry *entry; /* the same, for the caller */
    size_t count;
};

/* ---- one file ---- */

static int read_header(struct part *p, uint64_t length, uint64_t size)
{
    char *text;
    int rc;

    MF_TRY(MF_ROOM(text, (size_t)length + 1, "the header of '%.300s'", p->path));
    rc = mf_read_at(p->from, p->path, text, (size_t)length, MF_SAFETENSORS_LENGTH);
    if (rc == MF_OK) rc = mf_safetensors_header(p->path, text, (size_t)length, size, &p->header);
    free(text);
    return rc;
}

/* A header's length may have any bytes, so it may look like the mark of another format. But behind it stands a brace.
 */
static int refuse_others(const char *path, const unsigned char *start, size_t n, uint64_t length)
{
    if (n > MF_SAFETENSORS_LENGTH && start[MF_SAFETENSORS_LENGTH] == '{' && length <= MF_SAFETENSORS_HEADER)
        return MF_OK;
    if ((start[0] == 0x80 && start[1] >= 2 && start[1] <= 5) || memcmp(start, "PK\3\4", 4) == 0)
        return mf_fail(
            MF_INPUT,
            "'%.300s' is a pickle, which can run any code; try: examples/pth2safetensors.py converts it, for "
            "VGG-19 tools/vgg-to-safetensors",
            path);
    if (memcmp(start, "\x89HDF", 4) == 0)
        return mf_fail(MF_INPUT, "'%.300s' is HDF5; a model is a .safetensors file (model.safetensors of its training)",
                       path);
    if (n > 0 && (start[0] == '<' || isspace(start[0])) && length > MF_SAFETENSORS_HEADER)
        return mf_fail(MF_INPUT, "'%.300s' is text (a page of HTML?), not a .safetensors file; fetch it again", path);
    return mf_unread_pointer(path, start, n);
}

static int open_part(struct part *p)
{
    unsigned char start[MF_UNREAD_HEAD] = {0};
    uint64_t length = 0, end;
    struct stat is;
    size_t n;

    MF_TRY(mf_open_plain(p->path, O_RDONLY, &p->from));
    if (fstat(p->from, &is) != 0) return mf_fail(MF_INPUT, "cannot read '%.300s': %s", p->path, strerror(errno));
    end = (uint64_t)is.st_size;
    if (end < MF_SAFETENSORS_LENGTH) return mf_safetensors_wrong(p->path, "it is shorter than eight bytes", NULL);
    MF_TRY(mf_read_some(p->from, p->path, start, sizeof start, 0, &n));
    for (int i = MF_SAFETENSORS_LENGTH; i-- > 0;) length = length << 8 | start[i];
    MF_TRY(refuse_others(p->path, start, n, length));
    if (length > MF_SAFETENSORS_HEADER)
        return mf_safetensors_wrong(p->path, "its header is said to be longer than 100 MB", NULL);
    if (length > end - MF_SAFETENSORS_LENGTH) return mf_safetensors_wrong(p->path, "it ends within its header", NULL);
    p->first = MF_SAFETENSORS_LENGTH + length;
    return read_header(p, length, end - p->first);
}

static int next_part(struct mf_safetensors *f, char *path_take, char *name_take)
{
    if (MF_ROOM_NEXT(f->part, f->parts, "the files of '%.300s'", path_take) != MF_OK) {
        free(path_take);
        free(name_take);
        return MF_MEMORY;
    }
    f->part[f->parts++] = (struct part){.path = path_take, .name = name_take, .from = -1};
    return MF_OK;
}

static int open_single(struct mf_safetensors *f, const char *path)
{
    const struct part *p;

    MF_TRY(next_part(f, mf_format("%s", path), NULL));
    p = f->part;
    MF_TRY(open_part(f->part));
    MF_TRY(MF_ROOM(f->place, p->header.count + 1, "the names in '%.300s'", path));
    f->count = p->header.count;
    if (f->count) memcpy(f->place, p->header.place, f->count * sizeof *f->place);
    return MF_OK;
}

/* ---- an index ---- */

static int wrong_index(const char *path, const char *what, const char *name)
{
    return mf_fail(MF_INPUT, "'%.300s' is not the index of a split model: %s%s%.60s%s", path, what, name ? " '" : "",
                   name ? name : "", name ? "'" : "");
}

static int compare_place(const void *name, const void *place)
{
    return strcmp(name, ((const struct mf_safetensors_place *)place)->entry.name);
}

static const struct mf_safetensors_place *find(const struct mf_safetensors_place *place, size_t count, const char *name)
{
    return count ? bsearch(name, place, count, sizeof *place, compare_place) : NULL;
}

/* Opens a file beside the index, if it is not open; *k: its number. Takes the name. */
static int part_of(struct mf_safetensors *f, const char *index, char *name_take, size_t *k)
{
    const int folder = (int)(mf_name_base(index) - index);

    for (*k = f->parts; *k > 0; --*k)
        if (strcmp(f->part[*k - 1].name, name_take) == 0) break;
    if (*k > 0) {
        free(name_take);
        --*k;
        return MF_OK;
    }
    *k = f->parts;
    MF_TRY(next_part(f, mf_format("%.*s%s", folder, index, name_take), name_take));
    if (!*name_take || *name_take == '.' || strpbrk(name_take, "/\\"))
        return wrong_index(index, "no plain name of a file beside it:", name_take);
    return open_part(&f->part[*k]);
}

static int add_row(struct mf_safetensors *f, const char *index, const char *array, const char *value)
{
    const struct mf_safetensors_place *p;
    char *file;
    size_t k;

    MF_TRY(mf_safetensors_text(value, &file));
    if (!file) return wrong_index(index, "weight_map has no name of a file for", array);
    MF_TRY(part_of(f, index, file, &k));
    p = find(f->part[k].header.place, f->part[k].header.count, array);
    if (!p) return wrong_index(index, "its files lack the array", array);
    MF_TRY(MF_ROOM_NEXT(f->place, f->count, "the names in '%.300s'", index));
    f->place[f->count] = *p;
    f->place[f->count++].part = k;
    return MF_OK;
}

static int add_rows(struct mf_safetensors *f, const char *index, char *text)
{
    char *at = NULL, *key, *value;
    int more;

    while ((more = mf_safetensors_member(text, &at, &key, &value)) > 0) {
        char *name;
        int rc = mf_safetensors_text(key, &name);

        if (rc == MF_OK) rc = name ? add_row(f, index, name, value) : wrong_index(index, "it is not JSON", NULL);
        free(name);
        MF_TRY(rc);
    }
    return more == 0 ? MF_OK : wrong_index(index, "weight_map is no JSON object", NULL);
}

static int read_index(struct mf_safetensors *f, const char *path, char *text, size_t length)
{
    char *at = NULL, *key, *value;
    int more, maps = 0;

    if (strlen(text) != length) return wrong_index(path, "it is not JSON", NULL);
    while ((more = mf_safetensors_member(text, &at, &key, &value)) > 0)
        if (strcmp(key, "\"weight_map\"") == 0) {
            if (maps++) return wrong_index(path, "weight_map stands twice", NULL);
            MF_TRY(add_rows(f, path, value));
        }
    if (more < 0) return wrong_index(path, "it is not JSON", NULL);
    if (!f->count) return wrong_index(path, "it has no weight_map with arrays", NULL);
    return mf_safetensors_sort(path, f->place, f->count);
}

static int open_index(struct mf_safetensors *f, const char *path)
{
    size_t length;
    char *text;
    int rc;

    MF_TRY(mf_text_load(path, INDEX_MOST, &text, &length));
    rc = length > INDEX_MOST ? wrong_index(path, "it is longer than 16 MiB", NULL) : read_index(f, path, text, length);
    free(text);
    return rc;
}

/* ---- the interface ---- */

char *mf_safetensors_where(const char *path)
{
    static const char *const name[] = {"model.safetensors", "model.safetensors.index.json",
                                       "pytorch_model.bin" /* to be refused */};
    struct stat is;

    if (stat(path, &is) != 0 || !S_ISDIR(is.st_mode)) return mf_format("%s", path);
    for (int i = 0; i < 3; ++i) {
        char *file = mf_format("%s/%s", path, name[i]);

        if (access(file, F_OK) == 0) return file;
        free(file);
    }
    return mf_format("%s/%s", path, name[0]);
}

static int open_any(struct mf_safetensors *f, const char *path)
{
    char *file = mf_safetensors_where(path);
    const int rc = mf_ends_with(file, ".json") ? open_index(f, file) : open_single(f, file);

    free(file);
    return rc;
}

int mf_safetensors_open(const char *path, struct mf_safetensors **file)
{
    struct mf_safetensors *f = MF_MUST(calloc(1, sizeof *f), "a file");
    int rc = open_any(f, path);

    if (rc == MF_OK) rc = MF_ROOM(f->entry, f->count + 1, "the names in '%.300s'", path);
    if (rc != MF_OK) {
        mf_safetensors_close(f);
        return rc;
    }
    for (size_t i = 0; i < f->count; ++i) f->entry[i] = f->place[i].entry;
    *file = f;
    return MF_OK;
}

const char *mf_safetensors_path(const struct mf_safetensors *f) { return f->part[0].path; }

int mf_safetensors_same(const struct mf_comm *comm, const struct mf_safetensors *f)
{
    int64_t parts[2] = {(int64_t)f->parts, -(int64_t)f->parts};

    mf_comm_max_int(comm, 2, parts);
    if (parts[0] != -parts[1])
        return mf_fail(MF_INPUT, "'%.300s' has %lld to %lld files, as different ranks see it", f->part[0].path,
                       (long long)-parts[1], (long long)parts[0]);
    for (size_t i = 0; i < f->parts; ++i) MF_TRY(mf_same_file(comm, f->part[i].path));
    return MF_OK;
}

void mf_safetensors_close(struct mf_safetensors *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->parts; ++i) {
        if (f->part[i].from >= 0) (void)close(f->part[i].from);
        mf_safetensors_header_free(&f->part[i].header);
        free(f->part[i].path);
        free(f->part[i].name);
    }
    free(f->part);
    free(f->place);
    free(f->entry);
    free(f);
}

const struct mf_safetensors_entry *mf_safetensors_list(const struct mf_safetensors *file, size_t *count)
{
    *count = file->count;
    return file->entry;
}

const struct mf_safetensors_entry *mf_safetensors_find(const struct mf_safetensors *file, const char *name)
{
    const struct mf_safetensors_place *p = find(file->place, file->count, name);

    return p ? &file->entry[p - file->place] : NULL;
}

const char *mf_safetensors_metadata(const struct mf_safetensors *file, const char *key)
{
    for (size_t k = 0; k < file->parts; ++k) {
        const struct mf_safetensors_header *h = &file->part[k].header;

        for (size_t i = 0; i < h->keys; ++i)
            if (strcmp(h->metadata[2 * i], key) == 0) return h->metadata[2 * i + 1];
    }
    return NULL;
}

/* ---- values ---- */

/* "3 x 4", "one" */
static const char *extents(size_t ndim, const size_t *dims, char text[96])
{
    size_t used = (size_t)snprintf(text, 96, "%s", ndim ? "" : "one");

    for (size_t i = 0; i < ndim && used < 96; ++i)
        used += (size_t)snprintf(text + used, 96 - used, "%s%zu", i ? " x " : "", dims[i]);
    return text;
}

enum { REALS = 1 << MF_F32 | 1 << MF_F16 | 1 << MF_BF16, WHOLES = 1 << MF_I64 | 1 << MF_I32 | 1 << MF_U8 };

static int check_type(const struct mf_safetensors *f, const struct mf_safetensors_place *p, int types)
{
    if (types >> p->entry.type & 1) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' in '%.300s' is not of type %s", p->entry.name, f->part[p->part].path,
                   types & REALS ? "F32, F16 or BF16; save it with .float()" : "I64, I32 or U8");
}

/* An array of these extents and of one of these types (bits). */
static int look_up(const struct mf_safetensors *f, const char *name, size_t ndim, const size_t *dims, int types,
                   const struct mf_safetensors_place **to)
{
    const struct mf_safetensors_place *p = find(f->place, f->count, name);
    char want[96], has[96];

    if (!p) return mf_fail(MF_INPUT, "'%.300s' has no array '%s'", f->part[0].path, name);
    if (p->entry.ndim != ndim || (ndim && memcmp(p->entry.dims, dims, ndim * sizeof *dims) != 0))
        return mf_fail(MF_INPUT, "'%s' in '%.300s' has %s numbers, not %s", name, f->part[p->part].path,
                       extents(p->entry.ndim, p->entry.dims, has), extents(ndim, dims, want));
    MF_TRY(check_type(f, p, types));
    *to = p;
    return MF_OK;
}

/* The bytes of an array at the end of memory for wider numbers. These are then made from the first on, in place. */
static int read_bytes(const struct mf_safetensors *f, const struct mf_safetensors_place *p, void *to, size_t bytes,
                      const char **from)
{
    const size_t own = p->end - p->begin;
    const struct part *part = &f->part[p->part];

    *from = (char *)to + (bytes - own);
    return mf_read_at(part->from, part->path, (char *)to + (bytes - own), own, part->first + p->begin);
}

static float real_of(enum mf_type type, const char *from)
{
    uint16_t half;

    memcpy(&half, from, sizeof half);
    return type == MF_F16 ? mf_f16_to(half) : mf_bf16_to(half);
}

/* Numbers of a place from @p first on. */
static int read_reals(const struct mf_safetensors *f, const struct mf_safetensors_place *p, size_t first, size_t count,
                      float *to)
{
    const size_t each = mf_type_bytes(p->entry.type);
    const struct part *part = &f->part[p->part];
    char *from =
        (char *)to + count * (sizeof *to - each); /* narrow numbers stand at the end, and are widened in place */

    MF_TRY(mf_read_at(part->from, part->path, from, count * each, part->first + p->begin + first * each));
    if (p->entry.type == MF_F32) return MF_OK;
    for (size_t i = 0; i < count; ++i) to[i] = real_of(p->entry.type, from + 2 * i);
    return MF_OK;
}

int mf_safetensors_read(struct mf_safetensors *file, const char *name, size_t ndim, const size_t *dims, float *to)
{
    const struct mf_safetensors_place *p;

    MF_TRY(look_up(file, name, ndim, dims, REALS, &p));
    return read_reals(file, p, 0, mf_safetensors_numbers(&p->entry), to);
}

int mf_safetensors_read_block(struct mf_safetensors *file, const struct mf_safetensors_entry *entry,
                              struct mf_span rows, struct mf_span columns, float *to)
{
    const struct mf_safetensors_place *p = &file->place[entry - file->entry];
    const size_t all = entry->ndim && entry->dims[0] ? mf_safetensors_numbers(entry) / entry->dims[0] : 1;

    MF_TRY(check_type(file, p, REALS));
    if (columns.count == all) return read_reals(file, p, rows.first * all, rows.count * all, to);
    for (size_t r = 0; r < rows.count; ++r)
        MF_TRY(read_reals(file, p, (rows.first + r) * all + columns.first, columns.count, to + r * columns.count));
    return MF_OK;
}

static int64_t whole_of(enum mf_type type, const char *from)
{
    int32_t word;

    if (type == MF_U8) return (unsigned char)*from;
    memcpy(&word, from, sizeof word);
    return word;
}

int mf_safetensors_read_whole(struct mf_safetensors *file, const char *name, size_t ndim, const size_t *dims,
                              int64_t *to)
{
    const struct mf_safetensors_place *p;
    const char *from;
    size_t n, bytes;

    MF_TRY(look_up(file, name, ndim, dims, WHOLES, &p));
    n = mf_safetensors_numbers(&p->entry);
    bytes = mf_type_bytes(p->entry.type);
    MF_TRY(read_bytes(file, p, to, n * sizeof *to, &from));
    for (size_t i = 0; i < n && p->entry.type != MF_I64; ++i) to[i] = whole_of(p->entry.type, from + bytes * i);
    return MF_OK;
}
