/* See nrrd.h. Fields follow teem's definition of the format (NRRD0001 to NRRD0005). */
#include "io/nrrd.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "io/guard.h"
#include "io/units.h"
#include "src/base/err.h"
#include "src/base/text.h"

enum { LINE = 1024, LINES = 1000, WORD = 64 };

struct nrrd {
    struct mf_array *array;
    FILE *from;
    char type[WORD], encoding[WORD], endian[WORD], data[LINE];
    char unit[MF_ARRAY_DIMS][WORD];                 /* of each axis */
    char space_unit[MF_ARRAY_DIMS][WORD];           /* of each coordinate of space */
    double direction[MF_ARRAY_DIMS][MF_ARRAY_DIMS]; /* from plane to plane of an axis, in coordinates of space */
    int coordinates[MF_ARRAY_DIMS];                 /* how many of direction[axis] there are; 0: the axis has none */
    long dimension, byte_skip, line_skip;
    size_t sizes[MF_ARRAY_DIMS];     /* the fastest axis first */
    double distances[MF_ARRAY_DIMS]; /* of planes; NAN: not said */
    int other[MF_ARRAY_DIMS];        /* no axis of space: colours, components */
    int has_sizes;
    int unread; /* errno of a read that failed */
};

static int damaged(const struct nrrd *n, const char *what)
{
    return mf_fail(MF_INPUT, "'%s' is damaged: %s", n->array->path, what);
}

/* -- lines -- */

static void copy(char *to, size_t room, const char *from) { snprintf(to, room, "%.*s", (int)room - 1, from); }

static int see_sizes(struct nrrd *n, const char *text)
{
    char *end;

    if (n->dimension < 1) return damaged(n, "sizes come before the dimension");
    for (long i = 0; i < n->dimension; ++i, text = end) {
        const long long size = strtoll(text, &end, 10);

        if (end == text || size < 1 || size > 1LL << 40) return damaged(n, "an extent is 0, too large or no number");
        n->sizes[i] = (size_t)size;
    }
    n->has_sizes = 1;
    return MF_OK;
}

static int see_dimension(struct nrrd *n, const char *text)
{
    n->dimension = strtol(text, NULL, 10);
    if (n->dimension >= 1 && n->dimension <= MF_ARRAY_DIMS) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has %ld axes", n->array->path, n->dimension);
}

static void see_spacings(struct nrrd *n, const char *text)
{
    char *end;

    for (int i = 0; i < MF_ARRAY_DIMS; ++i, text = end) {
        const double v = strtod(text, &end);

        if (end == text) return;
        n->distances[i] = v;
    }
}

/* Kind of an axis: "space" and "domain" are positions, "???" and "none" mean nothing, all others are components of a
 * value. */
static void see_kinds(struct nrrd *n, const char *text)
{
    static const char *const places[] = {"space", "domain", "???", "none"};

    for (int i = 0; i < MF_ARRAY_DIMS; ++i) {
        const size_t length = strcspn(text += strspn(text, " \t"), " \t");
        int place = length == 0;

        for (int k = 0; k < 4; ++k) place |= strlen(places[k]) == length && strncasecmp(text, places[k], length) == 0;
        n->other[i] |= !place;
        text += length;
    }
}

/* "(a,b,c) none (d,e,f)": a vector for each axis; an axis without one is none of space. */
static void see_directions(struct nrrd *n, const char *text)
{
    for (int i = 0; i < MF_ARRAY_DIMS; ++i) {
        int count = 0;
        char *end;

        text += strspn(text, " \t");
        if (*text != '(') { /* none */
            if (!*text) return;
            n->other[i] = 1;
            text += strcspn(text, " \t");
            continue;
        }
        do {
            const double v = strtod(++text, &end);

            if (count < MF_ARRAY_DIMS) n->direction[i][count++] = v;
            text = end + strspn(end, " \t");
        } while (*text == ',');
        n->coordinates[i] = count;
        text += *text == ')';
    }
}

/* "um" "um" "mm": texts between quotes. */
static void see_units(char unit[MF_ARRAY_DIMS][WORD], const char *text)
{
    const char *at = strchr(text, '"'), *end;

    for (int i = 0; i < MF_ARRAY_DIMS && at && (end = strchr(at + 1, '"')); ++i) {
        snprintf(unit[i], WORD, "%.*s", (int)(end - at - 1 < WORD ? end - at - 1 : WORD - 1), at + 1);
        at = strchr(end + 1, '"');
    }
}

