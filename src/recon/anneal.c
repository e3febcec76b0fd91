/* See anneal.h. A round begins from labels and numbers alone: lists and residuals are made anew, so that a run which
 * goes on from a checkpoint does the same steps, and rounding does not add up. */
#include "src/recon/anneal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/rng.h"
#include "src/base/text.h"
#include "src/recon/mutable.h"
#include "src/recon/polish_impl.h"

enum { ROUND = 65536, ATTEMPTS = 1024, STREAM = 0x5a, NUMBERS = 8 };

struct anneal {
    const struct mf_anneal_opts *opts;
    struct mf_polish *polish;
    uint64_t seed;
    struct mf_polish_work work;
    struct mf_mutable field;
    double weight[MF_CLASSES]; /* of voxels by their foreign neighbours */
    double offset;
    double temperature, loss;
    long steps, accepted, rejected; /* rejected: in a row */
    double random[NUMBERS];         /* of this step, in [0,1) */
};

/* -- drawing two voxels -- */

static double square_above(double c, double offset) { return c > offset ? (c - offset) * (c - offset) : 0; }

static void set_weights(struct anneal *a)
{
    const enum mf_mutation rule = a->opts->rule;

    a->offset = rule == MF_MUTATE_RELAXED ? 0 : a->polish->slab.dims[0] > 1 ? 2.9 : 1.9;
    for (int c = 0; c < MF_CLASSES; ++c) a->weight[c] = square_above(rule == MF_MUTATE_IN_PHASE ? c * c : c, a->offset);
}

static void draw_numbers(struct anneal *a)
{
    uint32_t r[NUMBERS];

    for (int i = 0; i < NUMBERS; i += 4)
        mf_random4(a->seed, STREAM, (uint64_t)a->steps * (NUMBERS / 4) + (uint64_t)i / 4, r + i);
    for (int i = 0; i < NUMBERS; ++i) a->random[i] = r[i] * 0x1p-32;
}

/* neighbor_in_phase: the lists give c^2 for c n, so a voxel is taken with the probability that is left. */
static size_t draw_in_phase(const struct anneal *a, int s, const uint8_t phase[2])
{
    for (uint64_t k = 0; k < ATTEMPTS; ++k) {
        uint32_t r[4];
        size_t v;
        double c, n;

        mf_random4(a->seed, (uint32_t)(STREAM + 1 + s), (uint64_t)a->steps * ATTEMPTS + k, r);
        v = mf_mutable_draw(&a->field, phase[s], a->weight, r[0] * 0x1p-32, r[1] * 0x1p-32);
        if (v == a->field.voxels) return v;
        c = mf_mutable_foreign(&a->field, v, -1);
        n = mf_mutable_foreign(&a->field, v, phase[!s]);
        if (r[2] * 0x1p-32 * square_above(c * c, a->offset) < square_above(c * n, a->offset)) return v;
    }
    return a->field.voxels;
}

/* Two voxels of two phases; 0: the rule finds none. */
static int draw(struct anneal *a, size_t voxel[2], uint8_t phase[2])
{
    const double *u = a->random, phases = a->field.phases;

    if (a->opts->rule == MF_MUTATE_RANDOM) {
        voxel[0] = (size_t)(u[2] * (double)a->field.voxels);
        phase[0] = mf_mutable_label(&a->field, voxel[0]);
        voxel[1] = mf_mutable_other(&a->field, phase[0], u[3]);
        if (voxel[1] < a->field.voxels) phase[1] = mf_mutable_label(&a->field, voxel[1]);
        return voxel[1] < a->field.voxels;
    }
    phase[0] = (uint8_t)(u[0] * phases);
    phase[1] = (uint8_t)(u[1] * (phases - 1));
    phase[1] = (uint8_t)(phase[1] + (phase[1] >= phase[0]));
    for (int s = 0; s < 2; ++s) {
        voxel[s] = a->opts->rule == MF_MUTATE_IN_PHASE
                       ? draw_in_phase(a, s, phase)
                       : mf_mutable_draw(&a->field, phase[s], a->weight, u[2 + 2 * s], u[3 + 2 * s]);
        if (voxel[s] == a->field.voxels) return 0;
    }
    return 1;
}

/* -- a step -- */

/* Site @p i of the two: its windows. */
static void place(struct anneal *a, size_t i, size_t voxel, uint8_t from, uint8_t to)
{
    struct mf_sites *sites = &a->work.swap.sites;
    struct mf_site *site = &sites->site[i];

    *site = (struct mf_site){.from = from, .to = to};
    mf_mutable_at(&a->field, voxel, site->at);
    for (size_t d = 0; d < sites->sides; ++d)
        for (size_t k = 0; k < sites->planes; ++k) {
            const size_t w = ((i * sites->sides + d) * sites->planes + k) * sites->shape.n;

            mf_mutable_window(&a->field, site->at, d, sites->planes == 1 ? 1 : k ? to : from, sites->window + w);
            mf_flip_cpu.turn(&sites->shape, sites->window + w, sites->mirror + w);
        }
}

static void accept(struct anneal *a, const size_t voxel[2], const uint8_t phase[2], double energy)
{
    struct mf_swap *swap = &a->work.swap;

    mf_swap_index(swap);
    mf_swap_apply(swap, 0);
    mf_swap_apply(swap, 1);
    mf_mutable_set(&a->field, voxel[0], phase[1]);
    mf_mutable_set(&a->field, voxel[1], phase[0]);
    a->loss += energy;
    a->rejected = 0;
    ++a->accepted;
}

