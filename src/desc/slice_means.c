/* See job.h: means of descriptors over all slices of a side, by the kernels of the back end. For grey fields, and for
 * the levels of the pyramid. */
#include <string.h>

#include "kernels/slices/slices.h"
#include "kernels/stage.h"
#include "mpi/pulse.h"
#include "mpi/redistribute.h"
#include "src/base/err.h"
#include "src/desc/job.h"
#include "src/desc/registry.h"

enum { FIELDS = 4 /* most fields of one descriptor */ };

/** Fields of the slab, which serve all sides. */
struct held {
    float *x[FIELDS];  /* device; NULL where a grey one can be taken as it is */
    int phase[FIELDS]; /* that is there; -1: none yet */
};

/** The slices of one normal, and the plans that compute their descriptors. Slices arrive in rounds. */
struct slice_means {
    const struct mf_job *job;
    struct mf_queue *slices; /* the queue that computes them */
    struct mf_target_side *side;
    struct mf_redistribution *redistribution[FIELDS]; /* of the phase, and of those that a descriptor needs with it */
    const struct mf_slice_ops *ops[MF_DESCRIPTORS];
    struct mf_slice_plan *plan[MF_DESCRIPTORS];
    struct held *held;
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
        for (size_t k = z; k < z + run && mf_pulse("measuring") == MF_OK; ++k, at += plane) /* the caller asks, too */
            for (size_t i = 0; i < plane; ++i) at[i] = m->phase[k * plane + i] == want;
        mf_stage_put(stage, x + z * plane, run * plane * sizeof *x);
    }
    return x;
}

static float *indicator(const struct slice_means *m, int phase, int which)
{
    float *x = m->held->x[which];

    if (x && m->held->phase[which] == phase) return x;
    m->held->phase[which] = phase;
    return mf_job_indicator(m->job, &m->stage, phase, x);
}

/** The finest level that kernels compute. Counting gives level 0 of the descriptors that every file has. */
static size_t first_of(const struct slice_means *m, int descriptor)
{
    return descriptor < MF_FURTHER && m->job->exact ? 1 : 0;
}

/** Is there anything to do for a descriptor? */
static int takes_part(const struct slice_means *m, int descriptor)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];

    return row->kind != MF_CROSS && first_of(m, descriptor) < m->side->levels &&
           mf_descriptor_values(row, m->side, m->job->opts->lag, 0) != NULL;
}

/** The kernels of pairs of phases; those of S2 give the cross-correlations of MF_CROSS. NULL: nothing to do. */
static const struct mf_slice_ops *ops_of_pairs(const struct slice_means *m, int descriptor)
{
    if (!mf_descriptor_is(&mf_descriptors[descriptor], MF_OF_PAIRS)) return NULL;
    if (descriptor != MF_CROSS) return m->ops[descriptor];
    return m->side->cross ? m->ops[MF_S2] : NULL;
}

static int has_pairs(const struct slice_means *m)
{
    for (int d = 0; d < MF_DESCRIPTORS; ++d)
        if (ops_of_pairs(m, d)) return 1;
    return 0;
}

/** Sums over slices and ranks to means, kept for the levels from @p first on. */
static void keep(const struct slice_means *m, size_t entries, size_t first, double *values)
{
    size_t levels = m->side->levels;

    m->slices->backend->sync(m->slices);
    mf_comm_sum(m->job->comm, levels * entries, m->total);
    for (size_t i = first * entries; i < levels * entries; ++i) values[i] = m->total[i] / (double)m->side->slices;
}

static void clear(const struct slice_means *m, size_t entries)
{
    memset(m->total, 0, m->side->levels * entries * sizeof(double));
}

static struct mf_slice_desc desc_of(const struct slice_means *m, int descriptor)
{
    const struct mf_job *job = m->job;

    return (struct mf_slice_desc){.nu = m->side->nu,
                                  .nv = m->side->nv,
                                  .lag = job->opts->lag,
                                  .levels = m->side->levels,
                                  .count_max = mf_redistribute_batch(m->redistribution[0]),
                                  .periodic = job->opts->periodic,
                                  .steady = job->opts->steady,
                                  .seam = job->opts->seam,
                                  .threshold = job->opts->threshold,
                                  .steepness = job->opts->steepness,
                                  .vgg = job->opts->vgg,
                                  .phases = (size_t)job->out->phases,
                                  .first = first_of(m, descriptor)};
}