static int see(struct nrrd *n, const char *field, const char *text)
{
    if (strcasecmp(field, "type") == 0) copy(n->type, sizeof n->type, text);
    if (strcasecmp(field, "encoding") == 0) copy(n->encoding, sizeof n->encoding, text);
    if (strcasecmp(field, "endian") == 0) copy(n->endian, sizeof n->endian, text);
    if (strcasecmp(field, "dimension") == 0) return see_dimension(n, text);
    if (strcasecmp(field, "sizes") == 0) return see_sizes(n, text);
    if (strcasecmp(field, "spacings") == 0) see_spacings(n, text);
    if (strcasecmp(field, "kinds") == 0) see_kinds(n, text);
    if (strcasecmp(field, "space directions") == 0) see_directions(n, text);
    if (strcasecmp(field, "units") == 0) see_units(n->unit, text);
    if (strcasecmp(field, "space units") == 0) see_units(n->space_unit, text);
    if (strcasecmp(field, "data file") == 0 || strcasecmp(field, "datafile") == 0) copy(n->data, LINE, text);
    if (strcasecmp(field, "byte skip") == 0 || strcasecmp(field, "byteskip") == 0)
        n->byte_skip = strtol(text, NULL, 10);
    if (strcasecmp(field, "line skip") == 0 || strcasecmp(field, "lineskip") == 0)
        n->line_skip = strtol(text, NULL, 10);
    return MF_OK;
}

/* A line without its end; 0: the file ends, or the line is longer than any. */
static int next_line(struct nrrd *n, char line[LINE])
{
    size_t length;

    if (!fgets(line, LINE, n->from)) {
        n->unread = ferror(n->from) ? errno : 0;
        return 0;
    }
    length = strlen(line);
    if (length == 0 || (line[length - 1] != '\n' && !feof(n->from))) return 0;
    while (length > 0 && isspace((unsigned char)line[length - 1])) line[--length] = '\0';
    return 1;
}

/* Up to the empty line, or the end of a header that stands alone. */
static int see_all(struct nrrd *n)
{
    char line[LINE];

    if (!next_line(n, line)) return damaged(n, "it has no header"); /* NRRD000X */
    for (int i = 0; i < LINES; ++i) {
        char *text;

        if (!next_line(n, line)) return feof(n->from) && *n->data ? MF_OK : damaged(n, "it ends inside its header");
        if (!*line) return MF_OK;
        text = strstr(line, ": ");
        if (*line == '#' || !text || strstr(line, ":=")) continue;
        *text = '\0';
        mf_guard_sanitise(text + 2, (size_t)(line + LINE - text - 2));
        MF_TRY(see(n, line, text + 2));
    }
    return damaged(n, "its header has no end");
}

/* -- what they mean -- */

static int set_type(const struct nrrd *n)
{
    static const struct {
        const char *name;
        char kind;
        size_t size;
    } types[] = {{"signed char", 'i', 1},
                 {"int8", 'i', 1},
                 {"int8_t", 'i', 1},
                 {"uchar", 'u', 1},
                 {"unsigned char", 'u', 1},
                 {"uint8", 'u', 1},
                 {"uint8_t", 'u', 1},
                 {"short", 'i', 2},
                 {"short int", 'i', 2},
                 {"signed short", 'i', 2},
                 {"signed short int", 'i', 2},
                 {"int16", 'i', 2},
                 {"int16_t", 'i', 2},
                 {"ushort", 'u', 2},
                 {"unsigned short", 'u', 2},
                 {"unsigned short int", 'u', 2},
                 {"uint16", 'u', 2},
                 {"uint16_t", 'u', 2},
                 {"int", 'i', 4},
                 {"signed int", 'i', 4},
                 {"int32", 'i', 4},
                 {"int32_t", 'i', 4},
                 {"uint", 'u', 4},
                 {"unsigned int", 'u', 4},
                 {"uint32", 'u', 4},
                 {"uint32_t", 'u', 4},
                 {"longlong", 'i', 8},
                 {"long long", 'i', 8},
                 {"long long int", 'i', 8},
                 {"signed long long", 'i', 8},
                 {"int64", 'i', 8},
                 {"int64_t", 'i', 8},
                 {"ulonglong", 'u', 8},
                 {"unsigned long long", 'u', 8},
                 {"unsigned long long int", 'u', 8},
                 {"uint64", 'u', 8},
                 {"uint64_t", 'u', 8},
                 {"float", 'f', 4},
                 {"double", 'f', 8}};

    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcasecmp(n->type, types[i].name) == 0) {
            n->array->kind = types[i].kind;
            n->array->size = types[i].size;
            return MF_OK;
        }
    return mf_fail(MF_INPUT, "'%s' holds values of type '%s', which are not read", n->array->path, n->type);
}

