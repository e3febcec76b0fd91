/* Mean slices of evaluations: kernels count the values of all slices where they are, and one short vector comes back.
 * Counts are integers (kernels/form/compare.h), so ranks, threads and batches leave no trace in the bits. */
#include <string.h>

#include "src/base/err.h"
#include "src/recon/objective_impl.h"

static int is_watched(const struct mf_objective *o, size_t t)
{
    const enum mf_descriptor_kind kind = o->opts.term[t].row->kind;

    return o->opts.watched && (kind == MF_S2 || kind == MF_VARIATION);
}

/* Numbers of one direction of a term. */
static size_t numbers(const struct mf_objective *o, size_t d, size_t t)
{
    return is_watched(o, t) ? o->phases * mf_objective_term_entries(o, t, d) : 0;
}

static void deal(struct mf_objective *o)
{
    size_t at = 0;

    for (size_t d = 0; d < o->sides; ++d)
        for (size_t t = 0; t < o->opts.terms; ++t) {
            if (!is_watched(o, t)) continue;
            o->side[d].tally[t] = o->tally + at;
            o->side[d].seen[t] = o->seen + at;
            at += numbers(o, d, t);
        }
}

int mf_objective_watch_open(struct mf_objective *o)
{
    for (size_t d = 0; d < o->sides; ++d)
        for (size_t t = 0; t < o->opts.terms; ++t) o->watched += numbers(o, d, t);
    if (o->watched == 0) return MF_OK;
    o->tally = mf_arena_take(o->queue->arena, o->watched * sizeof *o->tally, "mean slices");
    if (o->tally) o->seen = mf_arena_take(o->queue->host, o->watched * sizeof *o->seen, "mean slices");
    if (!o->seen) return MF_MEMORY;
    deal(o);
    memset(o->seen, 0, o->watched * sizeof *o->seen);
    o->backend->put(o->queue, o->tally, o->seen, o->watched * sizeof *o->tally);
    return MF_OK;
}

void mf_objective_watch_close(struct mf_objective *o)
{
    mf_arena_give(o->queue->host, o->seen);
    mf_arena_give(o->queue->arena, o->tally);
}

void mf_objective_watch_drain(struct mf_objective *o)
{
    if (o->watched) o->backend->slices->drain(o->queue, o->watched, o->tally, o->seen);
}

void mf_objective_watch_gather(struct mf_objective *o)
{
    if (o->watched == 0) return;
    if (o->comm->size > 1) mf_comm_sum(o->comm, o->watched, o->seen);
    for (size_t d = 0; d < o->sides; ++d)
        for (size_t t = 0; t < o->opts.terms; ++t)
            for (size_t i = 0, n = numbers(o, d, t); i < n; ++i) o->side[d].seen[t][i] /= (double)o->side[d].slices;
}

const double *mf_objective_seen(const struct mf_objective *o, size_t t, size_t d, size_t p)
{
    return o->side[d].seen[t] + p * mf_objective_term_entries(o, t, d);
}

struct mf_error_losses mf_objective_renew_error(const struct mf_objective *o, size_t t, size_t d, size_t p, double gain,
                                                double centre, double *error)
{
    const size_t entries = mf_objective_term_entries(o, t, d);
    const double *mean = mf_objective_seen(o, t, d, p), *goal = mf_objective_goal(o, t, d, p, entries);
    struct mf_error_losses losses = {0, 0};

    for (size_t i = 0; i < entries; ++i) {
        const double old = error[i], now = mean[i] - goal[i] + (i == entries / 2 ? centre : 0);

        losses.led += gain * old * (2 * now + gain * old);
        losses.square += now * now;
        error[i] = now;
    }
    return losses;
}
