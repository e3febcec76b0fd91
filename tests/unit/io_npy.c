/* Every .npy that NumPy writes of plain numbers is read, alike on any number of ranks. Type, byte order, axis order,
 * version and spelling of the header do not matter. Everything else is refused with one sentence and MF_INPUT. */
#include "tests/check.h"

#include <stdint.h>

#include "io/npy.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "tests/scratch.h"

enum { NZ = 5, NY = 3, NX = 4 };

static struct mf_comm comm;
static struct mf_arena *arena;

static int want_phase(size_t z, size_t y, size_t x) { return (int)((z * 7 + y * 3 + x * 5 + z * x) % 3); }

/* The value as @p descr says, at @p to. */
static void put(const char *descr, int value, unsigned char *to)
{
    size_t size = (size_t)(descr[2] - '0');
    union {
        uint64_t u;
        float f;
        double d;
        unsigned char byte[8];
    } v = {0};

    if (descr[1] != 'f') v.u = (uint64_t)value;
    if (descr[1] == 'f' && size == 2) v.u = (uint64_t[]){0, 0x3c00, 0x4000}[value];
    if (descr[1] == 'f' && size == 4) v.f = (float)value;
    if (descr[1] == 'f' && size == 8) v.d = value;
    for (size_t b = 0; b < size; ++b) to[b] = v.byte[descr[0] == '>' ? size - 1 - b : b];
}

static size_t head(unsigned char *to, int version, const char *text)
{
    size_t n = strlen(text), start = version == 1 ? 10 : 12, length = (start + n + 1 + 63) / 64 * 64 - start;

    memset(to, ' ', start + length);
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)version;
    to[7] = 0;
    to[8] = (unsigned char)(length & 255);
    to[9] = (unsigned char)(length >> 8);
    if (version > 1) to[10] = to[11] = 0;
    memcpy(to + start, text, n);
    to[start + length - 1] = '\n';
    return start + length;
}

static int read_file(const char *path, const struct mf_micro_read *how, struct mf_micro *m)
{
    mf_comm_barrier(&comm);
    return mf_micro_read(&comm, arena, path, how, m);
}

static void check_volume(const char *path, const char *what, int two)
{
    struct mf_micro m;
    size_t ny = NY, nx = NX;
    int bad = 0;

    if (read_file(path, NULL, &m) != MF_OK) {
        fprintf(stderr, "%s: %s\n", what, mf_err_text());
        CHECK(0);
        return;
    }
    CHECK(m.ndim == 3 && m.slab.dims[0] == NZ && m.slab.dims[1] == ny && m.slab.dims[2] == nx);
    CHECK(m.phases == (two ? 2 : 3) && m.grey == NULL);
    CHECK(mf_micro_hash(&comm, &m) == MF_OK && strlen(m.hash) == 64);
    for (size_t z = 0; z < m.slab.count; ++z)
        for (size_t y = 0; y < ny; ++y)
            for (size_t x = 0; x < nx; ++x) {
                int want = want_phase(m.slab.first + z, y, x);

                bad += m.phase[(z * ny + y) * nx + x] != (two ? want > 0 : want);
            }
    if (bad) fprintf(stderr, "%s: %d voxels wrong\n", what, bad);
    CHECK(bad == 0);
    mf_micro_free(&m);
}

static void types(void)
{
    static const char *descr[] = {"|b1", "|u1", "|i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4",
                                  "<u8", ">u8", "<i8", ">i8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"};
    unsigned char bytes[4096];
    char text[256];

    for (size_t t = 0; t < sizeof descr / sizeof descr[0]; ++t)
        for (int fortran = 0; fortran < 2; ++fortran) {
            size_t n, size = (size_t)(descr[t][2] - '0');
            int two = descr[t][1] == 'b';

            snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (5, 3, 4), }", descr[t],
                     fortran ? "True" : "False");
            n = head(bytes, 1 + (int)t % 3, text);
            for (size_t z = 0; z < NZ; ++z)
                for (size_t y = 0; y < NY; ++y)
                    for (size_t x = 0; x < NX; ++x) {
                        size_t at = fortran ? z + NZ * (y + NY * x) : (z * NY + y) * NX + x;
                        int want = want_phase(z, y, x);

                        put(descr[t], two ? want > 0 : want, bytes + n + at * size);
                    }
            if (comm.rank == 0) scratch_write(scratch_file("t.npy"), bytes, n + NZ * NY * NX * size);
            check_volume(scratch_file("t.npy"), text, two);
        }
}

