/* A TIFF is read right or refused: whatever its bits, layout, compression and byte order; where its pieces are cut
 * short. Also where its description, or a tag, says more of its planes than its pages do. */
#include "tests/check.h"

#include "io/array.h"
#include "io/image.h"
#include "io/tiff_shape.h"
#include "src/base/err.h"
#include "tests/unit/tiff_case.h"

enum { PIXELS = TIFF_ROWS * TIFF_COLUMNS };

static const char *file;
static struct mf_array array;
static double *values;

static int load(void)
{
    int rc = mf_array_open(file, NULL, &array);

    free(values);
    values = NULL;
    return rc == MF_OK ? mf_array_load(&array, 1 << 20, &values) : rc;
}

static void refused(const char *what, const char *word)
{
    int rc = load();

    if (rc == MF_INPUT && strstr(mf_err_text(), word) && strstr(mf_err_text(), "case.tif")) return;
    fprintf(stderr, "%s: code %d '%s', want '%s'\n", what, rc, mf_err_text(), word);
    CHECK(0);
}

/* Meaning of a pixel. */
static double meant(const struct tiff_case *c, size_t i)
{
    const unsigned grey = tiff_grey(i / PIXELS, i / TIFF_COLUMNS % TIFF_ROWS, i % TIFF_COLUMNS);
    const int white = c->light == PHOTOMETRIC_MINISWHITE;
    uint64_t v = tiff_bits(c, grey);

    if (c->format == SAMPLEFORMAT_IEEEFP) return white ? 1 - grey / 256.0 : grey / 256.0;
    if (c->light == PHOTOMETRIC_PALETTE) return c->map[0][v] >> (array.size == 1 ? 8 : 0);
    if (white) v = ~v & UINT64_MAX >> (64 - c->bits);
    if (c->format != SAMPLEFORMAT_INT) return (double)v;
    return c->bits == 8 ? (int8_t)v : c->bits == 16 ? (int16_t)v : c->bits == 32 ? (int32_t)v : (double)(int64_t)v;
}

static void right(const char *what, const struct tiff_case *c, size_t pages, double off)
{
    int rc = load();
    size_t bad = 0;

    if (rc != MF_OK) {
        fprintf(stderr, "%s: %s\n", what, mf_err_text());
        CHECK(0);
        return;
    }
    CHECK(array.ndim == (pages > 1 ? 3 : 2) && (pages < 2 || array.shape[0] == pages));
    CHECK(array.shape[array.ndim - 2] == TIFF_ROWS && array.shape[array.ndim - 1] == TIFF_COLUMNS);
    for (size_t i = 0; i < pages * PIXELS; ++i) bad += fabs(values[i] - meant(c, i)) > off;
    if (bad)
        fprintf(stderr, "%s: %zu pixels wrong (%d bits, format %d, light %d, compression %d)\n", what, bad, c->bits,
                c->format, c->light, c->compression);
    CHECK(bad == 0);
    CHECK(!!(array.said & MF_SAID_WHITE) == (c->light == PHOTOMETRIC_MINISWHITE));
}

static void made(const char *what, struct tiff_case c)
{
    CHECK(tiff_write(file, &c));
    right(what, &c, c.pages, 0);
}

/* Every kind of number, black and white, in layouts that are drawn. */
static void numbers(void)
{
    static const uint16_t kinds[][2] = {{1, 1}, {2, 1},  {4, 1},  {8, 1},  {16, 1}, {32, 1}, {64, 1},
                                        {8, 2}, {16, 2}, {32, 2}, {64, 2}, {16, 3}, {32, 3}, {64, 3}};
    static const uint16_t packed[] = {COMPRESSION_NONE, COMPRESSION_PACKBITS, COMPRESSION_LZW,
                                      COMPRESSION_ADOBE_DEFLATE};
    static const char *const modes[] = {"wl", "wb", "wl8", "wb8"};
    uint32_t draw = 1;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (unsigned i = 0; i < 8; ++i) {
            struct tiff_case c = {.bits = kinds[k][0], .format = kinds[k][1]};

            draw = draw * 1664525u + 1013904223u;
            c.light = i % 2 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_MINISWHITE;
            c.mode = modes[draw >> 8 & 3];
            c.compression = packed[draw >> 10 & 3];
            c.strip = draw >> 12 & 1 ? 5 : 0;
            c.tile = draw >> 13 & 1 ? 16 : 0;
            c.pages = draw >> 14 & 1 ? 3 : 1;
            CHECK(tiff_write(file, &c));
            if (c.bits == 16 && c.format == SAMPLEFORMAT_IEEEFP && !(i % 2))
                refused("white half", "white-is-zero");
            else
                right("numbers", &c, c.pages, 0);
        }
    made("fill order", (struct tiff_case){.mode = "wlL", .bits = 1, .light = PHOTOMETRIC_MINISBLACK});
}

