/* Ranks that have slabs of labels get the slices of their pools, turn by turn: the labels and pins of the volume as all
 * swaps have left it, what surrounds periodic slices, and the residuals and counts that whoever had a slice last has
 * left; of other slices nothing. Many planes at a time or one, more ranks than pools, ranks without a plane. */
#include "src/recon/spread.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/labels.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { LAG = 4, FIELDS = 2, ENTRIES = 5, FLOATS = 32, PHASES = 3, TURNS = 6, MOVES = 20, MOST = 34 * 35 * 41 };

/* The volume as one would have it, and for every slice the turn that changed it last. */
static uint8_t label[MOST], fixed[MOST];
static size_t dims[3];
static int changed[MF_SIDES][64];

struct rank {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    struct mf_slab slab;
    struct mf_deal deal;
    struct mf_mutable field;
    struct mf_swap swap;
    struct mf_tally tally;
    struct mf_chain chain[MF_POOLS_MAX];
    struct mf_spread spread;
    uint8_t *own;
};

static int is_mine(const struct rank *r, size_t pool) { return (int)pool % r->comm->size == r->comm->rank; }

static uint8_t random_label(uint64_t v, uint32_t stream) { return (uint8_t)(PHASES * mf_random_uniform(9, stream, v)); }

/* What stands beside a slice since turn @p turn. */
static double stamp(size_t d, size_t slice, size_t f, int turn)
{
    return 1 + (double)(((size_t)turn * FIELDS + f) * 300 + d * 100 + slice);
}

static void write_slice(struct rank *r, size_t d, size_t slice, int turn)
{
    for (size_t f = 0; f < FIELDS; ++f) {
        const size_t at = f * dims[d] + slice;
        const double is = stamp(d, slice, f, turn);

        for (size_t i = 0; i < FLOATS; ++i) r->swap.side[d].residual[at * FLOATS + i] = (float)(is + (double)i);
        r->swap.side[d].v[at] = -is;
        for (size_t i = 0; i < ENTRIES; ++i) r->tally.side[d].count[at * ENTRIES + i] = (int64_t)is - (int64_t)i;
    }
}

static void check_slice(const struct rank *r, size_t d, size_t slice)
{
    for (size_t f = 0; f < FIELDS; ++f) {
        const size_t at = f * dims[d] + slice;
        const double is = stamp(d, slice, f, changed[d][slice]);

        for (size_t i = 0; i < FLOATS; ++i) CHECK(r->swap.side[d].residual[at * FLOATS + i] == (float)(is + (double)i));
        CHECK(r->swap.side[d].v[at] == -is);
        for (size_t i = 0; i < ENTRIES; ++i)
            CHECK(r->tally.side[d].count[at * ENTRIES + i] == (int64_t)is - (int64_t)i);
    }
}

/* The label at a place of a slice; 255 outside. */
static uint8_t label_at(size_t d, size_t slice, ptrdiff_t u, ptrdiff_t v, int periodic)
{
    const ptrdiff_t nu = (ptrdiff_t)dims[d == MF_Z ? 1 : 0], nv = (ptrdiff_t)dims[d == MF_X ? 1 : 2];
    size_t at[3];

    if (!periodic && (u < 0 || v < 0 || u >= nu || v >= nv)) return 255;
    at[d] = slice;
    at[d == MF_Z ? 1 : 0] = (size_t)((u + nu) % nu);
    at[d == MF_X ? 1 : 2] = (size_t)((v + nv) % nv);
    return label[(at[0] * dims[1] + at[1]) * dims[2] + at[2]];
}

/* Every row with what stands before and behind it. */
static void check_labels(const struct rank *r, size_t d, size_t slice)
{
    const ptrdiff_t nu = (ptrdiff_t)dims[d == MF_Z ? 1 : 0], nv = (ptrdiff_t)dims[d == MF_X ? 1 : 2];
    const uint8_t *is = r->field.slice[d][slice];
    int wrong = 0;

    for (ptrdiff_t u = 0; u < nu; ++u)
        for (ptrdiff_t v = 1 - LAG; v < nv + LAG - 1; ++v)
            wrong += is[u * (ptrdiff_t)r->field.step[d] + v] != label_at(d, slice, u, v, r->field.periodic);
    CHECK(wrong == 0);
}

