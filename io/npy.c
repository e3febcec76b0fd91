/* See npy.h. The header is a Python dictionary; a small parser here reads only that. */
#include "io/npy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/decode.h"
#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/pulse.h"

enum { HEADER_MAX = 1 << 20, PIECE = 1 << 19, DESCR_TEXT = 16, PREAMBLE = 10 };

/* The text that is left to parse. */
struct text {
    const char *at, *end;
};

struct header {
    char descr[DESCR_TEXT];
    int has_descr, has_order, has_shape, fortran, ndim, structured;
    size_t shape[MF_ARRAY_DIMS];
};

static void blanks(struct text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r')) ++t->at;
}

/* Skips blanks and takes one character if it is this one. */
static int take(struct text *t, char c)
{
    blanks(t);
    if (t->at == t->end || *t->at != c) return 0;
    ++t->at;
    return 1;
}

static int word(struct text *t, const char *w)
{
    size_t n = strlen(w);

    blanks(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, w, n) != 0) return 0;
    t->at += n;
    return 1;
}

/* 'text' or "text" without escapes, shorter than room. */
static int quoted(struct text *t, char *out, size_t room)
{
    const char *from;
    char quote;

    blanks(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"')) return 0;
    quote = *t->at++;
    from = t->at;
    while (t->at < t->end && *t->at != quote && *t->at != '\\') ++t->at;
    if (t->at == t->end || *t->at != quote || (size_t)(t->at - from) >= room) return 0;
    memcpy(out, from, (size_t)(t->at - from));
    out[t->at - from] = '\0';
    ++t->at;
    return 1;
}

static int number(struct text *t, size_t *value)
{
    size_t v = 0;
    int digits = 0;

    blanks(t);
    for (; t->at < t->end && isdigit((unsigned char)*t->at); ++t->at, ++digits)
        if (__builtin_mul_overflow(v, (size_t)10, &v) || __builtin_add_overflow(v, (size_t)(*t->at - '0'), &v))
            return 0;
    if (digits && t->at < t->end && *t->at == 'L') ++t->at; /* Python 2 */
    *value = v;
    return digits > 0;
}

static int shape(struct text *t, struct header *h)
{
    if (!take(t, '(')) return 0;
    h->ndim = 0;
    while (!take(t, ')')) {
        if (h->ndim == MF_ARRAY_DIMS || !number(t, &h->shape[h->ndim++])) return 0;
        if (take(t, ',')) continue;
        return h->ndim > 1 && take(t, ')');
    }
    return 1;
}

static int entry(struct text *t, struct header *h)
{
    char key[DESCR_TEXT];

    if (!quoted(t, key, sizeof key) || !take(t, ':')) return 0;
    if (strcmp(key, "descr") == 0 && !h->has_descr++) {
        blanks(t);
        h->structured = t->at < t->end && *t->at == '[';
        return !h->structured && quoted(t, h->descr, sizeof h->descr);
    }
    if (strcmp(key, "fortran_order") == 0 && !h->has_order++) {
        h->fortran = word(t, "True");
        return h->fortran || word(t, "False");
    }
    return strcmp(key, "shape") == 0 && !h->has_shape++ && shape(t, h);
}

static int dictionary(struct text *t, struct header *h)
{
    if (!take(t, '{')) return 0;
    while (!take(t, '}')) {
        if (!entry(t, h)) return 0;
        if (take(t, ',')) continue;
        if (!take(t, '}')) return 0;
        break;
    }
    blanks(t);
    return t->at == t->end && h->has_descr && h->has_order && h->has_shape;
}

static int type(struct mf_array *a, const char *descr)
{
    const char *d = descr;
    char order = '|', *end;
    long size;
    int known;

    if (*d && strchr("<>|=", *d)) order = *d++;
    if (*d == 'O' || *d == 'V')
        return mf_fail(MF_INPUT, "'%s' holds %s, which are never read; save it as an array of integers", a->path,
                       *d == 'O' ? "Python objects (pickle)" : "structured values");
    size = *d ? strtol(d + 1, &end, 10) : 0;
    known =
        *d && *end == '\0' && isdigit((unsigned char)d[1]) &&
        ((*d == 'b' && size == 1) || ((*d == 'i' || *d == 'u') && (size == 1 || size == 2 || size == 4 || size == 8)) ||
         (*d == 'f' && (size == 2 || size == 4 || size == 8)));
    if (!known)
        return mf_fail(MF_INPUT,
                       "'%s' holds values of type '%s'; save Booleans, integers of 8 to 64 or floats of 16 to 64 bits",
                       a->path, descr);
    a->kind = *d;
    a->size = (size_t)size;
    a->swap = size > 1 && order == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<');
    return MF_OK;
}

/* Shape times size of an element must be exactly what the file still holds. */
static int check_length(const struct mf_array *a)
{
    size_t bytes = a->size;

    for (int i = 0; i < a->ndim; ++i)
        if (__builtin_mul_overflow(bytes, a->shape[i], &bytes))
            return mf_fail(MF_INPUT, "'%s' claims more values than can be counted", a->path);
    if (bytes != a->bytes - a->offset)
        return mf_fail(MF_INPUT, "'%s' is damaged: its header says %zu bytes of values, and the file has %zu", a->path,
                       bytes, a->bytes - a->offset);
    return MF_OK;
}

/* Longer than any header without axes. */
static size_t length_of(enum mf_axes axes) { return 256 + 64 * (size_t)axes; }

/* The meaning of the axes, if the header has exactly this program's form: version 1, with the text after ten bytes. It
 * decides by the length. */
static enum mf_axes axes_of(const struct mf_array *a, const struct header *h, const char *text, size_t length)
{
    char ours[MF_NPY_HEADER];

    if (a->offset != PREAMBLE + length) return MF_AXES_UNSAID;
    for (int axes = MF_AXES_PLACES; axes <= MF_AXES_PAIR_LAG; ++axes)
        if (a->offset == length_of((enum mf_axes)axes) &&
            mf_npy_header(h->descr, h->ndim, h->shape, (enum mf_axes)axes, ours) == a->offset &&
            memcmp(ours + PREAMBLE, text, length) == 0)
            return (enum mf_axes)axes;
    return MF_AXES_UNSAID;
}

static int understand(struct mf_array *a, const char *from, size_t length)
{
    struct text t = {from, from + length};
    struct header h = {0};

    if (!dictionary(&t, &h)) {
        if (h.structured)
            return mf_fail(MF_INPUT, "'%s' holds structured values, which are never read; save one plain array",
                           a->path);
        return mf_fail(MF_INPUT, "'%s' is damaged: its .npy header cannot be understood", a->path);
    }
    MF_TRY(type(a, h.descr));
    a->fortran = h.fortran;
    a->ndim = h.ndim;
    memcpy(a->shape, h.shape, sizeof a->shape);
    a->axes = axes_of(a, &h, from, length);
    return check_length(a);
}

static int inspect(struct mf_array *a, int descriptor)
{
    unsigned char head[12];
    size_t length, start;
    char *text;
    int rc;

    if (a->bytes < sizeof head) return mf_fail(MF_INPUT, "'%s' is damaged: it ends inside its header", a->path);
    MF_TRY(mf_read_at(descriptor, a->path, head, sizeof head, 0));
    if (head[6] < 1 || head[6] > 3)
        return mf_fail(MF_INPUT, "'%s' has .npy version %d; it must be 1, 2 or 3", a->path, head[6]);
    start = head[6] == 1 ? 10 : 12;
    length = head[8] | (size_t)head[9] << 8;
    if (head[6] > 1) length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (length > HEADER_MAX || length > a->bytes - start)
        return mf_fail(MF_INPUT, "'%s' is damaged: its header claims %zu bytes", a->path, length);
    a->offset = start + length;
    text = malloc(length + 1);
    if (!text) return mf_fail(MF_MEMORY, "no memory for the header of '%s'", a->path);
    rc = mf_read_at(descriptor, a->path, text, length, start);
    if (rc == MF_OK) rc = understand(a, text, length);
    free(text);
    return rc;
}

static int open_file(const char *path)
{
    int descriptor = mf_open(path, O_RDONLY);

    if (descriptor < 0) mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno));
    return descriptor;
}

