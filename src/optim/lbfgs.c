/* See lbfgs.h. One iteration is two passes over the vectors: direction and step, then the new pair with all the dot
 * products that the next direction needs. */
#include "src/optim/lbfgs.h"

#include <math.h>
#include <string.h>

#include "kernels/cost.h"
#include "src/base/err.h"

enum { WIDTH = 2 + 3 * MF_HISTORY_MAX };

static size_t voxels(const struct mf_optimiser *o) { return o->extent.phases * o->extent.planes * o->extent.plane; }

static int take(struct mf_optimiser *o, float **vector, const char *tag)
{
    *vector = mf_arena_take(o->queue->arena, voxels(o) * sizeof(float), tag);
    return *vector ? MF_OK : MF_MEMORY;
}

int mf_optimiser_new(struct mf_optimiser *o, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_extent extent, size_t history)
{
    *o = (struct mf_optimiser){.backend = backend, .queue = queue, .extent = extent, .history_max = history};
    MF_ASSERT(history >= 1 && history <= MF_HISTORY_MAX);
    o->sums = mf_arena_take(queue->host, extent.planes * WIDTH * sizeof(double), "plane sums");
    if (!o->sums) return MF_MEMORY;
    MF_TRY(take(o, &o->x, "field"));
    MF_TRY(take(o, &o->g, "gradient"));
    MF_TRY(take(o, &o->x_new, "trial field"));
    MF_TRY(take(o, &o->g_new, "trial gradient"));
    MF_TRY(take(o, &o->d, "direction"));
    for (size_t i = 0; i < history; ++i) {
        MF_TRY(take(o, &o->history.s[i], "history"));
        MF_TRY(take(o, &o->history.y[i], "history"));
    }
    return MF_OK;
}

static void give(struct mf_optimiser *o, float **vector)
{
    mf_arena_give(o->queue->arena, *vector);
    *vector = NULL;
}

void mf_optimiser_trim(struct mf_optimiser *o)
{
    for (size_t i = 0; i < o->history_max; ++i) {
        give(o, &o->history.s[i]);
        give(o, &o->history.y[i]);
    }
    give(o, &o->d);
    give(o, &o->g_new);
    give(o, &o->x_new);
}

void mf_optimiser_free(struct mf_optimiser *o)
{
    if (!o->queue) return;
    mf_optimiser_trim(o);
    give(o, &o->g);
    give(o, &o->x);
    mf_arena_give(o->queue->host, o->sums);
    o->queue = NULL;
}

/* What the kernel just called has left per plane in o->sums, added over all planes. */
static void total(const struct mf_optimiser *o, const struct mf_problem *p, size_t n, int largest, double *out)
{
    o->backend->sync(o->queue);
    p->add(p->context, n, o->sums, largest, out);
}

/* Coefficients of r, s_i, y_i in the recursion's result H r: c[0], c[1 + i], c[1 + n + i]; dots as free_dots() gives.
 */
