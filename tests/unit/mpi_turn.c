/* Whole slices out of slabs and gradients back into them, against the formula, for shapes with fewer planes or slices
 * than ranks, all batches, through shared memory and through messages; nothing stays allocated. */
#include "mpi/slab.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"

static float value(const size_t at[3]) { return (float)(10000 * at[0] + 100 * at[1] + at[2]); }

/* The volume's coordinates of element (u, v) of slice s. */
static void where(enum mf_normal normal, size_t s, size_t u, size_t v, size_t at[3])
{
    at[0] = normal == MF_Z ? s : u;
    at[1] = normal == MF_Z ? u : normal == MF_Y ? s : v;
    at[2] = normal == MF_X ? s : v;
}

static void check_slices(enum mf_normal normal, struct mf_span span, const struct mf_view *x, const struct mf_view *g,
                         const int alias)
{
    size_t at[3];

    CHECK(x->count == span.count && g->count == span.count && (span.count == 0 || span.first % 2 == 0));
    CHECK(x->ss == 1 || x->su == 1 || x->sv == 1);
    for (size_t s = 0; s < x->count; ++s)
        for (size_t u = 0; u < x->nu; ++u)
            for (size_t v = 0; v < x->nv; ++v) {
                where(normal, span.first + s, u, v, at);
                CHECK(x->base[s * x->ss + u * x->su + v * x->sv] == value(at));
                CHECK(alias || g->base[s * g->ss + u * g->su + v * g->sv] == 0);
                g->base[s * g->ss + u * g->su + v * g->sv] += 2 * value(at);
            }
}

/* Every slice once, in order, in even batches of at most `batch`. */
static size_t one_round(struct mf_turn *turn, enum mf_normal normal, size_t round, float *x, float *g, int alias)
{
    struct mf_span span = mf_turn_span(turn, round);
    struct mf_view view, grad;

    CHECK(span.count <= mf_turn_batch(turn));
    mf_turn_fetch(turn, round, x, &view);
    mf_turn_open(turn, round, g, &grad);
    check_slices(normal, span, &view, &grad, alias);
    mf_turn_add(turn, round, g);
    return span.count;
}

static void fill(const struct mf_slab *slab, float *x, float *g)
{
    size_t at[3], i = 0;

    for (at[0] = slab->first; at[0] < slab->first + slab->count; ++at[0])
        for (at[1] = 0; at[1] < slab->dims[1]; ++at[1])
            for (at[2] = 0; at[2] < slab->dims[2]; ++at[2], ++i) {
                x[i] = value(at);
                g[i] = 7;
            }
}

/* Two evaluations: each adds twice the field to g. */
static void forth_and_back(const struct mf_comm *c, const size_t dims[3], enum mf_normal normal, size_t batch,
                           struct mf_arena *arena)
{
    struct mf_slab slab = mf_slab_of(c, dims, c->rank);
    size_t voxels = mf_slab_voxels(&slab);
    float *x = malloc(voxels * sizeof *x + 1), *g = malloc(voxels * sizeof *g + 1);
    struct mf_turn *turn;
    int64_t seen = 0;

    fill(&slab, x, g);
    CHECK(mf_turn_new(c, &slab, normal, batch, 2, arena, &turn) == MF_OK);
    CHECK(batch == 0 || normal == MF_Z || mf_turn_batch(turn) <= batch);
    CHECK(batch || (c->size > 1 && normal != MF_Z) || mf_turn_rounds(turn) == 1);
    for (int evaluation = 0; evaluation < 2; ++evaluation)
        for (size_t r = 0; r < mf_turn_rounds(turn); ++r)
            seen += (int64_t)one_round(turn, normal, r, x, g, c->size == 1 || normal == MF_Z);
    mf_comm_sum_int(c, 1, &seen);
    CHECK(seen == 2 * (int64_t)dims[normal]);
    for (size_t i = 0; i < voxels; ++i) CHECK(g[i] == 7 + 4 * x[i]);
    mf_turn_free(turn);
    CHECK(mf_arena_live(arena) == 0);
    free(x);
    free(g);
}

static void all(const struct mf_comm *c, struct mf_arena *arena)
{
    static const size_t dims[][3] = {{1, 8, 8}, {2, 4, 6}, {8, 8, 8}, {7, 5, 3}, {16, 10, 12}, {5, 4, 6}, {3, 1, 1}};

    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; ++d)
        for (size_t batch = 0; batch <= 4; batch += 2)
            for (int normal = MF_Z; normal <= MF_X; ++normal)
                forth_and_back(c, dims[d], (enum mf_normal)normal, batch, arena);
}

/* One rank's arena is too small: all ranks refuse, and nothing stays. */
static void refused(const struct mf_comm *c, struct mf_arena *arena)
{
    size_t dims[3] = {16, 16, 16};
    struct mf_slab slab = mf_slab_of(c, dims, c->rank);
    struct mf_turn *turn = NULL;
    struct mf_arena *small;

    CHECK(mf_arena_open(&small, NULL, 100) == MF_OK);
    CHECK(mf_turn_new(c, &slab, MF_Y, 0, 1, c->rank == 0 ? small : arena, &turn) == (c->size > 1 ? MF_MEMORY : MF_OK));
    mf_turn_free(turn);
    CHECK(mf_arena_live(small) == 0 && mf_arena_live(arena) == 0);
    mf_arena_close(small);
}

int main(int argc, char **argv)
{
    struct mf_comm c, self;
    struct mf_arena *arena;

    mf_comm_self(&self);
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK || mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    all(&self, arena);
    for (int way = 0; way < 2; ++way, setenv("MF_SHARE", "0", 1)) {
        all(&c, arena);
        refused(&c, arena);
    }
    mf_arena_close(arena);
    mf_comm_close(&c);
    return failures != 0;
}
