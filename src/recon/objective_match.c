/* See objective_impl.h: neighbours of patches in the target's example. */
#include <string.h>

#include "kernels/cost.h"
#include "src/recon/objective_impl.h"
#include "src/recon/phases.h"

void *mf_objective_memory(const struct mf_objective *o, size_t *bytes)
{
    *bytes = 0;
    for (size_t t = 0; t < o->opts.terms; ++t)
        if (o->ops[t] && o->ops[t]->memory && o->side[0].plan[t]) return o->ops[t]->memory(o->side[0].plan[t], bytes);
    return NULL;
}

void mf_objective_search_all(struct mf_objective *o)
{
    size_t bytes;
    void *number = mf_objective_memory(o, &bytes);

    if (number) memset(number, 0, sizeof(uint64_t));
}

void mf_objective_recall(struct mf_objective *o, const struct mf_objective *from)
{
    size_t bytes, others;
    void *memory = mf_objective_memory(o, &bytes);
    const void *other = mf_objective_memory(from, &others);

    if (memory && other && bytes == others) memcpy(memory, other, bytes);
}

/* A helper has no memory of searches before the image was loaded, or of another objective's. */
static void bring_memory(struct mf_objective *o)
{
    size_t bytes;
    void *memory = o->team.parts > 1 ? mf_objective_memory(o, &bytes) : NULL;

    if (memory) mf_comm_bcast(&o->crew, 0, memory, bytes);
}

void mf_objective_match(struct mf_objective *o, const struct mf_objective_side *s, const struct mf_view *x,
                        size_t count, size_t before)
{
    for (size_t t = 0; t < o->opts.terms; ++t) {
        struct mf_slice_desc desc = mf_objective_desc(o, s, s->levels);

        if (!o->ops[t] || !o->ops[t]->match) continue;
        MF_PHASE(&mf_phase_search);

        desc.one = desc.one && o->ops[t]->memory;
        if (!o->helps) mf_phase_count(mf_cost_search(&desc, count));
        bring_memory(o);
        o->ops[t]->match(s->plan[t], x, s->pull[t] + before * s->pull_size[t]);
    }
}
