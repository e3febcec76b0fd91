/* See vtk.h. There are few tags, in any order; a small scanner here reads only these. */
#include "io/vtk.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/decode.h"
#include "io/guard.h"
#include "src/base/err.h"
#include "src/base/file.h"

enum { ARRAYS = 64, WORD = 128, LIST_TEXT = 400 };

/* Bytes of a file that are searched for tags: values behind them must be appended raw. */
#define LOOKED_AT ((size_t)3 << 30)

enum section { NOWHERE, CELLS, POINTS, COORDINATES };

struct data_array {
    enum section section;
    char name[WORD], type[WORD], format[WORD], components[WORD];
    size_t at; /* its text; appended: its offset */
};

struct vtk {
    struct mf_array *array;
    const char *text, *end;
    char kind[WORD], compressor[WORD], scalars[3][WORD];
    long extent[6], piece[6];
    double spacing[3]; /* x y z */
    int pieces, count, swap, wide, raw;
    size_t appended; /* where offsets begin; 0: nothing is */
    enum section section;
    struct data_array all[ARRAYS];
};

/* -- tags -- */

/* The value of an attribute of the tag [tag, end); "" where it has none, and where it has no room (0). */
static int attribute_of(const char *tag, const char *end, const char *name, size_t room, char *value)
{
    const size_t n = strlen(name);

    value[0] = '\0';
    for (const char *at = tag + 1; at + n + 2 < end; ++at) {
        const char *from = at + n + 2, *to;

        if (!strchr(" \t\r\n", at[-1]) || memcmp(at, name, n) != 0 || at[n] != '=') continue;
        if (from[-1] != '"' && from[-1] != '\'') continue;
        to = memchr(from, from[-1], (size_t)(end - from));
        if (!to || (size_t)(to - from) >= room) return 0;
        memcpy(value, from, (size_t)(to - from));
        value[to - from] = '\0';
        mf_guard_sanitise(value, room);
        return 1;
    }
    return 1;
}

static int attribute(const char *tag, const char *end, const char *name, char value[WORD])
{
    return attribute_of(tag, end, name, WORD, value);
}

static int numbers(const char *text, size_t n, long *values)
{
    char *end;

    for (size_t i = 0; i < n; ++i, text = end) {
        errno = 0;
        values[i] = strtol(text, &end, 10);
        if (end == text || errno || values[i] < -(1L << 40) || values[i] > 1L << 40) return 0;
    }
    return 1;
}

static int damaged(const struct vtk *v, const char *what)
{
    return mf_fail(MF_INPUT, "'%s' is damaged: %s", v->array->path, what);
}

static int see_file(struct vtk *v, const char *tag, const char *end)
{
    char order[WORD], header[WORD];

    attribute(tag, end, "type", v->kind);
    attribute(tag, end, "byte_order", order);
    attribute(tag, end, "header_type", header);
    attribute(tag, end, "compressor", v->compressor);
    v->swap = strcmp(order, "BigEndian") == 0;
    v->wide = strcmp(header, "UInt64") == 0;
    if (strcmp(v->kind, "ImageData") != 0 && strcmp(v->kind, "RectilinearGrid") != 0)
        return mf_fail(MF_INPUT,
                       "'%s' is a VTK file of kind '%s'; save it as ImageData (.vti) or RectilinearGrid (.vtr)",
                       v->array->path, v->kind);
    return MF_OK;
}

/* Axes of an image that are not those of space would change what z, y and x mean. */
static int check_direction(const struct vtk *v, const char *tag, const char *end)
{
    char text[4 * WORD], *at = text;

    if (!attribute_of(tag, end, "Direction", sizeof text, text)) return damaged(v, "its Direction is too long");
    for (int i = 0; *text && i < 9; ++i)
        if (fabs(strtod(at, &at) - (i % 4 == 0)) > 1e-6)
            return mf_fail(
                MF_INPUT,
                "'%s' is rotated in space (Direction=\"%.200s\"); resample it to Direction=\"1 0 0 0 1 0 0 0 1\"",
                v->array->path, text);
    return MF_OK;
}

static int see_grid(struct vtk *v, const char *tag, const char *end)
{
    char text[WORD], *at = text;

    attribute(tag, end, "WholeExtent", text);
    if (!numbers(text, 6, v->extent)) return damaged(v, "it has no WholeExtent");
    if (!attribute(tag, end, "Spacing", text)) return damaged(v, "its Spacing is too long");
    for (int i = 0; *text && i < 3; ++i) v->spacing[i] = strtod(at, &at);
    return check_direction(v, tag, end);
}

