/* TIFF files for tests, written by libtiff, and changed where libtiff would not write them so. Pixel (z, y, x) is
 * tiff_grey(); the values of reals are a 256th of it. */
#ifndef MF_TESTS_TIFF_CASE_H
#define MF_TESTS_TIFF_CASE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "tests/scratch.h"

enum { TIFF_ROWS = 37, TIFF_COLUMNS = 24 };

struct tiff_case {
    const char *mode; /* of TIFFOpen(); NULL: "w" */
    uint16_t compression, bits, format, light, samples, planar;
    uint32_t strip, tile; /* rows of a strip (0: all), rows and columns of a tile */
    uint32_t pages;       /* 0: 1 */
    const char *text;     /* the description */
    uint32_t kind, depth, turned;
    int alpha;              /* the last sample is alpha: 1 opaque, 2 not everywhere */
    int coloured;           /* the second colour is another one at one pixel */
    const uint16_t *map[3]; /* of a palette */
    double error;           /* the largest of LERC */
    int packed;             /* LERC packed by deflate */
    int unit;               /* write a tag with number 296 */
};

static inline unsigned tiff_grey(size_t z, size_t y, size_t x) { return (unsigned)(3 * y + 2 * x + 5 * z); }

/* k / 256 as a real number of 16 bits. */
static inline uint64_t tiff_half(unsigned k)
{
    unsigned e = 0;

    if (!k) return 0;
    while (k >> (e + 1)) ++e;
    return (e + 7) << 10 | (k << (10 - e) & 0x3ff);
}

static inline uint64_t tiff_bits(const struct tiff_case *c, unsigned grey)
{
    const uint64_t mask = c->bits == 64 ? UINT64_MAX : (UINT64_C(1) << c->bits) - 1;
    const float single = (float)grey / 256;
    const double real = grey / 256.0;
    uint64_t v = 0;
    uint32_t four;

    if (c->format != SAMPLEFORMAT_IEEEFP) return (c->bits > 8 ? grey | (uint64_t)grey << (c->bits - 8) : grey) & mask;
    if (c->bits == 16) return tiff_half(grey);
    memcpy(&four, &single, sizeof four);
    memcpy(&v, &real, sizeof v);
    return c->bits == 32 ? four : v;
}

static inline void tiff_put(uint8_t *row, unsigned bits, size_t i, uint64_t v)
{
    const uint16_t two = (uint16_t)v;
    const uint32_t four = (uint32_t)v;

    if (bits < 8) row[i * bits / 8] |= (uint8_t)(v << (8 - bits - i * bits % 8));
    if (bits == 8) row[i] = (uint8_t)v;
    if (bits == 16) memcpy(row + 2 * i, &two, 2);
    if (bits == 32) memcpy(row + 4 * i, &four, 4);
    if (bits == 64) memcpy(row + 8 * i, &v, 8);
}

/* Sample s of a pixel. */
static inline uint64_t tiff_sample(const struct tiff_case *c, size_t z, size_t y, size_t x, unsigned s)
{
    const uint64_t full = c->bits == 64 ? UINT64_MAX : (UINT64_C(1) << c->bits) - 1;

    if (c->alpha && s + 1U == c->samples) return c->alpha == 2 && y == 30 && x == 20 ? full - 1 : full;
    return tiff_bits(c, tiff_grey(z, y, x) + (c->coloured && s == 1 && y == 31 && x == 21));
}

/* Rows [y, y + rows) and columns [x, x + columns) of one plane of samples. Or of all planes (samples > 1 that lie
 * together).
 */
static inline void tiff_fill(const struct tiff_case *c, uint8_t *to, const size_t at[3], size_t rows, size_t columns,
                             size_t stride, int plane)
{
    const unsigned together = plane < 0 ? c->samples : 1;

    memset(to, 0, rows * stride);
    for (size_t y = 0; y < rows && at[1] + y < TIFF_ROWS; ++y)
        for (size_t x = 0; x < columns && at[2] + x < TIFF_COLUMNS; ++x)
            for (unsigned s = 0; s < together; ++s)
                tiff_put(to + y * stride, c->bits, x * together + s,
                         tiff_sample(c, at[0], at[1] + y, at[2] + x, plane < 0 ? s : (unsigned)plane));
}

static inline void tiff_tags(TIFF *t, const struct tiff_case *c)
{
    const uint16_t alpha = EXTRASAMPLE_UNASSALPHA;

    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, TIFF_COLUMNS);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, TIFF_ROWS);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, c->bits);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, c->samples);
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, c->format);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, c->light);
    TIFFSetField(t, TIFFTAG_COMPRESSION, c->compression);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, c->planar);
    if (c->tile) TIFFSetField(t, TIFFTAG_TILEWIDTH, c->tile);
    if (c->tile) TIFFSetField(t, TIFFTAG_TILELENGTH, c->tile);
    if (!c->tile) TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, c->strip);
    if (c->text) TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, c->text);
    if (c->kind) TIFFSetField(t, TIFFTAG_SUBFILETYPE, c->kind);
    if (c->depth) TIFFSetField(t, TIFFTAG_IMAGEDEPTH, c->depth);
    if (c->turned) TIFFSetField(t, TIFFTAG_ORIENTATION, c->turned);
    if (c->alpha) TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    if (c->packed) TIFFSetField(t, TIFFTAG_LERC_ADD_COMPRESSION, LERC_ADD_COMPRESSION_DEFLATE);
    if (c->error > 0) TIFFSetField(t, TIFFTAG_LERC_MAXZERROR, c->error);
    if (c->unit) TIFFSetField(t, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    if (c->light == PHOTOMETRIC_PALETTE) TIFFSetField(t, TIFFTAG_COLORMAP, c->map[0], c->map[1], c->map[2]);
}

