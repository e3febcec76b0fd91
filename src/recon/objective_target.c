/* What slices are compared with: vectors of the target, its example, and vectors that correct the mean slice's
 * error. */
#include <string.h>

#include "kernels/segment.h"
#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/recon/objective_impl.h"

const double *mf_objective_goal(const struct mf_objective *o, size_t t, size_t d, size_t p, size_t entries)
{
    const struct mf_target_side *from = mf_target_for(o->goal, (enum mf_normal)d);
    const double *values =
        mf_descriptor_values(o->opts.term[t].row, from, o->lag,
                             (int)(mf_objective_joint(o, t) ? p : mf_target_phase(o->goal, o->phases, p)));

    return values ? values + o->opts.level_first * entries : NULL;
}

/* Share of the pixels of a cell that have phase @p phase. */
static float share(const struct mf_target_side *side, size_t level, size_t u, size_t v, double phase)
{
    const size_t cell = (size_t)1 << level;
    size_t count = 0;

    for (size_t i = 0; i < cell; ++i)
        for (size_t j = 0; j < cell; ++j)
            count += side->example[(u * cell + i) * side->example_nv + v * cell + j] == phase;
    return (float)count / (float)(cell * cell);
}

/* Indicators [phases][example_nu >> level][example_nv >> level] of the example of @p side, averaged over cells. */
static int example_fields(struct mf_arena *arena, const struct mf_target *target, const struct mf_target_side *side,
                          size_t phases, size_t level, float **x)
{
    const size_t nu = side->example_nu >> level, nv = side->example_nv >> level;

    if (!side->example)
        return mf_fail(MF_INPUT,
                       "the target '%s' has no image of what slices look like, which Patches compares with; "
                       "characterize it anew, from labels",
                       target->source);
    *x = mf_arena_take(arena, phases * nu * nv * sizeof **x, "example");
    if (!*x) return MF_MEMORY;
    for (size_t p = 0; p < phases; ++p) {
        const double phase = (double)mf_target_phase(target, phases, p);

        for (size_t i = 0; i < nu * nv; ++i) (*x)[p * nu * nv + i] = share(side, level, i / nv, i % nv, phase);
    }
    return MF_OK;
}

int mf_objective_example(struct mf_objective *o, size_t d)
{
    const struct mf_target_side *from = mf_target_for(o->goal, (enum mf_normal)d);
    size_t i = (size_t)(from - o->goal->side), level = o->opts.level_first;

    for (size_t t = 0; t < o->opts.terms && !o->side[d].example.x; ++t) {
        if (!mf_descriptor_is(o->opts.term[t].row, MF_BY_EXAMPLE)) continue;
        if (!o->example[i]) MF_TRY(example_fields(o->queue->host, o->goal, from, o->phases, level, &o->example[i]));
        o->side[d].example =
            (struct mf_slice_example){o->example[i], from->example_nu >> level, from->example_nv >> level,
                                      mf_target_example_periodic(o->goal, from)};
    }
    return MF_OK;
}

size_t mf_objective_term_entries(const struct mf_objective *o, size_t t, size_t d)
{
    const struct mf_slice_desc desc = mf_objective_desc(o, &o->side[d], 1);

    return o->ops[t]->kind->entries(&desc);
}

/* Numbers of the target vectors of a term and direction. */
static size_t numbers(const struct mf_objective *o, size_t t, size_t d)
{
    return o->ops[t] ? mf_objective_parts(o, t) * o->side[d].levels * mf_objective_term_entries(o, t, d) : 0;
}

int mf_objective_aims_open(struct mf_objective *o)
{
    size_t at = 0;

    for (size_t d = 0; d < o->sides; ++d)
        for (size_t t = 0; t < o->opts.terms; ++t) o->aimed += numbers(o, t, d);
    o->targets = mf_arena_take(o->queue->arena, o->aimed * sizeof *o->targets, "target");
    if (o->targets) o->goals = mf_mirror_take(o->queue, o->targets, o->aimed * sizeof *o->targets, "target");
    if (!o->goals) return MF_MEMORY;
    for (size_t d = 0; d < o->sides; ++d)
        for (size_t t = 0; t < o->opts.terms; at += numbers(o, t++, d)) {
            o->side[d].target[t] = o->targets + at;
            o->side[d].goal[t] = o->goals + at;
        }
    o->changed = 1;
    return MF_OK;
}

