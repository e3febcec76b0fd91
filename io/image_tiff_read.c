/* The pixels of TIFF stacks. See image.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/image.h"
#include "io/tiff_page.h"
#include "src/base/err.h"

/* Tiles, and bands of tiles or strips, stay below these sizes. */
enum { TILE_MAX = 64 << 20 };
#define BAND_MAX ((size_t)1 << 30)

/* Sample i of a row. */
static uint64_t sample(const struct mf_tiff_page *p, const uint8_t *row, size_t i)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    size_t each;

    switch (p->bits) {
    case 8: return row[i];
    case 16: memcpy(&two, row + 2 * i, sizeof two); return two;
    case 32: memcpy(&four, row + 4 * i, sizeof four); return four;
    case 64: memcpy(&eight, row + 8 * i, sizeof eight); return eight;
    default:
        each = 8 / p->bits;
        return (unsigned)row[i / each] >> (8 - p->bits * (i % each + 1)) & ((1U << p->bits) - 1);
    }
}

static void put(uint8_t *out, size_t size, size_t x, uint64_t v)
{
    const uint16_t two = (uint16_t)v;
    const uint32_t four = (uint32_t)v;

    switch (size) {
    case 1: out[x] = (uint8_t)v; break;
    case 2: memcpy(out + 2 * x, &two, sizeof two); break;
    case 4: memcpy(out + 4 * x, &four, sizeof four); break;
    default: memcpy(out + 8 * x, &v, sizeof v);
    }
}

/* Where rows of a page go. */
struct outlet {
    const struct mf_array *array;
    const struct mf_tiff_page *page;
    size_t first, count; /* rows wanted */
    uint8_t *out;        /* one row */
    FILE *to;
};

/* Real numbers have no largest value: white is taken for 1 where all lie from 0 to 1. */
static int turn_real(const struct outlet *o, uint64_t *v)
{
    uint32_t four = (uint32_t)*v;
    double real;
    float single;

    memcpy(&real, v, sizeof real);
    memcpy(&single, &four, sizeof single);
    if (o->page->bits == 32) real = (double)single;
    if (!(real >= 0 && real <= 1))
        return mf_fail(MF_INPUT,
                       "'%s' is white-is-zero and holds real numbers beyond 0 to 1, whose white is unknown; save it "
                       "black-is-zero",
                       o->array->path);
    real = 1 - real;
    single = 1 - single;
    memcpy(v, &real, sizeof real);
    if (o->page->bits == 64) return MF_OK;
    memcpy(&four, &single, sizeof four);
    *v = four;
    return MF_OK;
}

/* Black is 0. */
static int turn_over(const struct outlet *o, uint64_t *v)
{
    if (o->page->format == SAMPLEFORMAT_IEEEFP) return turn_real(o, v);
    *v = ~*v & UINT64_MAX >> (64 - o->page->bits);
    return MF_OK;
}

/* A pixel as the file has it: one value, or one of each colour. */
struct pixel {
    size_t count;
    uint64_t value[3];
};

/* The colours of a palette's entry. */
static struct pixel look_up(const struct mf_tiff_page *p, uint64_t entry)
{
    struct pixel is = {3, {0}};

    for (size_t c = 0; c < 3; ++c) is.value[c] = p->wide ? p->map[c][entry] : p->map[c][entry] >> 8;
    return is;
}

/* Some programs take a volume of three planes for a picture of three colours. */
static int refuse_colours(const struct outlet *o)
{
    if (o->page->light == PHOTOMETRIC_PALETTE) return mf_image_colours(o->array, "has a palette of colours", "");
    return mf_image_colours(
        o->array, "is a colour image",
        o->page->planes == 1 ? "" : ", or, if its colours are planes of a volume, save them as grey pages");
}

/* Where all colours are not wanted, they must be equal. */
static int put_pixel(const struct outlet *o, size_t x, const struct pixel *is)
{
    const size_t each = mf_image_values(o->array);

    for (size_t c = 1; each == 1 && !o->array->colours && c < is->count; ++c)
        if (is->value[c] != is->value[0]) return refuse_colours(o);
    for (size_t c = 0; c < each; ++c) put(o->out, o->array->size, x * each + c, is->value[is->count == 3 ? c : 0]);
    return MF_OK;
}