int mf_npy_inspect(struct mf_array *array)
{
    int descriptor = open_file(array->path), rc;

    if (descriptor < 0) return MF_INPUT;
    rc = inspect(array, descriptor);
    close(descriptor);
    return rc;
}

/* Reads n elements that lie together from element `at` of the file. */
static int read_run(const struct mf_array *a, int descriptor, size_t at, size_t n, void *piece)
{
    MF_TRY(mf_pulse("reading"));
    MF_TRY(mf_read_at(descriptor, mf_array_file(a), piece, n * a->size, a->offset + at * a->size));
    if (a->swap) mf_swap_bytes(piece, n, a->size);
    return MF_OK;
}

static int visit_c(const struct mf_array *a, int descriptor, size_t first, size_t count, mf_array_take *take_values,
                   void *context, void *piece)
{
    size_t row = mf_array_row(a), n = row * count, most = PIECE / a->size;

    for (size_t at = 0; at < n; at += most) {
        size_t now = n - at < most ? n - at : most;

        MF_TRY(read_run(a, descriptor, first * row + at, now, piece));
        MF_TRY(take_values(context, piece, now, at, 1));
    }
    return MF_OK;
}

/* Position in C order of column j of a Fortran array (its indices but the first, the second fastest). */
static size_t column_place(const struct mf_array *a, size_t j)
{
    size_t place = 0, stride = mf_array_row(a);

    for (int i = 1; i < a->ndim; ++i) {
        stride /= a->shape[i];
        place += j % a->shape[i] * stride;
        j /= a->shape[i];
    }
    return place;
}

