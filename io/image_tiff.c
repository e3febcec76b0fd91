/* TIFF stacks. See image.h. */
#include "io/image.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/atomic.h"
#include "src/base/err.h"

/* A compressed file may claim this many times its length; tiles and bands of tiles must stay below these sizes. */
enum { RATIO_MAX = 2048, SLACK = 1 << 16, PAGES_MAX = 1 << 20, TILE_MAX = 64 << 20 };
#define BAND_MAX ((size_t)1 << 30)

static char last_error[200];

static void on_error(const char *module, const char *format, va_list args)
{
    (void)module;
    vsnprintf(last_error, sizeof last_error, format, args);
}

static TIFF *tiff_open(const char *path, const char *mode)
{
    last_error[0] = '\0';
    TIFFSetErrorHandler(on_error);
    TIFFSetWarningHandler(NULL);
    return TIFFOpen(path, mode);
}

static int damaged(const char *path)
{
    return mf_fail(MF_INPUT, "'%s' is a damaged TIFF: %s", path, last_error[0] ? last_error : "no sense in it");
}

/* One page's header. */
struct page {
    uint32_t rows, columns;
    uint16_t bits, samples, format, light, compression;
};

static int page_read(TIFF *tiff, const char *path, struct page *p)
{
    *p = (struct page){0};
    if (!TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &p->rows) || !TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &p->columns))
        return damaged(path);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &p->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &p->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &p->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &p->compression);
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &p->light)) p->light = PHOTOMETRIC_MINISBLACK;
    if (p->samples != 1 || (p->light != PHOTOMETRIC_MINISBLACK && p->light != PHOTOMETRIC_MINISWHITE))
        return mf_fail(MF_INPUT, "'%s' is a colour or multi-channel TIFF; convert it to plain grey", path);
    if (!TIFFIsCODECConfigured(p->compression))
        return mf_fail(MF_INPUT, "'%s' uses TIFF compression %d, which is not known here", path, p->compression);
    if (!p->rows || !p->columns) return damaged(path);
    return MF_OK;
}

static int page_type(const struct page *p, struct mf_array *a)
{
    int real = p->format == SAMPLEFORMAT_IEEEFP,
        whole = p->format == SAMPLEFORMAT_UINT || p->format == SAMPLEFORMAT_INT;

    if (!(real && (p->bits == 32 || p->bits == 64)) && !(whole && (p->bits == 8 || p->bits == 16 || p->bits == 32)) &&
        !(p->format == SAMPLEFORMAT_UINT && p->bits == 1))
        return mf_fail(MF_INPUT, "'%s' has TIFF samples of %d bits of format %d; want grey of 1, 8, 16 or 32 bits",
                       a->path, p->bits, p->format);
    a->kind = real ? 'f' : p->format == SAMPLEFORMAT_INT ? 'i' : 'u';
    a->size = p->bits == 1 ? 1 : p->bits / 8;
    return MF_OK;
}

/* The page at a place, the last one, says that none follows: libtiff takes a file that is cut in these bytes for one
 * that says so. */
static int ends_whole(TIFF *tiff, uint64_t at, const char *path, size_t bytes, int *is)
{
    unsigned char head[4], word[8] = {0};
    const int file = TIFFFileno(tiff);
    uint64_t count = 0;
    int large, little;
    size_t wide, got;

    *is = 0;
    MF_TRY(mf_read_at(file, path, head, sizeof head, 0)); /* it was read before */
    little = head[0] == 'I';
    large = head[little ? 2 : 3] == 43;
    wide = large ? 8 : 2;
    MF_TRY(mf_read_some(file, path, word, wide, at, &got));
    for (size_t i = 0; i < wide; ++i) count = count << 8 | word[little ? wide - 1 - i : i];
    *is = got == wide && at <= bytes && count <= bytes &&
          at + wide + count * (large ? 20 : 12) + (large ? 8 : 4) <= bytes;
    return MF_OK;
}