static void check_pins(const struct rank *r, size_t pool)
{
    struct mf_pool *p = &((struct rank *)r)->chain[pool].pool;
    size_t open = 0, all = 1;

    for (int a = 0; a < 3; ++a) all *= r->deal.span[a][pool].count;
    for (size_t i = 0; i < all; ++i) {
        const int pinned = fixed[mf_pool_at(p, (uint32_t)i)] != MF_LABEL_OPEN;

        CHECK((p->place[i] == MF_POOL_PINNED) == pinned);
        open += !pinned;
    }
    mf_pool_fill(p);
    CHECK(p->voxels == open);
}

static void check_turn(const struct rank *r)
{
    for (size_t d = 0; d < MF_SIDES; ++d)
        for (size_t i = 0; i < dims[d]; ++i) {
            CHECK(!r->field.slice[d][i] == !is_mine(r, r->deal.part[d][i]));
            if (!r->field.slice[d][i]) continue;
            check_labels(r, d, i);
            check_slice(r, d, i);
        }
    for (size_t p = 0; p < r->deal.pools; ++p)
        if (is_mine(r, p)) check_pins(r, p);
}

/* Chains change labels of their pools, and what stands beside the slices. */
static void change(struct rank *r, int turn)
{
    for (size_t p = 0; p < r->deal.pools; ++p) {
        int64_t move[2 * MOVES];

        for (uint64_t i = 0; i < 2 * MOVES; ++i) {
            const uint64_t n = ((uint64_t)turn * MF_POOLS_MAX + p) * 2 * MOVES + i;
            const uint32_t local = (uint32_t)(mf_random_uniform(4, 0, n) * 500);
            const uint8_t to = random_label(n, 3);
            uint32_t at[3];

            move[i] = (int64_t)local << 8 | to;
            mf_deal_at(&r->deal, p, local, at);
            CHECK(mf_deal_has(&r->deal, p, at) && mf_deal_local(&r->deal, p, at) == local);
            label[(at[0] * dims[1] + at[1]) * dims[2] + at[2]] = to;
            for (size_t d = 0; d < MF_SIDES; ++d) {
                changed[d][at[d]] = turn;
                if (is_mine(r, p)) write_slice(r, d, at[d], turn);
            }
            if (is_mine(r, p)) mf_mutable_set(&r->field, (at[0] * dims[1] + at[1]) * dims[2] + at[2], to);
        }
        mf_spread_moved(&r->spread, p, turn % 2 ? MOVES : MOVES / 2, move); /* in pieces */
        if (turn % 2 == 0) mf_spread_moved(&r->spread, p, MOVES / 2, move + MOVES);
    }
}

static void *take(struct rank *r, size_t bytes) { return mf_arena_take(r->arena, bytes, "test"); }

static void open_slices(struct rank *r)
{
    r->swap.sites.shape.n = FLOATS / 32;
    r->tally.entries = ENTRIES;
    for (size_t d = 0; d < MF_SIDES; ++d) {
        r->swap.side[d].slices = r->tally.side[d].slices = dims[d];
        r->swap.side[d].residual = take(r, FIELDS * dims[d] * FLOATS * sizeof(float));
        r->swap.side[d].v = take(r, FIELDS * dims[d] * sizeof(double));
        r->tally.side[d].count = take(r, FIELDS * dims[d] * ENTRIES * sizeof(int64_t));
        for (size_t i = 0; i < dims[d]; ++i) {
            changed[d][i] = 0;
            write_slice(r, d, i, 0); /* everybody knows */
        }
    }
}

