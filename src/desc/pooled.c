/* See job.h: grey fields and the levels of the pyramid, slice by slice through the kernels of the back end. */
#include <string.h>

#include "kernels/slices/slices.h"
#include "kernels/stage.h"
#include "mpi/redistribute.h"
#include "src/base/err.h"
#include "src/desc/job.h"
#include "src/desc/registry.h"

enum { FIELDS = 4 /* most that are looked at together */ };

/** The slices of one normal: whole slices in rounds, and what is computed of them. */
struct pool {
    const struct mf_job *job;
    struct mf_queue *slices; /* where they are looked at */
    struct mf_target_side *side;
    struct mf_redistribution *turn[FIELDS]; /* of the phase, and of those that are looked at beside it */
    const struct mf_slice_ops *ops[MF_DESCRIPTORS];
    struct mf_slice_plan *plan[MF_DESCRIPTORS];
    float *x[FIELDS];      /* fields of the slab, device; NULL where a grey one can be taken as it is */
    struct mf_stage stage; /* of planes */
    double *total;         /* [levels][entries], queue->host */
};

float *mf_job_indicator(const struct mf_job *job, const struct mf_stage *stage, int phase, float *x)
{
    const struct mf_micro *m = job->micro;
    size_t voxels = mf_slab_voxels(&m->slab), plane = m->slab.dims[1] * m->slab.dims[2];
    uint8_t want = (uint8_t)(job->first + phase);
    float *grey = m->grey ? m->grey + (m->fields > 1 ? want : 0) * voxels : NULL;

    if (grey && !x) return grey;
    if (grey) job->backend->put(job->queue, x, grey, voxels * sizeof *x);
    for (size_t z = 0, run; !grey && z < m->slab.count; z += run) {
        float *at = mf_stage_at(stage, x + z * plane);

        run = mf_stage_run(stage, m->slab.count - z);
        for (size_t i = 0; i < run * plane; ++i) at[i] = m->phase[z * plane + i] == want;
        mf_stage_put(stage, x + z * plane, run);
    }
    return x;
}

static float *indicator(const struct pool *pool, int phase, int which)
{
    return mf_job_indicator(pool->job, &pool->stage, phase, pool->x[which]);
}

/** The finest level that kernels look at: counting knows level 0 of those descriptors that every file has. */
static size_t first_of(const struct pool *pool, int descriptor)
{
    return descriptor < MF_FURTHER && pool->job->exact ? 1 : 0;
}

/** Is there anything to do for a descriptor? */
static int takes_part(const struct pool *pool, int descriptor)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];

    return row->kind != MF_CROSS && first_of(pool, descriptor) < pool->side->levels &&
           mf_descriptor_values(row, pool->side, pool->job->opts->lag, 0) != NULL;
}

/** The kernels of pairs of phases; those of S2 give the cross-correlations of MF_CROSS. NULL: nothing to do. */
static const struct mf_slice_ops *ops_of_pairs(const struct pool *pool, int descriptor)
{
    if (!mf_descriptor_is(&mf_descriptors[descriptor], MF_OF_PAIRS)) return NULL;
    if (descriptor != MF_CROSS) return pool->ops[descriptor];
    return pool->side->cross ? pool->ops[MF_S2] : NULL;
}

static int has_pairs(const struct pool *pool)
{
    for (int d = 0; d < MF_DESCRIPTORS; ++d)
        if (ops_of_pairs(pool, d)) return 1;
    return 0;
}

/** Sums over slices and ranks to means, kept for the levels from @p first on. */
static void keep(const struct pool *pool, size_t entries, size_t first, double *values)
{
    size_t levels = pool->side->levels;

    pool->slices->backend->sync(pool->slices);
    mf_comm_sum(pool->job->comm, levels * entries, pool->total);
    for (size_t i = first * entries; i < levels * entries; ++i) values[i] = pool->total[i] / (double)pool->side->slices;
}

static void clear(const struct pool *pool, size_t entries)
{
    memset(pool->total, 0, pool->side->levels * entries * sizeof(double));
}

static struct mf_slice_desc desc_of(const struct pool *pool, int descriptor)
{
    const struct mf_job *job = pool->job;