/* Runs that go on in the next row. */
static void runs(void)
{
    struct tiff_case c = {.bits = 1, .light = PHOTOMETRIC_MINISBLACK, .compression = COMPRESSION_PACKBITS};
    uint8_t raw[TIFF_ROWS * 3], runs[2 * sizeof raw];
    const size_t at[3] = {0, 0, 0};
    tmsize_t n = 0;
    TIFF *t;

    CHECK(tiff_write(file, &c));
    tiff_fill(&c, raw, at, TIFF_ROWS, TIFF_COLUMNS, 3, -1);
    for (size_t i = 0; i < sizeof raw; i += 5) { /* five bytes at a time, of rows of three */
        const size_t m = sizeof raw - i < 5 ? sizeof raw - i : 5;

        runs[n++] = (uint8_t)(m - 1);
        memcpy(runs + n, raw + i, m);
        n += (tmsize_t)m;
    }
    t = TIFFOpen(file, "w");
    if (!t) abort();
    tiff_tags(t, &c);
    CHECK(TIFFWriteRawStrip(t, 0, runs, n) == n && TIFFWriteDirectory(t));
    TIFFClose(t);
    right("runs over rows", &c, 1, 0);
}

/* Where the bytes of the last strip or tile are counted; all counts lie together, elsewhere than their tag. */
static uint8_t *last_count(uint8_t *bytes, uint16_t tag)
{
    const uint8_t *entry = tiff_entry(bytes, tag);
    uint32_t count, at;

    memcpy(&count, entry + 4, sizeof count);
    memcpy(&at, entry + 8, sizeof at);
    return bytes + at + (count - 1) * (entry[2] == 3 ? 2 : 4);
}

/* One compression, whole and with the last piece cut short. Not all that libtiff says it writes it does write. */
static int codec_is_read(const char *what, struct tiff_case *c)
{
    size_t n;
    uint8_t *bytes, *count;

    if (!tiff_write(file, c)) return 0;
    bytes = tiff_load(file, &n);
    count = last_count(bytes, c->tile ? TIFFTAG_TILEBYTECOUNTS : TIFFTAG_STRIPBYTECOUNTS);
    if (c->compression == COMPRESSION_PIXARLOG) {
        refused(what, "not read here");
    } else if (count[0] || count[1]) {
        right(what, c, 1, c->compression == COMPRESSION_JPEG ? 6 : 0);
        count[0] = (uint8_t)((count[0] | count[1] << 8) / 4);
        count[1] = 0;
        scratch_write(file, bytes, n);
        refused(what, "damaged");
    }
    free(bytes);
    return 1;
}

static void codecs(void)
{
    TIFFCodec *all = TIFFGetConfiguredCODECs();
    char what[80];
    int done = 0;

    for (const TIFFCodec *codec = all; codec && codec->name; ++codec)
        for (int k = 0; k < 4; ++k) {
            struct tiff_case c = {.compression = codec->scheme, .bits = k % 2 ? 1 : 8, .light = PHOTOMETRIC_MINISBLACK};

            *(k < 2 ? &c.strip : &c.tile) = 16;
            snprintf(what, sizeof what, "%s, %d bits, %s", codec->name, c.bits, k < 2 ? "strips" : "tiles");
            done += codec_is_read(what, &c);
        }
    _TIFFfree(all);
    CHECK(done > 10);
}