static void spellings(void)
{
    static const char *text[] = {"{\"shape\":(5L,3L,4L),\"descr\":\"|u1\",\"fortran_order\":False}",
                                 "  { 'fortran_order' : False ,'shape':( 5 , 3,4 ,) , 'descr' :'u1',}",
                                 "{'descr': '=u1', 'shape': (5,3,4), 'fortran_order': False}"};
    unsigned char bytes[1024];

    for (size_t t = 0; t < 3; ++t) {
        size_t n = head(bytes, 1, text[t]);

        for (size_t i = 0; i < NZ * NY * NX; ++i)
            bytes[n + i] = (unsigned char)want_phase(i / (NY * NX), i / NX % NY, i % NX);
        if (comm.rank == 0) scratch_write(scratch_file("s.npy"), bytes, n + NZ * NY * NX);
        check_volume(scratch_file("s.npy"), text[t], 0);
    }
}

/* A file of this header and these values is refused, naming @p word. */
static void refused(const char *text, const void *values, size_t n_values, const struct mf_micro_read *how,
                    const char *word)
{
    unsigned char bytes[2048];
    size_t n = head(bytes, 1, text);
    struct mf_micro m;
    int rc;

    memcpy(bytes + n, values, n_values);
    if (comm.rank == 0) scratch_write(scratch_file("r.npy"), bytes, n + n_values);
    rc = read_file(scratch_file("r.npy"), how, &m);
    if (rc != MF_INPUT || !strstr(mf_err_text(), word)) {
        fprintf(stderr, "%s: code %d, '%s', want '%s'\n", text, rc, mf_err_text(), word);
        CHECK(0);
    }
    if (rc == MF_OK) mf_micro_free(&m);
}

#define HEADER(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }"

static void bad_headers(void)
{
    static const unsigned char zeros[64];

    refused(HEADER("|O", "(2, 2)"), zeros, 32, NULL, "pickle");
    refused("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2, 2), }", zeros, 16, NULL, "structured");
    refused(HEADER("|V4", "(2, 2)"), zeros, 16, NULL, "structured");
    refused(HEADER("<c8", "(2, 2)"), zeros, 32, NULL, "type");
    refused(HEADER("<f16", "(2, 2)"), zeros, 64, NULL, "type");
    refused(HEADER("<U4", "(2, 2)"), zeros, 64, NULL, "type");
    refused(HEADER("|u1", "(4, 4)"), zeros, 15, NULL, "damaged");
    refused(HEADER("|u1", "(4, 4)"), zeros, 17, NULL, "damaged");
    refused(HEADER("|u1", "(0, 4)"), zeros, 0, NULL, "empty");
    refused(HEADER("|u1", "(4,)"), zeros, 4, NULL, "axis");
    refused(HEADER("|u1", "()"), zeros, 1, NULL, "axes");
    refused(HEADER("|u1", "(2, 1, 2, 2, 2)"), zeros, 16, NULL, "axes");
    refused(HEADER("|u1", "(-4, 4)"), zeros, 16, NULL, "header");
    refused(HEADER("|u1", "(4 4)"), zeros, 16, NULL, "header");
    refused(HEADER("<u8", "(4294967296, 4294967296, 4294967296)"), zeros, 16, NULL, "counted");
    refused(HEADER("<u8", "(99999999999999999999999, 2)"), zeros, 16, NULL, "header");
    refused("{'descr': '|u1', 'fortran_order': False}", zeros, 16, NULL, "header");
    refused("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (4, 4)}", zeros, 16, NULL, "header");
    refused(HEADER("|u1", "(4, 4)") "x", zeros, 16, NULL, "header");
    refused("", zeros, 16, NULL, "header");
}

