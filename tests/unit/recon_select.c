/* Exactly as many voxels are chosen as were asked for, the largest ones, ties in global order, alike on any ranks. */
#include "src/recon/select.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/rng.h"
#include "tests/check.h"

enum { NZ = 7, NY = 5, NX = 6, N = NZ * NY * NX };

static float score_of(size_t i)
{
    uint32_t r[4];

    mf_random4(1, 0, i, r);
    return (float)(int)(r[0] % 23) - 11; /* many ties, both signs, zero */
}

/* How many voxels come before voxel i: larger, or equal with a smaller index. */
static size_t rank_of(size_t i)
{
    size_t before = 0;

    for (size_t j = 0; j < N; ++j) before += score_of(j) > score_of(i) || (score_of(j) == score_of(i) && j < i);
    return before;
}

static void top(const struct mf_comm *comm, const struct mf_slab *slab, uint64_t want)
{
    float score[N];
    uint8_t chosen[N];
    size_t n = mf_slab_voxels(slab), first = slab->first * NY * NX;

    for (size_t i = 0; i < n; ++i) score[i] = score_of(first + i);
    CHECK(mf_select_top(comm, slab, score, NULL, want, chosen) == 0);
    for (size_t i = 0; i < n; ++i) CHECK(chosen[i] == (rank_of(first + i) < want));
}

static void many(const struct mf_comm *comm, const struct mf_slab *slab)
{
    const double fractions[3] = {0.2, 0.5, 0.3}, over[2] = {-1e-9, 1 + 1e-9};
    float x[3 * N], score[N];
    uint8_t label[N], work[2 * N];
    uint64_t counts[3];
    int64_t got[3] = {0};
    size_t n = mf_slab_voxels(slab), first = slab->first * NY * NX;

    mf_phase_counts(N, 2, over, counts);
    CHECK(counts[0] == 0 && counts[1] == N);
    mf_phase_counts(N, 3, fractions, counts);
    CHECK(counts[0] + counts[1] + counts[2] == N && counts[0] == 42 && counts[1] == 105);
    for (size_t p = 0; p < 3; ++p)
        for (size_t i = 0; i < n; ++i) x[p * n + i] = (float)mf_random_uniform(2, (uint32_t)p, first + i);
    CHECK(mf_binarise(comm, slab, 3, x, 3, counts, score, work, label) == 0);
    for (size_t i = 0; i < n; ++i) ++got[label[i]];
    mf_comm_sum_int(comm, 3, got);
    for (int p = 0; p < 3; ++p) CHECK((uint64_t)got[p] == counts[p]);
}

int main(int argc, char **argv)
{
    const size_t dims[3] = {NZ, NY, NX};
    struct mf_comm comm;
    struct mf_slab slab;

    if (mf_comm_open(&comm, &argc, &argv, "test") != 0) return 1;
    slab = mf_slab_of(&comm, dims, comm.rank);
    for (uint64_t want = 0; want <= N; want += 15) top(&comm, &slab, want);
    many(&comm, &slab);
    mf_comm_close(&comm);
    return failures != 0;
}