static int set_coding(const struct nrrd *n)
{
    static const struct {
        const char *name;
        enum mf_coding coding;
    } codings[] = {{"raw", MF_PLAIN},   {"gzip", MF_GZIP},  {"gz", MF_GZIP},
                   {"ascii", MF_ASCII}, {"text", MF_ASCII}, {"txt", MF_ASCII}};
    struct mf_array *a = n->array;

    for (size_t i = 0; i < sizeof codings / sizeof *codings; ++i)
        if (strcasecmp(n->encoding, codings[i].name) == 0) {
            a->coding = codings[i].coding;
            a->swap = a->coding != MF_ASCII && a->size > 1 && strcasecmp(n->endian, "big") == 0;
            if (a->coding != MF_ASCII && a->size > 1 && !a->swap && strcasecmp(n->endian, "little") != 0)
                return damaged(n, "it does not say which byte comes first (endian)");
            return MF_OK;
        }
    return mf_fail(MF_INPUT, "'%s' is encoded as '%s'; save it as raw, gzip or ascii", a->path, n->encoding);
}

static double product(const struct nrrd *n, int i, int j)
{
    double sum = 0;

    for (int k = 0; k < n->coordinates[i]; ++k) sum += n->direction[i][k] * n->direction[j][k];
    return sum;
}

/* The coordinate of space along which an axis ascends; -1: it points elsewhere. */
static int ascends_along(const struct nrrd *n, int i)
{
    const double length = sqrt(product(n, i, i));

    for (int k = 0; k < n->coordinates[i]; ++k)
        if (fabs(n->direction[i][k] - length) <= 1e-6 * length) return k;
    return -1;
}

static int is_right_angled(const struct nrrd *n)
{
    for (int i = 0; i < MF_ARRAY_DIMS; ++i)
        for (int j = 0; j < i; ++j)
            if (fabs(product(n, i, j)) > 1e-6 * sqrt(product(n, i, i) * product(n, j, j))) return 0;
    return 1;
}

/* Axes that are not those of space would change what z, y and x mean. Lengths that are unknown or 0 are refused
 * elsewhere, or replaced. */
static int check_directions(const struct nrrd *n)
{
    int before = -1;

    for (int i = 0; i < n->dimension; ++i) {
        const int along = n->coordinates[i] ? ascends_along(n, i) : -1;

        if (!(product(n, i, i) > 0) || n->sizes[i] == 1) continue;
        if (along <= before)
            return mf_fail(MF_INPUT, "'%s' is %s in space (axis %d of its space directions); resample it to the axes%s",
                           n->array->path, is_right_angled(n) ? "rotated or mirrored" : "sheared", i,
                           is_right_angled(n) ? ", or give the lengths as 'spacings'" : "");
        before = along;
    }
    return MF_OK;
}

/* Lengths of the vectors, whose coordinates may have units of their own. */
static void measure_directions(struct nrrd *n)
{
    for (int i = 0; i < MF_ARRAY_DIMS; ++i) {
        const char *units[MF_ARRAY_DIMS];
        double square = 0;
        int unit;

        if (!n->coordinates[i]) continue;
        for (int k = 0; k < n->coordinates[i]; ++k) units[k] = n->space_unit[k];
        unit = mf_units_same(n->coordinates[i], units, n->direction[i]);
        for (int k = 0; k < n->coordinates[i]; ++k) square += n->direction[i][k] * n->direction[i][k];
        n->distances[i] = sqrt(square);
        if (unit >= 0) copy(n->unit[i], WORD, n->space_unit[unit]);
        if (unit < 0)
            snprintf(n->array->unscaled, MF_UNSCALED_TEXT,
                     "its coordinates have incompatible units ('%.32s' and '%.32s')", units[0],
                     strcmp(units[0], units[1]) != 0 ? units[1] : units[n->coordinates[i] - 1]);
    }
}

