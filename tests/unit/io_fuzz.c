/* Whatever is done to a file, reading it succeeds or is refused with MF_INPUT. Nothing crashes, lasts, or takes memory
 * that the file cannot fill. (A believed extent or count may be too large for memory: MF_MEMORY.) The mutations per
 * file are argv[1], the files argv[2..]. File ".vtr" is one that is written here, "safetensors" one of networks'
 * weights. With "kinds" arrays mean the same in many ways, each read right or refused, never silently other. */
#include "tests/check.h"

#include <math.h>
#include <stdint.h>
#include <sys/resource.h>

#include "io/micro.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/rng.h"
#include "tests/scratch.h"
#include "tests/unit/tiff_case.h"

enum { LIMIT = 256 << 20, EXTRA = 64, MOST_KIB = 400 << 10 };

/* Time of one reading, child and all. */
static const double MOST_SECONDS = 5;

static struct mf_comm comm;
static struct mf_arena *arena;
static uint64_t draws;

static uint32_t draw(uint32_t below)
{
    uint32_t r[4];

    mf_random4(20240601, 1, draws++, r);
    return below ? r[0] % below : 0;
}

static unsigned char *load(const char *path, size_t *n)
{
    FILE *from = fopen(path, "rb");
    unsigned char *bytes;

    if (!from || fseek(from, 0, SEEK_END) != 0) exit(1);
    *n = (size_t)ftell(from);
    rewind(from);
    bytes = malloc(*n + EXTRA);
    if (!bytes || fread(bytes, 1, *n, from) != *n) exit(1);
    fclose(from);
    return bytes;
}

/* One to four changes; most of them near the beginning, where headers are. Returns the new length. */
static size_t mutate(unsigned char *b, size_t n)
{
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '(', '\''};
    uint32_t changes = 1 + draw(4);

    while (changes-- && n) {
        uint32_t at = draw(2) ? draw((uint32_t)n) : draw(n < 256 ? (uint32_t)n : 256);

        switch (draw(6)) {
        case 0: b[at] ^= (unsigned char)(1U << draw(8)); break;
        case 1: b[at] = telling[draw(sizeof telling)]; break;
        case 2: memset(b + at, telling[draw(5)], n - at < 4 ? n - at : 4); break;
        case 3: b[at] = (unsigned char)draw(256); break;
        case 4: n = at; break;
        default: memmove(b + at, b + draw((uint32_t)n - at < 8 ? at + 1 : at + 8) % n, 1); break;
        }
    }
    return n;
}

static int read_once(const char *path, uint32_t kind)
{
    static const long labels[] = {0, 1, 2, 127, 255};
    static const struct mf_micro_read how[] = {
        {.grey = 0}, {.threshold = "otsu"}, {.grey = 1}, {.label_count = 5, .labels = labels}};
    struct mf_micro m;
    int rc = mf_micro_read(&comm, arena, path, &how[kind % 4], &m);

    if (rc == MF_OK) mf_micro_free(&m);
    return rc;
}

static int read_weights(const char *path)
{
    const struct mf_safetensors_entry *list;
    struct mf_safetensors *file;
    int rc = mf_safetensors_open(path, &file);
    size_t count;

    if (rc != MF_OK) return rc;
    list = mf_safetensors_list(file, &count);
    for (size_t i = 0; rc == MF_OK && i < count; ++i) {
        float reals[64];
        int64_t wholes[64];

        rc = mf_safetensors_read(file, list[i].name, list[i].ndim, list[i].dims, reals);
        if (rc == MF_INPUT) rc = mf_safetensors_read_whole(file, list[i].name, list[i].ndim, list[i].dims, wholes);
    }
    mf_safetensors_close(file);
    return rc;
}

