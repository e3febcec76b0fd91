/* Marks reach every voxel by the shortest way between walls, the smallest of the nearest ones first. They are held
 * against distances from each mark by itself. Slabs are thinner than ways are long, or have no planes. Ways are
 * followed as far as possible beyond the own planes. */
#include "src/recon/reach.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { MOST = 40 * 7 * 6, MARKS = 6, NEVER = 1000000 };

static size_t dims[3];
static uint32_t begin[MOST]; /* what the flood begins from */
static int far[MOST];

static size_t voxels(void) { return dims[0] * dims[1] * dims[2]; }

/* Marks in few places, walls in many. */
static void draw(uint64_t seed)
{
    for (size_t i = 0; i < voxels(); ++i) {
        const double u = mf_random_uniform(seed, 0, i);

        begin[i] = u < 0.35 ? MF_REACH_WALL : 0;
        if (u > 0.99) begin[i] = 1 + (uint32_t)(mf_random_uniform(seed, 1, i) * MARKS);
    }
}

static int beside(size_t i, int step)
{
    const size_t stride[3] = {dims[1] * dims[2], dims[2], 1};
    int least = NEVER;

    for (int a = 0; a < 3; ++a) {
        const size_t at = i / stride[a] % dims[a];

        if (at > 0 && far[i - stride[a]] == step) least = step;
        if (at + 1 < dims[a] && far[i + stride[a]] == step) least = step;
    }
    return least;
}

/* Steps from the nearest voxel of @p mark, into far. */
static void measure(uint32_t mark)
{
    for (size_t i = 0; i < voxels(); ++i) far[i] = begin[i] == mark ? 0 : NEVER;
    for (int step = 0; step < MF_REACH; ++step)
        for (size_t i = 0; i < voxels(); ++i)
            if (begin[i] == 0 && far[i] == NEVER && beside(i, step) == step) far[i] = step + 1;
}

/* The smallest of the nearest marks of every voxel, and how far it is. */
static void nearest(int steps, uint32_t *owner, int *best)
{
    for (size_t i = 0; i < voxels(); ++i) {
        owner[i] = begin[i] == MF_REACH_WALL ? MF_REACH_WALL : 0;
        best[i] = NEVER;
    }
    for (uint32_t mark = 1; mark <= MARKS; ++mark) {
        measure(mark);
        for (size_t i = 0; i < voxels(); ++i)
            if (far[i] <= steps && far[i] < best[i]) {
                owner[i] = mark;
                best[i] = far[i];
            }
    }
}

static void check(const struct mf_comm *comm, struct mf_arena *arena, int steps)
{
    static uint32_t owner[MOST];
    static int best[MOST];
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);
    const size_t plane = dims[1] * dims[2], last = slab.first + slab.count;
    struct mf_reach r;

    CHECK(mf_reach_open(&r, comm, arena, &slab) == MF_OK);
    if (slab.count) memcpy(mf_reach_own(&r), begin + slab.first * plane, mf_slab_voxels(&slab) * sizeof *begin);
    CHECK(mf_reach_flood(&r, (size_t)steps) == MF_OK);
    nearest(steps, owner, best);
    for (size_t at = 0; at < r.planes * plane; ++at) {
        const size_t i = mf_reach_global(&r, at), z = i / plane;

        if (z + MF_REACH + 1 < slab.first || z > last + MF_REACH) continue; /* no way is followed there */
        CHECK(r.owner[at] == owner[i]);
        CHECK(best[i] == NEVER || r.far[at] == best[i]);
    }
    mf_reach_close(&r);
}

static void check_neighbours(const struct mf_comm *comm, struct mf_arena *arena)
{
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);
    const size_t stride[3] = {dims[1] * dims[2], dims[2], 1};
    struct mf_reach r;

    CHECK(mf_reach_open(&r, comm, arena, &slab) == MF_OK);
    for (size_t at = 0; at < r.planes * stride[0]; ++at)
        for (int k = 0; k < 6; ++k) {
            const size_t n = k / 2 ? dims[k / 2] : r.planes, is = at / stride[k / 2] % n;
            const int outside = k % 2 ? is + 1 == n : is == 0;

            CHECK(mf_reach_neighbour(&r, at, k) == (outside ? SIZE_MAX
                                                    : k % 2 ? at + stride[k / 2]
                                                            : at - stride[k / 2]));
        }
    mf_reach_close(&r);
}

int main(int argc, char **argv)
{
    static const size_t shapes[][3] = {{40, 7, 6}, {9, 8, 20}, {3, 5, 30}, {1, 20, 20}};
    struct mf_arena *arena;
    struct mf_comm comm;

    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        memcpy(dims, shapes[s], sizeof dims);
        check_neighbours(&comm, arena);
        for (uint64_t seed = 0; seed < 3; ++seed) {
            draw(seed);
            check(&comm, arena, MF_REACH);
            check(&comm, arena, 3);
        }
    }
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
