/* See objective_impl.h: --slice-objective mean. The E of a direction is that of its mean slice, D = mean of D_s over
 * the slices. So dE/dx = sum over slices of (dE/dD / slices) dD_s/dx. A kernel compares a slice with a target T and
 * adds 2 (D_s
 * - T) dD_s/dx to a gradient. It is called with -T and with T, where T = (dE/dD) / 2m; one result is added, one
 *   subtracted. The difference is (2 / m) dE/dD dD_s/dx. m is the largest of dE/dD, so that T has the size of D. */
#include "src/recon/objective_impl.h"

#include <math.h>
#include <string.h>

#include "kernels/form/compare.h"
#include "kernels/stage.h"

/* One part of one term of one direction. */
struct part {
    size_t t, p, a, b, entries, values; /* fields a and b; values: of all levels */
    int pair;
    double q;
    double *d; /* D of the mean slice, then dE/dD: [levels][entries] */
};

static struct part first_part(const struct mf_objective_side *s) { return (struct part){.t = (size_t)-1, .d = s->sum}; }

/* The next part; 0 behind the last. */
static int next(const struct mf_objective *o, const struct mf_objective_side *s, struct part *part)
{
    struct mf_slice_desc desc = mf_objective_desc(o, s, s->levels);

    part->d += part->values;
    if (part->t == (size_t)-1 || ++part->p == mf_objective_parts(o, part->t)) {
        do
            if (++part->t == o->opts.terms) return 0;
        while (!o->ops[part->t]);
        part->p = 0;
    }
    part->pair = mf_descriptor_is(o->opts.term[part->t].row, MF_OF_PAIRS);
    part->a = part->b = part->p;
    if (part->pair) mf_descriptor_pair(o->phases, part->p, &part->a, &part->b);
    part->q = part->pair ? 1 : o->opts.phase_weight[part->p];
    part->entries = o->ops[part->t]->kind->entries(&desc);
    part->values = s->levels * part->entries;
    return 1;
}

/* D of the mean slice, the same bits on all ranks. */
static void look(struct mf_objective *o, struct mf_objective_side *s, float *x)
{
    const size_t voxels = mf_slab_voxels(&o->slab);
    struct part part;

    memset(s->sum, 0, s->entries * sizeof *s->sum);
    for (size_t k = 0; k < mf_redistribute_rounds(s->redistribution[0]); ++k) {
        const struct mf_span span = mf_redistribute_span(s->redistribution[0], k);
        struct mf_view view[MF_PHASES_MAX];

        for (size_t p = 0; p < o->phases; ++p) mf_redistribute_fetch(s->redistribution[p], k, x + p * voxels, &view[p]);
        for (part = first_part(s); span.count && next(o, s, &part);) {
            const struct mf_slice_ops *ops = o->ops[part.t];
            MF_PHASE(o->opts.term[part.t].row->phase);

            mf_phase_count(mf_objective_cost(o, s, part.t, span.count, MF_COST_TOTAL));
            if (part.pair)
                ops->cross(s->plan[part.t], &view[part.a], &view[part.b], part.d);
            else
                ops->total(s->plan[part.t], &view[part.a], part.d);
        }
    }
    o->backend->sync(o->queue);
    mf_comm_sum(o->comm, s->entries, s->sum);
    for (size_t i = 0; i < s->entries; ++i) s->sum[i] /= (double)s->slices;
}

