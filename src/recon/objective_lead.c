/* See objective.h: values of slices, what their mean misses, and targets that make up for it. */
#include <string.h>

#include "kernels/segment.h"
#include "kernels/stage.h"
#include "src/recon/objective_impl.h"

void mf_objective_capture(struct mf_objective *o, size_t t, float *const values[MF_SIDES])
{
    o->name = mf_segment_name(o->queue);
    for (size_t d = 0; d < o->sides; ++d) o->side[d].values[t] = values ? values[d] : NULL;
}

static size_t entries_of(const struct mf_objective *o, size_t t, size_t d)
{
    struct mf_slice_desc desc = mf_objective_desc(o, &o->side[d], 1);

    return o->ops[t]->kind->entries(&desc);
}

void mf_objective_miss(struct mf_objective *o, size_t t, float *x, double *const miss[MF_SIDES])
{
    size_t voxels = mf_slab_voxels(&o->slab);

    for (size_t d = 0; d < o->sides; ++d) {
        struct mf_objective_side *s = &o->side[d];
        size_t entries = entries_of(o, t, d);
        struct mf_view view;
        MF_PHASE(o->opts.term[t].row->phase);

        memset(s->sum, 0, o->phases * s->levels * entries * sizeof *s->sum);
        for (size_t p = 0; p < o->phases; ++p)
            for (size_t k = 0; k < mf_turn_rounds(s->turn[p]); ++k) {
                mf_turn_fetch(s->turn[p], k, x + p * voxels, &view);
                mf_phase_count(mf_objective_cost(o, s, t, view.count, MF_COST_TOTAL));
                if (view.count) o->ops[t]->total(s->plan[t], &view, s->sum + p * s->levels * entries);
            }
        o->backend->sync(o->queue);
        mf_comm_sum(o->comm, o->phases * s->levels * entries, s->sum);
        for (size_t p = 0; p < o->phases; ++p)
            for (size_t i = 0; i < entries; ++i)
                miss[d][p * entries + i] =
                    s->sum[p * s->levels * entries + i] / (double)s->slices - mf_objective_goal(o, t, d, p, entries)[i];
    }
}

void mf_objective_lead(struct mf_objective *o, size_t t, double gain, double *const miss[MF_SIDES])
{
    for (size_t d = 0; d < o->sides; ++d) {
        struct mf_objective_side *s = &o->side[d];
        size_t entries = entries_of(o, t, d);

        for (size_t p = 0; p < o->phases; ++p)
            for (size_t i = 0; i < entries; ++i)
                s->goal[t][p * s->levels * entries + i] =
                    (float)(mf_objective_goal(o, t, d, p, entries)[i] - (miss ? gain * miss[d][p * entries + i] : 0));
        mf_mirror_put(o->queue, s->target[t], s->goal[t], o->phases * s->levels * entries * sizeof(float));
    }
}