/* Columns (along axis 0) lie together in the file: several whole ones at a time, or one in pieces. */
static int visit_fortran(const struct mf_array *a, int descriptor, size_t first, size_t count,
                         mf_array_take *take_values, void *context, char *piece)
{
    size_t columns = mf_array_row(a), rows = a->shape[0], most = PIECE / a->size;
    size_t several = count < most ? (most - count) / rows + 1 : 1;

    for (size_t j = 0; j < columns; j += several) {
        size_t now = columns - j < several ? columns - j : several;

        for (size_t i = 0; i < count; i += most) {
            size_t n = count - i < most ? count - i : most;

            MF_TRY(read_run(a, descriptor, j * rows + first + i, (now - 1) * rows + n, piece));
            for (size_t k = 0; k < now; ++k)
                MF_TRY(
                    take_values(context, piece + k * rows * a->size, n, i * columns + column_place(a, j + k), columns));
        }
    }
    return MF_OK;
}

int mf_npy_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take_values, void *context)
{
    int descriptor = open_file(mf_array_file(array)), rc;
    char *piece = calloc(1, PIECE);

    if (descriptor < 0)
        rc = MF_INPUT;
    else if (!piece)
        rc = mf_fail(MF_MEMORY, "no memory to read '%s'", array->path);
    else if (array->fortran && array->ndim > 1)
        rc = visit_fortran(array, descriptor, first, count, take_values, context, piece);
    else
        rc = visit_c(array, descriptor, first, count, take_values, context, piece);
    free(piece);
    if (descriptor >= 0) close(descriptor);
    return rc;
}

size_t mf_npy_header(const char *descr, int ndim, const size_t *extents, enum mf_axes axes, char *text)
{
    static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t n = 10, length;

    n += (size_t)snprintf(text + n, MF_NPY_HEADER - n, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < ndim; ++i)
        n += (size_t)snprintf(text + n, MF_NPY_HEADER - n, "%zu%s", extents[i], i + 1 < ndim ? ", " : "");
    n += (size_t)snprintf(text + n, MF_NPY_HEADER - n, "%s), }", ndim == 1 ? "," : "");
    length = axes == MF_AXES_UNSAID ? (n + 1 + 63) / 64 * 64 : length_of(axes);
    memset(text + n, ' ', length - n);
    text[length - 1] = '\n';
    memcpy(text, magic, sizeof magic);
    text[8] = (char)((length - 10) & 0xff);
    text[9] = (char)((length - 10) >> 8);
    return length;
}
