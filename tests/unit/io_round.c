/* Two runs, any number of ranks each. "write FILE" makes a volume by formula, "image FILE" its first plane. "check
 * FILE" reads the volume and compares. "refuse FILE MEBIBYTES" writes a volume of that size and wants MF_OUTPUT. With
 * "limit FILE MEBIBYTES" only the last rank's write fails in the middle. With "bound FILE MEBIBYTES" that is known
 * before: the old file must stay and nothing be left beside it. */
#include "tests/check.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"

static uint8_t phase_at(size_t z, size_t y, size_t x) { return (uint8_t)((z * 4 + y * y + 5 * x) % 3); }

static int make(const struct mf_comm *comm, struct mf_arena *arena, const size_t *dims, struct mf_micro *m)
{
    *m = (struct mf_micro){.ndim = dims[0] > 1 ? 3 : 2,
                           .phases = 3,
                           .label = {0, 128, 255},
                           .name = {"void", "matrix", "fibre"},
                           .spacing = {0.5, 0.25, 0.125},
                           .unit = "um",
                           .arena = arena};
    m->slab = mf_slab_of(comm, dims, comm->rank);
    m->phase = mf_arena_take(arena, mf_slab_voxels(&m->slab), "phase");
    if (!m->phase) return MF_MEMORY;
    for (size_t i = 0; i < mf_slab_voxels(&m->slab); ++i)
        m->phase[i] = phase_at(m->slab.first + i / (dims[1] * dims[2]), i / dims[2] % dims[1], i % dims[2]);
    return MF_OK;
}

static void check(const struct mf_comm *comm, struct mf_arena *arena, const char *path, const size_t *dims)
{
    struct mf_micro m;
    size_t bad = 0;

    if (mf_micro_read(comm, arena, path, NULL, &m) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        CHECK(0);
        return;
    }
    CHECK(memcmp(m.slab.dims, dims, sizeof m.slab.dims) == 0 && m.phases == 3);
    for (size_t i = 0; i < mf_slab_voxels(&m.slab); ++i)
        bad += m.phase[i] != phase_at(m.slab.first + i / (dims[1] * dims[2]), i / dims[2] % dims[1], i % dims[2]);
    CHECK(bad == 0);
    mf_micro_free(&m);
}

static int blind;

/* libc's, but that it may know of no limit on files: their writes then fail in the middle. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    int rc = prlimit(0, resource, NULL, limit);

    if (resource == RLIMIT_FSIZE && blind) limit->rlim_cur = limit->rlim_max = RLIM_INFINITY;
    return rc;
}

/* From here on the last rank cannot write beyond the middle of the volume. */
static void limit_last(const struct mf_comm *comm, const size_t *dims)
{
    struct rlimit half;

    if (comm->rank != comm->size - 1 || prlimit(0, RLIMIT_FSIZE, NULL, &half) != 0) return;
    (void)signal(SIGXFSZ, SIG_IGN);
    half.rlim_cur = dims[0] * dims[1] * dims[2] / 2;
    CHECK(prlimit(0, RLIMIT_FSIZE, &half, NULL) == 0);
}

int main(int argc, char **argv)
{
    static const double loss[6] = {1, 0.25, 2, 2, 0.5, 1};
    const struct mf_provenance p = {"test", "seed: 3\n", "0123", 3, "{\"loss\": 1.5}", 2, loss};
    size_t dims[3] = {7, 5, 6};
    struct mf_comm comm;
    struct mf_arena *arena;
    struct mf_micro m;
    int rc;

    NEEDS(2, "write|image|check|refuse|limit|bound FILE [MEBIBYTES]");
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_log_open(comm.rank, comm.size, MF_QUIET);
    if (strcmp(argv[1], "check") == 0) check(&comm, arena, argv[2], dims);
    if (strcmp(argv[1], "check") != 0) {
        const int good = strcmp(argv[1], "write") == 0 || strcmp(argv[1], "image") == 0;

        if (strcmp(argv[1], "image") == 0) dims[0] = 1;
        if (argc > 3) dims[0] = (size_t)atol(argv[3]);
        if (argc > 3) dims[1] = dims[2] = 1024;
        CHECK(mf_agree(&comm, make(&comm, arena, dims, &m)) == MF_OK);
        blind = strcmp(argv[1], "limit") == 0;
        if (blind || strcmp(argv[1], "bound") == 0) limit_last(&comm, dims);
        rc = mf_micro_write(&comm, argv[2], &m, &p);
        CHECK(rc == (good ? MF_OK : MF_OUTPUT));
        CHECK((strstr(mf_err_text(), "ulimit -f") != NULL) == (strcmp(argv[1], "bound") == 0));
        if (comm.rank == 0 && rc != MF_OK) fprintf(stderr, "%s\n", mf_err_text());
        mf_micro_free(&m);
    }
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
