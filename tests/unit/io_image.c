/* Images mean the grey values a person sees in them, whatever their depth, compression, tiling or byte order. Colour,
 * transparency and uneven stacks are refused. The folder of fixtures is argv[1]. */
#include "tests/check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/scan.h"
#include "src/base/err.h"
#include "tests/scratch.h"

enum { NY = 13, NX = 17, NZ = 3 };

enum look { GREY, WIDE, LABELS, BITS, PALETTE };

static const char *folder;

static const char *file(const char *name)
{
    static char path[1024];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static double want(enum look look, size_t z, size_t y, size_t x)
{
    double grey = (double)((7 * y + 3 * x + 11 * z) % 256), label = (double)((y + x + z) % 3);

    switch (look) {
    case GREY: return grey;
    case WIDE: return grey * 257;
    case LABELS: return label;
    case BITS: return label > 0;
    default: return label == 0 ? 0 : label == 1 ? 128 : 255;
    }
}

/* The whole file, and from its second row or page on. */
static void read_right(const char *name, enum look look, size_t pages, size_t size)
{
    struct mf_array a;
    double *v = NULL;
    size_t bad = 0;
    int rc = mf_array_open(file(name), NULL, &a);

    if (rc == MF_OK) rc = mf_array_load(&a, 1 << 20, &v);
    if (rc != MF_OK) {
        fprintf(stderr, "%s: %s\n", name, mf_err_text());
        CHECK(0);
        return;
    }
    CHECK(a.ndim == (pages > 1 ? 3 : 2) && a.shape[a.ndim - 2] == NY && a.shape[a.ndim - 1] == NX && a.size == size);
    for (size_t i = 0; i < pages * NY * NX; ++i) bad += v[i] != want(look, i / (NY * NX), i / NX % NY, i % NX);
    if (bad) fprintf(stderr, "%s: %zu of %zu pixels wrong\n", name, bad, pages * NY * NX);
    CHECK(bad == 0);
    free(v);
}

static void refused(const char *name, const char *word)
{
    struct mf_array a;
    double *v = NULL;
    int rc = mf_array_open(file(name), NULL, &a);

    if (rc == MF_OK) rc = mf_array_load(&a, 1 << 20, &v);
    if (rc != MF_INPUT || !strstr(mf_err_text(), word)) {
        fprintf(stderr, "%s: code %d '%s', want '%s'\n", name, rc, mf_err_text(), word);
        CHECK(0);
    }
    free(v);
}

/* Rows from the middle of an array are the rows of the whole. */
struct part {
    double value[NY * NX * NZ];
    const struct mf_array *array;
};

static int take(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct part *p = context;

    CHECK(stride == 1);
    mf_array_reals(p->array, values, n, p->value + at);
    return MF_OK;
}

static void parts(const char *name, enum look look)
{
    static struct part p;
    struct mf_array a;
    size_t row;

    CHECK(mf_array_open(file(name), NULL, &a) == MF_OK);
    p.array = &a;
    row = mf_array_row(&a);
    CHECK(mf_array_visit(&a, 1, 2, take, &p) == MF_OK);
    for (size_t i = 0; i < 2 * row; ++i) {
        size_t k = i + row;

        CHECK(p.value[i] == want(look, k / (NY * NX), k / NX % NY, k % NX));
    }
}

/* A stop by the taker is passed on; the child that still sends is not waited for in vain. */
static int take_no_more(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    (void)context, (void)values, (void)n, (void)at, (void)stride;
    return mf_fail(MF_NUMERIC, "enough");
}

static void stops(void)
{
    struct mf_array a;

    CHECK(mf_array_open(file("stack8.tif"), NULL, &a) == MF_OK);
    CHECK(mf_array_visit(&a, 0, 3, take_no_more, NULL) == MF_NUMERIC && strcmp(mf_err_text(), "enough") == 0);
}

/* A chunk of a PNG by its name. */
static unsigned char *chunk(unsigned char *bytes, size_t n, const char *name)
{
    for (size_t at = 8; at + 12 <= n;) {
        const size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3]; /* all are short */

        if (memcmp(bytes + at + 4, name, 4) == 0) return bytes + at;
        at += length + 12;
    }
    abort();
}

/* A PNG with another end, checksum or place of a chunk is refused, and so is an animation. */
static void damaged_png(const char *name)
{
    static const unsigned char frames[] = {0, 0, 0, 8, 'a', 'c', 'T',  'L',  0,    0,
                                           0, 2, 0, 0, 0,   0,   0xf3, 0x8d, 0x93, 0x70}; /* two, for ever */
    FILE *from = fopen(file(name), "rb");
    unsigned char bytes[4096], *data, *end;
    size_t n = from ? fread(bytes, 1, sizeof bytes, from) : 0;

    CHECK(n > 60 && n < sizeof bytes - sizeof frames);
    if (from) fclose(from);
    folder = scratch;
    data = chunk(bytes, n, "IDAT");
    end = chunk(bytes, n, "IEND");
    end[-1] ^= 1;
    scratch_write(file("sum.png"), bytes, n);
    refused("sum.png", "CRC error");
    end[-1] ^= 1;
    scratch_write(file("cut.png"), bytes, (size_t)(end - bytes));
    refused("cut.png", "damaged");
    memmove(data + sizeof frames, data, (size_t)(bytes + n - data));
    memcpy(data, frames, sizeof frames);
    scratch_write(file("moves.png"), bytes, n + sizeof frames);
    refused("moves.png", "animation");
}