/* Axes of space: those of one value that are none are left out. */
static void set_shape(struct nrrd *n)
{
    struct mf_array *a = n->array;

    a->ndim = 0;
    for (long i = 0; i < n->dimension; ++i)
        if (!n->other[i]) {
            n->sizes[a->ndim] = n->sizes[i];
            n->distances[a->ndim] = n->distances[i];
            memmove(n->unit[a->ndim++], n->unit[i], WORD);
        }
    for (int i = 0; i < a->ndim; ++i) a->shape[i] = n->sizes[a->ndim - 1 - i];
}

/* Sets the spacing of axes longer than 1. NaN means unknown in NRRD. If all are unknown there is no spacing; if only
 * some are, the others cannot be used. */
static void set_spacing(struct nrrd *n)
{
    struct mf_array *a = n->array;
    const int first = a->ndim > 3 ? a->ndim - 3 : 0; /* the fastest of three are values of a place */
    const char *units[3];
    double lengths[3];
    int axis[3], axes = 0, unit;

    for (int i = 0; i < 3; ++i) a->spacing[i] = 1;
    for (int i = first; i < a->ndim; ++i) {
        if (n->sizes[i] == 1) continue;
        axis[axes] = i;
        units[axes] = n->unit[i];
        lengths[axes++] = n->distances[i];
        a->scaled |= !isnan(n->distances[i]);
    }
    if (!a->scaled) return;
    unit = mf_units_same(axes, units, lengths);
    if (unit < 0)
        snprintf(a->unscaled, sizeof a->unscaled, "its axes have incompatible units ('%.32s' and '%.32s')", units[0],
                 strcmp(units[0], units[1]) != 0 ? units[1] : units[axes - 1]);
    else
        snprintf(a->unit, sizeof a->unit, "%.*s", (int)sizeof a->unit - 1, units[unit]);
    for (int i = 0; i < axes; ++i) {
        if (!(lengths[i] > 0 && isfinite(lengths[i])))
            snprintf(a->unscaled, sizeof a->unscaled, "the spacing of its axis %d is %g%s; it must be above 0", axis[i],
                     lengths[i], isnan(lengths[i]) ? " (not known), of others it is known" : "");
        a->spacing[2 - (axis[i] - first)] = lengths[i];
    }
}

static int check_kinds(const struct nrrd *n)
{
    for (long i = 0; i < n->dimension; ++i)
        if (n->other[i] && n->sizes[i] > 1)
            return mf_fail(MF_INPUT, "'%s' has %zu values in every voxel (axis %ld is not spatial); it must have one",
                           n->array->path, n->sizes[i], i);
    return MF_OK;
}

/* Another file is one of the same folder: a header does not choose what else is opened. */
static int find_data(const struct nrrd *n)
{
    const char *slash = strrchr(n->array->path, '/'), *name = n->data;
    struct mf_array *a = n->array;
    struct stat info;

    while (strncmp(name, "./", 2) == 0) name += 2 + strspn(name + 2, "/");
    if (strchr(name, '%') || strncmp(name, "LIST", 4) == 0)
        return mf_fail(MF_INPUT, "'%s': its values lie in several data files ('%s'); write them into one", a->path,
                       n->data);
    if (strchr(name, '/') || strcmp(name, "..") == 0)
        return mf_fail(MF_INPUT, "'%s': its data file '%s' is not one file of its folder; move it beside the header",
                       a->path, n->data);
    if (snprintf(a->data, sizeof a->data, "%.*s%s", slash ? (int)(slash - a->path) + 1 : 0, a->path, name) >=
        (int)sizeof a->data)
        return mf_fail(MF_INPUT, "'%s': the name of its data file is too long", a->path);
    if (stat(a->data, &info) != 0) return mf_fail(MF_INPUT, "cannot open '%s': %s", a->data, strerror(errno));
    if (!S_ISREG(info.st_mode)) return mf_fail(MF_INPUT, "'%s' is not a plain file", a->data);
    a->bytes = (size_t)info.st_size;
    a->offset = 0;
    return MF_OK;
}

