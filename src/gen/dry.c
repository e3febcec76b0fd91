/* See dry.h. */
#include "src/gen/dry.h"

#include "mpi/nccl_transport.h"
#include "src/base/err.h"

static int open(struct mf_gen_dry *d, const struct mf_language *model, const struct mf_gen_size *size,
                const struct mf_gen_grid *grid, const struct mf_plan_rank *r, int deterministic)
{
    struct mf_walk_memory memory;

    MF_TRY(mf_arena_open(&d->arena, &mf_mem_dry, 0));
    d->host = d->arena;
    if (r->apart) MF_TRY(mf_arena_open(&d->host, &mf_mem_dry, 0));
    MF_TRY(mf_queue_dry(&d->queue, &d->backend, (int)r->threads, deterministic, d->arena, d->host));
    MF_TRY(mf_gen_cut_find(model, size, grid, d->queue, &d->cut));
    MF_TRY(mf_gen_lists_make(model, size, &d->cut.ways, d->queue, &d->lists));
    d->before = mf_arena_live(d->arena);
    d->before_host = mf_arena_live(d->host);
    return mf_gen_ranks_open(&d->ranks, grid, &d->cut.ways, &d->lists, d->queue, &memory);
}

int mf_gen_dry_open(struct mf_gen_dry *d, const struct mf_language *model, const struct mf_gen_size *size,
                    const struct mf_gen_grid *ways, const struct mf_plan_rank *r, int deterministic)
{
    const struct mf_dry_kind kind = {r->simd, r->apart, r->capability};
    struct mf_gen_grid grid = *ways;
    int rc;

    *d = (struct mf_gen_dry){.queue = NULL};
    grid.comm = r->ranks > 1 ? &d->comm : NULL;
    mf_comm_dry(&d->comm, (int)r->rank, (int)r->ranks, (int)r->local_size);
    if (r->nccl) mf_transport_dry(&d->comm);
    mf_backend_dry(&kind, &d->backend);
    mf_fault_hold(1);
    rc = open(d, model, size, &grid, r, deterministic);
    mf_fault_hold(0);
    return rc;
}

void mf_gen_dry_close(struct mf_gen_dry *d)
{
    if (d->queue) {
        mf_fault_hold(1);
        mf_gen_ranks_close(&d->ranks);
        mf_fault_hold(0);
        mf_gen_lists_free(&d->lists, d->queue);
        mf_gen_cut_free(&d->cut);
        d->backend.backend.queue_close(d->queue);
    }
    if (d->host != d->arena) mf_arena_close(d->host);
    mf_arena_close(d->arena);
}

size_t mf_gen_dry_exchange(const struct mf_gen_dry *d, int host)
{
    if (!d->ranks.stages.arrays) return 0;
    if (host) return d->host != d->arena ? mf_arena_live(d->host) - d->before_host : 0;
    return mf_arena_live(d->arena) - d->before - d->lists.net->room[MF_PLACE_DEVICE];
}