/* All pages together may not claim more than the file can hold. */
static int check_claim(const struct page *p, size_t pages, const struct mf_array *a)
{
    double packed = (double)p->rows * floor(((double)p->columns * p->bits + 7) / 8) * (double)pages;
    double most = (double)a->bytes * (p->compression == COMPRESSION_NONE ? 1 : RATIO_MAX) + SLACK;

    if (packed <= most) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' claims %zu pages of %u x %u pixels, more than a file of its length can hold",
                   a->path, pages, p->rows, p->columns);
}

static int check_tiles(TIFF *tiff, const char *path, const struct page *p)
{
    uint32_t rows = 0, columns = 0;

    if (!TIFFIsTiled(tiff)) return MF_OK;
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &rows);
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &columns);
    if (!rows || !columns || (double)rows * columns * p->bits / 8 > TILE_MAX)
        return mf_fail(MF_INPUT, "'%s' has TIFF tiles of %u x %u pixels", path, rows, columns);
    return MF_OK;
}

static int inspect(TIFF *tiff, struct mf_array *a)
{
    struct page first, p;
    uint64_t last = TIFFCurrentDirOffset(tiff);
    size_t pages = 1;
    int whole;

    MF_TRY(page_read(tiff, a->path, &first));
    MF_TRY(page_type(&first, a));
    MF_TRY(check_claim(&first, 1, a));
    while (TIFFReadDirectory(tiff)) {
        last = TIFFCurrentDirOffset(tiff);
        MF_TRY(page_read(tiff, a->path, &p));
        if (++pages > PAGES_MAX) return mf_fail(MF_INPUT, "'%s' has more than %d pages", a->path, PAGES_MAX);
        if (p.rows != first.rows || p.columns != first.columns || p.bits != first.bits || p.format != first.format ||
            p.light != first.light)
            return mf_fail(MF_INPUT,
                           "'%s': page %zu differs from the first in size or type; want a stack of equal pages",
                           a->path, pages);
    }
    if (last_error[0]) return damaged(a->path);
    MF_TRY(ends_whole(tiff, last, a->path, a->bytes, &whole));
    if (!whole)
        return mf_fail(MF_INPUT, "'%s' is a damaged TIFF: it is cut behind the header of page %zu", a->path, pages);
    MF_TRY(check_claim(&first, pages, a));
    a->ndim = pages > 1 ? 3 : 2;
    a->shape[0] = pages;
    a->shape[a->ndim - 2] = first.rows;
    a->shape[a->ndim - 1] = first.columns;
    return MF_OK;
}

int mf_tiff_inspect(struct mf_array *array)
{
    TIFF *tiff = tiff_open(array->path, "rm");
    int rc = tiff ? inspect(tiff, array) : damaged(array->path);

    if (tiff) TIFFClose(tiff);
    return rc;
}

/* Bits to bytes, and black is 0. */
static void unpack(const struct page *p, const uint8_t *row, uint8_t *out)
{
    uint16_t wide;

    for (size_t x = 0; x < p->columns; ++x) {
        if (p->bits == 1) out[x] = (uint8_t)((row[x / 8] >> (7 - x % 8) & 1) ^ (p->light == PHOTOMETRIC_MINISWHITE));
        if (p->bits == 8) out[x] = (uint8_t)(p->light == PHOTOMETRIC_MINISWHITE ? 255 - row[x] : row[x]);
        if (p->bits == 16) {
            memcpy(&wide, row + 2 * x, sizeof wide);
            if (p->light == PHOTOMETRIC_MINISWHITE) wide = (uint16_t)(65535 - wide);
            memcpy(out + 2 * x, &wide, sizeof wide);
        }
    }
    if (p->bits > 16) memcpy(out, row, (size_t)p->columns * p->bits / 8);
}

/* Where rows of a page go. */
struct outlet {
    const struct mf_array *array;
    const struct page *page;
    size_t first, count; /* rows wanted */
    uint8_t *out;        /* one row */
    FILE *to;
};

static int send_row(const struct outlet *o, size_t y, const uint8_t *row)
{
    if (y < o->first || y >= o->first + o->count) return MF_OK;
    unpack(o->page, row, o->out);
    return fwrite(o->out, o->array->size, o->page->columns, o->to) == o->page->columns ? MF_OK : MF_INPUT;
}