void mf_objective_aims_close(struct mf_objective *o)
{
    mf_mirror_give(o->queue, o->targets, o->goals);
    mf_arena_give(o->queue->arena, o->targets);
}

/* Every evaluation is waited for before targets change again. */
void mf_objective_aims_send(struct mf_objective *o)
{
    if (o->changed && o->aimed) mf_mirror_send(o->queue, o->targets, o->goals, o->aimed * sizeof *o->targets);
    o->changed = 0;
}

/* A window is symmetric, and kernels read only one half of it. If a file's window is not, both halves are averaged. */
static void even_out(float *window, size_t entries)
{
    for (size_t i = 0; i < entries / 2; ++i)
        window[i] = window[entries - 1 - i] = 0.5f * (window[i] + window[entries - 1 - i]);
}

int mf_objective_aim(struct mf_objective *o, size_t d, size_t t)
{
    struct mf_objective_side *s = &o->side[d];
    struct mf_slice_desc desc = mf_objective_desc(o, s, s->levels);
    size_t entries = o->ops[t]->kind->entries(&desc), n = s->levels * entries, parts = mf_objective_parts(o, t);

    s->entries += parts * n;
    if (mf_descriptor_is(o->opts.term[t].row, MF_BY_EXAMPLE)) { /* what it compares with is in its plan */
        memset(s->goal[t], 0, parts * n * sizeof *s->goal[t]);
        return MF_OK;
    }
    for (size_t p = 0; p < parts; ++p) {
        const double *values = mf_objective_goal(o, t, d, p, entries);

        if (!values) return mf_fail(MF_INPUT, "the target '%s' has no %s", o->goal->source, o->opts.term[t].row->name);
        for (size_t i = 0; i < n; ++i) s->goal[t][p * n + i] = (float)values[i];
        for (size_t l = 0; o->opts.term[t].row->kind == MF_S2 && l < s->levels; ++l)
            even_out(s->goal[t] + p * n + l * entries, entries);
    }
    return MF_OK;
}

void mf_objective_capture(struct mf_objective *o, size_t t, float *const values[MF_SIDES])
{
    o->name = mf_segment_name(o->queue);
    for (size_t d = 0; d < o->sides; ++d) o->side[d].values[t] = values ? values[d] : NULL;
}

void mf_objective_mean_error(struct mf_objective *o, size_t t, float *x, double *const mean_error[MF_SIDES])
{
    size_t voxels = mf_slab_voxels(&o->slab);

    for (size_t d = 0; d < o->sides; ++d) {
        struct mf_objective_side *s = &o->side[d];
        size_t entries = mf_objective_term_entries(o, t, d);
        struct mf_view view;
        MF_PHASE(o->opts.term[t].row->phase);

        memset(s->sum, 0, o->phases * s->levels * entries * sizeof *s->sum);
        for (size_t p = 0; p < o->phases; ++p)
            for (size_t k = 0; k < mf_redistribute_rounds(s->redistribution[p]); ++k) {
                mf_redistribute_fetch(s->redistribution[p], k, x + p * voxels, &view);
                mf_phase_count(mf_objective_cost(o, s, t, view.count, MF_COST_TOTAL));
                MF_ASSERT(o->team.parts <= 1 || !o->ops[t]->shares); /* the team's total() is collective */
                if (view.count) o->ops[t]->total(s->plan[t], &view, s->sum + p * s->levels * entries);
            }
        o->backend->sync(o->queue);
        mf_comm_sum(o->comm, o->phases * s->levels * entries, s->sum);
        for (size_t p = 0; p < o->phases; ++p)
            for (size_t i = 0; i < entries; ++i)
                mean_error[d][p * entries + i] =
                    s->sum[p * s->levels * entries + i] / (double)s->slices - mf_objective_goal(o, t, d, p, entries)[i];
    }
}

void mf_objective_correct(struct mf_objective *o, size_t t, double gain, double *const mean_error[MF_SIDES])
{
    for (size_t d = 0; d < o->sides; ++d) {
        struct mf_objective_side *s = &o->side[d];
        size_t entries = mf_objective_term_entries(o, t, d);

        for (size_t p = 0; p < o->phases; ++p)
            for (size_t i = 0; i < entries; ++i)
                s->goal[t][p * s->levels * entries + i] =
                    (float)(mf_objective_goal(o, t, d, p, entries)[i] -
                            (mean_error ? gain * mean_error[d][p * entries + i] : 0));
    }
    o->changed = 1;
}
