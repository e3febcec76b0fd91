/* A microstructure written in any format by any number of ranks is read back equal. So are its labels, names, spacing
 * and unit. Float fields are likewise. A refused write leaves the old file and nothing else. */
#include "tests/check.h"

#include <stdint.h>
#include <sys/stat.h>

#include "io/array.h"
#include "io/hash.h"
#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "tests/scratch.h"

static struct mf_comm comm, self;
static struct mf_arena *arena;

static uint8_t phase_at(size_t z, size_t y, size_t x, int phases)
{
    return (uint8_t)((z * 7 + y * y + 5 * x) % (size_t)phases);
}

static void make(struct mf_micro *m, size_t nz, size_t ny, size_t nx, int phases)
{
    const size_t dims[3] = {nz, ny, nx};

    *m = (struct mf_micro){.ndim = nz == 1 ? 2 : 3, .phases = phases, .arena = arena, .unit = "um"};
    m->slab = mf_slab_of(&comm, dims, comm.rank);
    for (int p = 0; p < phases; ++p) {
        m->label[p] = 10 * p + 3;
        snprintf(m->name[p], sizeof m->name[p], "phase \xc3\xa4 %d", p);
    }
    m->spacing[0] = nz == 1 ? 1 : 0.5;
    m->spacing[1] = 0.25;
    m->spacing[2] = 0.125;
    m->phase = mf_arena_take(arena, mf_slab_voxels(&m->slab), "phase");
    for (size_t i = 0; i < mf_slab_voxels(&m->slab); ++i)
        m->phase[i] = phase_at(m->slab.first + i / (ny * nx), i / nx % ny, i % nx, phases);
}

static void check_equal(const struct mf_micro *m, size_t nz, size_t ny, size_t nx, int phases, int own)
{
    size_t bad = 0;

    CHECK(m->slab.dims[0] == nz && m->slab.dims[1] == ny && m->slab.dims[2] == nx && m->phases == phases);
    for (size_t i = 0; i < mf_slab_voxels(&m->slab); ++i)
        bad += m->phase[i] != phase_at(m->slab.first + i / (ny * nx), i / nx % ny, i % nx, phases);
    CHECK(bad == 0);
    if (!own) return;
    CHECK(m->label[phases - 1] == 10 * (phases - 1) + 3 && strcmp(m->unit, "um") == 0);
    CHECK(m->spacing[0] == (nz == 1 ? 1 : 0.5) && m->spacing[1] == 0.25 && m->spacing[2] == 0.125);
    CHECK(strncmp(m->name[1], "phase \xc3\xa4 1", 10) == 0);
}

static void round_trip(const char *ending, size_t nz, size_t ny, size_t nx, int phases)
{
    static const long grey[3][3] = {{0}, {0, 255}, {0, 128, 255}};
    struct mf_micro_read how = {0};
    const double loss[6] = {1, 0.1, 2, 2, 0.2, 1};
    struct mf_provenance p = {"test", "a: 1\n", "", 3, "{}", 2, loss};
    int own = ending[1] == 'h' || ending[1] == 'v';
    struct mf_micro m, back;
    char path[300];

    snprintf(path, sizeof path, "%s/m%s", scratch, ending);
    if (ending[1] == 'p') how = (struct mf_micro_read){.label_count = (size_t)phases, .labels = grey[phases - 1]};
    make(&m, nz, ny, nx, phases);
    if (mf_micro_write(&comm, path, &m, &p) != MF_OK) {
        fprintf(stderr, "%s: %s\n", path, mf_err_text());
        CHECK(0);
    }
    CHECK(mf_micro_read(&comm, arena, path, &how, &back) == MF_OK);
    check_equal(&back, nz, ny, nx, phases, own);
    mf_micro_free(&back);
    CHECK(mf_micro_read(&self, arena, path, &how, &back) == MF_OK); /* each rank the whole */
    check_equal(&back, nz, ny, nx, phases, own);
    mf_micro_free(&back);
    mf_micro_free(&m);
    mf_comm_barrier(&comm);
    if (comm.rank == 0) CHECK(scratch_count(1) == 1 + own); /* the .xdmf; no temporary */
    mf_comm_barrier(&comm);
}

