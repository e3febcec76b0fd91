/* Exactly as many voxels are chosen as were asked for, the largest ones. Ties are in global order, alike on any
 * ranks. */
#include "src/recon/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/rng.h"
#include "tests/device.h"

enum { NZ = 7, NY = 5, NX = 6, N = NZ * NY * NX };

static struct device d;
static int64_t *room;

/* Many ties, both signs, zero; some take no part where @p open. */
static float score_of(size_t i, int open)
{
    uint32_t r[4];

    mf_random4(1, 0, i, r);
    return open && r[1] % 3 == 0 ? -INFINITY : (float)(int)(r[0] % 23) - 11;
}

/* How many voxels come before voxel i: larger, or equal with a smaller index. */
static size_t rank_of(size_t i, int open)
{
    const float own = score_of(i, open);
    size_t before = 0;

    for (size_t j = 0; j < N; ++j) before += score_of(j, open) > own || (score_of(j, open) == own && j < i);
    return before;
}

static void top(const struct mf_comm *comm, const struct mf_slab *slab, uint64_t want, int open)
{
    float score[N], *on_device;
    uint8_t chosen[N], *label;
    size_t n = mf_slab_voxels(slab), first = slab->first * NY * NX;
    uint64_t all = 0, found;
    struct mf_choice choice;

    for (size_t i = 0; i < N; ++i) all += isfinite(score_of(i, open)) ? 1 : 0;
    for (size_t i = 0; i < n; ++i) score[i] = score_of(first + i, open);
    on_device = device_put(&d, score, n * sizeof *score);
    label = device_put(&d, NULL, n);
    found = mf_select_top(comm, d.q, slab, on_device, want, room, &choice);
    CHECK(found == (want < all ? want : all));
    d.be->label->fill(d.q, n, 0, label);
    d.be->select->mark(d.q, n, on_device, choice, 1, label);
    device_get(&d, chosen, label, n);
    device_get(&d, NULL, on_device, 0);
    for (size_t i = 0; i < n; ++i) CHECK(chosen[i] == (isfinite(score[i]) && rank_of(first + i, open) < want));
}

static void many(const struct mf_comm *comm, const struct mf_slab *slab)
{
    const double fractions[3] = {0.2, 0.5, 0.3}, over[2] = {-1e-9, 1 + 1e-9};
    float x[3 * N], *on_device, *score;
    uint8_t label[N], *labels;
    uint64_t counts[3];
    int64_t got[3] = {0};
    size_t n = mf_slab_voxels(slab), first = slab->first * NY * NX;

    mf_phase_counts(N, 2, over, counts);
    CHECK(counts[0] == 0 && counts[1] == N);
    mf_phase_counts(N, 3, fractions, counts);
    CHECK(counts[0] + counts[1] + counts[2] == N && counts[0] == 42 && counts[1] == 105);
    for (size_t p = 0; p < 3; ++p)
        for (size_t i = 0; i < n; ++i) x[p * n + i] = (float)mf_random_uniform(2, (uint32_t)p, first + i);
    on_device = device_put(&d, x, 3 * n * sizeof *x);
    score = device_put(&d, NULL, n * sizeof *score);
    labels = device_put(&d, NULL, n);
    d.be->label->fill(d.q, n, MF_LABEL_OPEN, labels);
    mf_binarise(comm, d.q, slab, 3, on_device, 3, counts, score, room, labels);
    device_get(&d, label, labels, n);
    device_get(&d, NULL, score, 0);
    device_get(&d, NULL, on_device, 0);
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
    d = device_open(1, 1, 0);
    slab = mf_slab_of(&comm, dims, comm.rank);
    room = device_host(&d, NULL, mf_select_room(&comm, &slab) * sizeof *room);
    for (uint64_t want = 0; want <= N; want += 15)
        for (int open = 0; open < 2; ++open) top(&comm, &slab, want, open);
    many(&comm, &slab);
    mf_arena_give(d.host, room);
    device_close(&d);
    mf_comm_close(&comm);
    return failures != 0;
}