/* A pixel has three colours, or one grey three times. */
static void kept(const char *what, struct tiff_case *c)
{
    size_t bad = 0;

    CHECK(tiff_write(file, c));
    free(values);
    values = NULL;
    CHECK(mf_array_open(file, NULL, &array) == MF_OK && mf_image_keep_colours(&array) == MF_OK);
    CHECK(mf_array_load(&array, 1 << 20, &values) == MF_OK && array.ndim == 3 && array.shape[2] == 3);
    for (size_t i = 0; values && i < 3 * PIXELS; ++i) {
        const size_t y = i / 3 / TIFF_COLUMNS, x = i / 3 % TIFF_COLUMNS, k = i % 3;
        const unsigned grey = tiff_grey(0, y, x) + (c->coloured && k == 1 && y == 31 && x == 21);
        const uint64_t v = tiff_bits(c, grey);

        bad += values[i] != (c->light == PHOTOMETRIC_PALETTE ? c->map[k][v] >> (array.size == 1 ? 8 : 0) : (double)v);
    }
    if (bad) fprintf(stderr, "%s: %zu values wrong\n", what, bad);
    CHECK(bad == 0 && !(array.said & MF_SAID_GREY));
}

static void colours(void)
{
    static uint16_t twice[256], high[256], deep[256], other[256];

    for (int i = 0; i < 256; ++i) {
        twice[i] = (uint16_t)(257 * (255 - i));
        high[i] = (uint16_t)(256 * i);
        deep[i] = (uint16_t)(123 * i);
        other[i] = (uint16_t)(i * i);
    }
    const struct tiff_case palette = {.light = PHOTOMETRIC_PALETTE, .pages = 2, .map = {twice, twice, twice}};
    struct tiff_case c = palette;

    made("palette", c);
    CHECK(array.size == 1 && array.said == (MF_SAID_PALETTE | MF_SAID_FEW));
    for (int k = 0; k < 3; ++k) c.map[k] = high;
    made("palette of high bytes", c);
    CHECK(array.said == MF_SAID_FEW); /* a number is its own grey level */
    for (int k = 0; k < 3; ++k) c.map[k] = deep;
    made("palette of 16 bits", c);
    CHECK(array.size == 2);
    c.map[1] = other;
    CHECK(tiff_write(file, &c));
    refused("colours", "palette of colours");
    c.pages = 1;
    kept("palette of 16 bits", &c);
    for (int k = 0; k < 3; ++k) c.map[k] = k == 1 ? twice : high;
    kept("palette of 8 bits", &c);
    kept("grey", &(struct tiff_case){.light = PHOTOMETRIC_MINISBLACK});
    CHECK(mf_array_open(file, NULL, &array) == MF_OK);
    array.ndim = 3;
    CHECK(mf_image_keep_colours(&array) == MF_INPUT && strstr(mf_err_text(), "colours are kept of one"));
    for (int k = 0; k < 16; ++k) {
        struct tiff_case rgb = {.light = PHOTOMETRIC_RGB, .samples = 3, .bits = k & 4 ? 16 : 8};

        rgb.planar = k & 1 ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG;
        rgb.tile = k & 2 ? 16 : 0;
        rgb.strip = 7;
        rgb.alpha = k >> 3;
        rgb.samples = (uint16_t)(3 + rgb.alpha);
        rgb.compression = k & 2 ? COMPRESSION_LZW : COMPRESSION_PACKBITS;
        made("grey of red, green, blue", rgb);
        CHECK(array.said == (MF_SAID_GREY | (rgb.alpha ? MF_SAID_ALPHA : 0)));
        rgb.coloured = 1;
        CHECK(tiff_write(file, &rgb));
        refused("a coloured pixel", "colour image");
        kept("red, green, blue", &rgb);
        rgb.coloured = 0;
        if (rgb.alpha) rgb.alpha = 2;
        if (rgb.alpha && tiff_write(file, &rgb)) refused("a transparent pixel", "transparent");
    }
    made("grey with alpha", (struct tiff_case){.light = PHOTOMETRIC_MINISBLACK, .samples = 2, .alpha = 1});
    c = (struct tiff_case){.light = PHOTOMETRIC_MINISBLACK, .samples = 2};
    CHECK(tiff_write(file, &c));
    refused("two channels", "2 channels");
    c = (struct tiff_case){.light = PHOTOMETRIC_CIELAB, .samples = 3};
    CHECK(tiff_write(file, &c));
    refused("Lab", "colour");
}