/* Where raw values begin: all of them must be there. */
static int find_values(const struct nrrd *n)
{
    struct mf_array *a = n->array;
    size_t bytes = a->size;

    if (n->line_skip) return mf_fail(MF_INPUT, "'%s': lines of text before the values are not read", a->path);
    for (int i = 0; i < a->ndim; ++i)
        if (__builtin_mul_overflow(bytes, a->shape[i], &bytes)) return damaged(n, "more values than can be counted");
    if (n->byte_skip < 0 && a->coding == MF_PLAIN)
        a->offset = a->bytes > bytes ? a->bytes - bytes : 0;
    else if (n->byte_skip > 0 && a->coding == MF_PLAIN)
        a->offset += (size_t)n->byte_skip;
    else if (n->byte_skip)
        return mf_fail(MF_INPUT, "'%s': a byte skip before packed values is not read", a->path);
    if (a->coding == MF_PLAIN && a->bytes > a->offset && bytes < a->bytes - a->offset)
        return mf_fail(MF_INPUT, "'%s' is damaged: its header says %zu bytes of values, and %zu more follow them",
                       a->data[0] ? a->data : a->path, bytes, a->bytes - a->offset - bytes);
    if (a->coding == MF_PLAIN && (a->offset > a->bytes || bytes > a->bytes - a->offset))
        return mf_fail(MF_INPUT, "'%s' is damaged: its header says %zu bytes of values, and the file has %zu",
                       a->data[0] ? a->data : a->path, bytes, a->bytes > a->offset ? a->bytes - a->offset : 0);
    return MF_OK;
}

static int understand(struct nrrd *n)
{
    MF_TRY(see_all(n));
    n->array->offset = (size_t)ftello(n->from);
    if (!n->has_sizes) return damaged(n, "it has no sizes");
    MF_TRY(set_type(n));
    MF_TRY(set_coding(n));
    MF_TRY(check_kinds(n));
    MF_TRY(check_directions(n));
    measure_directions(n);
    set_shape(n);
    set_spacing(n);
    if (*n->data) MF_TRY(find_data(n));
    return find_values(n);
}

int mf_nrrd_inspect(struct mf_array *array)
{
    struct nrrd n = {.array = array, .from = fopen(array->path, "rb")};
    int rc;

    for (int i = 0; i < MF_ARRAY_DIMS; ++i) n.distances[i] = NAN;
    rc = n.from ? understand(&n) : mf_fail(MF_INPUT, "cannot open '%s': %s", array->path, strerror(errno));
    if (n.unread) rc = mf_fail(MF_INPUT, "cannot read '%s': %s", array->path, strerror(n.unread));
    if (n.from) (void)fclose(n.from);
    return rc;
}

/* A line is not ended, and a quotation not closed, by what stands in it. */
static void print_tame(FILE *to, const char *text)
{
    for (; *text; ++text) fputc(*text == '"' || iscntrl((unsigned char)*text) ? '?' : *text, to);
}

char *mf_nrrd_header(const struct mf_micro *m, const char *data)
{
    char *text;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a header");

    fprintf(to, "NRRD0004\ntype: uint8\ndimension: %d\nsizes:", m->ndim);
    for (int i = 0; i < m->ndim; ++i) fprintf(to, " %zu", m->slab.dims[2 - i]);
    fputs("\nspacings:", to);
    for (int i = 0; i < m->ndim; ++i) fprintf(to, " %.17g", m->spacing[2 - i]);
    if (*m->unit) fputs("\nunits:", to);
    for (int i = 0; *m->unit && i < m->ndim; ++i) {
        fputs(" \"", to);
        print_tame(to, m->unit);
        fputs("\"", to);
    }
    fputs("\nencoding: raw\n", to);
    fputs(data ? "data file: " : "", to);
    fprintf(to, "%s\n", data ? data : "");
    if (fclose(to) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a header");
    return text;
}

char *mf_nrrd_values(const char *path) { return mf_format("%.*s.raw", (int)(strrchr(path, '.') - path), path); }