static void two_loops(const struct mf_optimiser *o, const double *dots, double *c)
{
    size_t n = o->history.count;
    double alpha[MF_HISTORY_MAX], beta[MF_HISTORY_MAX], gamma;

    if (n == 0) {
        c[0] = 1;
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        double q = dots[1 + i];

        for (size_t j = 0; j < i; ++j) q -= alpha[j] * o->sy[i][j];
        alpha[i] = q / o->sy[i][i];
    }
    gamma = o->sy[0][0] / o->yy[0][0];
    for (size_t i = n; i-- > 0;) {
        double z = dots[1 + n + i];

        for (size_t j = 0; j < n; ++j) z -= alpha[j] * o->yy[i][j];
        z *= gamma;
        for (size_t j = i + 1; j < n; ++j) z += (alpha[j] - beta[j]) * o->sy[j][i];
        beta[i] = z / o->sy[i][i];
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
    size_t n = o->history.count;
    double dots[1 + 2 * MF_HISTORY_MAX], c[1 + 2 * MF_HISTORY_MAX], out[2];
    MF_PHASE(MF_PHASE_DIRECTION);

    mf_phase_count(mf_cost_direction(o->extent, n));
    if (n) {
        ops->free_dots(o->queue, o->extent, o->x, o->g, &o->history, o->sums);
        total(o, p, 1 + 2 * n, -1, dots);
    }
    two_loops(o, dots, c);
    ops->direction(o->queue, o->extent, o->x, o->g, &o->history, c, o->d, o->sums);
    total(o, p, 2, 1, out);
    *slope = out[0];
    *largest = out[1];
}

/* The pair that the accepted step gives: its buffers are the oldest pair's or unused ones. */
static void remember(struct mf_optimiser *o, const struct mf_problem *p)
{
    size_t m = o->history_max, n = o->history.count < m ? o->history.count : m - 1;
    struct mf_history *h = &o->history;
    float *s = h->s[m - 1], *y = h->y[m - 1];
    double out[WIDTH];
    MF_PHASE(MF_PHASE_PAIR);

    mf_phase_count(mf_cost_pair(o->extent, n));
    h->count = n;
    o->backend->optim->pair(o->queue, o->extent, o->x, o->x_new, o->g, o->g_new, h, s, y, o->sums);
    total(o, p, 2 + 3 * n, -1, out);
    if (!(out[0] > 1e-9 * out[1])) return; /* no curvature: the pair is dropped */
    memmove(&h->s[1], &h->s[0], (m - 1) * sizeof h->s[0]);
    memmove(&h->y[1], &h->y[0], (m - 1) * sizeof h->y[0]);
    h->s[0] = s;
    h->y[0] = y;
    for (size_t i = n; i-- > 0;)
        for (size_t j = n; j-- > 0;) {
            o->sy[i + 1][j + 1] = o->sy[i][j];
            o->yy[i + 1][j + 1] = o->yy[i][j];
        }
    o->sy[0][0] = out[0];
    o->yy[0][0] = out[1];
    for (size_t i = 0; i < n; ++i) {
        o->sy[i + 1][0] = out[2 + 2 * i];
        o->sy[0][i + 1] = out[3 + 2 * i];
        o->yy[0][i + 1] = o->yy[i + 1][0] = out[2 + 2 * n + i];
    }
    h->count = n + 1;
}

static void swap(float **a, float **b)
{
    float *c = *a;

    *a = *b;
    *b = c;
}

/* The trial point of a step; how far along the gradient it lies is left in o->sums. */
static void move(struct mf_optimiser *o, double step)
{
    MF_PHASE(MF_PHASE_STEP);

    mf_phase_count(mf_cost_step(o->extent));
    o->backend->optim->step(o->queue, o->extent, o->x, o->g, o->d, step, o->x_new, o->sums);
}

/* Backtracking along the projected step; *found: 1 when x_new, g_new, *loss are an accepted point. */
static int search(struct mf_optimiser *o, const struct mf_problem *p, double step, double slope, long last,
                  double *loss, int *found)
{
    *found = 0;
    for (int trial = 0; trial < 12 && o->evaluations < last; ++trial) {
        double change, next;

        move(o, step);
        MF_TRY(p->evaluate(p->context, o->x_new, o->g_new, loss));
        ++o->evaluations;
        total(o, p, 1, -1, &change); /* not before: by now nobody waits for it */
        if (*loss <= o->loss + 1e-4 * change) {
            *found = 1;
            return MF_OK;
        }
        next = -slope * step * step / (2 * (*loss - o->loss - slope * step));
        if (!(next > 0.1 * step)) next = 0.1 * step;
        step = next > 0.5 * step ? 0.5 * step : next;
    }
    return MF_OK;
}

static double first_step(const struct mf_optimiser *o, double largest)
{
    double step = o->history.count ? 1 : 0.1 / largest;

    return step * largest > 1 ? 1 / largest : step;
}

/* A run of so many evaluations begins, or the one under way goes on: *fresh. */
static int begin(struct mf_optimiser *o, long evaluations, int *fresh)
{
    *fresh = !o->under_way;
    if (!*fresh) return 1;
    o->history.count = 0;
    o->misses = 0;
    o->best = INFINITY;
    o->last = o->evaluations + evaluations;
    o->under_way = evaluations > 0;
    return o->under_way;
}

static int wants_to_stop(const struct mf_optimiser *o, const struct mf_problem *p)
{
    return p->stop && p->stop(p->context, o->evaluations, o->loss);
}

/* One direction and one search along it: *more is 0 at the end of the run. */
static int iterate(struct mf_optimiser *o, const struct mf_problem *p, double tolerance, int *more)
{
    double slope, largest, loss, before = o->loss;
    int found;

    aim(o, p, &slope, &largest);
    if (!(slope < 0) || largest == 0) {
        *more = o->history.count > 0; /* else a stationary point */
        o->history.count = 0;
        return MF_OK;
    }
    MF_TRY(search(o, p, first_step(o, largest), slope, o->last, &loss, &found));
    if (!found) {
        *more = o->history.count > 0 && ++o->misses <= 3;
        o->history.count = 0;
        return MF_OK;
    }
    remember(o, p);
    swap(&o->x, &o->x_new);
    swap(&o->g, &o->g_new);
    o->loss = loss;
    *more = !(tolerance > 0 && before - loss < tolerance * fabs(before));
    return MF_OK;
}

int mf_lbfgs_run(struct mf_optimiser *o, const struct mf_problem *p, long evaluations, double tolerance)
{
    int fresh, more = 1;

    if (!begin(o, evaluations, &fresh)) return MF_OK;
    if (fresh) {
        MF_TRY(p->evaluate(p->context, o->x, o->g, &o->loss));
        ++o->evaluations;
    }
    while (more && o->evaluations < o->last) {
        long before = o->evaluations;

        MF_TRY(iterate(o, p, tolerance, &more));
        if (more && o->evaluations > before && wants_to_stop(o, p)) return MF_OK;
    }
    o->under_way = 0;
    return MF_OK;
}

/* The point after @p t evaluations of this run is at hand, with its gradient. */
static void keep_best(struct mf_optimiser *o)
{
    const struct mf_field_ops *field = o->backend->field;

    if (!(o->loss < o->best)) return;
    o->best = o->loss;
    field->copy(o->queue, voxels(o), o->x, o->x_new);
    field->copy(o->queue, voxels(o), o->g, o->g_new);
}

/* The step after @p t evaluations. */
static void adam_step(struct mf_optimiser *o, const struct mf_adam_opts *adam, long t, float *m, float *v)
{
    MF_PHASE(MF_PHASE_ADAM);

    mf_phase_count(mf_cost_adam(o->extent));
    o->backend->optim->adam(o->queue, o->extent, o->g, adam->rate, adam->beta1, adam->beta2, adam->epsilon, t, m, v,
                            o->x);
}

int mf_adam_run(struct mf_optimiser *o, const struct mf_problem *p, long evaluations, const struct mf_adam_opts *adam)
{
    float *m = o->history.s[0], *v = o->history.y[0];
    int fresh;

    if (!begin(o, evaluations, &fresh)) return MF_OK; /* nothing was seen: x stays */
    if (fresh) {
        o->started = o->evaluations;
        o->backend->field->fill(o->queue, voxels(o), 0, m);
        o->backend->field->fill(o->queue, voxels(o), 0, v);
    }
    while (o->evaluations < o->last) {
        if (o->evaluations > o->started) adam_step(o, adam, o->evaluations - o->started, m, v);
        MF_TRY(p->evaluate(p->context, o->x, o->g, &o->loss));
        ++o->evaluations;
        keep_best(o);
        if (o->evaluations < o->last && wants_to_stop(o, p)) return MF_OK;
    }
    swap(&o->x, &o->x_new);
    swap(&o->g, &o->g_new);
    o->loss = o->best;
    o->under_way = 0;
    return MF_OK;
}

/* -- saving -- */

/* In both directions the same vectors: the point, and of Adam the best one and its gradient; then the pairs. */
static void name_vectors(const struct mf_optimiser *o, struct mf_optimiser_state *state)
{
    size_t n = 0, pairs = o->best < INFINITY ? 1 : o->history.count;

    state->vector[n++] = o->x;
    state->vector[n++] = o->g;
    if (o->best < INFINITY) {
        state->vector[n++] = o->x_new;
        state->vector[n++] = o->g_new;
    }
    for (size_t i = 0; i < pairs; ++i) {
        state->vector[n++] = o->history.s[i];
        state->vector[n++] = o->history.y[i];
    }
    state->vectors = n;
}

void mf_optimiser_save(const struct mf_optimiser *o, struct mf_optimiser_state *state)
{
    double *number = state->number;

    *number++ = o->loss;
    *number++ = o->best;
    *number++ = (double)o->evaluations;
    *number++ = (double)o->started;
    *number++ = (double)o->last;
    *number++ = (double)o->misses;
    *number++ = (double)o->history.count;
    memcpy(number, o->sy, sizeof o->sy);
    memcpy(number + MF_HISTORY_MAX * MF_HISTORY_MAX, o->yy, sizeof o->yy);
    name_vectors(o, state);
}

int mf_optimiser_load(struct mf_optimiser *o, struct mf_optimiser_state *state)
{
    const double *number = state->number;

    o->loss = *number++;
    o->best = *number++;
    for (int i = 0; i < 5; ++i)
        if (!(number[i] >= 0 && number[i] < 1e15)) return mf_fail(MF_INPUT, "the saved optimiser makes no sense");
    o->evaluations = (long)*number++;
    o->started = (long)*number++;
    o->last = (long)*number++;
    o->misses = (int)*number++;
    if (*number > (double)o->history_max)
        return mf_fail(MF_INPUT, "the saved optimiser has %.0f pairs, %zu are kept", *number, o->history_max);
    o->history.count = (size_t)*number++;
    memcpy(o->sy, number, sizeof o->sy);
    memcpy(o->yy, number + MF_HISTORY_MAX * MF_HISTORY_MAX, sizeof o->yy);
    o->under_way = 1;
    name_vectors(o, state);
    return MF_OK;
}
