/* See tiff_shape.h. */
#include "io/tiff_shape.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { AXES = 16, SHAPE_TEXT = 200 };

static size_t counted(const char *digits)
{
    return isdigit((unsigned char)*digits) ? (size_t)strtoull(digits, NULL, 10) : 0;
}

static int refuse_axes(const char *path, const char *by, size_t channels, size_t planes, size_t times)
{
    return mf_fail(MF_INPUT,
                   "'%s' holds %zu channel%s, %zu plane%s along z and %zu time step%s (%s); save one channel at one "
                   "time step, or declare all pages as %s",
                   path, channels, MF_S(channels), planes, MF_S(planes), times, MF_S(times), by,
                   strcmp(by, "ImageJ") == 0 ? "slices (ImageJ: Image > Properties)" : "axes ZYX");
}

/* -- ImageJ: a line "name=value" for each fact -- */

static size_t line_value(const char *text, const char *name, size_t otherwise)
{
    const size_t n = strlen(name);

    for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
        if (strncmp(at + 1, name, n) == 0 && at[1 + n] == '=') return counted(at + 2 + n);
    return otherwise;
}

static double line_real(const char *text, const char *name, double otherwise)
{
    const char *line = strstr(text, name);

    return line ? strtod(line + strlen(name), NULL) : otherwise;
}

static int imagej(const char *path, const char *text, struct mf_tiff_shape *shape)
{
    const size_t channels = line_value(text, "channels", 1), times = line_value(text, "frames", 1),
                 slices = line_value(text, "slices", 0), images = line_value(text, "images", slices);

    *shape = (struct mf_tiff_shape){.by = "ImageJ", .planes = images, .behind = 1};
    shape->scaled = line_real(text, "\nc0=", 0) != 0 || line_real(text, "\nc1=", 1) != 1;
    if (channels != 1 || times != 1) return refuse_axes(path, "ImageJ", channels, slices ? slices : 1, times);
    if (slices && slices != images)
        return mf_fail(MF_INPUT, "'%s' declares %zu images and %zu slices (ImageJ); save it again", path, images,
                       slices);
    return MF_OK;
}

/* -- OME: XML -- */

/* The number of an attribute in the tag [tag, end). */
static size_t attribute(const char *tag, const char *end, const char *name, size_t otherwise)
{
    const size_t n = strlen(name);

    for (const char *at = tag + 1; at + n + 2 < end; ++at)
        if (isspace((unsigned char)at[-1]) && memcmp(at, name, n) == 0 && at[n] == '=') return counted(at + n + 2);
    return otherwise;
}

/* The next opening tag of that name, with or without a prefix. *end: its end. */
static const char *tag_of(const char *text, const char *name, const char **end)
{
    const size_t n = strlen(name);

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        const char *from = at;

        if (from > text && from[-1] == ':')
            for (--from; from > text && isalnum((unsigned char)from[-1]);) --from;
        if (from == text || from[-1] != '<' || !(isspace((unsigned char)at[n]) || at[n] == '/' || at[n] == '>'))
            continue;
        *end = strchr(at, '>');
        return *end ? at : NULL;
    }
    return NULL;
}

/* Do planes lie in the order of z? */
static int in_order(const char *text)
{
    const char *end, *tag = tag_of(text, "TiffData", &end);

    for (; tag; tag = tag_of(end, "TiffData", &end)) {
        const size_t z = attribute(tag, end, "FirstZ", 0);

        if (attribute(tag, end, "IFD", z) != z) return 0;
    }
    return 1;
}

/* Does a plane lie in another file than the first? Files are called by their names. */
static int is_split(const char *text)
{
    const char *name = strstr(text, "FileName="), *next = name;

    while (next && (next = strstr(next + 1, "FileName=")))
        if (strncmp(next, name, strcspn(name + 10, "\"'") + 11) != 0) return 1;
    return 0;
}

static int ome(const char *path, const char *text, const size_t page[3], struct mf_tiff_shape *shape)
{
    const char *end, *more, *tag = tag_of(text, "Pixels", &end);
    size_t channels, times;

    if (tag_of(text, "BinaryOnly", &more))
        return mf_fail(MF_INPUT, "another file describes '%s' (OME); save it as one TIFF", path);
    if (!tag) return MF_OK;
    if (tag_of(end, "Pixels", &more))
        return mf_fail(MF_INPUT, "'%s' holds several images (OME); save one of them as its own TIFF", path);
    *shape = (struct mf_tiff_shape){.by = "OME", .planes = attribute(tag, end, "SizeZ", 0)};
    channels = attribute(tag, end, "SizeC", 1);
    times = attribute(tag, end, "SizeT", 1);
    if ((channels != 1 && channels != page[2]) || times != 1)
        return refuse_axes(path, "OME", channels, shape->planes, times);
    if (attribute(tag, end, "SizeY", page[0]) != page[0] || attribute(tag, end, "SizeX", page[1]) != page[1])
        return mf_fail(MF_INPUT, "'%s' has pages of %zu x %zu pixels but declares others (OME); save it again", path,
                       page[0], page[1]);
    if (is_split(text))
        return mf_fail(MF_INPUT, "the planes of '%s' lie in several files (OME); save them as one TIFF", path);
    if (!in_order(text))
        return mf_fail(MF_INPUT, "the pages of '%s' are not in the order of z (OME); save it again", path);
    return MF_OK;
}