/* One row as values; @p row: of each plane of samples. */
static int take_row(const struct outlet *o, const uint8_t *const row[4])
{
    const struct mf_tiff_page *p = o->page;
    const size_t step = p->planes > 1 ? 1 : p->samples, next = p->planes > 1 ? 0 : 1;

    for (size_t x = 0; x < p->columns; ++x) {
        struct pixel is = {(size_t)p->colours, {0}};

        for (size_t c = 0; c < is.count; ++c) is.value[c] = sample(p, row[c], x * step + c * next);
        if (p->alpha && sample(p, row[is.count], x * step + is.count * next) != UINT64_MAX >> (64 - p->bits))
            return mf_fail(MF_INPUT, "'%s' has transparent pixels; save it as plain grey", o->array->path);
        if (p->light == PHOTOMETRIC_PALETTE) is = look_up(p, is.value[0]);
        if (p->light == PHOTOMETRIC_MINISWHITE) MF_TRY(turn_over(o, &is.value[0]));
        MF_TRY(put_pixel(o, x, &is));
    }
    return MF_OK;
}

static int send_row(const struct outlet *o, const uint8_t *const row[4])
{
    const size_t size = o->array->size, each = mf_image_values(o->array), n = o->page->columns * each;
    const int plain =
        o->page->samples == 1 && o->page->light == PHOTOMETRIC_MINISBLACK && o->page->bits >= 8 && each == 1;

    if (!plain) MF_TRY(take_row(o, row));
    return fwrite(plain ? row[0] : o->out, size, n, o->to) == n ? MF_OK : MF_INPUT;
}

/* A row of tiles, or a strip: of each plane of samples [height][stride]. */
struct band {
    uint32_t height, tile_columns; /* 0: a strip */
    size_t stride;
    uint8_t *bytes, *tile;
};

/* An uncompressed piece that its header calls shorter than it must be is not read on into its neighbour. */
static int check_piece(TIFF *tiff, const struct outlet *o, uint32_t piece, size_t bytes)
{
    const uint64_t *count = NULL;

    if (o->page->compression != COMPRESSION_NONE) return MF_OK;
    if (!TIFFGetField(tiff, TIFFIsTiled(tiff) ? TIFFTAG_TILEBYTECOUNTS : TIFFTAG_STRIPBYTECOUNTS, &count))
        return mf_tiff_damaged(o->array->path);
    if (count[piece] >= bytes) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is a damaged TIFF: piece %u has %llu bytes, and %zu are needed", o->array->path,
                   piece, (unsigned long long)count[piece], bytes);
}

static int read_strip(TIFF *tiff, const struct outlet *o, uint32_t y, uint16_t plane, uint32_t rows, uint8_t *to)
{
    const uint32_t strip = TIFFComputeStrip(tiff, y, plane);
    const tmsize_t bytes = TIFFVStripSize(tiff, rows);

    MF_TRY(check_piece(tiff, o, strip, (size_t)bytes));
    if (bytes <= 0 || TIFFReadEncodedStrip(tiff, strip, to, bytes) != bytes) return mf_tiff_damaged(o->array->path);
    return MF_OK;
}

static int read_tiles(TIFF *tiff, const struct outlet *o, const struct band *b, uint32_t y, uint16_t plane, uint8_t *to)
{
    const size_t width = (size_t)TIFFTileRowSize64(tiff);
    const tmsize_t bytes = TIFFTileSize(tiff);

    for (uint32_t x = 0; x < o->page->columns; x += b->tile_columns) {
        const size_t at = (size_t)(x / b->tile_columns) * width;

        MF_TRY(check_piece(tiff, o, TIFFComputeTile(tiff, x, y, 0, plane), (size_t)bytes));
        if (TIFFReadTile(tiff, b->tile, x, y, 0, plane) != bytes) return mf_tiff_damaged(o->array->path);
        for (uint32_t r = 0; r < b->height; ++r) memcpy(to + r * b->stride + at, b->tile + r * width, width);
        if (o->page->columns - x <= b->tile_columns) break;
    }
    return MF_OK;
}

/* Reads the band that begins at row y, and sends what is wanted of its rows. */
static int send_band(TIFF *tiff, const struct outlet *o, const struct band *b, uint32_t y)
{
    const uint32_t rows = o->page->rows - y < b->height ? o->page->rows - y : b->height;
    const uint8_t *row[4] = {0};
    const size_t whole = b->stride * b->height;

    for (uint16_t s = 0; s < o->page->planes; ++s)
        MF_TRY(b->tile_columns ? read_tiles(tiff, o, b, y, s, b->bytes + s * whole)
                               : read_strip(tiff, o, y, s, rows, b->bytes + s * whole));
    if (*mf_tiff_said()) return mf_tiff_damaged(o->array->path);
    for (uint32_t r = 0; r < rows; ++r) {
        if (y + r < o->first || y + r >= o->first + o->count) continue;
        for (int c = 0; c < o->page->samples; ++c)
            row[c] = b->bytes + r * b->stride + (o->page->planes > 1 ? (size_t)c * whole : 0);
        MF_TRY(send_row(o, row));
    }
    return MF_OK;
}