static int see_piece(struct vtk *v, const char *tag, const char *end)
{
    char text[WORD];

    attribute(tag, end, "Extent", text);
    if (!numbers(text, 6, v->piece)) return damaged(v, "a piece has no Extent");
    if (++v->pieces > 1 || memcmp(v->piece, v->extent, sizeof v->piece) != 0)
        return mf_fail(MF_INPUT, "'%s' is in several pieces; write it as one", v->array->path);
    return MF_OK;
}

static int see_array(struct vtk *v, const char *tag, const char *end)
{
    struct data_array *a = &v->all[v->count];
    char offset[WORD];

    if (v->section == NOWHERE) return MF_OK;
    if (v->count++ == ARRAYS) return mf_fail(MF_INPUT, "'%s' has more than %d arrays", v->array->path, ARRAYS);
    a->section = v->section;
    attribute(tag, end, "Name", a->name);
    attribute(tag, end, "type", a->type);
    attribute(tag, end, "format", a->format);
    attribute(tag, end, "NumberOfComponents", a->components);
    attribute(tag, end, "offset", offset);
    a->at = strcmp(a->format, "appended") == 0 ? strtoull(offset, NULL, 10) : (size_t)(end + 1 - v->text);
    return MF_OK;
}

static int see_appended(struct vtk *v, const char *tag, const char *end)
{
    const char *mark = memchr(end, '_', (size_t)(v->end - end));
    char encoding[WORD];

    attribute(tag, end, "encoding", encoding);
    v->raw = strcmp(encoding, "raw") == 0;
    if (!mark) return damaged(v, "it ends before its appended values");
    v->appended = (size_t)(mark + 1 - v->text);
    return MF_OK;
}

static int is(const char *tag, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(tag + 1, name, n) == 0 && strchr(" \t\r\n/>", tag[1 + n]) != NULL;
}

static int see(struct vtk *v, const char *tag, const char *end)
{
    static const char *const sections[] = {NULL, "CellData", "PointData", "Coordinates"};

    if (is(tag, "VTKFile")) return see_file(v, tag, end);
    if (is(tag, "ImageData") || is(tag, "RectilinearGrid")) return see_grid(v, tag, end);
    if (is(tag, "Piece")) return see_piece(v, tag, end);
    if (is(tag, "DataArray")) return see_array(v, tag, end);
    if (is(tag, "AppendedData")) return see_appended(v, tag, end);
    for (int s = CELLS; s <= COORDINATES; ++s) {
        if (is(tag, sections[s])) {
            if (s < COORDINATES) attribute(tag, end, "Scalars", v->scalars[s]);
            v->section = end[-1] == '/' ? NOWHERE : (enum section)s;
        }
        if (tag[1] == '/' && is(tag + 1, sections[s])) v->section = NOWHERE;
    }
    return MF_OK;
}

/* The '>' of a tag, behind quotes; NULL: the text ends before. */
static const char *tag_end(const char *at, const char *end)
{
    for (; at < end && *at != '>'; ++at)
        if (*at == '"' || *at == '\'') {
            at = memchr(at + 1, *at, (size_t)(end - at - 1));
            if (!at) return NULL;
        }
    return at < end ? at : NULL;
}

static int see_all(struct vtk *v)
{
    const char *at = v->text;

    while (!v->appended && (at = memchr(at, '<', (size_t)(v->end - at)))) {
        const char *end = v->end - at > 4 && memcmp(at, "<!--", 4) == 0 ? memmem(at, (size_t)(v->end - at), "-->", 3)
                                                                        : tag_end(at, v->end);

        if (!end) return damaged(v, "it ends inside a tag");
        if (at[1] != '!' && at[1] != '?') MF_TRY(see(v, at, end));
        at = end + 1;
    }
    if (!*v->kind && memmem(v->text, (size_t)(v->end - v->text), "<Xdmf", 5))
        return mf_fail(MF_INPUT, "'%s' is XDMF, which describes values in another file; give that one (.h5)",
                       v->array->path);
    if (!*v->kind) return mf_fail(MF_INPUT, "'%s' is XML but no VTK file", v->array->path);
    return v->pieces ? MF_OK : damaged(v, "it has no piece");
}

/* -- one of the arrays -- */