/* E and the shares of the terms into s->mean_sums, dE/dD into s->sum; returns the largest of these. */
static double compare(struct mf_objective *o, struct mf_objective_side *s, size_t d)
{
    const int power = o->opts.norm == MF_L1 ? 1 : 2;
    double all = 0, slope, most = 0;
    struct part part;

    memset(s->mean_sums, 0, sizeof s->mean_sums);
    for (part = first_part(s); next(o, s, &part);) {
        const double *goal = mf_objective_goal(o, part.t, d, part.p, part.entries);

        for (size_t i = 0; i < part.values; ++i) {
            const double w = part.q * mf_objective_weight(o, part.t, i / part.entries);
            const double off = w * (part.d[i] - goal[i]);

            s->mean_sums[1 + part.t] += mf_compare_loss(power, off);
            part.d[i] = w * mf_compare_slope(power, off);
        }
    }
    for (size_t t = 0; t < o->opts.terms; ++t) all += s->mean_sums[1 + t];
    s->mean_sums[0] = mf_objective_norm(o->opts.norm, all, (double)s->entries, &slope) / (double)o->sides;
    for (size_t i = 0; i < s->entries; ++i) {
        s->sum[i] *= slope;
        most = fmax(most, fabs(s->sum[i]));
    }
    return most;
}

/* sign * dE/dD / 2m as the targets of all parts. */
static void aim(struct mf_objective *o, struct mf_objective_side *s, double times)
{
    struct part part;

    o->backend->sync(o->queue); /* earlier ones have been compared with */
    for (part = first_part(s); next(o, s, &part);) {
        float *goal = s->goal[part.t] + part.p * part.values;

        for (size_t i = 0; i < part.values; ++i) goal[i] = (float)(times * part.d[i]);
        if (part.p + 1 == mf_objective_parts(o, part.t))
            mf_mirror_put(o->queue, s->target[part.t], s->goal[part.t], (part.p + 1) * part.values * sizeof *goal);
    }
}

/* g += scale * what the slices of a direction say to their targets. */
static void add(struct mf_objective *o, struct mf_objective_side *s, float *x, float *g, double scale)
{
    const size_t voxels = mf_slab_voxels(&o->slab);
    double weight[MF_LEVELS_MAX];
    struct part part;

    for (size_t l = 0; l < s->levels; ++l) weight[l] = 1;
    for (size_t i = 0; i < s->slices; ++i) s->scale[i] = scale;
    for (size_t k = 0; k < mf_redistribute_rounds(s->redistribution[0]); ++k) {
        const struct mf_span span = mf_redistribute_span(s->redistribution[0], k);
        struct mf_view view[MF_PHASES_MAX], slope[MF_PHASES_MAX];

        for (size_t p = 0; p < o->phases; ++p) {
            mf_redistribute_fetch(s->redistribution[p], k, x + p * voxels, &view[p]);
            mf_redistribute_open(s->redistribution[p], k, g + p * voxels, &slope[p]);
        }
        for (part = first_part(s); span.count && next(o, s, &part);) {
            const struct mf_slice_task task = {.x = view[part.a],
                                               .g = slope[part.a],
                                               .y = view[part.b],
                                               .h = slope[part.b],
                                               .target = s->target[part.t] + part.p * part.values,
                                               .weight = weight,
                                               .power = 2,
                                               .scale = s->scale + span.first};
            MF_PHASE(o->opts.term[part.t].row->phase);

            mf_phase_count(mf_objective_cost(o, s, part.t, span.count, MF_COST_GRADIENT));
            o->ops[part.t]->eval(s->plan[part.t], &task);
        }
        for (size_t p = 0; p < o->phases; ++p) mf_redistribute_add(s->redistribution[p], k, g + p * voxels);
    }
}

void mf_objective_mean_eval(struct mf_objective *o, size_t d, float *x, float *g, double factor)
{
    struct mf_objective_side *s = &o->side[d];
    double most, each;

    look(o, s, x);
    most = compare(o, s, d);
    if (!g || !(most > 0)) return;
    each = factor * most / (2 * (double)o->sides * (double)s->slices);
    for (int sign = -1; sign <= 1; sign += 2) {
        float *at = mf_objective_beside(o, d, g);

        aim(o, s, sign / (2 * most));
        add(o, s, x, at, -sign * each);
        mf_objective_beside_add(o, at, g);
    }
    o->backend->sync(o->queue); /* scales have been read */
}