/* Sizes of a band, checked. */
static int band_size(TIFF *tiff, const struct outlet *o, struct band *b)
{
    const struct mf_tiff_page *p = o->page;
    const size_t pixel = (size_t)p->bits * (p->samples / p->planes);

    if (TIFFIsTiled(tiff)) {
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &b->height);
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &b->tile_columns);
        if (!b->height || !b->tile_columns || (double)b->height * b->tile_columns * (double)pixel / 8 > TILE_MAX)
            return mf_fail(MF_INPUT, "'%s' has TIFF tiles of %u x %u pixels", o->array->path, b->height,
                           b->tile_columns);
        if (b->tile_columns * pixel % 8) return mf_tiff_damaged(o->array->path);
        b->stride = b->tile_columns * pixel / 8 * ((p->columns - 1) / b->tile_columns + 1);
    } else {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &b->height);
        if (b->height > p->rows) b->height = p->rows;
        b->stride = (p->columns * pixel + 7) / 8;
    }
    if (b->height && b->stride == (b->tile_columns ? b->stride : (size_t)TIFFScanlineSize64(tiff)) &&
        b->stride <= BAND_MAX / p->planes / b->height)
        return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has TIFF strips or tiles of %u rows of %zu bytes; save it with smaller ones",
                   o->array->path, b->height, b->stride);
}

static int send_bands(TIFF *tiff, const struct outlet *o)
{
    struct band b = {0};
    int rc;

    MF_TRY(band_size(tiff, o, &b));
    b.bytes = calloc((size_t)b.height * o->page->planes, b.stride);
    b.tile = calloc(1, b.tile_columns ? (size_t)TIFFTileSize64(tiff) : 1);
    rc = b.bytes && b.tile ? MF_OK : mf_fail(MF_MEMORY, "no memory to read '%s'", o->array->path);
    for (size_t y = o->first / b.height * b.height; rc == MF_OK && y < o->first + o->count; y += b.height)
        rc = send_band(tiff, o, &b, (uint32_t)y);
    free(b.tile);
    free(b.bytes);
    return rc;
}

/* Axes of places. */
static int axes_of(const struct mf_array *a) { return a->channels ? a->ndim - 1 : a->ndim; }

static int send_page(TIFF *tiff, const struct mf_array *a, size_t first, size_t count, FILE *to)
{
    struct mf_tiff_page p;
    struct mf_array now = *a;
    struct outlet o = {a, &p, first, count, NULL, to};
    int rc;

    mf_tiff_decoding(0);
    MF_TRY(mf_tiff_page_read(tiff, a->path, &p));
    MF_TRY(mf_tiff_page_type(&p, &now));
    if (p.rows != a->shape[axes_of(a) - 2] || p.columns != a->shape[axes_of(a) - 1] || now.size != a->size)
        return mf_fail(MF_INPUT, "'%s' changed while it was read", a->path);
    o.out = malloc((size_t)p.columns * mf_image_values(a) * a->size);
    if (!o.out) return mf_fail(MF_MEMORY, "no memory to read '%s'", a->path);
    mf_tiff_decoding(1);
    rc = send_bands(tiff, &o);
    mf_tiff_decoding(0);
    free(o.out);
    return rc;
}

/* Planes [first, first + count) of a stack, or these rows of the only one. */
static int send_pages(TIFF *tiff, const struct mf_array *a, size_t first, size_t count, FILE *to)
{
    const int single = axes_of(a) == 2;
    const size_t begin = single ? 0 : first, end = single ? 1 : first + count;

    for (size_t z = 0; z < end;) {
        if (!mf_tiff_is_reduced(tiff)) {
            if (z >= begin)
                MF_TRY(single ? send_page(tiff, a, first, count, to) : send_page(tiff, a, 0, a->shape[1], to));
            ++z;
        }
        if (z < end && !TIFFReadDirectory(tiff)) return mf_tiff_damaged(a->path);
    }
    return MF_OK;
}

int mf_tiff_send(const struct mf_array *array, size_t first, size_t count, FILE *to)
{
    TIFF *tiff = mf_tiff_open(array->path, "rm");
    int rc = tiff ? send_pages(tiff, array, first, count, to) : mf_tiff_damaged(array->path);

    if (tiff) TIFFClose(tiff);
    return rc;
}
