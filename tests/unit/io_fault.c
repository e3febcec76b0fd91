/* One refusal on one rank, anywhere on the way of a write or a read (MF_FAULT names the place). Every rank gets the
 * code, the old file is as it was, nothing is left beside it, nobody hangs. */
#include "tests/check.h"

#include <stdint.h>

#include "io/hash.h"
#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "tests/scratch.h"

static struct mf_comm comm;
static struct mf_arena *arena;

static int write_read(const char *path, struct mf_micro *m)
{
    struct mf_micro back;

    MF_TRY(mf_micro_write(&comm, path, m, NULL));
    MF_TRY(mf_micro_read(&comm, arena, path, NULL, &back));
    mf_micro_free(&back);
    return MF_OK;
}

static void one(const char *ending, int want, const char *fault)
{
    const size_t dims[3] = {6, 5, 4};
    struct mf_micro m = {.ndim = 3, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}, .arena = arena};
    char path[300], before[65] = "", after[65] = "";
    int rc, files;

    snprintf(path, sizeof path, "%s/m%s", scratch, ending);
    m.slab = mf_slab_of(&comm, dims, comm.rank);
    m.phase = mf_arena_zeros(arena, mf_slab_voxels(&m.slab), 1, "phase");
    for (size_t i = 0; i < mf_slab_voxels(&m.slab); ++i) m.phase[i] = (uint8_t)((m.slab.first + i) & 1);
    mf_fault_set(NULL);
    CHECK(write_read(path, &m) == MF_OK);
    mf_comm_barrier(&comm);
    CHECK(mf_hash_file(path, before) == MF_OK);
    files = scratch_count(0);
    for (size_t i = 0; i < mf_slab_voxels(&m.slab); ++i) m.phase[i] ^= 1;
    mf_comm_barrier(&comm);
    mf_fault_set(fault);
    rc = write_read(path, &m);
    if (rc != want) fprintf(stderr, "%s %s: code %d, want %d: %s\n", ending, fault, rc, want, mf_err_text());
    CHECK(rc == want);
    CHECK(rc == MF_OK || strlen(mf_err_text()) > 10);
    mf_comm_barrier(&comm);
    CHECK(scratch_count(0) == files);
    CHECK(mf_hash_file(path, after) == MF_OK);
    CHECK(want != MF_OUTPUT || strcmp(before, after) == 0);
    mf_micro_free(&m);
    mf_comm_barrier(&comm);
    if (comm.rank == 0) scratch_count(1);
    mf_comm_barrier(&comm);
}

int main(int argc, char **argv)
{
    NEEDS(3, "EXTENSION FAULT CODE [FAULT CODE ...]");
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_log_open(comm.rank, comm.size, MF_QUIET);
    mf_err_rank(comm.rank);
    scratch_open(&comm);
    for (int i = 2; i + 1 < argc; i += 2) one(argv[1], atoi(argv[i + 1]), argv[i]);
    scratch_close(&comm);
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