static int set_type(struct mf_array *a, const char *type)
{
    static const struct {
        const char *name;
        char kind;
        size_t size;
    } types[] = {{"Int8", 'i', 1},   {"UInt8", 'u', 1}, {"Int16", 'i', 2},  {"UInt16", 'u', 2},  {"Int32", 'i', 4},
                 {"UInt32", 'u', 4}, {"Int64", 'i', 8}, {"UInt64", 'u', 8}, {"Float32", 'f', 4}, {"Float64", 'f', 8}};

    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcmp(type, types[i].name) == 0) {
            a->kind = types[i].kind;
            a->size = types[i].size;
            return MF_OK;
        }
    return mf_fail(MF_INPUT, "'%s' holds values of type '%s', which are not read", a->path, type);
}

/* How the values of @p from lie in the file. */
static int locate(const struct vtk *v, const struct data_array *from, struct mf_array *a)
{
    const int packed = *v->compressor != '\0', appended = strcmp(from->format, "appended") == 0;

    MF_TRY(set_type(a, from->type));
    a->swap = v->swap;
    a->wide = v->wide;
    a->offset = from->at;
    if (strcmp(from->format, "ascii") == 0) { /* never compressed, whatever the head says */
        a->coding = MF_ASCII;
        a->swap = 0;
        return MF_OK;
    }
    if (*v->compressor && strcmp(v->compressor, "vtkZLibDataCompressor") != 0)
        return mf_fail(MF_INPUT, "'%s' is compressed by %s; save it with vtkZLibDataCompressor, or without compression",
                       v->array->path, v->compressor);
    a->coding = packed ? MF_BASE64_ZLIB : MF_BASE64;
    if (!appended) return MF_OK;
    if (!v->appended || from->at > a->bytes - v->appended) return damaged(v, "its appended values are missing");
    a->offset += v->appended;
    if (v->raw) a->coding = packed ? MF_ZLIB : MF_PLAIN;
    return MF_OK;
}

/* Raw values are read without this library's help: behind their size, which must be theirs. */
static int check_plain(const struct vtk *v, struct mf_array *a)
{
    const size_t width = v->wide ? 8 : 4;
    size_t bytes = a->size;
    struct mf_array size = *a;
    unsigned char is[8] = {0};
    uint64_t got = 0;

    if (a->coding != MF_PLAIN) return MF_OK;
    for (int i = 0; i < a->ndim; ++i)
        if (__builtin_mul_overflow(bytes, a->shape[i], &bytes))
            return mf_fail(MF_INPUT, "'%s' claims more values than can be counted", a->path);
    size.ndim = 1;
    size.shape[0] = 1;
    size.size = width;
    size.kind = 'u';
    MF_TRY(mf_decode(&size, is));
    memcpy(&got, is, width);
    a->offset += width;
    if (got == bytes && a->offset <= a->bytes && bytes <= a->bytes - a->offset) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' is damaged: its extents need %zu bytes of values, its header says %llu, and the file has %zu",
                   a->path, bytes, (unsigned long long)got, a->bytes > a->offset ? a->bytes - a->offset : 0);
}

static void list(const struct vtk *v, enum section section, char text[LIST_TEXT])
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < v->count && n < LIST_TEXT - WORD - 3; ++i)
        if (v->all[i].section == section)
            n += (size_t)snprintf(text + n, LIST_TEXT - n, "%s%s", n ? ", " : "", v->all[i].name);
}

static int is_ghosts(const struct data_array *a) { return strcmp(a->name, "vtkGhostType") == 0; }

/* The array that was named, else the one that the file itself puts first, else the only one. */
static int choose(const struct vtk *v, const struct data_array **chosen)
{
    const char *named = v->array->dataset[0] ? v->array->dataset + 1 : NULL;
    char text[LIST_TEXT];
    int cells = 0, count = 0;

    for (int i = 0; i < v->count; ++i) cells |= v->all[i].section == CELLS;
    for (int i = 0; i < v->count; ++i) {
        const struct data_array *a = &v->all[i];
        const char *want = named ? named : v->scalars[a->section];

        if (named ? a->section == COORDINATES : a->section != (cells ? CELLS : POINTS) || is_ghosts(a)) continue;
        if (strcmp(a->name, want) == 0) {
            *chosen = a;
            return MF_OK;
        }
        if (!named && count++ == 0) *chosen = a;
    }
    if (!named && count == 1) return MF_OK;
    list(v, cells ? CELLS : POINTS, text);
    if (named) return mf_fail(MF_INPUT, "'%s' has no array '%s'; there are: %s", v->array->path, named, text);
    if (count == 0) return mf_fail(MF_INPUT, "'%s' holds no array", v->array->path);
    return mf_fail(MF_INPUT, "'%s' holds several arrays, name one as FILE:ARRAY: %s", v->array->path, text);
}