static void open_rank(struct rank *r, const struct mf_comm *comm, int periodic, int pins, int threads)
{
    const size_t own = (r->slab = mf_slab_of(comm, dims, comm->rank)).first * dims[1] * dims[2];
    struct mf_spread_parts with = {.comm = comm, .slab = r->slab, .fields = FIELDS, .threads = threads};
    size_t slices[MF_SIDES];

    r->comm = comm;
    CHECK(mf_arena_open(&r->arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_deal_open(&r->deal, r->arena, dims) == MF_OK && r->deal.pools > 1);
    for (size_t d = 0; d < MF_SIDES; ++d) slices[d] = mf_spread_slices_of(comm, &r->deal, d, comm->rank);
    CHECK(mf_mutable_open(&r->field, r->arena, dims, PHASES, periodic, LAG, slices) == MF_OK);
    open_slices(r);
    for (size_t p = 0; p < r->deal.pools; ++p) {
        r->chain[p].pool = (struct mf_pool){.field = &r->field, .deal = &r->deal, .number = p, .pins = pins};
        if (!is_mine(r, p)) continue;
        r->chain[p].pool.place = take(r, mf_pool_room(&r->deal) * sizeof(uint32_t));
        r->chain[p].pool.voxel = take(r, mf_pool_room(&r->deal) * sizeof(uint32_t));
        memset(r->chain[p].pool.place, 0, mf_pool_room(&r->deal) * sizeof(uint32_t));
    }
    r->own = take(r, mf_slab_voxels(&r->slab));
    memcpy(r->own, label + own, mf_slab_voxels(&r->slab));
    with.arena = r->arena;
    with.deal = &r->deal;
    with.field = &r->field;
    with.chain = r->chain;
    with.swap = &r->swap;
    with.tally = &r->tally;
    with.label = r->own;
    with.fixed = pins ? fixed + own : NULL;
    CHECK(mf_spread_open(&r->spread, &with) == MF_OK);
    mf_spread_begin(&r->spread);
    mf_spread_known(&r->spread, MF_SPREAD_WINDOWS);
}

static void close_rank(struct rank *r)
{
    const size_t own = r->slab.first * dims[1] * dims[2];

    CHECK(memcmp(r->own, label + own, mf_slab_voxels(&r->slab)) == 0);
    mf_spread_close(&r->spread);
    mf_arena_give(r->arena, r->own);
    for (size_t p = 0; p < r->deal.pools; ++p) {
        mf_arena_give(r->arena, r->chain[p].pool.voxel);
        mf_arena_give(r->arena, r->chain[p].pool.place);
    }
    for (size_t d = 0; d < MF_SIDES; ++d) {
        mf_arena_give(r->arena, r->tally.side[d].count);
        mf_arena_give(r->arena, r->swap.side[d].v);
        mf_arena_give(r->arena, r->swap.side[d].residual);
    }
    mf_mutable_close(&r->field);
    mf_deal_close(&r->deal);
    CHECK(mf_arena_live(r->arena) == 0);
    mf_arena_close(r->arena);
}

/* @p few: so few planes and slices travel at a time as there may be. */
static void check_field(const struct mf_comm *comm, const size_t extents[3], int periodic, int pins, int few)
{
    struct rank r = {0};

    memcpy(dims, extents, sizeof dims);
    for (size_t v = 0; v < dims[0] * dims[1] * dims[2]; ++v) {
        label[v] = random_label(v, 0);
        fixed[v] = pins && random_label(v, 1) == 0 ? label[v] : MF_LABEL_OPEN;
    }
    open_rank(&r, comm, periodic, pins, few ? 1 : 3);
    if (few) {
        r.spread.run = 1;
        r.spread.groups = (size_t)comm->size;
        r.spread.room = mf_spread_bytes(&r.spread, MF_SPREAD_WINDOWS);
    }
    for (int turn = 1; turn <= TURNS; ++turn) {
        mf_deal_shuffle(&r.deal, 5, (uint64_t)turn);
        mf_spread_labels(&r.spread);
        if (turn == 1) mf_spread_own(&r.spread, MF_SPREAD_COUNTS);
        mf_spread_slices(&r.spread);
        check_turn(&r);
        change(&r, turn);
    }
    close_rank(&r);
}

int main(int argc, char **argv)
{
    static const size_t two[3] = {17, 18, 25}, four[3] = {34, 35, 41}, thin[3] = {16, 16, 40};
    struct mf_comm c;

    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    for (int periodic = 0; periodic < 2; ++periodic)
        for (int few = 0; few < 2; ++few) {
            check_field(&c, two, periodic, 1, few);
            check_field(&c, four, periodic, !periodic, few);
            check_field(&c, thin, periodic, 0, few);
        }
    mf_comm_close(&c);
    return failures != 0;
}