/* Reads a file with a description and that many pages and samples: @p word of the refusal; NULL: read. */
static void described(const char *text, uint32_t pages, uint16_t samples, const char *word)
{
    struct tiff_case c = {.text = text, .pages = pages, .samples = samples};

    c.light = samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    CHECK(tiff_write(file, &c));
    if (word)
        refused(text, word);
    else
        right(text, &c, pages, 0);
}

#define OME(extents, more) \
    "<?xml version=\"1.0\"?><OME><Image><Pixels SizeX='24' SizeY='37' " extents ">" more "</Pixels></Image></OME>"

static void descriptions(void)
{
    described("ImageJ=1.53t\nimages=3\nslices=3\n", 3, 1, NULL);
    described("ImageJ=1.53t\n", 1, 1, NULL);
    described("ImageJ=1.53t\nimages=6\nchannels=2\nslices=3\n", 6, 1, "2 channels, 3 planes along z and 1 time step");
    described("ImageJ=1.53t\nimages=3\nframes=3\n", 3, 1, "3 time steps (ImageJ)");
    described("ImageJ=1.53t\nimages=6\nslices=6\n", 3, 1, "6 planes (ImageJ) but holds 3");
    described("ImageJ=1.53t\nimages=6\nslices=6\n", 1, 1, "6 planes (ImageJ) but holds 1");
    described("ImageJ=1.53t\nimages=3\nslices=2\n", 3, 1, "3 images and 2 slices");
    described(OME("SizeZ='3' SizeC='1' SizeT='1'", "<TiffData IFD='0' PlaneCount='3'/>"), 3, 1, NULL);
    described(OME("SizeZ='1' SizeC='3' SizeT='1'", ""), 1, 3, NULL);
    described(OME("SizeZ='2' SizeC='3' SizeT='1'", ""), 6, 1, "3 channels, 2 planes along z and 1 time step (OME)");
    described(OME("SizeZ='1' SizeC='1' SizeT='3'", ""), 3, 1, "3 time steps");
    described(OME("SizeZ='4' SizeC='1' SizeT='1'", ""), 3, 1, "4 planes (OME) but holds 3");
    described(OME("SizeZ='3'", "<TiffData IFD='2' FirstZ='0'/><TiffData IFD='0' FirstZ='2'/>"), 3, 1, "order of z");
    described(OME("SizeZ='3'", "</Pixels><Pixels SizeZ='1'>"), 3, 1, "several images");
    described("<OME:OME xmlns:OME=\"x\"><OME:Pixels SizeZ=\"1\" SizeC=\"2\"/></OME:OME>", 2, 1, "2 channels");
    described("<OME><Pixels SizeX='24' SizeY='36'/></OME>", 1, 1, "declares others (OME)");
    described("<OME><BinaryOnly MetadataFile='a'/></OME>", 1, 1, "another file");
    described("{\"shape\": [3, 37, 24]}", 3, 1, NULL);
    described("{\"shape\": [1, 3, 1, 37, 24], \"axes\": \"TZCYX\"}", 3, 1, NULL);
    described("{\"shape\": [37, 24]}", 3, 1, NULL);
    described("{\"shape\": [37, 24, 1]}", 1, 1, NULL);
    described("{\"shape\": [37, 24, 3]}", 1, 3, NULL);
    described("{\"shape\": [2, 3, 37, 24]}", 6, 1, "shape 2 x 3 x 37 x 24");
    described("shape=(2, 3, 37, 24)", 6, 1, "shape 2 x 3 x 37 x 24");
    described("{\"shape\": [3, 37, 24], \"axes\": \"CYX\"}", 3, 1, "axes CYX");
    described("{\"shape\": [3, 37, 24]}", 6, 1, "3 planes (tifffile) but holds 6");
    described("{\"shape\": [3, 24, 37]}", 3, 1, "3 x 24 x 37");
    described("{\"x\": 1} <Pixels", 2, 1, NULL);
    described("{\"shape\": \"round\", \"box\": [3, 4]}", 2, 1, NULL);
    described("ImageJ=1.53t\ncf=0\nc0=-32768.0\nc1=1.0\n", 1, 1, NULL);
    CHECK(array.said == MF_SAID_SCALED);
}