/* Files of users that are not read are named, with what to do. */
static void unread(void)
{
    static const struct {
        const char *name, *begins;
        size_t at;
        const char *word;
    } files[] = {
        {"a.jpg", "\xff\xd8\xff\xe0", 0, "JPEG, which is not read here; convert it to PNG"},
        {"a.bmp", "BM", 0, "BMP, which is not read here; convert it to PNG"},
        {"a.mhd", "ObjectType = Image\n", 0, "MetaImage (.mhd, .mha), which is not read here; convert it to NRRD"},
        {"a.vtk", "# vtk DataFile Version 3.0\n", 0, "legacy VTK file, which is not read here; save it as .vti"},
        {"a.nii", "n+1", 344, "NIfTI"},
        {"a.mat", "MATLAB 5.0 MAT-file", 0, "save it with -v7.3"},
        {"a.npz", "PK\3\4", 0, "give one .npy"},
        {"a.nii.gz", "\x1f\x8b\x08", 0, "unpack it"},
        {"a.raw", "BM", 0,
         "no format that is read here (.npy, PNG, TIFF, HDF5, NRRD, VTK's XML, DREAM.3D); raw values need"},
        {"a.pkl", "\x80\2}", 0, "is a pickle"},
        {"a.ang", "# TEM_PIXperUM", 0, "is an EBSD map"},
        {"a.ctf", "Channel Text File", 0, "is an EBSD map (.ctf)"},
        {"a.czi", "ZISRAWFILE", 0, "Zeiss"},
        {"a.dm4", "\4", 3, "DigitalMicrograph"},
        {"a.lif", "\x70", 0, "Leica"},
        {"a.nd2", "\xda\xce\xbe\n", 0, "Nikon"},
        {"a.tif", "version https://git-lfs.github.com/spec/v1\n", 0, "is a pointer of Git LFS"},
        {"a.csv", "0,1\n", 0, "a table of text, which is not read here"},
        {"a.dat", "\x70", 0, "no format that is read here"}};

    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        char bytes[600] = {0};

        memcpy(bytes + files[i].at, files[i].begins, strlen(files[i].begins));
        scratch_write(file(files[i].name), bytes, sizeof bytes);
        refused(files[i].name, files[i].word);
    }
}

/* Bytes are counted as one by one. There are two and few kinds of them (fast ways) and many, in runs that fill no
 * block. The checksum may have looked at them. */
static void counts(void)
{
    static uint8_t bytes[150000];
    int64_t all[256] = {0}, one[256] = {0};
    uint32_t state = 7;

    for (size_t i = 0; i < sizeof bytes; ++i) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(state >> 24 & (i < 50000 ? 1 : i < 100000 ? 3 : 255));
        ++one[bytes[i]];
    }
    mf_scan_count(bytes, 1234, NULL, all);
    mf_scan_count(bytes + 1234, sizeof bytes - 1234, NULL, all);
    CHECK(memcmp(all, one, sizeof all) == 0);
    memset(all, 0, sizeof all);
    for (size_t at = 0; at < sizeof bytes; at += 9999) {
        size_t n = sizeof bytes - at < 9999 ? sizeof bytes - at : 9999;
        struct mf_crc_look look = {0};

        (void)mf_crc32c_look(0, bytes + at, n, &look);
        mf_scan_count(bytes + at, n, &look, all);
    }
    CHECK(memcmp(all, one, sizeof all) == 0);
}

/* Otsu of two heaps parts them; the threshold is the last value of the lower heap. */
static void otsu(void)
{
    struct mf_comm self;
    struct mf_array a;
    struct mf_scan s;
    double t = -1;

    mf_comm_self(&self);
    CHECK(mf_array_open(file("palette.png"), NULL, &a) == MF_OK);
    CHECK(mf_scan(&self, &a, NULL, &s) == MF_OK && s.distinct == 3 && s.low == 0 && s.high == 255 && !s.bad);
    CHECK(mf_scan_otsu(&self, &a, NULL, &s, &t) == MF_OK);
    CHECK(t == 0 || t == 128);
}

int main(int argc, char **argv)
{
    struct mf_comm comm;

    NEEDS(1, "FOLDER");
    folder = argv[1];
    read_right("grey8.png", GREY, 1, 1);
    read_right("grey16.png", WIDE, 1, 2);
    read_right("labels.png", LABELS, 1, 1);
    read_right("bits.png", BITS, 1, 1);
    read_right("rgb_grey.png", GREY, 1, 1);
    read_right("alpha_opaque.png", GREY, 1, 1);
    read_right("palette.png", PALETTE, 1, 1);
    read_right("interlaced.png", GREY, 1, 1);
    read_right("stack8.tif", GREY, NZ, 1);
    read_right("stack16.tif", WIDE, NZ, 2);
    read_right("float.tif", GREY, NZ, 4);
    read_right("big.tif", GREY, NZ, 1);
    read_right("single.tif", GREY, 1, 1);
    read_right("labels.tif", LABELS, NZ, 1);
    read_right("white.tif", GREY, NZ, 1);
    read_right("tiles.tif", GREY, NZ, 1);
    read_right("lzw.tif", GREY, 1, 1);
    read_right("deflate.tif", GREY, 1, 1);
    read_right("bits_g4.tif", BITS, 1, 1);
    refused("rgb.png", "colour");
    refused("alpha.png", "transparent");
    refused("rgb.tif", "colour");
    refused("uneven.tif", "page 2 differs");
    refused("bomb.png", "claims");
    refused("bomb.tif", "claims");
    parts("grey8.png", GREY);
    parts("interlaced.png", GREY);
    parts("stack16.tif", WIDE);
    parts("tiles.tif", GREY);
    stops();
    counts();
    otsu();
    mf_comm_self(&comm);
    scratch_open(&comm);
    for (int i = 0; i < 3; ++i) {
        folder = argv[1];
        damaged_png(((const char *const[]){"grey8.png", "palette.png", "interlaced.png"})[i]);
    }
    unread();
    scratch_close(&comm);
    return failures != 0;
}