static int send_strips(TIFF *tiff, const struct outlet *o)
{
    uint8_t *row = calloc(1, (size_t)TIFFScanlineSize64(tiff) + 8);
    int rc = row ? MF_OK : mf_fail(MF_MEMORY, "no memory to read '%s'", o->array->path);

    for (uint32_t y = 0; rc == MF_OK && y < o->first + o->count; ++y)
        rc = TIFFReadScanline(tiff, row, y, 0) == 1 ? send_row(o, y, row) : damaged(o->array->path);
    free(row);
    return rc;
}

/* One band of tiles into rows of `stride` bytes. */
static int read_band(TIFF *tiff, const struct outlet *o, uint32_t y, uint8_t *tile, uint8_t *band, size_t stride)
{
    uint32_t rows = 0, columns = 0;
    size_t width;

    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &rows);
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &columns);
    width = (size_t)TIFFTileRowSize64(tiff);
    for (uint32_t x = 0; x < o->page->columns; x += columns) {
        size_t at = (size_t)(x / columns) * width;

        if (TIFFReadTile(tiff, tile, x, y, 0, 0) < 0) return damaged(o->array->path);
        for (uint32_t r = 0; r < rows; ++r) memcpy(band + r * stride + at, tile + r * width, width);
    }
    return MF_OK;
}

static int send_tiles(TIFF *tiff, const struct outlet *o)
{
    uint32_t rows = 0, columns = 0;
    size_t stride;
    uint8_t *tile, *band;
    int rc = MF_OK;

    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &rows);
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &columns);
    stride = (size_t)TIFFTileRowSize64(tiff) * ((o->page->columns - 1) / columns + 1);
    if (o->page->bits == 1 && columns % 8) return damaged(o->array->path);
    if (stride > BAND_MAX / rows) return damaged(o->array->path);
    tile = calloc(1, (size_t)TIFFTileSize64(tiff));
    band = calloc(rows, stride);
    if (!tile || !band) rc = mf_fail(MF_MEMORY, "no memory to read '%s'", o->array->path);
    for (uint32_t y = 0; rc == MF_OK && y < o->page->rows; y += rows) {
        if (y >= o->first + o->count) break;
        rc = read_band(tiff, o, y, tile, band, stride);
        for (uint32_t r = 0; rc == MF_OK && r < rows && y + r < o->page->rows; ++r)
            rc = send_row(o, y + r, band + r * stride);
    }
    free(band);
    free(tile);
    return rc;
}

static int send_page(TIFF *tiff, const struct mf_array *a, size_t first, size_t count, FILE *to)
{
    struct page p;
    struct mf_array now = *a;
    struct outlet o = {a, &p, first, count, NULL, to};
    int rc;

    MF_TRY(page_read(tiff, a->path, &p));
    MF_TRY(page_type(&p, &now));
    MF_TRY(check_tiles(tiff, a->path, &p));
    if (p.rows != a->shape[a->ndim - 2] || p.columns != a->shape[a->ndim - 1] || now.size != a->size)
        return mf_fail(MF_INPUT, "'%s' changed while it was read", a->path);
    o.out = malloc((size_t)p.columns * a->size);
    if (!o.out) return mf_fail(MF_MEMORY, "no memory to read '%s'", a->path);
    rc = TIFFIsTiled(tiff) ? send_tiles(tiff, &o) : send_strips(tiff, &o);
    free(o.out);
    return rc;
}

static int send_pages(TIFF *tiff, const struct mf_array *a, size_t first, size_t count, FILE *to)
{
    if (a->ndim == 2) return send_page(tiff, a, first, count, to);
    for (size_t z = 0; z < first + count; ++z) {
        if (z && !TIFFReadDirectory(tiff)) return damaged(a->path);
        if (z >= first) MF_TRY(send_page(tiff, a, 0, a->shape[1], to));
    }
    return MF_OK;
}

int mf_tiff_send(const struct mf_array *array, size_t first, size_t count, FILE *to)
{
    TIFF *tiff = tiff_open(array->path, "rm");
    int rc = tiff ? send_pages(tiff, array, first, count, to) : damaged(array->path);

    if (tiff) TIFFClose(tiff);
    return rc;
}