/* Pages are planes where one channel at one time has as many of them. Else nothing is read, whatever is said. */
static void counts(void)
{
    static const char *const said[] = {"ImageJ=1\nimages=%u\nchannels=%u\nslices=%u\nframes=%u\n",
                                       "<OME><Pixels Id='%u' SizeC='%u' SizeZ='%u' SizeT='%u'/></OME>",
                                       "{\"shape\": [%.0u%u, %u, %u, 37, 24]}"};
    char text[200];

    for (unsigned i = 0; i < 3 * 3 * 2 * 2 * 3; i += SANITIZED ? 5 : 1) {
        const unsigned kind = i % 3, z = i / 3 % 3 + 1, c = i / 9 % 2 + 1, t = i / 18 % 2 + 1;
        struct tiff_case page = {.light = PHOTOMETRIC_MINISBLACK, .pages = i / 36 + 1};
        const int plain = c * t == 1 && (z == page.pages || (kind == 2 && z == 1)),
                  stacked = kind == 2 && (c == 1) + (t == 1) + (z == 1) == 2 && c * t * z == page.pages;

        snprintf(text, sizeof text, said[kind], kind == 2 ? 0 : c * z * t, c, z, t);
        page.text = text;
        CHECK(tiff_write(file, &page));
        if (plain || stacked)
            right(text, &page, page.pages, 0);
        else
            refused(text, "case.tif");
    }
}

static void planes(void)
{
    struct tiff_case c = {.text = "ImageJ=1.53t\nimages=4\nslices=4\n", .light = PHOTOMETRIC_MINISBLACK, .bits = 16};
    uint8_t *bytes;
    size_t n;

    tiff_behind(file, &c, 4);
    right("one directory", &c, 4, 0);
    CHECK(array.coding == MF_PLAIN);
    c.text = "{\"shape\": [4, 37, 24], \"truncated\": true}";
    tiff_behind(file, &c, 4);
    right("one directory of tifffile", &c, 4, 0);
    bytes = tiff_load(file, &n);
    scratch_write(file, bytes, n - 1);
    free(bytes);
    refused("cut", "4 planes (tifffile) but holds 1");
    c.light = PHOTOMETRIC_MINISWHITE;
    tiff_behind(file, &c, 4);
    refused("white behind each other", "holds 1");
    c = (struct tiff_case){.light = PHOTOMETRIC_MINISBLACK, .depth = 4};
    CHECK(tiff_write(file, &c));
    refused("depth", "4 planes in one page");
    c = (struct tiff_case){.light = PHOTOMETRIC_MINISBLACK, .kind = FILETYPE_REDUCEDIMAGE};
    CHECK(tiff_write(file, &c));
    refused("thumbnail", "reduced images");
    c.kind = FILETYPE_MASK;
    CHECK(tiff_write(file, &c));
    refused("mask", "transparency mask");
    made("turned", (struct tiff_case){.light = PHOTOMETRIC_MINISBLACK, .turned = ORIENTATION_RIGHTTOP});
    CHECK(array.said == MF_SAID_TURNED);
}

/* Smaller copies between the pages are no planes. */
static void copies(void)
{
    struct tiff_case c = {.light = PHOTOMETRIC_MINISBLACK};
    TIFF *t;

    CHECK(tiff_write(file, &c));
    t = TIFFOpen(file, "w");
    if (!t) abort();
    for (size_t z = 0; z < 3; ++z) {
        struct tiff_case small = c;

        small.kind = FILETYPE_REDUCEDIMAGE;
        CHECK(tiff_page(t, &c, z) && tiff_page(t, &small, 20));
    }
    TIFFClose(t);
    right("copies", &c, 3, 0);
    CHECK(array.said == (MF_SAID_REDUCED | MF_SAID_FEW));
}

/* Tags of microscopes: one of libtiff's of the same type, and then its number is another one. */
static void makers(void)
{
    struct tiff_case c = {.light = PHOTOMETRIC_MINISBLACK};
    const float six[6] = {1, 1, 1, 1, 1, 1};
    const int32_t zeiss[7] = {0x00400494, 28, 24, 37, 1, 2, 3};

    for (int k = 0; k < 2; ++k) {
        TIFF *t;

        CHECK(tiff_write(file, &c));
        t = TIFFOpen(file, "wl");
        if (!t) abort();
        if (k) TIFFSetField(t, TIFFTAG_XMLPACKET, (int)sizeof zeiss, zeiss);
        if (!k) TIFFSetField(t, TIFFTAG_REFERENCEBLACKWHITE, six);
        CHECK(tiff_page(t, &c, 0));
        TIFFClose(t);
        tiff_patch(file, k ? TIFFTAG_XMLPACKET : TIFFTAG_REFERENCEBLACKWHITE, k ? 34412 : 33629, UINT32_MAX);
        refused("maker", k ? "2 channels and 3 time steps (Zeiss LSM)" : "MetaMorph stack of 6 planes");
    }
}

