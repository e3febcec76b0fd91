/* Truncated Newton with bounds. Conjugate gradients on the free variables find the step; products with the second
 * derivative are differences of gradients. They end when the model gains little more, where curvature is not positive,
 * or when evaluations run out (Nash, SIAM J. Numer. Anal. 21 (1984) 770; Nocedal & Wright 2006, algorithm 7.1).
 * Backtracking on the projected step follows. */
#include <math.h>

#include "src/base/err.h"
#include "src/optim/impl.h"

/* Vectors: the trial point and its gradient, the step, and of conjugate gradients the residual and the direction. */
enum { X_NEW, G_NEW, Z, R, P, VECTORS, PRODUCTS = 20 };

static const double AWAY = 1e-3; /* root mean square distance of gradients that are compared */
static const double GAIN = 0.5;  /* conjugate gradients end when a product gains less than this part of the mean gain */

struct tnc {
    double misses;  /* searches in vain, in a row */
    double numbers; /* of the whole field */
};

static struct tnc *state_of(struct mf_optimiser *o) { return (struct tnc *)o->number; }

static size_t vectors(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS])
{
    (void)opts;
    tag[X_NEW] = "trial field";
    tag[G_NEW] = "trial gradient";
    tag[Z] = "direction";
    tag[R] = tag[P] = "conjugate gradients";
    return VECTORS;
}

static int begin(struct mf_optimiser *o, const struct mf_problem *p)
{
    for (size_t z = 0; z < o->extent.planes; ++z) o->sums[z] = (double)(o->extent.phases * o->extent.plane);
    p->add(p->context, 1, o->sums, -1, &state_of(o)->numbers);
    return mf_optim_evaluate(o, p, o->x, o->g, &o->loss);
}

/* d = -(the free part of v): 0 where x is held at a bound. */
static void hold(struct mf_optimiser *o, const struct mf_problem *p, float *v, float *d)
{
    const struct mf_history one = {.count = 1, .s = {v}, .y = {v}};
    const double c[3] = {0, 1, 0};
    double out[2];

    o->backend->optim->direction(o->queue, o->extent, o->x, o->g, &one, c, d, o->sums);
    mf_optim_total(o, p, 2, 1, out);
}

/* own[X_NEW] = -H own[P] on the free variables; @p square: P.P. */
static int product(struct mf_optimiser *o, const struct mf_problem *p, double square)
{
    const struct mf_field_ops *field = o->backend->field;
    const size_t n = mf_optim_floats(o);
    const double away = AWAY / sqrt(square / state_of(o)->numbers);
    double loss;
    int rc;

    field->copy(o->queue, n, o->x, o->own[X_NEW]);
    field->axpy(o->queue, n, (float)away, o->own[P], o->own[X_NEW]);
    o->aside = 1;
    rc = mf_optim_evaluate(o, p, o->own[X_NEW], o->own[G_NEW], &loss);
    o->aside = 0;
    MF_TRY(rc);
    field->axpy(o->queue, n, -1, o->g, o->own[G_NEW]);
    field->scale(o->queue, n, (float)(1 / away), o->own[G_NEW]);
    hold(o, p, o->own[G_NEW], o->own[X_NEW]);
    return MF_OK;
}

/* The step into own[Z]; own[R] is the free gradient, turned. */
static int solve(struct mf_optimiser *o, const struct mf_problem *p)
{
    const struct mf_field_ops *field = o->backend->field;
    const size_t n = mf_optim_floats(o);
    double rr = mf_optim_dot(o, p, o->own[R], o->own[R]), model = 0;

    field->fill(o->queue, n, 0, o->own[Z]);
    field->copy(o->queue, n, o->own[R], o->own[P]);
    for (int k = 1; k <= PRODUCTS && rr > 0 && o->evaluations + 1 < o->last; ++k) {
        const double square = mf_optim_dot(o, p, o->own[P], o->own[P]);
        double curve, length, gain, next;

        MF_TRY(mf_optim_asked(p));
        MF_TRY(product(o, p, square));
        curve = -mf_optim_dot(o, p, o->own[P], o->own[X_NEW]);
        MF_TRY(mf_optim_finite(curve));
        if (!(curve > 1e-12 * square)) break;
        length = rr / curve;
        field->axpy(o->queue, n, (float)length, o->own[P], o->own[Z]);
        field->axpy(o->queue, n, (float)length, o->own[X_NEW], o->own[R]);
        next = mf_optim_dot(o, p, o->own[R], o->own[R]);
        gain = 0.5 * rr * length;
        model += gain;
        if (k * gain <= GAIN * model) break;
        field->scale(o->queue, n, (float)(next / rr), o->own[P]);
        field->axpy(o->queue, n, 1, o->own[R], o->own[P]);
        rr = next;
    }
    return MF_OK;
}

/* One step of Newton and one search along it. */
static int step(struct mf_optimiser *o, const struct mf_problem *p, int *more)
{
    const struct mf_history none = {.count = 0};
    const double before = o->loss, c = 1;
    double out[2], slope, loss, length = 1;
    int found;

    o->backend->optim->direction(o->queue, o->extent, o->x, o->g, &none, &c, o->own[R], o->sums);
    mf_optim_total(o, p, 2, 1, out);
    *more = out[0] < 0 && out[1] > 0; /* else a stationary point */
    if (!*more) return MF_OK;
    if (state_of(o)->misses == 0) MF_TRY(solve(o, p));
    MF_TRY(mf_optim_asked(p));
    slope = state_of(o)->misses == 0 ? mf_optim_dot(o, p, o->own[Z], o->g) : 0;
    if (!(slope < 0)) { /* no curvature was found, or the last step of Newton was in vain: down the gradient */
        o->backend->optim->direction(o->queue, o->extent, o->x, o->g, &none, &c, o->own[Z], o->sums);
        mf_optim_total(o, p, 2, 1, out);
        slope = out[0];
        length = 0.1 / out[1];
    }
    MF_TRY(mf_optim_search(o, p, &(struct mf_line){o->own[Z], o->own[X_NEW], o->own[G_NEW], length, slope}, &loss,
                           &found));
    if (!found) {
        *more = ++state_of(o)->misses <= 1;
        return MF_OK;
    }
    state_of(o)->misses = 0;
    mf_optim_swap(&o->x, &o->own[X_NEW]);
    mf_optim_swap(&o->g, &o->own[G_NEW]);
    o->loss = loss;
    *more = !mf_optim_rests(o, before, loss);
    return MF_OK;
}

static int live(struct mf_optimiser *o, float **vector, size_t *count)
{
    (void)vector;
    if (!(state_of(o)->misses >= 0 && state_of(o)->misses <= 2 && state_of(o)->numbers >= 1))
        return mf_fail(MF_INPUT, "the saved state of the optimiser is invalid");
    *count = 0;
    return MF_OK;
}

const struct mf_method mf_tnc = {
    .name = "TNC", .options = " ", .traffic = 120, .vectors = vectors, .begin = begin, .step = step, .live = live};