    return (struct mf_slice_desc){.nu = pool->side->nu,
                                  .nv = pool->side->nv,
                                  .lag = job->opts->lag,
                                  .levels = pool->side->levels,
                                  .count_max = mf_redistribute_batch(pool->turn[0]),
                                  .periodic = job->opts->periodic,
                                  .steady = job->opts->steady,
                                  .seam = job->opts->seam,
                                  .threshold = job->opts->threshold,
                                  .steepness = job->opts->steepness,
                                  .vgg = job->opts->vgg,
                                  .phases = (size_t)job->out->phases,
                                  .first = first_of(pool, descriptor)};
}

/** One descriptor of one phase. Collective. */
static void total_phase(const struct pool *pool, int descriptor, int phase, float *x)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];
    size_t lag = pool->job->opts->lag, entries = mf_descriptor_entries(row, lag);
    struct mf_slice_desc desc = desc_of(pool, descriptor);
    MF_PHASE(row->phase);

    clear(pool, entries);
    for (size_t round = 0; round < mf_redistribute_rounds(pool->turn[0]); ++round) {
        struct mf_view view;

        mf_redistribute_fetch(pool->turn[0], round, x, &view);
        mf_phase_count(row->form->cost(&desc, view.count, MF_COST_TOTAL));
        if (view.count) pool->ops[descriptor]->total(pool->plan[descriptor], &view, pool->total);
    }
    keep(pool, entries, desc.first, mf_descriptor_values(row, pool->side, lag, phase));
}

/** One descriptor of a pair of phases. Collective. */
static void total_pair(const struct pool *pool, int descriptor, size_t pair, float *x, float *y)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];
    size_t lag = pool->job->opts->lag, entries = mf_descriptor_entries(row, lag);
    struct mf_slice_desc desc = desc_of(pool, descriptor);
    struct mf_slice_plan *plan = pool->plan[descriptor == MF_CROSS ? MF_S2 : descriptor];
    MF_PHASE(row->phase);

    clear(pool, entries);
    for (size_t round = 0; round < mf_redistribute_rounds(pool->turn[0]); ++round) {
        struct mf_view first, second;

        mf_redistribute_fetch(pool->turn[0], round, x, &first);
        mf_redistribute_fetch(pool->turn[1], round, y, &second);
        mf_phase_count(descriptor == MF_CROSS ? mf_cost_s2(&desc, first.count, MF_COST_CROSS)
                                              : row->form->cost(&desc, first.count, MF_COST_TOTAL));
        if (first.count) ops_of_pairs(pool, descriptor)->cross(plan, &first, &second, pool->total);
    }
    keep(pool, entries, desc.first, mf_descriptor_values(row, pool->side, lag, (int)pair));
}

/** One descriptor of all phases together. Collective. */
static void total_all(const struct pool *pool, int descriptor)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];
    const size_t lag = pool->job->opts->lag, entries = mf_descriptor_entries(row, lag);
    const struct mf_slice_desc desc = desc_of(pool, descriptor);
    float *x[FIELDS] = {NULL};
    MF_PHASE(row->phase);

    clear(pool, entries);
    for (int p = 0; p < pool->job->out->phases; ++p) x[p] = indicator(pool, p, p);
    for (size_t round = 0; round < mf_redistribute_rounds(pool->turn[0]); ++round) {
        struct mf_view view[FIELDS] = {{0}};

        for (int p = 0; p < pool->job->out->phases; ++p) mf_redistribute_fetch(pool->turn[p], round, x[p], &view[p]);
        mf_phase_count(row->form->cost(&desc, view[0].count, MF_COST_TOTAL));
        if (view[0].count) pool->ops[descriptor]->join(pool->plan[descriptor], view, pool->total);
    }
    keep(pool, entries, desc.first, mf_descriptor_values(row, pool->side, lag, 0));
}

/** All descriptors of a pair of phases. Collective. */
static void look_at_pair(const struct pool *pool, size_t pair)
{
    size_t a, b;
    float *x, *y;

    mf_descriptor_pair((size_t)pool->job->out->phases, pair, &a, &b);
    x = indicator(pool, (int)a, 0);
    y = indicator(pool, (int)b, 1);
    for (int d = 0; d < MF_DESCRIPTORS; ++d)
        if (ops_of_pairs(pool, d)) total_pair(pool, d, pair, x, y);
}