/* Processor time of this process and of the children that have ended [s]; *kib: the most memory that one had. */
static double used(long *kib)
{
    struct rusage own, children;
    double seconds = 0;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    *kib = own.ru_maxrss > children.ru_maxrss ? own.ru_maxrss : children.ru_maxrss;
    for (int i = 0; i < 2; ++i) {
        const struct rusage *r = i ? &children : &own;

        seconds += (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec);
        seconds += 1e-6 * (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
    }
    return seconds;
}

/* A TIFF as other programs write it. */
static const char *make_tiff(const char *name)
{
    static const uint16_t map[16] = {0, 257, 514, 65535};
    struct tiff_case behind = {
        .text = "ImageJ=1.53t\nimages=4\nslices=4\n", .bits = 16, .light = PHOTOMETRIC_MINISBLACK};
    struct tiff_case colours = {.light = PHOTOMETRIC_RGB,
                                .samples = 4,
                                .alpha = 1,
                                .planar = PLANARCONFIG_SEPARATE,
                                .strip = 5,
                                .compression = COMPRESSION_LZW,
                                .text = "{\"shape\": [4, 37, 24]}"};
    struct tiff_case palette = {.light = PHOTOMETRIC_PALETTE,
                                .bits = 4,
                                .tile = 16,
                                .map = {map, map, map},
                                .mode = "wb8",
                                .compression = COMPRESSION_PACKBITS};

    if (strcmp(name, ".behind.tif") == 0)
        tiff_behind(scratch_file(name + 1), &behind, 4);
    else
        CHECK(tiff_write(scratch_file(name + 1), strcmp(name, ".colours.tif") == 0 ? &colours : &palette));
    CHECK(read_once(scratch_file(name + 1), 1) == MF_OK);
    return scratch_file(name + 1);
}

/* A file of weights, or the index of two such files. */
static const char *make_weights(const char *name, const char *ending)
{
    static const float values[24] = {1, 2, -3};
    static const char *const metadata[] = {"mesoforge", "{\"a\": [1, 2]}", NULL};
    static const struct mf_safetensors_entry entries[] = {
        {.name = "a", .type = MF_F32, .ndim = 1, .dims = {2}, .data = values},
        {.name = "b", .type = MF_F16, .ndim = 2, .dims = {2, 3}, .data = values},
        {.name = "c", .type = MF_BF16, .data = values},
        {.name = "d", .type = MF_I64, .ndim = 1, .dims = {4}, .data = values}};

    if (strcmp(ending, "safetensors") == 0)
        CHECK(mf_safetensors_write(scratch_file(name), metadata, 4, entries) == MF_OK);
    else
        CHECK(mf_safetensors_write_split(scratch_file("seedsafetensors"), metadata, 4, entries, 24) == MF_OK);
    return scratch_file(name);
}

/* A sound file of that ending, written by this program. */
static const char *make(const char *ending)
{
    struct mf_micro m = {.ndim = 3, .phases = 3, .label = {0, 1, 2}, .spacing = {0.5, 1, 2}, .unit = "um"};
    const size_t dims[3] = {5, 6, 7};
    char name[32];

    if (strlen(ending) > 4 && strcmp(ending + strlen(ending) - 4, ".tif") == 0) return make_tiff(ending);
    snprintf(name, sizeof name, "seed%s", ending);
    if (ending[0] == 's') return make_weights(name, ending);
    m.slab = mf_slab_of(&comm, dims, 0);
    m.phase = mf_arena_take(arena, mf_slab_voxels(&m.slab), "seed");
    m.arena = arena;
    for (size_t i = 0; m.phase && i < mf_slab_voxels(&m.slab); ++i) m.phase[i] = (uint8_t)(i * i % 3);
    CHECK(m.phase && mf_micro_write(&comm, scratch_file(name), &m, NULL) == MF_OK);
    mf_micro_free(&m);
    return scratch_file(name);
}

static void fuzz(const char *from, long count)
{
    char *path = strdup(from); /* names of scratch files do not last */
    size_t n, length;
    unsigned char *good = load(path, &n), *bad = malloc(n + EXTRA);
    const int weights = strstr(path, "safetensors") != NULL;
    const char *place = scratch_file(strstr(path, ".json") ? "fuzz.json" : "fuzz");
    long fine = 0, broke = 0, kib = 0;
    double before;

    for (long i = 0; bad && i < count; ++i) {
        int rc;

        memcpy(bad, good, n);
        length = mutate(bad, n);
        scratch_write(place, bad, length);
        before = used(&kib);
        rc = weights ? read_weights(place) : read_once(place, (uint32_t)i);
        CHECK(used(&kib) - before < MOST_SECONDS);
        fine += rc == MF_OK;
        broke += rc != MF_OK && strstr(mf_err_text(), "decodes it failed") != NULL;
        if (rc == MF_OK || rc == MF_INPUT || rc == MF_MEMORY) continue;
        fprintf(stderr, "%s, mutation %ld: code %d: %s\n", path, i, rc, mf_err_text());
        CHECK(0);
    }
    printf("%s: %ld mutations, %ld still readable, %ld broke the decoding library in its child\n", path, count, fine,
           broke);
    CHECK(strstr(path, ".h5") || strstr(path, ".dream3d") || broke == 0);
#ifndef __SANITIZE_ADDRESS__
    CHECK(kib < MOST_KIB);
#endif
    free(bad);
    free(good);
    free(path);
}

/* ---- kinds: phases of which it is known what they are ---- */

enum { EDGE = 9, MORE = 5, VOXELS = 13 * 13 * 13 };

struct kind {
    int ndim, hot; /* hot: 1 phases along the last axis, 2 along the first; 0: one label for each voxel */
    size_t dims[3], voxels;
    unsigned char phase[VOXELS], covered[VOXELS];
    int masked, real;
};

/* Element @p e of the array: at a voxel, and of a phase where they stand side by side. Under the mask is anything. */
static double value_of(const struct kind *k, size_t e)
{
    const size_t v = k->hot == 1 ? e / 2 : e % k->voxels, p = k->hot == 1 ? e % 2 : e / k->voxels;

    if (k->masked && k->covered[v]) return k->real ? (double)NAN : 77;
    return k->hot ? (k->phase[v] == p ? 255.0 * (k->real == 0) + k->real : 0) : k->phase[v];
}

/* Axes of one value stand anywhere among those of places and phases. */
static int shape_of(const struct kind *k, size_t *shape)
{
    size_t axes[4];
    int n = 0, to = 0;

    if (k->hot == 2) axes[n++] = 2;
    for (int i = 3 - k->ndim; i < 3; ++i) axes[n++] = k->dims[i];
    if (k->hot == 1) axes[n++] = 2;
    for (int i = 0; i < n; ++i) {
        if (to < 6 - n && draw(4) == 0) shape[to++] = 1;
        shape[to++] = axes[i];
    }
    if (to < 6 && draw(3) == 0) shape[to++] = 1;
    return to;
}

static void write_npy(const char *path, const char *type, int ndim, const size_t *shape, const void *values,
                      size_t bytes)
{
    char *file = calloc(1, MF_NPY_HEADER + bytes);
    size_t n = mf_npy_header(type, ndim, shape, MF_AXES_UNSAID, file);

    memcpy(file + n, values, bytes);
    scratch_write(path, file, n + bytes);
    free(file);
}

static void make_kind(struct kind *k)
{
    *k = (struct kind){.ndim = 2 + (int)draw(2), .hot = (int)draw(3), .masked = (int)draw(2), .real = (int)draw(2)};
    k->voxels = 1;
    for (int i = 0; i < 3; ++i) k->voxels *= k->dims[i] = i < 3 - k->ndim ? 1 : EDGE + draw(MORE);
    for (size_t v = 0; v < k->voxels; ++v) {
        k->phase[v] = v < 2 ? (unsigned char)v : (unsigned char)draw(2);
        k->covered[v] = v >= 2 && draw(5) == 0;
    }
}

static void write_kind(const struct kind *k)
{
    const size_t n = k->voxels * (k->hot ? 2 : 1);
    unsigned char *bytes = malloc(n);
    float *reals = malloc(n * sizeof *reals);
    size_t shape[8];
    const int ndim = shape_of(k, shape);

    for (size_t e = 0; e < n; ++e) {
        reals[e] = (float)value_of(k, e);
        bytes[e] = k->real ? 0 : (unsigned char)value_of(k, e);
    }
    write_npy(scratch_file("kind.npy"), k->real ? "<f4" : "|u1", ndim, shape, k->real ? (void *)reals : bytes,
              k->real ? n * sizeof *reals : n);
    write_npy(scratch_file("mask.npy"), "|u1", k->ndim, k->dims + 3 - k->ndim, k->covered, k->voxels);
    free(reals);
    free(bytes);
}

/* Phases side by side, axes of one value, anything under a mask. */
static void read_kind(void)
{
    struct kind *k = malloc(sizeof *k);
    char *mask = strdup(scratch_file("mask.npy"));
    struct mf_micro_read how = {0};
    struct mf_micro m;
    size_t bad = 0;

    make_kind(k);
    write_kind(k);
    if (k->masked) how.mask = mask;
    if (mf_micro_read(&comm, arena, scratch_file("kind.npy"), &how, &m) != MF_OK) {
        fprintf(stderr, "phases %d, masked %d: %s\n", k->hot, k->masked, mf_err_text());
        CHECK(0);
    } else {
        CHECK(m.ndim == k->ndim && memcmp(m.slab.dims, k->dims, sizeof k->dims) == 0 && m.phases == 2);
        for (size_t v = 0; v < k->voxels; ++v) bad += m.phase[v] != (k->masked && k->covered[v] ? 0 : k->phase[v]);
        CHECK(bad == 0);
        mf_micro_free(&m);
    }
    free(mask);
    free(k);
}

/* Spacings of any units: of one unit, or of lengths that are known, or refused. */
static void read_units(void)
{
    static const char *const unit[] = {"um", "mm", "nm", "px"};
    static const double metres[] = {1e-6, 1e-3, 1e-9, 0};
    const uint32_t u[3] = {draw(4), draw(4), draw(4)}, broken = draw(6);
    const int same = u[0] == u[1] && u[1] == u[2], known = u[0] < 3 && u[1] < 3 && u[2] < 3;
    const double shortest = fmin(metres[u[0]], fmin(metres[u[1]], metres[u[2]])), none[] = {(double)NAN, 0, -1};
    double size[3] = {0.25, 0.5, 3};
    char text[400] = "";
    struct mf_micro m;
    int rc;

    if (broken < 3) size[broken] = none[draw(3)];
    snprintf(text, sizeof text,
             "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: raw\nspacings: %g %g %g\n"
             "units: \"%s\" \"%s\" \"%s\"\n\n",
             size[0], size[1], size[2], unit[u[0]], unit[u[1]], unit[u[2]]);
    memcpy(text + strlen(text) + 1, "\1\0\1\0\1\1\0", 7);
    scratch_write(scratch_file("kind.nrrd"), text, strlen(text) + 8);
    rc = mf_micro_read(&comm, arena, scratch_file("kind.nrrd"), NULL, &m);
    CHECK(rc == (broken >= 3 && (same || known) ? MF_OK : MF_INPUT));
    for (int i = 0; i < 3 && rc == MF_OK; ++i)
        CHECK(fabs(m.spacing[2 - i] / (same ? size[i] : size[i] * metres[u[i]] / shortest) - 1) < 1e-12);
    if (rc == MF_OK) mf_micro_free(&m);
}

int main(int argc, char **argv)
{
    NEEDS(2, "MUTATIONS FILE ...");
    if (mf_arena_open(&arena, NULL, LIMIT) != MF_OK) return 1;
    mf_comm_self(&comm);
    mf_log_open(0, 1, MF_QUIET);
    scratch_open(&comm);
    for (int i = 2; i < argc; ++i) {
        for (long n = 0; strcmp(argv[i], "kinds") == 0 && n < atol(argv[1]); ++n) {
            read_kind();
            read_units();
        }
        if (strcmp(argv[i], "kinds") == 0) continue;
        fuzz(argv[i][0] == '.' || argv[i][0] == 's' ? make(argv[i]) : argv[i], atol(argv[1]));
    }
    scratch_close(&comm);
    mf_arena_close(arena);
    return failures != 0;
}
