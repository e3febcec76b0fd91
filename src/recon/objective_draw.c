/* Draws the slices of an evaluation (--greedy): see objective.h. */
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/recon/objective_impl.h"

enum { MOST = 1 << 24 /* slices of a direction that are drawn */ };

static size_t draws_of(const struct mf_objective *o, size_t slices)
{
    const double draw = o->opts.draw >= 1 ? o->opts.draw : o->opts.draw * (double)slices;

    return draw < 1 ? 1 : draw > MOST ? MOST : (size_t)draw;
}

int mf_objective_draw_open(struct mf_objective *o)
{
    for (size_t d = 0; o->opts.draw > 0 && d < o->sides; ++d) {
        struct mf_objective_side *s = &o->side[d];

        s->draws = draws_of(o, s->slices);
        s->drawn = mf_arena_take(o->queue->host, s->slices * sizeof *s->drawn, "slice sums");
        if (!s->drawn) return MF_MEMORY;
    }
    return MF_OK;
}

void mf_objective_draw(struct mf_objective *o, uint64_t number)
{
    if (!o->side[0].drawn) return;
    for (size_t d = 0; d < o->sides; ++d) {
        struct mf_objective_side *s = &o->side[d];

        memset(s->drawn, 0, s->slices * sizeof *s->drawn);
        for (size_t k = 0; k < s->draws; ++k) {
            const double u = mf_random_uniform(o->opts.seed, MF_STREAM_SLICES, (number * MF_SIDES + d) * MOST + k);
            const size_t i = (size_t)(u * (double)s->slices);

            ++s->drawn[i < s->slices ? i : 0];
        }
    }
    o->drawn = 1;
}
