/* The headers of TIFF stacks. See image.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/dataset.h"
#include "io/image.h"
#include "io/tiff_page.h"
#include "io/tiff_shape.h"
#include "src/base/err.h"

/* A compressed file may claim this many times its length. */
enum { RATIO_MAX = 2048, SLACK = 1 << 16, PAGES_MAX = 1 << 20 };

/* Does the last page, at @p at, really state that no page follows? If a file is cut in these bytes, libtiff reads it as
 * if it did. */
static int ends_whole(TIFF *tiff, uint64_t at, const char *path, size_t bytes, int *is)
{
    unsigned char word[8] = {0};
    struct mf_tiff_layout l;
    uint64_t count;
    size_t got;

    *is = 0;
    MF_TRY(mf_tiff_layout(tiff, path, &l));
    MF_TRY(mf_read_some(TIFFFileno(tiff), path, word, l.count, at, &got));
    count = mf_image_number(word, l.count, l.little);
    *is = got == l.count && at <= bytes && count <= bytes && at + l.count + count * l.entry + l.word <= bytes;
    return MF_OK;
}

/* All pages together may not claim more than the file can hold. */
static int check_claim(const struct mf_tiff_page *p, size_t pages, const struct mf_array *a)
{
    double packed = (double)p->rows * floor(((double)p->columns * p->bits * p->samples + 7) / 8) * (double)pages;
    double most = (double)a->bytes * (p->compression == COMPRESSION_NONE ? 1 : RATIO_MAX) + SLACK;

    if (packed <= most) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' claims %zu pages of %u x %u pixels, more than a file of its length can hold",
                   a->path, pages, p->rows, p->columns);
}

/* -- planes -- */

/* Formats of microscopes that say in a tag of their own what the pages are. */
static int check_makers(TIFF *tiff, const char *path)
{
    enum { METAMORPH = 33629, ZEISS = 34412, ZEISS_BYTES = 28 };
    int32_t zeiss[ZEISS_BYTES / 4]; /* mark, size, extents x y z, channels, times: little-endian as the file */
    uint32_t count = 0;
    const void *data = NULL;

    if (TIFFGetField(tiff, METAMORPH, &count, &data) && count > 1)
        return mf_fail(MF_INPUT, "'%s' is a MetaMorph stack of %u planes; save it as one page for each plane", path,
                       count);
    if (!TIFFGetField(tiff, ZEISS, &count, &data) || count < ZEISS_BYTES || !data) return MF_OK;
    memcpy(zeiss, data, sizeof zeiss);
    if (zeiss[5] <= 1 && zeiss[6] <= 1) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' holds %d channels and %d time steps (Zeiss LSM); save one channel at one time step",
                   path, zeiss[5], zeiss[6]);
}

/* Where the only page has all planes behind each other, as they are in memory: *at. */
static int lies_behind(TIFF *tiff, const struct mf_tiff_page *p, size_t planes, const struct mf_array *a, size_t *at)
{
    const uint64_t *offset = NULL, *count = NULL;
    const uint32_t strips = TIFFNumberOfStrips(tiff);
    uint16_t order = FILLORDER_MSB2LSB;
    size_t bytes = (size_t)p->rows * p->columns, all;

    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &order);
    if (TIFFIsTiled(tiff) || p->compression != COMPRESSION_NONE || p->light != PHOTOMETRIC_MINISBLACK ||
        p->samples != 1 || p->bits < 8 || order != FILLORDER_MSB2LSB ||
        !TIFFGetField(tiff, TIFFTAG_STRIPOFFSETS, &offset) || !TIFFGetField(tiff, TIFFTAG_STRIPBYTECOUNTS, &count))
        return 0;
    for (uint32_t s = 0; s + 1 < strips; ++s)
        if (offset[s] + count[s] != offset[s + 1]) return 0;
    *at = (size_t)offset[0];
    return !__builtin_mul_overflow(bytes, a->size * planes, &all) && planes <= a->bytes && *at <= a->bytes &&
           all <= a->bytes - *at;
}

static int is_equal(const struct mf_tiff_page *p, const struct mf_tiff_page *q)
{
    return p->rows == q->rows && p->columns == q->columns && p->bits == q->bits && p->format == q->format &&
           p->light == q->light && p->samples == q->samples && p->wide == q->wide;
}

/* Facts of a file while its pages are looked at. */
struct stack {
    struct mf_array *array;
    struct mf_tiff_page first;
    struct mf_tiff_shape shape;
    size_t directories, pages;
};

