/* Projected Adam (Kingma & Ba 2015, algorithm 1). It returns to the best point seen. */
#include <math.h>

#include "kernels/cost.h"
#include "src/base/err.h"
#include "src/optim/impl.h"

struct adam {
    double best; /* least loss so far */
};

enum { BEST, M, V, VECTORS }; /* the best point; moments */

static struct adam *state_of(struct mf_optimiser *o) { return (struct adam *)o->number; }

static size_t vectors(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS])
{
    (void)opts;
    tag[BEST] = "best field";
    tag[M] = tag[V] = "moments";
    return VECTORS;
}

static int begin(struct mf_optimiser *o, const struct mf_problem *p)
{
    (void)p;
    state_of(o)->best = INFINITY;
    o->backend->field->fill(o->queue, mf_optim_floats(o), 0, o->own[M]);
    o->backend->field->fill(o->queue, mf_optim_floats(o), 0, o->own[V]);
    return MF_OK;
}

/* The step after @p t evaluations. */
static void move(struct mf_optimiser *o, long t)
{
    const struct mf_method_opts *a = &o->opts;
    MF_PHASE(MF_PHASE_ADAM);

    mf_phase_count(mf_cost_adam(o->extent));
    o->backend->optim->adam(o->queue, o->extent, o->g, a->rate, a->beta1, a->beta2, a->epsilon, t, o->own[M], o->own[V],
                            o->x);
}

static int step(struct mf_optimiser *o, const struct mf_problem *p, int *more)
{
    const double before = o->loss;
    const int first = o->evaluations == o->started;

    if (!first) move(o, o->evaluations - o->started);
    MF_TRY(mf_optim_evaluate(o, p, o->x, o->g, &o->loss));
    if (o->loss < state_of(o)->best) {
        state_of(o)->best = o->loss;
        o->backend->field->copy(o->queue, mf_optim_floats(o), o->x, o->own[BEST]);
    }
    *more = o->evaluations < o->last && (first || !mf_optim_rests(o, before, o->loss));
    return MF_OK;
}

static void end(struct mf_optimiser *o)
{
    mf_optim_swap(&o->x, &o->own[BEST]);
    o->loss = state_of(o)->best;
}

static int live(struct mf_optimiser *o, float **vector, size_t *count)
{
    for (size_t i = 0; i < VECTORS; ++i) vector[i] = o->own[i];
    *count = VECTORS;
    return MF_OK;
}

const struct mf_method mf_adam = {
    .name = "Adam", .traffic = 40, .vectors = vectors, .begin = begin, .step = step, .end = end, .live = live};