/* A predictor that libtiff does not know with a compression is refused: values would be differences. */
static void predictors(void)
{
    static const uint16_t packed[] = {COMPRESSION_NONE, COMPRESSION_PACKBITS, COMPRESSION_LERC, COMPRESSION_JPEG};

    for (size_t i = 0; i < sizeof packed / sizeof *packed; ++i)
        for (uint32_t predictor = 1; predictor < 4; ++predictor) {
            struct tiff_case c = {.light = PHOTOMETRIC_MINISBLACK, .compression = packed[i], .unit = 1};

            if (!tiff_write(file, &c)) continue;
            tiff_patch(file, TIFFTAG_RESOLUTIONUNIT, TIFFTAG_PREDICTOR, predictor);
            if (predictor == 1)
                right("no predictor", &c, 1, packed[i] == COMPRESSION_JPEG ? 6 : 0);
            else
                refused("predictor", "which libtiff does not undo");
        }
}

/* Compressions that may change values are told from those that do not. */
static void losses(void)
{
    static const struct {
        uint16_t compression, bits, format;
        double error;
        int lossy, packed; /* LERC by deflate */
    } cases[] = {{COMPRESSION_LZW, 8, 1, 0, 0, 0},   {COMPRESSION_JPEG, 8, 1, 0, 1, 0},
                 {COMPRESSION_LERC, 8, 1, 0, 0, 0},  {COMPRESSION_LERC, 8, 1, 4, 1, 0},
                 {COMPRESSION_LERC, 32, 3, 0, 0, 0}, {COMPRESSION_LERC, 32, 3, 0.01, 1, 0},
                 {COMPRESSION_LERC, 8, 1, 0, 0, 1},  {COMPRESSION_LERC, 8, 1, 4, 1, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct tiff_case c = {.light = PHOTOMETRIC_MINISBLACK,
                              .compression = cases[i].compression,
                              .bits = cases[i].bits,
                              .format = cases[i].format,
                              .error = cases[i].error,
                              .packed = cases[i].packed};

        if (!tiff_write(file, &c)) continue; /* a libtiff without this compression */
        CHECK(load() == MF_OK);
        CHECK_SAYS(!!(array.said & MF_SAID_LOSSY) == cases[i].lossy, "compression %d, error %g", c.compression,
                   c.error);
        CHECK(mf_array_may_label(&array) == (cases[i].lossy ? MF_INPUT : MF_OK));
    }
}

/* Real numbers beyond 0 to 1 have no white. */
static void whites(void)
{
    struct tiff_case c = {.light = PHOTOMETRIC_MINISWHITE, .bits = 32, .format = SAMPLEFORMAT_IEEEFP, .pages = 40};

    CHECK(tiff_write(file, &c));
    refused("white", "beyond 0 to 1");
}

/* A tag whose loss changes what pixels mean may not be lost. */
static void lost(void)
{
    struct tiff_case c = {.light = PHOTOMETRIC_MINISBLACK, .text = "ImageJ=1\nimages=9\nslices=9\n"};
    size_t n;
    uint8_t *bytes, *entry;

    CHECK(tiff_write(file, &c));
    bytes = tiff_load(file, &n);
    entry = tiff_entry(bytes, TIFFTAG_IMAGEDESCRIPTION);
    entry[2] = 12; /* reals */
    entry[3] = 0;
    scratch_write(file, bytes, n);
    refused("a description of reals", "ImageDescription");
    free(bytes);
}

int main(void)
{
    struct mf_comm comm;

    mf_comm_self(&comm);
    scratch_open(&comm);
    file = strdup(scratch_file("case.tif"));
    numbers();
    runs();
    codecs();
    colours();
    descriptions();
    counts();
    planes();
    copies();
    makers();
    predictors();
    losses();
    whites();
    lost();
    free(values);
    scratch_close(&comm);
    return failures != 0;
}