/* A single plane is an image, whichever axis has length 1. @p flat: that axis, else -1. */
static int set_shape(const struct vtk *v, enum section section, struct mf_array *a)
{
    int flat = 0;
    size_t n[3];

    for (int i = 0; i < 3; ++i) {
        const long cells = v->extent[5 - 2 * i] - v->extent[4 - 2 * i], points = cells + 1;

        n[i] = (size_t)(section == CELLS ? (cells > 1 ? cells : cells == 0 || cells == 1) : points > 0 ? points : 0);
    }
    while (flat < 3 && n[flat] != 1) ++flat;
    a->ndim = 0;
    for (int i = 0; i < 3; ++i)
        if (i != flat) a->shape[a->ndim++] = n[i];
    return flat < 3 ? flat : -1;
}

/* Takes the spacing of an image's two axes; its third has none that could be wrong. */
static void set_spacing(const struct vtk *v, int flat, struct mf_array *a)
{
    int to = flat < 0 ? 0 : 1;

    a->scaled = 1;
    a->spacing[0] = 1;
    for (int i = 0; i < 3; ++i)
        if (i != flat) a->spacing[to++] = v->spacing[2 - i];
}

/* Distance of the planes along an axis, which must be one. */
static int distance(const struct vtk *v, const struct data_array *from, char axis, size_t n, double *spacing)
{
    struct mf_array a = {.path = v->array->path, .bytes = v->array->bytes, .ndim = 1, .shape = {n}};
    double *at;
    char *values;
    int rc;

    MF_TRY(locate(v, from, &a));
    if (n == 0 || n > a.bytes) return damaged(v, "its coordinates are missing");
    MF_TRY(check_plain(v, &a));
    at = malloc(n * sizeof *at);
    values = malloc(n * a.size);
    rc = at && values ? mf_decode(&a, values) : mf_fail(MF_MEMORY, "no memory for coordinates");
    if (rc == MF_OK) {
        mf_array_reals(&a, values, n, at);
        *spacing = n > 1 ? (at[n - 1] - at[0]) / (double)(n - 1) : 1;
        if (*spacing <= 0)
            rc = mf_fail(MF_INPUT, "'%s': its planes along %c descend, from %g to %g; reverse coordinates and values",
                         v->array->path, axis, at[0], at[n - 1]);
        for (size_t i = 1; rc == MF_OK && i < n; ++i)
            if (!(fabs(at[i] - at[i - 1] - *spacing) <= 1e-4 * fabs(*spacing)))
                rc = mf_fail(MF_INPUT, "'%s': its planes are not at equal distances; resample it to image data",
                             v->array->path);
    }
    free(values);
    free(at);
    return rc;
}

static int set_distances(struct vtk *v)
{
    int axis = 0;

    for (int i = 0; i < v->count && axis < 3; ++i)
        if (v->all[i].section == COORDINATES) {
            const long n = v->extent[2 * axis + 1] - v->extent[2 * axis] + 1;

            MF_TRY(distance(v, &v->all[i], "xyz"[axis], n > 0 ? (size_t)n : 0, &v->spacing[axis]));
            ++axis;
        }
    return axis == 3 ? MF_OK : damaged(v, "it does not have three coordinates");
}

/* Values that VTK marks as hidden, or as those of another piece, are bytes that are not 0. */
static int see_ghosts(const struct vtk *v, const struct data_array *chosen)
{
    struct mf_array *a = v->array, g = *a;
    size_t n = a->shape[0] * mf_array_row(a), marked = 0;
    int i = 0, rc;
    char *mark;

    while (i < v->count && !(v->all[i].section == chosen->section && is_ghosts(&v->all[i]))) ++i;
    if (i == v->count || is_ghosts(chosen)) return MF_OK;
    MF_TRY(locate(v, &v->all[i], &g));
    if (g.size != 1) return MF_OK;
    MF_TRY(check_plain(v, &g));
    mark = n <= LOOKED_AT ? malloc(n) : NULL;
    rc = mark ? mf_decode(&g, mark) : mf_fail(MF_MEMORY, "no memory for vtkGhostType of '%s'", a->path);
    for (size_t k = 0; rc == MF_OK && k < n; ++k) marked += mark[k] != 0;
    if (marked) a->said |= MF_SAID_GHOSTS;
    free(mark);
    return rc;
}

