/* Projected limited-memory BFGS. One iteration is two passes over the vectors. First come direction and step, then the
 * new pair with all dot products that the next direction needs. The two-loop recursion works on stored dot products
 * (Nocedal & Wright 2006, algorithm 7.4). Free variables follow from the sign of the gradient at the bounds.
 * Backtracking uses the Armijo condition on the projected step. */
#include <math.h>
#include <string.h>

#include "kernels/cost.h"
#include "src/base/err.h"
#include "src/optim/impl.h"
#include "src/optim/phases.h"

/* Vectors: the trial point and its gradient, the direction, then pairs s, y, the newest first. */
enum { X_NEW, G_NEW, D, PAIRS, WIDTH = 2 + 3 * MF_HISTORY_MAX };

struct lbfgs {
    double count, misses;                                                          /* pairs; line searches in vain */
    double sy[MF_HISTORY_MAX][MF_HISTORY_MAX], yy[MF_HISTORY_MAX][MF_HISTORY_MAX]; /* s_i.y_j, y_i.y_j */
};

_Static_assert(sizeof(struct lbfgs) <= MF_METHOD_NUMBERS * sizeof(double), "numbers of L-BFGS");

static struct lbfgs *state_of(const struct mf_optimiser *o) { return (struct lbfgs *)(uintptr_t)o->number; }

static size_t count_of(const struct mf_optimiser *o) { return (size_t)state_of(o)->count; }

static float **s_of(struct mf_optimiser *o) { return o->own + PAIRS; }
static float **y_of(struct mf_optimiser *o) { return o->own + PAIRS + o->opts.history; }

static struct mf_history history_of(struct mf_optimiser *o)
{
    struct mf_history h = {.count = count_of(o)};

    memcpy(h.s, s_of(o), h.count * sizeof h.s[0]);
    memcpy(h.y, y_of(o), h.count * sizeof h.y[0]);
    return h;
}

static size_t vectors(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS])
{
    MF_ASSERT(opts->history >= 1 && opts->history <= MF_HISTORY_MAX);
    tag[X_NEW] = "trial field";
    tag[G_NEW] = "trial gradient";
    tag[D] = "direction";
    for (size_t i = 0; i < 2 * opts->history; ++i) tag[PAIRS + i] = "history";
    return PAIRS + 2 * opts->history;
}

/* Coefficients of r, s_i, y_i in the recursion's result H r: c[0], c[1 + i], c[1 + n + i]. The products dots are those
 * of free_dots().
 */
static void two_loops(const struct lbfgs *at, size_t n, const double *dots, double *c)
{
    double alpha[MF_HISTORY_MAX], beta[MF_HISTORY_MAX], gamma;

    if (n == 0) {
        c[0] = 1;
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        double q = dots[1 + i];

        for (size_t j = 0; j < i; ++j) q -= alpha[j] * at->sy[i][j];
        alpha[i] = q / at->sy[i][i];
    }
    gamma = at->sy[0][0] / at->yy[0][0];
    for (size_t i = n; i-- > 0;) {
        double z = dots[1 + n + i];

        for (size_t j = 0; j < n; ++j) z -= alpha[j] * at->yy[i][j];
        z *= gamma;
        for (size_t j = i + 1; j < n; ++j) z += (alpha[j] - beta[j]) * at->sy[j][i];
        beta[i] = z / at->sy[i][i];
    }
    c[0] = gamma;
    for (size_t i = 0; i < n; ++i) {
        c[1 + i] = alpha[i] - beta[i];
        c[1 + n + i] = -gamma * alpha[i];
    }
}

/* Direction at x into d: its slope d.g and its largest entry. */
static void aim(struct mf_optimiser *o, const struct mf_problem *p, double *slope, double *largest)
{
    const struct mf_optim_ops *ops = o->backend->optim;
    const struct mf_history h = history_of(o);
    size_t n = h.count;
    double dots[1 + 2 * MF_HISTORY_MAX], c[1 + 2 * MF_HISTORY_MAX], out[2];
    MF_PHASE(&mf_phase_direction);

    mf_phase_count(mf_cost_direction(o->extent, n));
    if (n) {
        ops->free_dots(o->queue, o->extent, o->x, o->g, &h, o->sums);
        mf_optim_total(o, p, 1 + 2 * n, -1, dots);
    }
    two_loops(state_of(o), n, dots, c);
    ops->direction(o->queue, o->extent, o->x, o->g, &h, c, o->own[D], o->sums);
    mf_optim_total(o, p, 2, 1, out);
    *slope = out[0];
    *largest = out[1];
}

