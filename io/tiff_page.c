/* See tiff_page.h. */
#include "io/tiff_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "io/atomic.h"
#include "io/image.h"
#include "src/base/err.h"

/* Bytes of a piece that are looked at. The others are numbers of newer compressions and of a tag, which older libtiffs
 * do not name. */
enum { HEAD = 512, LERC = 34887, WEBP = 50001, JXL = 50002, LERC_PACKED = 65566, LERC_DEFLATED = 1 };

/* The first complaint, and whether pixels are being decoded. */
static struct {
    char text[200];
    int decoding;
} said;

static void on_error(const char *module, const char *format, va_list args)
{
    (void)module;
    if (!said.text[0]) vsnprintf(said.text, sizeof said.text, format, args);
}

static int has_any(const char *text, const char *const *words)
{
    for (; *words; ++words)
        if (strstr(text, *words)) return 1;
    return 0;
}

/* A warning about pixels means guessed pixels, except for known habits that decode correctly. A warning about a tag is
 * dropped, unless the tag changes pixels or shape, or pages are lost. */
static void on_warning(const char *module, const char *format, va_list args)
{
    static const char *const habits[] = {"Old-style LZW", "JPEG strip size exceeds expected", "progressive mode", NULL};
    static const char *const lost[] = {"tag ignored", "incorrectly truncated", "tag not read", NULL};
    static const char *const vital[] = {
        "\"ImageWidth\"",    "\"ImageLength\"", "\"ImageDepth\"",   "\"ImageDescription\"", "\"BitsPerSample\"",
        "\"SampleFormat\"",  "\"FillOrder\"",   "\"PlanarConfig",   "\"Predictor\"",        "\"RowsPerStrip\"",
        "\"SubfileType\"",   "\"Photometric",   "\"ColorMap\"",     "\"ExtraSamples\"",     "\"Compression\"",
        "\"StripByteCounts", "\"StripOffsets",  "\"TileByteCounts", "\"TileOffsets",        NULL};
    char text[sizeof said.text];

    (void)module;
    vsnprintf(text, sizeof text, format, args);
    if (said.text[0] || (said.decoding ? has_any(text, habits)
                                       : !(strstr(text, "IFD loop") || (has_any(text, lost) && has_any(text, vital)))))
        return;
    snprintf(said.text, sizeof said.text, "%s", text);
}

TIFF *mf_tiff_open(const char *path, const char *mode)
{
    said.text[0] = '\0';
    said.decoding = 0;
    TIFFSetErrorHandler(on_error);
    TIFFSetWarningHandler(on_warning);
    return TIFFOpen(path, mode);
}

const char *mf_tiff_said(void) { return said.text; }

void mf_tiff_decoding(int is) { said.decoding = is; }

int mf_tiff_damaged(const char *path)
{
    return mf_fail(MF_INPUT, "'%s' is a damaged TIFF: %s", path, said.text[0] ? said.text : "no sense in it");
}

static size_t entries(const struct mf_tiff_page *p) { return (size_t)1 << p->bits; }