static void bad_values(void)
{
    static const long labels[] = {0, 128};
    const struct mf_micro_read mapped = {.label_count = 2, .labels = labels}, grey = {.grey = 1};
    const double nan_there[4] = {0, 1, (double)NAN, 1}, infinite[4] = {0, 1, (double)INFINITY, 1};
    const double real[4] = {0.25, 0.5, 0.75, 1}, wide[4] = {-0.5, 0.5, 0.75, 1};
    const int64_t huge[4] = {0, 1, INT64_C(4000000000000), 1};
    const uint64_t larger[4] = {0, 1, UINT64_MAX, 1};
    unsigned char many[64];
    const float sums[16] = {0.5F, 0.5F, 0.5F, 0.4F, 1, 0, 0, 1};

    for (size_t i = 0; i < sizeof many; ++i) many[i] = (unsigned char)i;
    refused(HEADER("<f8", "(2, 2)"), nan_there, 32, NULL, "NaN");
    refused(HEADER("<f8", "(2, 2)"), infinite, 32, &grey, "infinite");
    refused(HEADER("<f8", "(2, 2)"), real, 32, NULL, "--threshold");
    refused(HEADER("<f8", "(2, 2)"), wide, 32, &grey, "--threshold");
    refused(HEADER("<i8", "(2, 2)"), huge, 32, NULL, "--labels 0,1,4000000000000");
    refused(HEADER("<u8", "(2, 2)"), larger, 32, NULL, "--threshold");
    refused(HEADER("|u1", "(2, 2)"), "\0\2\5\0", 4, NULL, "0, 2, 5");
    refused(HEADER("|u1", "(2, 2)"), "\1\1\1\1", 4, NULL, "--labels");
    refused(HEADER("|i1", "(2, 2)"), "\0\xff\0\0", 4, NULL, "-1, 0");
    refused(HEADER("|u1", "(8, 8)"), many, 64, NULL, "--threshold");
    refused(HEADER("|u1", "(2, 2)"), "\0\x80\x81\0", 4, &mapped, "129");
    refused(HEADER("<f4", "(2, 2, 2, 2)"), sums, 64, &grey, "sum to 1");
}

static void bad_files(void)
{
    const char *path = scratch_file("b.npy");
    struct mf_micro m;

    CHECK(read_file(scratch_file("none.npy"), NULL, &m) == MF_INPUT && strstr(mf_err_text(), "No such file"));
    if (comm.rank == 0) scratch_write(path, "", 0);
    CHECK(read_file(path, NULL, &m) == MF_INPUT && strstr(mf_err_text(), "empty"));
    if (comm.rank == 0) scratch_write(path, "\x93NUMPY\1", 7);
    CHECK(read_file(path, NULL, &m) == MF_INPUT);
    if (comm.rank == 0) scratch_write(path, "\x93NUMPY\2\0\xff\xff\xff\x7f  ", 14);
    CHECK(read_file(path, NULL, &m) == MF_INPUT);
    if (comm.rank == 0) scratch_write(path, "\x93NUMPY\4\0\xff\xff\xff\x7f  ", 14);
    CHECK(read_file(path, NULL, &m) == MF_INPUT && strstr(mf_err_text(), "version"));
    if (comm.rank == 0) scratch_write(path, "hello, world", 12);
    CHECK(read_file(path, NULL, &m) == MF_INPUT && strstr(mf_err_text(), "no format"));
    CHECK(read_file(scratch, NULL, &m) == MF_INPUT && strstr(mf_err_text(), "folder"));
}