/** How many phases are looked at together. */
static int fields_of(const struct pool *pool)
{
    int most = 1;

    for (int d = 0; d < MF_DESCRIPTORS; ++d) {
        const struct mf_descriptor *row = &mf_descriptors[d];

        if (!mf_descriptor_values(row, pool->side, 1, 0)) continue;
        if (mf_descriptor_is(row, MF_OF_PAIRS) && most < 2) most = 2;
        if (mf_descriptor_is(row, MF_OF_ALL)) most = pool->job->out->phases;
    }
    return most < FIELDS ? most : FIELDS;
}

/** Local part of making a pool: plans and memory. */
static int pool_plan(struct pool *pool)
{
    const struct mf_job *job = pool->job;
    size_t voxels = mf_slab_voxels(&job->micro->slab), most = 0;

    for (int d = 0; d < MF_DESCRIPTORS; ++d) {
        struct mf_slice_desc desc = desc_of(pool, d);
        size_t entries = mf_descriptor_entries(&mf_descriptors[d], desc.lag);

        if (!takes_part(pool, d)) continue;
        if (entries > most) most = entries;
        MF_TRY(mf_descriptor_ops(&mf_descriptors[d], pool->slices->backend, &pool->ops[d]));
        MF_TRY(mf_slices_plan(pool->ops[d], pool->slices, &desc, &pool->plan[d]));
    }
    if (pool->side->cross && pool->ops[MF_S2] && !pool->ops[MF_S2]->cross)
        return mf_fail(MF_DEVICE, "the %s back end has no cross-correlations", pool->slices->backend->name);
    for (int i = 0; i < fields_of(pool) && (!job->micro->grey || mf_apart(job->queue)); ++i) {
        pool->x[i] = mf_arena_take(job->queue->arena, voxels * sizeof(float), "indicator");
        if (!pool->x[i]) return MF_MEMORY;
    }
    MF_TRY(mf_stage_open(&pool->stage, job->queue, job->micro->slab.dims[1] * job->micro->slab.dims[2],
                         job->micro->slab.count));
    pool->total = mf_arena_take(job->queue->host, pool->side->levels * most * sizeof(double), "totals");
    return pool->total ? MF_OK : MF_MEMORY;
}

static int pool_open(struct pool *pool, int normal)
{
    const struct mf_job *job = pool->job;

    for (int i = 0; i < fields_of(pool); ++i)
        MF_TRY(mf_redistribute_new(job->comm, &job->micro->slab, (enum mf_normal)normal, MF_OUT, 0, job->queue,
                                   &pool->turn[i]));
    return mf_agree(job->comm, pool_plan(pool));
}

static void pool_close(struct pool *pool)
{
    mf_arena_give(pool->job->queue->host, pool->total);
    mf_stage_close(&pool->stage);
    for (int i = FIELDS - 1; i >= 0; --i) mf_arena_give(pool->job->queue->arena, pool->x[i]);
    for (int d = MF_DESCRIPTORS - 1; d >= 0; --d)
        if (pool->plan[d]) pool->ops[d]->free(pool->plan[d]);
    for (int i = FIELDS - 1; i >= 0; --i)
        if (pool->turn[i]) mf_redistribute_free(pool->turn[i]);
}

static int pool_side(const struct mf_job *job, int normal)
{
    struct pool pool = {.job = job, .slices = mf_slices_queue(job->queue), .side = &job->out->side[normal]};
    int rc = pool_open(&pool, normal), phases = job->dry ? 0 : job->out->phases;
    size_t pairs = rc == MF_OK && phases > 0 && has_pairs(&pool)
                       ? mf_descriptor_parts(&mf_descriptors[MF_CROSS], (size_t)phases)
                       : 0;

    for (int p = 0; rc == MF_OK && p < phases; ++p) {
        float *x = indicator(&pool, p, 0);

        for (int d = 0; d < MF_DESCRIPTORS; ++d)
            if (pool.plan[d] && pool.ops[d]->total) total_phase(&pool, d, p, x);
    }
    for (int d = 0; phases > 0 && rc == MF_OK && d < MF_DESCRIPTORS; ++d)
        if (pool.plan[d] && pool.ops[d]->join) total_all(&pool, d);
    for (size_t pair = 0; pair < pairs; ++pair) look_at_pair(&pool, pair);
    pool_close(&pool);
    return rc;
}

int mf_pooled(const struct mf_job *job)
{
    for (int k = 0; k < job->out->sides; ++k)
        if (!job->exact || job->out->side[k].levels > 1 || job->opts->more) MF_TRY(pool_side(job, k));
    return MF_OK;
}