/* 0: libtiff cannot write it. */
static inline int tiff_page(TIFF *t, const struct tiff_case *c, size_t z)
{
    const size_t high = c->tile ? c->tile : c->strip, wide = c->tile ? c->tile : TIFF_COLUMNS;
    const int planes = c->planar == PLANARCONFIG_SEPARATE ? c->samples : 1;
    uint8_t *piece = calloc(1, high * wide * 32);
    int ok = piece != NULL;

    tiff_tags(t, c);
    for (int s = 0; ok && s < planes; ++s)
        for (size_t y = 0; ok && y < TIFF_ROWS; y += high)
            for (size_t x = 0; ok && x < TIFF_COLUMNS; x += wide) {
                const size_t left = TIFF_ROWS - y, rows = c->tile || left > high ? high : left, at[3] = {z, y, x};
                const size_t stride = (size_t)(c->tile ? TIFFTileRowSize64(t) : TIFFScanlineSize64(t));

                tiff_fill(c, piece, at, rows, wide, stride, planes > 1 ? s : -1);
                ok = c->tile ? TIFFWriteTile(t, piece, (uint32_t)x, (uint32_t)y, 0, (uint16_t)s) > 0
                             : TIFFWriteEncodedStrip(t, TIFFComputeStrip(t, (uint32_t)y, (uint16_t)s), piece,
                                                     (tmsize_t)(rows * stride)) > 0;
            }
    free(piece);
    return ok && TIFFWriteDirectory(t);
}

/* Fills in what is usual; 0: libtiff cannot write it. */
static inline int tiff_write(const char *path, struct tiff_case *c)
{
    TIFF *t;
    int ok = 1;

    if (!c->bits) c->bits = 8;
    if (!c->format) c->format = SAMPLEFORMAT_UINT;
    if (!c->compression) c->compression = COMPRESSION_NONE;
    if (!c->samples) c->samples = 1;
    if (!c->planar) c->planar = PLANARCONFIG_CONTIG;
    if (!c->strip) c->strip = TIFF_ROWS;
    if (!c->pages) c->pages = 1;
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    t = TIFFOpen(path, c->mode ? c->mode : "wl");
    for (size_t z = 0; ok && t && z < c->pages; ++z) ok = tiff_page(t, c, z);
    if (t) TIFFClose(t);
    return t && ok;
}

static inline uint8_t *tiff_load(const char *path, size_t *n)
{
    FILE *from = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);

    if (!from || !bytes) abort();
    *n = fread(bytes, 1, 1 << 20, from);
    fclose(from);
    return bytes;
}

/* The entry of a tag in the first directory of a classic little-endian file. */
static inline uint8_t *tiff_entry(uint8_t *bytes, uint16_t tag)
{
    uint32_t at;
    uint16_t count, id;

    memcpy(&at, bytes + 4, sizeof at);
    memcpy(&count, bytes + at, sizeof count);
    for (uint16_t i = 0; i < count; ++i) {
        memcpy(&id, bytes + at + 2 + 12 * i, sizeof id);
        if (id == tag) return bytes + at + 2 + 12 * i;
    }
    abort();
}

/* A tag becomes @p id, and its only value @p value (unless it is UINT32_MAX). */
static inline void tiff_patch(const char *path, uint16_t tag, uint16_t id, uint32_t value)
{
    size_t n;
    uint8_t *bytes = tiff_load(path, &n), *entry = tiff_entry(bytes, tag);
    const uint16_t type = 4;

    memcpy(entry, &id, sizeof id);
    if (value != UINT32_MAX) memcpy(entry + 2, &type, sizeof type);
    if (value != UINT32_MAX) memcpy(entry + 8, &value, sizeof value);
    scratch_write(path, bytes, n);
    free(bytes);
}

/* One directory, and @p planes behind each other. A page that is too high is called as high as one of them. */
static inline void tiff_behind(const char *path, struct tiff_case *c, uint32_t planes)
{
    size_t n, bytes = 0;
    uint8_t *page, *all;

    c->strip = TIFF_ROWS;
    if (!tiff_write(path, c)) abort();
    page = tiff_load(path, &n);
    memcpy(&bytes, tiff_entry(page, TIFFTAG_STRIPBYTECOUNTS) + 8, 4);
    all = calloc(1, n + planes * bytes);
    if (!all) abort();
    memcpy(all, page, n);
    for (uint32_t z = 0; z < planes; ++z) {
        const size_t at[3] = {z, 0, 0};

        tiff_fill(c, all + n + z * bytes, at, TIFF_ROWS, TIFF_COLUMNS, bytes / TIFF_ROWS, -1);
    }
    scratch_write(path, all, n + planes * bytes);
    tiff_patch(path, TIFFTAG_STRIPOFFSETS, TIFFTAG_STRIPOFFSETS, (uint32_t)n);
    free(page);
    free(all);
}

#endif
