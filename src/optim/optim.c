/* See optim.h: memory, runs, saving. */
#include "src/optim/impl.h"

#include <math.h>
#include <string.h>

#include "kernels/cost.h"
#include "src/base/err.h"
#include "src/optim/phases.h"

enum { WIDTH = 2 + 3 * MF_HISTORY_MAX };

/* -- memory -- */

static int take(struct mf_optimiser *o, float **vector, const char *tag)
{
    *vector = mf_arena_take(o->queue->arena, mf_optim_floats(o) * sizeof(float), tag);
    return *vector ? MF_OK : MF_MEMORY;
}

int mf_optimiser_new(struct mf_optimiser *o, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_extent extent, const struct mf_method_opts *opts)
{
    const char *tag[MF_METHOD_VECTORS];
    size_t n = opts->method->vectors(opts, tag);

    *o = (struct mf_optimiser){.backend = backend, .queue = queue, .extent = extent, .opts = *opts};
    MF_ASSERT(n <= MF_METHOD_VECTORS);
    o->sums = mf_arena_take(queue->host, extent.planes * WIDTH * sizeof(double), "plane sums");
    if (!o->sums) return MF_MEMORY;
    MF_TRY(take(o, &o->x, "field"));
    MF_TRY(take(o, &o->g, "gradient"));
    for (size_t i = 0; i < n; ++i) MF_TRY(take(o, &o->own[i], tag[i]));
    return MF_OK;
}

static void give(struct mf_optimiser *o, float **vector)
{
    mf_arena_give(o->queue->arena, *vector);
    *vector = NULL;
}

void mf_optimiser_trim(struct mf_optimiser *o, size_t kept)
{
    for (size_t i = MF_METHOD_VECTORS; i-- > kept;) give(o, &o->own[i]);
}

void mf_optimiser_free(struct mf_optimiser *o)
{
    if (!o->queue) return;
    mf_optimiser_trim(o, 0);
    give(o, &o->g);
    give(o, &o->x);
    mf_arena_give(o->queue->host, o->sums);
    o->queue = NULL;
}

size_t mf_optimiser_vectors(const struct mf_method_opts *opts)
{
    const char *tag[MF_METHOD_VECTORS];

    return 2 + opts->method->vectors(opts, tag);
}

/* -- what methods are made of -- */

void mf_optim_total(const struct mf_optimiser *o, const struct mf_problem *p, size_t n, int largest, double *out)
{
    o->backend->sync(o->queue);
    p->add(p->context, n, o->sums, largest, out);
}

int mf_optim_evaluate(struct mf_optimiser *o, const struct mf_problem *p, float *x, float *g, double *loss)
{
    ++o->evaluations;
    return p->evaluate(p->context, x, g, loss);
}

int mf_optim_asked(const struct mf_problem *p) { return p->asked ? p->asked(p->context) : MF_OK; }

void mf_optim_move(struct mf_optimiser *o, const float *d, double step, float *x_new)
{
    MF_PHASE(&mf_phase_step);

    mf_phase_count(mf_cost_step(o->extent));
    o->backend->optim->step(o->queue, o->extent, o->x, o->g, d, step, x_new, o->sums);
}

double mf_optim_dot(struct mf_optimiser *o, const struct mf_problem *p, const float *a, const float *b)
{
    double out;

    o->backend->field->dot(o->queue, o->extent, a, b, o->sums);
    mf_optim_total(o, p, 1, -1, &out);
    return out;
}

int mf_optim_finite(double sum) { return isfinite(sum) ? MF_OK : mf_fail(MF_NUMERIC, "the gradient is not finite"); }