/* Dot products of the new pair, as pair() leaves them, before those of the @p n pairs that stay. */
static void shift(struct lbfgs *at, size_t n, const double *out)
{
    for (size_t i = n; i-- > 0;)
        for (size_t j = n; j-- > 0;) {
            at->sy[i + 1][j + 1] = at->sy[i][j];
            at->yy[i + 1][j + 1] = at->yy[i][j];
        }
    at->sy[0][0] = out[0];
    at->yy[0][0] = out[1];
    for (size_t i = 0; i < n; ++i) {
        at->sy[i + 1][0] = out[2 + 2 * i];
        at->sy[0][i + 1] = out[3 + 2 * i];
        at->yy[0][i + 1] = at->yy[i + 1][0] = out[2 + 2 * n + i];
    }
}

/* The vector that was the last becomes the first. */
static void rotate(float **vector, size_t m)
{
    float *last = vector[m - 1];

    memmove(&vector[1], &vector[0], (m - 1) * sizeof *vector);
    vector[0] = last;
}

/* The pair that the accepted step gives: its buffers are the oldest pair's or unused ones. */
static void remember(struct mf_optimiser *o, const struct mf_problem *p)
{
    struct lbfgs *at = state_of(o);
    size_t m = o->opts.history, n = count_of(o) < m ? count_of(o) : m - 1;
    struct mf_history h;
    double out[WIDTH];
    MF_PHASE(&mf_phase_pair);

    mf_phase_count(mf_cost_pair(o->extent, n));
    at->count = (double)n;
    h = history_of(o);
    o->backend->optim->pair(o->queue, o->extent, o->x, o->own[X_NEW], o->g, o->own[G_NEW], &h, s_of(o)[m - 1],
                            y_of(o)[m - 1], o->sums);
    mf_optim_total(o, p, 2 + 3 * n, -1, out);
    if (!(out[0] > 1e-9 * out[1])) return; /* no curvature: the pair is dropped */
    rotate(s_of(o), m);
    rotate(y_of(o), m);
    shift(at, n, out);
    at->count = (double)(n + 1);
}

static double first_step(const struct mf_optimiser *o, double largest)
{
    double step = count_of(o) ? 1 : 0.1 / largest;

    return step * largest > 1 ? 1 / largest : step;
}

static int begin(struct mf_optimiser *o, const struct mf_problem *p)
{
    return mf_optim_evaluate(o, p, o->x, o->g, &o->loss);
}

/* One direction and one search along it. */
static int step(struct mf_optimiser *o, const struct mf_problem *p, int *more)
{
    struct lbfgs *at = state_of(o);
    double slope, largest, loss, before = o->loss;
    int found;

    aim(o, p, &slope, &largest);
    if (!(slope < 0) || largest == 0) {
        *more = at->count > 0; /* else a stationary point */
        at->count = 0;
        return MF_OK;
    }
    MF_TRY(mf_optim_search(o, p,
                           &(struct mf_line){o->own[D], o->own[X_NEW], o->own[G_NEW], first_step(o, largest), slope},
                           &loss, &found));
    if (!found) {
        *more = at->count > 0 && ++at->misses <= 3;
        at->count = 0;
        return MF_OK;
    }
    remember(o, p);
    mf_optim_swap(&o->x, &o->own[X_NEW]);
    mf_optim_swap(&o->g, &o->own[G_NEW]);
    o->loss = loss;
    *more = !(before - loss < o->opts.tolerance * fabs(before) && o->opts.tolerance > 0);
    return MF_OK;
}

static int live(struct mf_optimiser *o, float **vector, size_t *count)
{
    const double pairs = state_of(o)->count, misses = state_of(o)->misses;
    size_t n = 0;

    if (!(misses >= 0 && misses < 1e9 && pairs >= 0 && pairs < 1e9))
        return mf_fail(MF_INPUT, "the saved state of the optimiser is invalid");
    if (pairs > (double)o->opts.history)
        return mf_fail(MF_INPUT, "the saved optimiser has %.0f pairs, %zu are kept", pairs, o->opts.history);
    for (size_t i = 0; i < count_of(o); ++i) {
        vector[n++] = s_of(o)[i];
        vector[n++] = y_of(o)[i];
    }
    *count = n;
    return MF_OK;
}

const struct mf_method mf_lbfgsb = {.name = "LBFGSB",
                                    .options = " history ",
                                    .remembers = 1,
                                    .traffic = 48,
                                    .vectors = vectors,
                                    .begin = begin,
                                    .step = step,
                                    .live = live};