static void bad_requests(void)
{
    static const long twice[] = {1, 1}, all[] = {0, 1};
    const double flat[3] = {1, 0, 1};
    const struct mf_micro_read how[] = {{.label_count = 2, .labels = twice},
                                        {.label_count = 2, .labels = all, .threshold = "otsu"},
                                        {.threshold = "half"},
                                        {.threshold = "7"},
                                        {.spacing = flat}};
    unsigned char bytes[256];
    size_t n = head(bytes, 1, HEADER("|u1", "(2, 2)"));
    struct mf_micro m;

    memcpy(bytes + n, "\0\1\1\0", 4);
    if (comm.rank == 0) scratch_write(scratch_file("q.npy"), bytes, n + 4);
    for (size_t i = 0; i < sizeof how / sizeof how[0]; ++i)
        CHECK(read_file(scratch_file("q.npy"), &how[i], &m) == MF_USAGE);
}

/* One rank only does not find the file: all refuse. */
static void one_rank_misses(void)
{
    struct mf_micro m;
    char own[600];

    snprintf(own, sizeof own, "%s%s", scratch_file("q.npy"), comm.rank == comm.size - 1 ? ".gone" : "");
    CHECK(read_file(own, NULL, &m) == MF_INPUT && strstr(mf_err_text(), "No such file"));
}

/* A header of version 2 or 3 as long as ours says nothing, and nothing is read beyond it (which sanitizers see). */
static void other_versions(void)
{
    static const size_t shape[2] = {2, 3};
    unsigned char bytes[MF_NPY_HEADER + 64];
    struct mf_array a;

    for (int version = 1; version <= 3; ++version)
        for (int axes = MF_AXES_PLACES; axes <= MF_AXES_PAIR_LAG; ++axes) {
            const size_t n = mf_npy_header("<f8", 2, shape, (enum mf_axes)axes, (char *)bytes);

            memset(bytes + n, 0, 48);
            if (version > 1) { /* four bytes of length, and two blanks less */
                memmove(bytes + 12, bytes + 10, n - 13);
                bytes[6] = (unsigned char)version;
                bytes[8] = (unsigned char)((n - 12) & 255);
                bytes[9] = (unsigned char)((n - 12) >> 8);
                bytes[10] = bytes[11] = 0;
            }
            if (comm.rank == 0) scratch_write(scratch_file("a.npy"), bytes, n + 48);
            CHECK(mf_agree(&comm, MF_OK) == MF_OK);
            CHECK(mf_array_open(scratch_file("a.npy"), NULL, &a) == MF_OK && a.offset == n);
            CHECK(a.axes == (version == 1 ? (enum mf_axes)axes : MF_AXES_UNSAID));
            CHECK(mf_agree(&comm, MF_OK) == MF_OK);
        }
}

/* A file of ours that says what its axes are is known by it, whole or not at all. */
static void said_axes(void)
{
    static const size_t shape[4] = {2, 3, 4, 5};
    unsigned char bytes[MF_NPY_HEADER + 960] = {0};
    struct mf_array a;

    for (int axes = MF_AXES_UNSAID; axes <= MF_AXES_PAIR_LAG; ++axes)
        for (int change = 0; change < 2; ++change) {
            const size_t n = mf_npy_header("<f8", 4, shape, (enum mf_axes)axes, (char *)bytes);

            CHECK(n % 64 == 0 && n <= MF_NPY_HEADER && bytes[n - 1] == '\n');
            if (change) bytes[n - 2] = '\t';
            if (comm.rank == 0) scratch_write(scratch_file("a.npy"), bytes, n + 960);
            CHECK(mf_agree(&comm, MF_OK) == MF_OK);
            CHECK(mf_array_open(scratch_file("a.npy"), NULL, &a) == MF_OK && a.offset == n);
            CHECK(a.ndim == 4 && a.axes == (change ? MF_AXES_UNSAID : (enum mf_axes)axes));
            CHECK(mf_agree(&comm, MF_OK) == MF_OK);
        }
}

int main(int argc, char **argv)
{
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_log_open(comm.rank, comm.size, MF_QUIET);
    scratch_open(&comm);
    types();
    spellings();
    bad_headers();
    bad_values();
    bad_files();
    bad_requests();
    one_rank_misses();
    said_axes();
    other_versions();
    scratch_close(&comm);
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