int mf_optim_search(struct mf_optimiser *o, const struct mf_problem *p, const struct mf_line *line, double *loss,
                    int *found)
{
    double step = line->step;

    *found = 0;
    for (int trial = 0; trial < 12 && o->evaluations < o->last; ++trial) {
        double change, next;

        if (trial > 0) MF_TRY(mf_optim_asked(p));
        mf_optim_move(o, line->d, step, line->x_new);
        MF_TRY(mf_optim_evaluate(o, p, line->x_new, line->g_new, loss));
        mf_optim_total(o, p, 1, -1, &change); /* not before: by now nobody waits for it */
        if (*loss <= o->loss + 1e-4 * change) {
            *found = 1;
            return MF_OK;
        }
        next = -line->slope * step * step / (2 * (*loss - o->loss - line->slope * step));
        if (!(next > 0.1 * step)) next = 0.1 * step;
        step = next > 0.5 * step ? 0.5 * step : next;
    }
    return MF_OK;
}

int mf_optim_rests(const struct mf_optimiser *o, double before, double after)
{
    return o->opts.tolerance > 0 && fabs(before - after) < o->opts.tolerance * fabs(before);
}

/* -- a run -- */

/* A run of so many evaluations begins, or the one under way goes on. */
static int begin(struct mf_optimiser *o, const struct mf_problem *p, long evaluations)
{
    if (o->under_way) return MF_OK;
    o->started = o->evaluations;
    o->last = o->evaluations + evaluations;
    o->under_way = evaluations > 0;
    memset(o->number, 0, sizeof o->number);
    return o->under_way ? o->opts.method->begin(o, p) : MF_OK;
}

int mf_optimiser_run(struct mf_optimiser *o, const struct mf_problem *p, long evaluations)
{
    const struct mf_method *method = o->opts.method;
    int more = 1;

    MF_TRY(begin(o, p, evaluations));
    if (!o->under_way) return MF_OK; /* nothing was seen: x stays */
    while (more && o->evaluations < o->last) {
        long before = o->evaluations;

        MF_TRY(method->step(o, p, &more));
        if (more && o->evaluations > before && p->stop && p->stop(p->context, o->evaluations, o->loss)) return MF_OK;
    }
    /* Something in it that is no number looks like a minimum: nothing goes downhill. */
    if (!more) MF_TRY(mf_optim_finite(mf_optim_dot(o, p, o->g, o->g)));
    mf_optimiser_settle(o);
    return MF_OK;
}

void mf_optimiser_settle(struct mf_optimiser *o)
{
    if (o->under_way && o->evaluations > o->started && o->opts.method->end) o->opts.method->end(o);
    o->under_way = 0;
}

/* -- saving -- */

/* In both directions the same vectors. */
static int name_vectors(struct mf_optimiser *o, struct mf_optimiser_state *state)
{
    size_t own = 0;

    state->vector[0] = o->x;
    state->vector[1] = o->g;
    MF_TRY(o->opts.method->live(o, state->vector + 2, &own));
    state->vectors = 2 + own;
    return MF_OK;
}

void mf_optimiser_save(struct mf_optimiser *o, struct mf_optimiser_state *state)
{
    double *number = state->number;
    int rc;

    *number++ = o->loss;
    *number++ = (double)o->evaluations;
    *number++ = (double)o->started;
    *number++ = (double)o->last;
    memcpy(number, o->number, sizeof o->number);
    rc = name_vectors(o, state);
    MF_ASSERT(rc == MF_OK);
}

int mf_optimiser_load(struct mf_optimiser *o, struct mf_optimiser_state *state)
{
    const double *number = state->number;

    o->loss = *number++;
    for (int i = 0; i < 3; ++i)
        if (!(number[i] >= 0 && number[i] < 1e15))
            return mf_fail(MF_INPUT, "the saved state of the optimiser is invalid");
    o->evaluations = (long)*number++;
    o->started = (long)*number++;
    o->last = (long)*number++;
    memcpy(o->number, number, sizeof o->number);
    o->under_way = 1;
    return name_vectors(o, state);
}

long mf_optimiser_made(const struct mf_optimiser_state *state) { return (long)state->number[1]; }