static void fields(int ndim, int count)
{
    const size_t dims[3] = {ndim == 2 ? 1 : 6, 5, 7};
    const struct mf_micro_read how = {.grey = 1};
    struct mf_slab slab = mf_slab_of(&comm, dims, comm.rank);
    size_t n = mf_slab_voxels(&slab), bad = 0;
    float *x = malloc((n * (size_t)count + 1) * sizeof *x);
    struct mf_micro m;

    for (size_t i = 0; i < n; ++i)
        for (int f = 0; f < count; ++f) {
            float a = (float)((slab.first * 35 + i) % 9) / 16.0F;

            x[(size_t)f * n + i] = count == 1 ? a : f == 0 ? a : f == 1 ? 1 - a : 0;
        }
    CHECK(mf_field_write(&comm, scratch_file("f.npy"), &slab, ndim, count, x) == MF_OK);
    CHECK(mf_micro_read(&comm, arena, scratch_file("f.npy"), &how, &m) == MF_OK);
    CHECK(m.ndim == ndim && m.fields == count && m.grey && !m.phase && m.slab.dims[0] == dims[0]);
    for (size_t i = 0; i < n * (size_t)count; ++i) bad += m.grey[i] != x[i];
    CHECK(bad == 0);
    mf_micro_free(&m);
    free(x);
}

/* Sentences and codes; the old file stays. */
static void refusals(void)
{
    struct mf_micro m, image;
    char hex[65];

    make(&m, 4, 3, 5, 2);
    make(&image, 1, 3, 5, 2);
    CHECK(mf_micro_write(&comm, scratch_file("x.xyz"), &m, NULL) == MF_USAGE && strstr(mf_err_text(), ".h5"));
    CHECK(mf_micro_write(&comm, scratch_file("x.png"), &m, NULL) == MF_OUTPUT && strstr(mf_err_text(), "planes"));
    CHECK(mf_micro_write(&comm, scratch_file("no/x.h5"), &m, NULL) == MF_OUTPUT && strstr(mf_err_text(), "no folder"));
    CHECK(mf_micro_write(&comm, scratch_file("no/x.npy"), &m, NULL) == MF_OUTPUT);
    CHECK(mf_micro_write(&comm, scratch_file("no/x.tif"), &m, NULL) == MF_OUTPUT);
    if (comm.rank == 0) (void)mkdir(scratch_file("d.npy"), 0777);
    mf_comm_barrier(&comm);
    CHECK(mf_micro_write(&comm, scratch_file("d.npy"), &m, NULL) == MF_OUTPUT && strstr(mf_err_text(), "a folder"));
    mf_comm_barrier(&comm);
    if (comm.rank == 0) (void)rmdir(scratch_file("d.npy"));
    if (comm.rank == 0) CHECK(scratch_count(1) == 1); /* f.npy of fields() */
    mf_comm_barrier(&comm);
    if (comm.rank == 0) {
        scratch_write(scratch_file("abc"), "abc", 3);
        CHECK(mf_hash_file(scratch_file("abc"), hex) == MF_OK);
        CHECK(strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0);
        CHECK(mf_hash_file(scratch_file("none"), hex) == MF_INPUT);
    }
    mf_micro_free(&image);
    mf_micro_free(&m);
}

int main(int argc, char **argv)
{
    static const char *ending[] = {".npy", ".h5", ".vtkhdf", ".tif"};

    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_comm_self(&self);
    mf_log_open(comm.rank, comm.size, MF_QUIET);
    scratch_open(&comm);
    for (int i = 0; i < 4; ++i) {
        round_trip(ending[i], 7, 5, 3, 3);
        round_trip(ending[i], 2, 9, 11, 2);
        round_trip(ending[i], 1, 13, 6, 2);
        round_trip(ending[i], 1, 1, 6, 3);
    }
    round_trip(".png", 1, 13, 6, 3);
    fields(2, 1);
    fields(3, 1);
    fields(2, 3);
    fields(3, 3);
    refusals();
    scratch_close(&comm);
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
