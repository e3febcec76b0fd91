/* See tiff_page.h. */
#include "io/tiff_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"

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
    a->size = p->bits < 8 ? 1 : p->bits / 8;
    if (p->light == PHOTOMETRIC_PALETTE) a->size = p->wide ? 2 : 1;
    return MF_OK;
}

int mf_tiff_is_reduced(TIFF *tiff)
{
    uint32_t kind = 0;

    TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
    return (kind & FILETYPE_REDUCEDIMAGE) != 0;
}