static int understand(struct vtk *v)
{
    const struct data_array *chosen = NULL;
    struct mf_array *a = v->array;
    int flat;

    MF_TRY(see_all(v));
    MF_TRY(choose(v, &chosen));
    if (*chosen->components && strcmp(chosen->components, "1") != 0)
        return mf_fail(MF_INPUT, "'%s': array '%s' has %s components; it must have one value for each cell", a->path,
                       chosen->name, chosen->components);
    flat = set_shape(v, chosen->section, a);
    for (int i = 0; i < a->ndim; ++i)
        if (a->shape[i] == 0 || a->shape[i] > (size_t)1 << 40) return damaged(v, "an extent is 0 or too large");
    MF_TRY(locate(v, chosen, a));
    MF_TRY(check_plain(v, a));
    MF_TRY(see_ghosts(v, chosen));
    if (strcmp(v->kind, "RectilinearGrid") == 0) MF_TRY(set_distances(v));
    snprintf(a->dataset, sizeof a->dataset, "/%s", chosen->name);
    set_spacing(v, flat, a);
    return MF_OK;
}

int mf_vtk_inspect(struct mf_array *array)
{
    const size_t n = array->bytes < LOOKED_AT ? array->bytes : LOOKED_AT;
    struct vtk *v = calloc(1, sizeof *v);
    int descriptor = mf_open(array->path, O_RDONLY), rc;
    char *text = descriptor < 0 ? MAP_FAILED : mmap(NULL, n, PROT_READ, MAP_PRIVATE, descriptor, 0);

    if (!v || text == MAP_FAILED)
        rc = mf_fail(MF_INPUT, "cannot read '%s': %s", array->path, strerror(errno));
    else {
        *v = (struct vtk){.array = array, .text = text, .end = text + n, .spacing = {1, 1, 1}};
        rc = understand(v);
    }
    if (text != MAP_FAILED) (void)munmap(text, n);
    if (descriptor >= 0) close(descriptor);
    free(v);
    return rc;
}

/* -- writing -- */

static void print_extent(FILE *to, const char *name, const size_t n[3])
{
    fprintf(to, " %s=\"0 %zu 0 %zu 0 %zu\"", name, n[2], n[1], n[0]);
}

static void print_coordinates(FILE *to, const struct mf_micro *m)
{
    fputs("   <Coordinates>\n", to);
    for (int a = 2; a >= 0; --a) {
        fprintf(to, "    <DataArray type=\"Float64\" Name=\"%c\" format=\"ascii\">", "zyx"[a]);
        for (size_t i = 0; i <= m->slab.dims[a]; ++i) fprintf(to, "%s%.17g", i ? " " : "", (double)i * m->spacing[a]);
        fputs("</DataArray>\n", to);
    }
    fputs("   </Coordinates>\n", to);
}

void mf_vtk_around(const struct mf_micro *micro, int rectilinear, char **before, size_t *bytes, char **behind)
{
    const char *kind = rectilinear ? "RectilinearGrid" : "ImageData";
    const uint64_t size = (uint64_t)micro->slab.dims[0] * micro->slab.dims[1] * micro->slab.dims[2];
    FILE *to = MF_MUST(open_memstream(before, bytes), "a header");

    fprintf(to,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" byte_order=\"LittleEndian\" "
            "header_type=\"UInt64\">\n <%s",
            kind, kind);
    print_extent(to, "WholeExtent", micro->slab.dims);
    if (!rectilinear)
        fprintf(to, " Origin=\"0 0 0\" Spacing=\"%.17g %.17g %.17g\"", micro->spacing[2], micro->spacing[1],
                micro->spacing[0]);
    fputs(">\n  <Piece", to);
    print_extent(to, "Extent", micro->slab.dims);
    fputs(">\n   <PointData/>\n   <CellData Scalars=\"phase\">\n"
          "    <DataArray type=\"UInt8\" Name=\"phase\" format=\"appended\" offset=\"0\"/>\n   </CellData>\n",
          to);
    if (rectilinear) print_coordinates(to, micro);
    fprintf(to, "  </Piece>\n </%s>\n <AppendedData encoding=\"raw\">\n_", kind);
    (void)fwrite(&size, sizeof size, 1, to);
    if (fclose(to) != 0 || asprintf(behind, "\n </AppendedData>\n</VTKFile>\n") < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a header");
}