static void step(struct anneal *a)
{
    struct mf_swap *swap = &a->work.swap;
    size_t voxel[2];
    uint8_t phase[2];
    double e;

    draw_numbers(a);
    ++a->rejected;
    if (draw(a, voxel, phase)) {
        place(a, 0, voxel[0], phase[0], phase[1]);
        place(a, 1, voxel[1], phase[1], phase[0]);
        e = mf_swap_energy(swap, 0) + mf_swap_energy(swap, 1) + mf_swap_interaction(swap, 0, 1);
        if (e <= 0 || (a->opts->exponential && a->random[6] < exp(-e / a->temperature))) accept(a, voxel, phase, e);
    }
    a->temperature *= a->opts->factor;
    ++a->steps;
}

/* -- rounds -- */

/* Why no further step is made; NULL: one is. */
static const char *ended(const struct anneal *a)
{
    const struct mf_anneal_opts *o = a->opts;

    if (a->steps >= o->steps) return "all steps made";
    if (a->loss <= o->tolerance) return "the loss is below --tolerance";
    if (a->rejected >= o->patience) return "nothing was accepted for long";
    return a->temperature <= o->final ? "the final temperature is reached" : NULL;
}

/* Labels of all ranks into a->field.whole. */
static void bring_labels(struct anneal *a)
{
    const struct mf_polish *p = a->polish;
    const size_t plane = p->slab.dims[1] * p->slab.dims[2];

    p->backend->get(p->queue, a->field.whole + p->slab.first * plane, p->label, p->slab.count * plane);
    for (int r = 0; r < p->comm->size; ++r) {
        const struct mf_slab slab = mf_slab_of(p->comm, p->slab.dims, r);

        if (p->comm->size > 1) mf_comm_bcast(p->comm, r, a->field.whole + slab.first * plane, slab.count * plane);
    }
}

static void begin_round(struct anneal *a)
{
    bring_labels(a);
    mf_mutable_begin(&a->field);
    mf_polish_set_miss(&a->work, NULL);
    mf_polish_refresh(&a->work);
    a->work.swap.sites.count = 2;
    a->loss = a->work.loss;
    a->temperature = a->opts->initial * pow(a->opts->factor, (double)a->steps);
}

static void end_round(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    const size_t plane = p->slab.dims[1] * p->slab.dims[2];

    mf_mutable_end(&a->field);
    p->backend->put(p->queue, p->label, a->field.whole + p->slab.first * plane, p->slab.count * plane);
    p->tried = a->steps;
    p->swaps = a->accepted;
}

static void make_steps(struct anneal *a)
{
    const long most = a->field.voxels > ROUND ? (long)a->field.voxels : ROUND;
    const double start = mf_now();
    MF_PHASE(MF_PHASE_SWAPS);

    for (long i = 0; i < most && !ended(a); ++i) step(a);
    a->polish->trial_seconds += mf_now() - start;
}

static void say(const struct anneal *a)
{
    char text[80];

    snprintf(text, sizeof text, "%ld swap%s, loss %.4e", a->accepted, MF_S(a->accepted), a->loss);
    mf_progress("annealing", a->steps, a->opts->steps, text);
}

/* The round is over: true when the run is to leave. */
static int wants_to_end(struct anneal *a, struct mf_polish_state *at)
{
    struct mf_polish *p = a->polish;

    ++at->round;
    at->idle = a->rejected;
    at->tried = a->steps;
    at->swaps = a->accepted;
    at->loss = a->loss;
    return p->after_round && p->after_round(p->context, at);
}

static void run_rounds(struct anneal *a)
{
    struct mf_polish_state at = {.round = 0};
    const size_t rows = a->field.shape.rows;

    if (a->polish->from) at = *a->polish->from;
    at.entries = a->polish->fields * rows * rows;
    for (size_t d = 0; d < a->work.swap.sites.sides; ++d) at.miss[d] = a->work.led[d];
    a->steps = at.tried;
    a->accepted = at.swaps;
    a->rejected = at.idle;
    for (begin_round(a); !ended(a); begin_round(a)) {
        make_steps(a);
        end_round(a);
        say(a);
        if (wants_to_end(a, &at)) return;
    }
    end_round(a);
    mf_info("annealing: %s after %ld step%s, %.3g a second", ended(a), a->steps, MF_S(a->steps),
            (double)a->steps / fmax(a->polish->trial_seconds, 1e-9));
}

static int open_all(struct anneal *a)
{
    struct mf_polish *p = a->polish;

    p->plain = 1;
    p->most = 1;
    a->work.polish = p;
    MF_TRY(mf_polish_open(&a->work));
    return mf_agree(p->comm, mf_mutable_open(&a->field, p->queue->host, p->slab.dims, p->phases, p->objective->periodic,
                                             p->target->lag));
}

static void close_all(struct anneal *a)
{
    if (a->field.arena) mf_mutable_close(&a->field);
    mf_polish_close(&a->work);
}

int mf_anneal_run(struct mf_polish *polish, const struct mf_anneal_opts *opts, uint64_t seed)
{
    struct anneal a = {.opts = opts, .polish = polish, .seed = seed};
    int rc;

    polish->tried = polish->swaps = 0;
    polish->trial_seconds = 0;
    rc = open_all(&a);
    if (rc == MF_OK) {
        set_weights(&a);
        run_rounds(&a);
    }
    close_all(&a);
    return rc;
}

int mf_anneal_measure(struct mf_polish *polish)
{
    struct anneal a = {.polish = polish};
    int rc = open_all(&a);

    close_all(&a);
    return rc;
}
