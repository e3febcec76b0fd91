/* See anneal_impl.h. */
#include "src/base/err.h"
#include "src/recon/anneal_impl.h"

/* One chain has turns of as many steps as it has voxels, or of these. A chain leaves its pool before it has used up
 * what there is to be won in it: with a step for every 16 voxels the loss falls as in one chain over all of them. */
enum { TURN_LEAST = 8192, VOXELS_PER_STEP = 16, PIECE = 1024 /* moves that a chain tells at a time */ };

size_t mf_anneal_piece(const struct mf_anneal *a) { return a->quota < PIECE ? (size_t)a->quota : PIECE; }
size_t mf_anneal_width(const struct mf_anneal *a) { return MF_TOLD_MOVES + 2 * mf_anneal_piece(a); }

static int take_spread(struct mf_anneal *a)
{
    struct mf_polish *p = a->polish;
    const struct mf_swap_side *side = &a->work.swap.side[MF_Z];
    const struct mf_spread_parts with = {
        .comm = p->comm,
        .arena = p->queue->host,
        .slab = p->slab,
        .deal = &a->deal,
        .field = &a->field,
        .chain = a->chain,
        .swap = side->s2_weight > 0 || side->v_weight > 0 ? &a->work.swap : NULL,
        .tally = a->tally.arena ? &a->tally : NULL,
        .fields = p->fields,
        .threads = p->queue->threads,
        .label = a->label,
        .fixed = a->fixed,
    };

    return mf_spread_open(&a->spread, &with);
}

static int take_chains(struct mf_anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    const struct mf_chain_shared shared = {
        a->opts,       arena,
        &a->field,     &a->deal,
        &a->work.swap, a->tally.arena ? &a->tally : NULL,
        a->seed,       !mf_anneal_alone(a),
    };

    for (size_t i = 0; i < a->deal.pools; ++i) {
        if (mf_anneal_here(a, i)) MF_TRY(mf_chain_open(&a->chain[i], &shared, i, a->quota));
        a->chain[i].pool.pins = p->fixed != NULL;
    }
    if (mf_anneal_alone(a)) return MF_OK;
    if (mf_anneal_spread(a)) MF_TRY(take_spread(a));
    if (!mf_anneal_spread(a)) MF_TRY(mf_ahead_open(&a->ahead, p->comm, arena));
    a->packed = mf_arena_take(arena, a->deal.pools * mf_anneal_width(a) * sizeof *a->packed, "annealing");
    return a->packed ? MF_OK : MF_MEMORY;
}

static long quota_of(const struct mf_anneal *a)
{
    const long room = (long)mf_pool_room(&a->deal);

    if (a->deal.pools > 1) return room / VOXELS_PER_STEP;
    return room < TURN_LEAST ? TURN_LEAST : room > MF_ANNEAL_ROUND ? MF_ANNEAL_ROUND : room;
}

/* The host's sight of what stands on the device, and room for planes of others. */
static int take_planes(struct mf_anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    const size_t own = mf_slab_voxels(&p->slab);

    a->label = mf_mirror_take(p->queue, p->label, own, "labels");
    if (!a->label) return MF_MEMORY;
    if (!mf_anneal_alone(a) && !mf_anneal_spread(a)) {
        a->plane = mf_arena_take(arena, mf_anneal_plane(a), "annealing");
        if (!a->plane) return MF_MEMORY;
    }
    if (!p->fixed) return MF_OK;
    a->fixed = mf_mirror_take(p->queue, (uint8_t *)p->fixed, own, "fixed voxels");
    if (!mf_anneal_spread(a)) a->picked = mf_arena_take(arena, mf_anneal_plane(a), "fixed voxels");
    return a->fixed && (a->picked || mf_anneal_spread(a)) ? MF_OK : MF_MEMORY;
}

static int take_field(struct mf_anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    size_t slices[MF_SIDES];

    MF_TRY(mf_deal_open(&a->deal, arena, p->slab.dims));
    a->quota = quota_of(a);
    for (size_t d = 0; d < MF_SIDES; ++d) slices[d] = mf_spread_slices_of(p->comm, &a->deal, d, p->comm->rank);
    MF_TRY(mf_mutable_open(&a->field, arena, p->slab.dims, p->phases, p->objective->periodic, p->target->lag,
                           mf_anneal_spread(a) ? slices : NULL));
    MF_TRY(take_planes(a));
    if (mf_tally_wanted(p->objective, p->slab.dims[0] > 1)) MF_TRY(mf_tally_open(&a->tally, p, &a->field));
    return take_chains(a);
}

int mf_anneal_open(struct mf_anneal *a)
{
    struct mf_polish *p = a->polish;

    p->plain = 1;
    p->most = 1;
    a->work.polish = p;
    MF_TRY(mf_polish_open(&a->work));
    return mf_agree(p->comm, take_field(a));
}

void mf_anneal_close(struct mf_anneal *a)
{
    struct mf_arena *arena = a->polish->queue->host;

    mf_arena_give(arena, a->packed);
    if (a->ahead.arena) mf_ahead_close(&a->ahead);
    if (a->spread.with.arena) mf_spread_close(&a->spread);
    for (size_t i = MF_POOLS_MAX; i-- > 0;)
        if (a->chain[i].arena) mf_chain_close(&a->chain[i]);
    if (a->tally.arena) mf_tally_close(&a->tally);
    mf_arena_give(arena, a->picked);
    mf_mirror_give(a->polish->queue, a->polish->fixed, a->fixed);
    mf_arena_give(arena, a->plane);
    mf_mirror_give(a->polish->queue, a->polish->label, a->label);
    if (a->field.arena) mf_mutable_close(&a->field);
    if (a->deal.arena) mf_deal_close(&a->deal);
    mf_polish_close(&a->work);
}
