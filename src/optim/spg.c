/* Projected spectral gradient: the projected gradient with the step lengths of Barzilai and Borwein (1988). A line
 * search along the projection arc accepts losses below the largest of the last losses. Sources: Birgin, Martinez,
 * Raydan 2000, algorithm SPG1; Grippo, Lampariello, Lucidi 1986. No history: four vectors, and one for the best point,
 * because steps may go uphill. */
#include <math.h>

#include "kernels/cost.h"
#include "src/base/err.h"
#include "src/optim/impl.h"
#include "src/optim/phases.h"

enum { X_NEW, G_NEW, BEST, VECTORS, LAST = 10, TRIALS = 12 };

static const double SHORTEST = 1e-10, LONGEST = 1e10;

struct spg {
    double alpha; /* of the next step; 0: none is known */
    double best;  /* loss at own[BEST], where a step went uphill from it; else INFINITY */
    double misses, losses;
    double loss[LAST]; /* the last ones, in a ring */
};

_Static_assert(sizeof(struct spg) <= MF_METHOD_NUMBERS * sizeof(double), "numbers of SPG");

static struct spg *state_of(struct mf_optimiser *o) { return (struct spg *)o->number; }

static size_t vectors(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS])
{
    (void)opts;
    tag[X_NEW] = "trial field";
    tag[G_NEW] = "trial gradient";
    tag[BEST] = "best field";
    return VECTORS;
}

static void note(struct spg *at, double loss)
{
    at->loss[(size_t)at->losses % LAST] = loss;
    ++at->losses;
}

/* Largest of the last losses. */
static double reference(const struct spg *at)
{
    double most = at->loss[0];

    for (size_t i = 1; i < LAST && i < (size_t)at->losses; ++i) most = fmax(most, at->loss[i]);
    return most;
}

static int begin(struct mf_optimiser *o, const struct mf_problem *p)
{
    MF_TRY(mf_optim_evaluate(o, p, o->x, o->g, &o->loss));
    state_of(o)->best = INFINITY;
    note(state_of(o), o->loss);
    return MF_OK;
}

/* A first length that moves no voxel by more than 0.1; 0 at a stationary point. */
static double first_alpha(struct mf_optimiser *o, const struct mf_problem *p)
{
    const struct mf_history none = {.count = 0};
    const double c = 1;
    double out[2];

    o->backend->optim->direction(o->queue, o->extent, o->x, o->g, &none, &c, o->own[X_NEW], o->sums);
    mf_optim_total(o, p, 2, 1, out);
    return out[0] < 0 && out[1] > 0 ? 0.1 / out[1] : 0;
}

/* Backtracking along x(t) = P(x - t alpha g); *found: 1 when own[X_NEW], own[G_NEW], *loss are an accepted point. */
static int search(struct mf_optimiser *o, const struct mf_problem *p, double *loss, int *found)
{
    const double most = reference(state_of(o));
    double t = state_of(o)->alpha;

    *found = 0;
    for (int trial = 0; trial < TRIALS && o->evaluations < o->last; ++trial) {
        double change, next;

        if (trial > 0) MF_TRY(mf_optim_asked(p));
        mf_optim_move(o, o->g, -t, o->own[X_NEW]);
        MF_TRY(mf_optim_evaluate(o, p, o->own[X_NEW], o->own[G_NEW], loss));
        mf_optim_total(o, p, 1, -1, &change);
        if (*loss <= most + 1e-4 * change) {
            *found = 1;
            return MF_OK;
        }
        next = -change * t / (2 * (*loss - o->loss - change));
        t = next > 0.1 * t && next < 0.5 * t ? next : next >= 0.5 * t ? 0.5 * t : 0.1 * t;
    }
    return MF_OK;
}

/* The length s.s / s.y of the accepted step; the old point and gradient become -s and -y. */
static double next_alpha(struct mf_optimiser *o, const struct mf_problem *p)
{
    const struct mf_field_ops *field = o->backend->field;
    double ss, sy;
    MF_PHASE(&mf_phase_pair);

    mf_phase_count(mf_cost_pair(o->extent, 0));
    field->axpy(o->queue, mf_optim_floats(o), -1, o->own[X_NEW], o->x);
    field->axpy(o->queue, mf_optim_floats(o), -1, o->own[G_NEW], o->g);
    ss = mf_optim_dot(o, p, o->x, o->x);
    sy = mf_optim_dot(o, p, o->x, o->g);
    return sy > 0 ? fmin(fmax(ss / sy, SHORTEST), LONGEST) : LONGEST;
}

/* The step goes uphill from the best point so far: it is kept. */
static void keep_best(struct mf_optimiser *o, double loss)
{
    struct spg *at = state_of(o);

    if (loss <= o->loss || o->loss >= at->best) return;
    at->best = o->loss;
    o->backend->field->copy(o->queue, mf_optim_floats(o), o->x, o->own[BEST]);
}

static int step(struct mf_optimiser *o, const struct mf_problem *p, int *more)
{
    struct spg *at = state_of(o);
    const double before = o->loss;
    double loss;
    int found;

    if (at->alpha == 0) at->alpha = first_alpha(o, p);
    *more = at->alpha > 0;
    if (!*more) return MF_OK;
    MF_TRY(search(o, p, &loss, &found));
    if (!found) {
        *more = ++at->misses <= 3;
        at->alpha = 0;
        return MF_OK;
    }
    keep_best(o, loss);
    at->alpha = next_alpha(o, p);
    mf_optim_swap(&o->x, &o->own[X_NEW]);
    mf_optim_swap(&o->g, &o->own[G_NEW]);
    o->loss = loss;
    note(at, loss);
    *more = !mf_optim_rests(o, before, loss);
    return MF_OK;
}

static void end(struct mf_optimiser *o)
{
    if (!(state_of(o)->best < o->loss)) return;
    mf_optim_swap(&o->x, &o->own[BEST]);
    o->loss = state_of(o)->best;
}

static int live(struct mf_optimiser *o, float **vector, size_t *count)
{
    const struct spg *at = state_of(o);

    if (!(at->losses >= 1 && at->losses < 1e15 && at->misses >= 0 && at->misses < 1e9 && at->alpha >= 0))
        return mf_fail(MF_INPUT, "the saved state of the optimiser is invalid");
    *count = at->best < INFINITY;
    if (*count) vector[0] = o->own[BEST];
    return MF_OK;
}

const struct mf_method mf_spg = {.name = "SPG",
                                 .options = " ",
                                 .traffic = 60,
                                 .vectors = vectors,
                                 .begin = begin,
                                 .step = step,
                                 .end = end,
                                 .live = live};
