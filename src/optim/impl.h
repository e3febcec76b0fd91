/* Shared by the optimisation methods. Private to src/optim. */
#ifndef MF_OPTIM_IMPL_H
#define MF_OPTIM_IMPL_H

#include "src/optim/optim.h"

static inline size_t mf_optim_floats(const struct mf_optimiser *o)
{
    return o->extent.phases * o->extent.planes * o->extent.plane;
}

static inline void mf_optim_swap(float **a, float **b)
{
    float *c = *a;

    *a = *b;
    *b = c;
}

/** Sums the kernel's results per plane in o->sums over all planes. */
void mf_optim_total(const struct mf_optimiser *o, const struct mf_problem *p, size_t n, int largest, double *out);

/** Loss and gradient at @p x; counts as one evaluation. */
int mf_optim_evaluate(struct mf_optimiser *o, const struct mf_problem *p, float *x, float *g, double *loss);

/** Shall the run end between two evaluations of a step? Then its refusal. */
int mf_optim_asked(const struct mf_problem *p);

/** Enqueues x_new = P(x + step d). o->sums gets the step's product with the gradient per plane. */
void mf_optim_move(struct mf_optimiser *o, const float *d, double step, float *x_new);

/** a.b over the whole field. */
double mf_optim_dot(struct mf_optimiser *o, const struct mf_problem *p, const float *a, const float *b);

/** Refuses with MF_NUMERIC if @p sum, of products with a gradient, is not finite. */
int mf_optim_finite(double sum);

/** A line search from x: direction, memory for the trial point and its gradient, first step, d.g. */
struct mf_line {
    const float *d;
    float *x_new, *g_new;
    double step, slope;
};

/** Backtracking along the projected step with the Armijo condition. If it accepted a point, *found is 1, and the point
 * is in line->x_new, line->g_new and *loss. */
int mf_optim_search(struct mf_optimiser *o, const struct mf_problem *p, const struct mf_line *line, double *loss,
                    int *found);

/** Is the change of the loss from @p before to @p after below the tolerance? */
int mf_optim_rests(const struct mf_optimiser *o, double before, double after);

/* -- rows of methods.c -- */

extern const struct mf_method mf_lbfgsb, mf_adam, mf_adamax, mf_nadam, mf_adadelta, mf_adagrad, mf_rmsprop, mf_sgd,
    mf_spg, mf_tnc, mf_annealing, mf_ytpost;

#endif