/* -- tifffile: {"shape": [6, 40, 56], "axes": "ZYX"}, before 2018 shape=(6, 40, 56) -- */

static int list_of(const char *text, size_t axis[AXES])
{
    const char *at = text + strcspn(text, ":=");
    int n = 0;

    at += *at != '\0';
    at += strspn(at, " ");
    if (*at != '[' && *at != '(') return 0; /* another "shape" than that of tifffile */

    while (at && n < AXES && (at[0] == '[' || at[0] == '(' || at[0] == ',')) {
        ++at;
        while (*at == ' ') ++at;
        if (!isdigit((unsigned char)*at)) break;
        axis[n++] = counted(at);
        while (isdigit((unsigned char)*at)) ++at;
    }
    return n;
}

/* How many axes stand before those of a page, [rows][columns][samples] or [samples][rows][columns]. -1: the page has
 * other axes. */
static int before_page(const size_t *axis, int n, const size_t page[3])
{
    const size_t last[2][3] = {{page[0], page[1], page[2]}, {page[2], page[0], page[1]}};

    if (page[2] == 1 && n >= 2 && memcmp(axis + n - 2, page, 2 * sizeof *axis) == 0) return n - 2;
    for (int i = 0; n >= 3 && i < 2; ++i)
        if (memcmp(axis + n - 3, last[i], sizeof last[i]) == 0) return n - 3;
    return n == 1 && page[0] == 1 && axis[0] == page[1] ? 0 : -1;
}

/* Is it the letter of planes along z, or of an axis that nobody named? */
static int is_depth(char letter) { return letter == 'Z' || letter == 'Q' || letter == 'I'; }

static const char *shape_text(const size_t *axis, int n, char text[SHAPE_TEXT])
{
    size_t at = 0;

    for (int i = 0; i < n && at < SHAPE_TEXT - 30; ++i)
        at += (size_t)snprintf(text + at, SHAPE_TEXT - at, "%s%zu", i ? " x " : "", axis[i]);
    return text;
}

static int tifffile(const char *path, const char *text, const char *list, const size_t page[3],
                    struct mf_tiff_shape *shape)
{
    const char *letters = strstr(text, "\"axes\"");
    char said[SHAPE_TEXT] = "";
    size_t axis[AXES];
    const int n = list_of(list, axis), before = before_page(axis, n, page);
    size_t named = 0;
    int stacked = 0, depth = 1;

    if (letters && (letters = strchr(letters + 6, '"'))) named = strspn(++letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    *shape = (struct mf_tiff_shape){.by = "tifffile", .planes = 1, .behind = 1};
    if (before < 0)
        return mf_fail(MF_INPUT, "'%s' declares the shape %s (tifffile), but its pages have %zu x %zu pixels", path,
                       shape_text(axis, n, said), page[0], page[1]);
    for (int i = 0; i < before; ++i) {
        if (__builtin_mul_overflow(shape->planes, axis[i], &shape->planes)) shape->planes = SIZE_MAX;
        if (axis[i] == 1) continue;
        ++stacked;
        depth &= named != (size_t)n || is_depth(letters[i]);
    }
    shape->each = shape->planes == 1;
    if (stacked < 2 && depth) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' has the shape %s%s%.*s (tifffile), so not all pages are planes along z; save one channel at "
                   "one time step, or declare all pages as axes ZYX",
                   path, shape_text(axis, n, said), named ? ", axes " : "", named < AXES ? (int)named : AXES,
                   named ? letters : "");
}

int mf_tiff_described(const char *path, const char *text, size_t rows, size_t columns, size_t samples,
                      struct mf_tiff_shape *shape)
{
    const size_t page[3] = {rows, columns, samples};
    size_t axis[AXES];
    const char *list = text[0] == '{' ? strstr(text, "\"shape\"") : strncmp(text, "shape=", 6) == 0 ? text : NULL;

    *shape = (struct mf_tiff_shape){0};
    if (strncmp(text, "ImageJ=", 7) == 0) return imagej(path, text, shape);
    if (list && list_of(list, axis) > 0) return tifffile(path, text, list, page, shape);
    return text[0] == '<' || strstr(text, "<OME") ? ome(path, text, page, shape) : MF_OK;
}