/* GDAL (rasterio, QGIS) writes the value as text. With white-is-zero it is inverted, as all values are. */
static void see_no_data(TIFF *tiff, const struct mf_tiff_page *p, struct mf_array *a)
{
    enum { GDAL_NODATA = 42113, LONGEST = 40 };
    char text[LONGEST] = "", *end;
    const char *tag = NULL;
    uint32_t count = 0;
    double v;

    if (!TIFFGetField(tiff, GDAL_NODATA, &count, &tag) || !tag || p->light == PHOTOMETRIC_PALETTE) return;
    snprintf(text, sizeof text, "%.*s", (int)(count < LONGEST ? count : LONGEST - 1), tag);
    v = strtod(text, &end);
    if (end == text || (p->light == PHOTOMETRIC_MINISWHITE && a->kind != 'u')) return;
    if (p->light == PHOTOMETRIC_MINISWHITE) v = ldexp(1, a->bits) - 1 - v;
    if (a->kind == 'f' && a->size == sizeof(float)) v = (double)(float)v;
    mf_array_declare_value(a, "GDAL_NODATA", v);
}

static int see_first(TIFF *tiff, struct stack *s)
{
    struct mf_array *a = s->array;
    uint16_t orientation = ORIENTATION_TOPLEFT;
    const char *text;

    MF_TRY(mf_tiff_page_type(&s->first, a));
    MF_TRY(check_claim(&s->first, 1, a));
    MF_TRY(check_makers(tiff, a->path));
    if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text))
        MF_TRY(mf_tiff_described(a->path, text, s->first.rows, s->first.columns, s->first.samples, &s->shape));
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &orientation);
    if (orientation != ORIENTATION_TOPLEFT) a->said |= MF_SAID_TURNED;
    if (s->first.light == PHOTOMETRIC_MINISWHITE) a->said |= MF_SAID_WHITE;
    if (s->first.alpha) a->said |= MF_SAID_ALPHA;
    if (s->first.light == PHOTOMETRIC_PALETTE && !s->first.same) a->said |= MF_SAID_PALETTE;
    if (s->first.colours > 1) a->said |= MF_SAID_GREY;
    if (s->shape.scaled) a->said |= MF_SAID_SCALED;
    see_no_data(tiff, &s->first, a);
    return MF_OK;
}

static int see_page(TIFF *tiff, struct stack *s)
{
    struct mf_tiff_page p;

    if (++s->directories > PAGES_MAX)
        return mf_fail(MF_INPUT, "'%s' has more than %d pages", s->array->path, PAGES_MAX);
    if (mf_tiff_is_reduced(tiff)) {
        s->array->said |= MF_SAID_REDUCED;
        return MF_OK;
    }
    MF_TRY(mf_tiff_page_read(tiff, s->array->path, &p));
    if (p.lossy) s->array->said |= MF_SAID_LOSSY;
    if (s->pages++ == 0) {
        s->first = p;
        return see_first(tiff, s);
    }
    if (is_equal(&p, &s->first)) return MF_OK;
    return mf_fail(MF_INPUT, "'%s': page %zu differs from the first in size or type; save a stack of equal pages",
                   s->array->path, s->directories);
}

/* Takes the meaning of the planes, and the number of pages, from the description. */
static int set_planes(TIFF *tiff, const struct stack *s, struct mf_array *a)
{
    size_t planes = s->pages;

    if (s->shape.behind && s->directories == 1 && s->shape.planes > 1 &&
        lies_behind(tiff, &s->first, s->shape.planes, a, &a->offset)) {
        planes = s->shape.planes;
        a->coding = MF_PLAIN;
        a->swap = TIFFIsByteSwapped(tiff);
    } else if (s->shape.planes && s->shape.planes != s->pages && !s->shape.each) {
        return mf_fail(MF_INPUT, "'%s' declares %zu planes (%s) but holds %zu; save it again, one page for each plane",
                       a->path, s->shape.planes, s->shape.by, s->pages);
    }
    if (planes > 1 && planes <= MF_FEW && planes < s->first.rows && !s->shape.planes) a->said |= MF_SAID_FEW;
    a->ndim = planes > 1 ? 3 : 2;
    a->shape[0] = planes;
    a->shape[a->ndim - 2] = s->first.rows;
    a->shape[a->ndim - 1] = s->first.columns;
    return MF_OK;
}

static int inspect(TIFF *tiff, struct mf_array *a)
{
    struct stack s = {.array = a};
    uint64_t last;
    int whole;

    do {
        last = TIFFCurrentDirOffset(tiff);
        MF_TRY(see_page(tiff, &s));
    } while (TIFFReadDirectory(tiff));
    if (*mf_tiff_said()) return mf_tiff_damaged(a->path);
    MF_TRY(ends_whole(tiff, last, a->path, a->bytes, &whole));
    if (!whole)
        return mf_fail(MF_INPUT, "'%s' is a damaged TIFF: it is cut behind the header of page %zu", a->path,
                       s.directories);
    if (s.pages == 0)
        return mf_fail(MF_INPUT, "'%s' holds reduced images (thumbnails) alone; save the image itself", a->path);
    MF_TRY(check_claim(&s.first, s.pages, a));
    return set_planes(tiff, &s, a);
}

int mf_tiff_inspect(struct mf_array *array)
{
    TIFF *tiff = mf_tiff_open(array->path, "rm");
    int rc = tiff ? inspect(tiff, array) : mf_tiff_damaged(array->path);

    if (tiff) TIFFClose(tiff);
    return rc;
}