/* Palettes have 16 bits; mostly they say twice what 8 bits say, or leave the lower 8 empty. */
static int page_palette(TIFF *tiff, const char *path, struct mf_tiff_page *p)
{
    uint16_t *map[3];

    if (p->bits > 16 || p->format != SAMPLEFORMAT_UINT ||
        !TIFFGetField(tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
        return mf_tiff_damaged(path);
    p->same = 1;
    for (size_t i = 0; i < entries(p); ++i) p->same &= map[0][i] >> 8 == (int)i;
    for (int c = 0; c < 3; ++c) {
        p->map[c] = map[c];
        for (size_t i = 0; i < entries(p); ++i) p->wide |= (map[c][i] & 255) && (map[c][i] & 255) != map[c][i] >> 8;
    }
    return MF_OK;
}

static int page_channels(TIFF *tiff, const char *path, struct mf_tiff_page *p)
{
    uint16_t extra = 0, *kinds = NULL;

    if (p->light != PHOTOMETRIC_MINISBLACK && p->light != PHOTOMETRIC_MINISWHITE && p->light != PHOTOMETRIC_PALETTE &&
        p->light != PHOTOMETRIC_RGB)
        return mf_fail(MF_INPUT, "'%s' is a colour TIFF; convert it to plain grey", path);
    if (p->light == PHOTOMETRIC_MINISWHITE && p->format == SAMPLEFORMAT_IEEEFP && p->bits < 32)
        return mf_fail(MF_INPUT, "'%s' is white-is-zero and holds real numbers of %d bits; save it black-is-zero", path,
                       p->bits);
    p->colours = p->light == PHOTOMETRIC_RGB ? 3 : 1;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    p->alpha = p->samples == p->colours + 1 && extra == 1 && kinds && kinds[0] != EXTRASAMPLE_UNSPECIFIED &&
               p->format == SAMPLEFORMAT_UINT;
    if (p->samples != p->colours + p->alpha)
        return mf_fail(MF_INPUT, "'%s' is a TIFF of %d channels; save one of them as plain grey", path, p->samples);
    return p->light == PHOTOMETRIC_PALETTE ? page_palette(tiff, path, p) : MF_OK;
}

int mf_tiff_layout(TIFF *tiff, const char *path, struct mf_tiff_layout *l)
{
    unsigned char head[4];
    int large;

    MF_TRY(mf_read_at(TIFFFileno(tiff), path, head, sizeof head, 0)); /* it was read before */
    l->little = head[0] == 'I';
    large = mf_image_number(head + 2, 2, l->little) == 43;
    l->count = large ? 8 : 2;
    l->entry = large ? 20 : 12;
    l->word = large ? 8 : 4;
    return MF_OK;
}

/* The first value of a tag of short or long numbers in the current directory. The library hides tags that a compression
 * does not know. Without one *value stays. */
static int look_for_tag(TIFF *tiff, const char *path, unsigned tag, unsigned *value)
{
    enum { ENTRIES = 256, LARGE = 20, SHORT = 3 };
    unsigned char count[8], all[ENTRIES * LARGE];
    const int file = TIFFFileno(tiff);
    const uint64_t at = TIFFCurrentDirOffset(tiff);
    struct mf_tiff_layout l;
    uint64_t entries;
    size_t got;

    MF_TRY(mf_tiff_layout(tiff, path, &l));
    MF_TRY(mf_read_at(file, path, count, l.count, at));
    entries = mf_image_number(count, l.count, l.little);
    MF_TRY(mf_read_some(file, path, all, (entries < ENTRIES ? entries : ENTRIES) * l.entry, at + l.count, &got));
    for (const unsigned char *e = all; e + l.entry <= all + got; e += l.entry) {
        const int is_short = mf_image_number(e + 2, 2, l.little) == SHORT;

        if (mf_image_number(e, 2, l.little) == tag)
            *value = (unsigned)mf_image_number(e + l.entry - l.word, is_short ? 2 : 4, l.little);
    }
    return MF_OK;
}

/* libtiff undoes a predictor with these. */
static int undoes(uint16_t compression)
{
    enum { ZSTD = 50000 };

    return compression == COMPRESSION_LZW || compression == COMPRESSION_ADOBE_DEFLATE ||
           compression == COMPRESSION_DEFLATE || compression == COMPRESSION_LZMA || compression == ZSTD;
}

/* With others it ignores the tag, and values would be differences. */
static int check_predictor(TIFF *tiff, const char *path, uint16_t compression)
{
    const TIFFCodec *codec = TIFFFindCODEC(compression);
    unsigned predictor = PREDICTOR_NONE;

    if (undoes(compression)) return MF_OK;
    MF_TRY(look_for_tag(tiff, path, TIFFTAG_PREDICTOR, &predictor));
    if (predictor == PREDICTOR_NONE) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' has a predictor (%u), which libtiff does not undo with compression '%s'; save it with LZW, "
                   "or without a predictor",
                   path, predictor, codec ? codec->name : "");
}

/* -- compressions that may change values -- */

static size_t load_head(TIFF *tiff, unsigned char head[HEAD])
{
    const tmsize_t n = TIFFIsTiled(tiff) ? TIFFReadRawTile(tiff, 0, head, HEAD) : TIFFReadRawStrip(tiff, 0, head, HEAD);

    return n > 0 ? (size_t)n : 0;
}

/* Lossless WebP says VP8L. */
static int is_lossy_webp(TIFF *tiff)
{
    unsigned char head[HEAD];
    const size_t n = load_head(tiff, head);

    return !memmem(head, n, "VP8L", 4);
}

/* Unpacks the beginning. */
static size_t inflate_head(unsigned char head[HEAD], size_t n)
{
    unsigned char packed[HEAD];
    z_stream stream = {.next_in = packed, .avail_in = (uInt)n, .next_out = head, .avail_out = HEAD};

    memcpy(packed, head, n);
    if (inflateInit(&stream) != Z_OK) return 0;
    (void)inflate(&stream, Z_SYNC_FLUSH);
    (void)inflateEnd(&stream);
    return HEAD - stream.avail_out;
}

/* The largest error stands in the header of Lerc2: 0 of real numbers and 0.5 of whole ones mean none. A header that
 * cannot be read may state one. */
static int is_lossy_lerc(TIFF *tiff, const struct mf_tiff_page *p)
{
    enum { KEY = 6, CHECKED = 3, DEPTHS = 4, BLOBS = 6 };
    unsigned char head[HEAD];
    size_t n = load_head(tiff, head), at = KEY + 4;
    int32_t version = 0;
    double most;
    int packed = 0;

    TIFFGetField(tiff, LERC_PACKED, &packed);
    if (packed == LERC_DEFLATED) n = inflate_head(head, n);
    if (n < HEAD / 8 || memcmp(head, "Lerc2 ", KEY) != 0) return 1;
    memcpy(&version, head + KEY, sizeof version); /* little-endian, as this machine */
    at += (version >= CHECKED ? 4U : 0U) + 6 * 4 + (version >= DEPTHS ? 4U : 0U) + (version >= BLOBS ? 8U : 0U);
    if (at + sizeof most > n) return 1;
    memcpy(&most, head + at, sizeof most);
    return !(most <= (p->format == SAMPLEFORMAT_IEEEFP ? 0 : 0.5));
}

static int is_lossy(TIFF *tiff, const struct mf_tiff_page *p)
{
    switch (p->compression) {
    case COMPRESSION_JPEG:
    case COMPRESSION_OJPEG:
    case JXL: return 1;
    case WEBP: return is_lossy_webp(tiff);
    case LERC: return is_lossy_lerc(tiff, p);
    default: return 0;
    }
}

int mf_tiff_page_read(TIFF *tiff, const char *path, struct mf_tiff_page *p)
{
    uint32_t kind = 0, depth = 1, tile = 1;

    *p = (struct mf_tiff_page){0};
    if (!TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &p->rows) || !TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &p->columns))
        return mf_tiff_damaged(path);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &p->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &p->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &p->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &p->compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &p->planes);
    p->planes = p->planes == PLANARCONFIG_SEPARATE ? p->samples : 1;
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &p->light)) p->light = PHOTOMETRIC_MINISBLACK;
    TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
    if (kind & FILETYPE_MASK)
        return mf_fail(MF_INPUT, "'%s' has a page that is a transparency mask; save it without", path);
    TIFFGetField(tiff, TIFFTAG_IMAGEDEPTH, &depth);
    TIFFGetField(tiff, TIFFTAG_TILEDEPTH, &tile);
    if (depth != 1 || tile != 1)
        return mf_fail(MF_INPUT, "'%s' holds %u planes in one page (ImageDepth); save it as one page for each plane",
                       path, depth);
    if (!p->rows || !p->columns || !p->bits) return mf_tiff_damaged(path);
    MF_TRY(page_channels(tiff, path, p));
    if (!TIFFIsCODECConfigured(p->compression) || p->compression == COMPRESSION_PIXARLOG) /* which libtiff garbles */
        return mf_fail(MF_INPUT, "'%s' uses TIFF compression %d, which is not read here; save it with LZW or none",
                       path, p->compression);
    MF_TRY(check_predictor(tiff, path, p->compression));
    p->lossy = is_lossy(tiff, p);
    return MF_OK;
}

int mf_tiff_page_type(const struct mf_tiff_page *p, struct mf_array *a)
{
    const int real = p->format == SAMPLEFORMAT_IEEEFP, bare = p->format == SAMPLEFORMAT_UINT,
              bytes = p->bits == 8 || p->bits == 16 || p->bits == 32 || p->bits == 64;

    if (!(bytes && (bare || p->format == SAMPLEFORMAT_INT || (real && p->bits > 8))) &&
        !(bare && (p->bits == 1 || p->bits == 2 || p->bits == 4)))
        return mf_fail(
            MF_INPUT,
            "'%s' has TIFF samples of %d bits of format %d; save grey values of 1, 2, 4, 8, 16, 32 or 64 bits", a->path,
            p->bits, p->format);
    a->kind = real ? 'f' : bare ? 'u' : 'i';
    a->bits = p->light == PHOTOMETRIC_PALETTE ? (p->wide ? 16 : 8) : p->bits;
    a->size = a->bits < 8 ? 1 : (size_t)a->bits / 8;
    return MF_OK;
}

int mf_tiff_is_reduced(TIFF *tiff)
{
    uint32_t kind = 0;

    TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
    return (kind & FILETYPE_REDUCEDIMAGE) != 0;
}