/** One descriptor of one phase. Collective. */
static void total_phase(const struct slice_means *m, int descriptor, int phase, float *x)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];
    size_t lag = m->job->opts->lag, entries = mf_descriptor_entries(row, lag);
    struct mf_slice_desc desc = desc_of(m, descriptor);
    MF_PHASE(row->phase);

    clear(m, entries);
    for (size_t round = 0; round < mf_redistribute_rounds(m->redistribution[0]); ++round) {
        struct mf_view view;

        mf_redistribute_fetch(m->redistribution[0], round, x, &view);
        mf_phase_count(row->form->cost(&desc, view.count, MF_COST_TOTAL));
        mf_pulse_open();
        if (view.count) m->ops[descriptor]->total(m->plan[descriptor], &view, m->total);
        mf_pulse_close();
    }
    keep(m, entries, desc.first, mf_descriptor_values(row, m->side, lag, phase));
}

/** One descriptor of a pair of phases. Collective. */
static void total_pair(const struct slice_means *m, int descriptor, size_t pair, float *x, float *y)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];
    size_t lag = m->job->opts->lag, entries = mf_descriptor_entries(row, lag);
    struct mf_slice_desc desc = desc_of(m, descriptor);
    struct mf_slice_plan *plan = m->plan[descriptor == MF_CROSS ? MF_S2 : descriptor];
    MF_PHASE(row->phase);

    clear(m, entries);
    for (size_t round = 0; round < mf_redistribute_rounds(m->redistribution[0]); ++round) {
        struct mf_view first, second;

        mf_redistribute_fetch(m->redistribution[0], round, x, &first);
        mf_redistribute_fetch(m->redistribution[1], round, y, &second);
        mf_phase_count(descriptor == MF_CROSS ? mf_cost_s2(&desc, first.count, MF_COST_CROSS)
                                              : row->form->cost(&desc, first.count, MF_COST_TOTAL));
        mf_pulse_open();
        if (first.count) ops_of_pairs(m, descriptor)->cross(plan, &first, &second, m->total);
        mf_pulse_close();
    }
    keep(m, entries, desc.first, mf_descriptor_values(row, m->side, lag, (int)pair));
}

/** One descriptor of all phases together. Collective. */
static void total_all(const struct slice_means *m, int descriptor)
{
    const struct mf_descriptor *row = &mf_descriptors[descriptor];
    const size_t lag = m->job->opts->lag, entries = mf_descriptor_entries(row, lag);
    const struct mf_slice_desc desc = desc_of(m, descriptor);
    float *x[FIELDS] = {NULL};
    MF_PHASE(row->phase);

    clear(m, entries);
    for (int p = 0; p < m->job->out->phases; ++p) x[p] = indicator(m, p, p);
    for (size_t round = 0; round < mf_redistribute_rounds(m->redistribution[0]); ++round) {
        struct mf_view view[FIELDS] = {{0}};

        for (int p = 0; p < m->job->out->phases; ++p)
            mf_redistribute_fetch(m->redistribution[p], round, x[p], &view[p]);
        mf_phase_count(row->form->cost(&desc, view[0].count, MF_COST_TOTAL));
        if (view[0].count) m->ops[descriptor]->join(m->plan[descriptor], view, m->total);
    }
    keep(m, entries, desc.first, mf_descriptor_values(row, m->side, lag, 0));
}

/** All descriptors of a pair of phases. Collective. */
static void look_at_pair(const struct slice_means *m, size_t pair)
{
    size_t a, b;
    float *x, *y;

    mf_descriptor_pair((size_t)m->job->out->phases, pair, &a, &b);
    x = indicator(m, (int)a, 0);
    y = indicator(m, (int)b, 1);
    for (int d = 0; d < MF_DESCRIPTORS; ++d)
        if (ops_of_pairs(m, d)) total_pair(m, d, pair, x, y);
}

/** How many phases are looked at together. */
static int fields_of(const struct mf_job *job, const struct mf_target_side *side)
{
    int most = 1;

    for (int d = 0; d < MF_DESCRIPTORS; ++d) {
        const struct mf_descriptor *row = &mf_descriptors[d];

        if (!mf_descriptor_values(row, side, 1, 0)) continue;
        if (mf_descriptor_is(row, MF_OF_PAIRS) && most < 2) most = 2;
        if (mf_descriptor_is(row, MF_OF_ALL)) most = job->out->phases;
    }
    return most < FIELDS ? most : FIELDS;
}

/** Plans and memory. Local. */
static int means_plan(struct slice_means *m)
{
    const struct mf_job *job = m->job;
    const size_t *n = job->micro->slab.dims;
    size_t most = 0;

    for (int d = 0; d < MF_DESCRIPTORS; ++d) {
        struct mf_slice_desc desc = desc_of(m, d);
        size_t entries = mf_descriptor_entries(&mf_descriptors[d], desc.lag);

        if (!takes_part(m, d)) continue;
        if (entries > most) most = entries;
        MF_TRY(mf_descriptor_ops(&mf_descriptors[d], m->slices->backend, &m->ops[d]));
        MF_TRY(mf_slices_plan(m->ops[d], m->slices, &desc, &m->plan[d]));
    }
    if (m->side->cross && m->ops[MF_S2] && !m->ops[MF_S2]->cross)
        return mf_fail(MF_DEVICE, "the %s back end has no cross-correlations", m->slices->backend->name);
    MF_TRY(mf_stage_open(&m->stage, job->queue, n[1] * n[2] * sizeof(float), job->micro->slab.count));
    m->total = mf_arena_take(job->queue->host, m->side->levels * most * sizeof(double), "totals");
    return m->total ? MF_OK : MF_MEMORY;
}

static int means_open(struct slice_means *m, int normal)
{
    const struct mf_job *job = m->job;

    for (int i = 0; i < fields_of(job, m->side); ++i)
        MF_TRY(mf_redistribute_new(job->comm, &job->micro->slab, (enum mf_normal)normal, MF_OUT, 0, job->queue,
                                   &m->redistribution[i]));
    return mf_agree(job->comm, means_plan(m));
}

static void means_close(struct slice_means *m)
{
    mf_arena_give(m->job->queue->host, m->total);
    mf_stage_close(&m->stage);
    for (int d = MF_DESCRIPTORS - 1; d >= 0; --d)
        if (m->plan[d]) m->ops[d]->free(m->plan[d]);
    for (int i = FIELDS - 1; i >= 0; --i)
        if (m->redistribution[i]) mf_redistribute_free(m->redistribution[i]);
}

/** Every other side begins with the phase that the one before ended with: its field is there. */
static int means_side(const struct mf_job *job, int normal, struct held *held)
{
    struct slice_means m = {
        .job = job, .slices = mf_slices_queue(job->queue), .side = &job->out->side[normal], .held = held};
    int rc = means_open(&m, normal), phases = job->dry ? 0 : job->out->phases;
    size_t pairs =
        rc == MF_OK && phases > 0 && has_pairs(&m) ? mf_descriptor_parts(&mf_descriptors[MF_CROSS], (size_t)phases) : 0;

    for (int i = 0; rc == MF_OK && i < phases; ++i) {
        const int p = normal % 2 ? phases - 1 - i : i;
        float *x = indicator(&m, p, 0);

        for (int d = 0; d < MF_DESCRIPTORS; ++d)
            if (m.plan[d] && m.ops[d]->total) total_phase(&m, d, p, x);
        rc = mf_pulse_all(job->comm, "measuring");
    }
    for (int d = 0; phases > 0 && rc == MF_OK && d < MF_DESCRIPTORS; ++d)
        if (m.plan[d] && m.ops[d]->join) total_all(&m, d);
    for (size_t pair = 0; rc == MF_OK && pair < pairs; ++pair) {
        look_at_pair(&m, pair);
        rc = mf_pulse_all(job->comm, "measuring");
    }
    means_close(&m);
    return rc;
}

static int is_wanted(const struct mf_job *job, int side)
{
    return !job->exact || job->out->side[side].levels > 1 || job->opts->more;
}

/** Local. */
static int take_fields(const struct mf_job *job, struct held *held)
{
    const size_t voxels = mf_slab_voxels(&job->micro->slab);
    int most = 0;

    for (int k = 0; k < job->out->sides; ++k)
        if (is_wanted(job, k) && fields_of(job, &job->out->side[k]) > most) most = fields_of(job, &job->out->side[k]);
    for (int i = 0; i < most && (!job->micro->grey || mf_apart(job->queue)); ++i) {
        held->phase[i] = -1;
        held->x[i] = mf_arena_take(job->queue->arena, voxels * sizeof(float), "indicator");
        if (!held->x[i]) return MF_MEMORY;
    }
    return MF_OK;
}

int mf_slice_means(const struct mf_job *job)
{
    struct held held = {{NULL}, {0}};
    int rc = mf_agree(job->comm, take_fields(job, &held));

    for (int k = 0; rc == MF_OK && k < job->out->sides; ++k)
        if (is_wanted(job, k)) rc = means_side(job, k, &held);
    for (int i = FIELDS - 1; i >= 0; --i) mf_arena_give(job->queue->arena, held.x[i]);
    return rc;
}
