/* See outcome.h: from a target to a described result, with the best of several candidates. */
#include "src/recon/outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/log.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/desc/phases.h"
#include "src/desc/texture.h"

enum { SLICES = 16 /* of a volume in each direction, as compare takes */ };

/* A copy scores well but is useless. A few windows that also occur in the target are chance, and of few features many
 * are. Only descriptors by example copy: of others whatever agrees is chance. A complete copy counts as much as the
 * largest error. */
static const double COPY = 2;

void mf_outcome_spacing(const struct mf_outcome *out, double spacing[3])
{
    memcpy(spacing, out->target->spacing, 3 * sizeof *spacing);
    /* the rows of an image's slices normal to y and x lie along z */
    if (mf_outcome_ndim(out) == 3 && out->target->sides == 1) spacing[0] = spacing[1];
}

static void fill_micro(struct mf_outcome *out)
{
    struct mf_micro *m = &out->micro;

    *m = (struct mf_micro){.ndim = mf_outcome_ndim(out), .phases = out->result.phases, .phase = out->result.label};
    m->slab = mf_slab_of(out->comm, out->dims, out->comm->rank);
    m->arena = out->result.arena;
    for (int p = 0; p < m->phases; ++p) m->label[p] = mf_outcome_label(out->target, p);
    mf_outcome_spacing(out, m->spacing);
    memcpy(m->unit, out->target->unit, sizeof m->unit);
    memcpy(m->hash, out->target->hash, sizeof m->hash);
}

static int describe(struct mf_outcome *out)
{
    struct mf_characterize_opts c = mf_solve_described(out->target, &out->solve);
    MF_PHASE(&mf_phase_describe);

    c.example = out->candidates > 1 || mf_objective_by_example(&out->solve.objective);
    MF_TRY(out->by.measure(out->by.context, &out->micro, &c, &out->got));
    out->variation_error = mf_outcome_variation(out);
    return c.example ? mf_agree(out->comm, mf_copies(&out->got, out->target, &out->copied)) : MF_OK;
}

static int solve(struct mf_outcome *out)
{
    int rc = out->by.solve(out->by.context, out);

    out->no_metrics |= out->result.metrics_lost;
    out->solve.metrics_said |= out->result.metrics_own;
    out->stopped = rc == MF_STOPPED && out->result.label;
    if (out->stopped) fill_micro(out);
    if (rc != MF_OK) return rc;
    fill_micro(out);
    rc = describe(out);
    out->stopped = rc == MF_STOPPED;
    if (rc != MF_OK && !out->stopped) mf_outcome_free(out);
    return rc;
}

void mf_outcome_taken(struct mf_outcome *out)
{
    if (!out->micro.phase) out->result.label = NULL;
}

void mf_outcome_free(struct mf_outcome *out)
{
    mf_target_free(&out->got);
    mf_solve_free(&out->result);
}

/* ---- candidates ---- */

static uint64_t seed_of(uint64_t seed, size_t k)
{
    uint32_t bits[4];

    mf_random4(seed, MF_STREAM_CANDIDATE, k, bits);
    return k ? bits[0] : seed;
}

/* The texture of a side's example. Not collective. */
static int wanted(const struct mf_outcome *out, int d, struct mf_texture texture[MF_PHASES_MAX])
{
    const struct mf_target_side *side = mf_target_for(out->target, (enum mf_normal)d);
    const int same = out->result.phases == out->target->phases;
    uint8_t *x = mf_example_classes(side, same ? -1 : out->target->phases > 1);
    int rc = x ? mf_texture_add(x, side->example_nu, side->example_nv, out->result.phases, 0, texture)
               : mf_fail(MF_MEMORY, "no memory for the micrograph's texture");

    free(x);
    return rc;
}

/* By what compare says: errors that no descriptor aims at, meant over the directions. Collective. */
static int judge(struct mf_outcome *out, struct mf_candidate *c)
{
    const int sides = mf_outcome_ndim(out) == 3 ? 3 : 1;
    struct mf_texture got[3][MF_PHASES_MAX];
    size_t taken[3];
    int rc = mf_texture_measure(out->comm, out->arena, &out->micro, 0, SLICES, got, taken);

    *c = (struct mf_candidate){
        .seed = out->solve.seed, .copied = out->copied.share, .evaluations = out->result.evaluations};
    for (size_t i = 0; i < out->solve.property.count; ++i)
        c->missed = fmax(c->missed, fabs(out->result.property[i] / out->solve.property.at[i].of - 1) -
                                        out->solve.property.tolerance);
    if (mf_objective_by_example(&out->solve.objective)) c->beyond = mf_copied_beyond(&out->copied);
    for (int d = 0; rc == MF_OK && d < sides; ++d) {
        struct mf_texture want[MF_PHASES_MAX] = {{0}};
        struct mf_texture_off off;

        rc = wanted(out, d, want);
        if (rc != MF_OK) break;
        mf_texture_compare(out->result.phases, got[d], want, &off);
        c->score += off.score / sides;
    }
    return mf_agree(out->comm, rc);
}

static double badness(const struct mf_candidate *c) { return c->score + COPY * c->beyond * c->beyond; }

/* A property is asked for, so it comes before the score. */
static int is_better(const struct mf_candidate *a, const struct mf_candidate *b)
{
    return a->missed < b->missed || (!(a->missed > b->missed) && badness(a) < badness(b));
}

static void say(const struct mf_outcome *out, size_t k)
{
    const struct mf_candidate *c = &out->candidate[k];
    const char *property = !out->solve.property.count ? "" : c->missed > 0 ? ", property missed" : ", property met";

    mf_info("candidate %zu of %zu, seed %llu: score %.3f, copied %.3f%s", k + 1, out->candidates,
            (unsigned long long)c->seed, c->score, c->copied, property);
}

/* What one run leaves in an outcome. */
struct made {
    struct mf_solve_result result;
    struct mf_micro micro;
    struct mf_target got;
    double variation_error;
    struct mf_copied copied;
};

static struct made take(struct mf_outcome *out)
{
    struct made made = {out->result, out->micro, out->got, out->variation_error, out->copied};

    out->result = (struct mf_solve_result){.label = NULL};
    out->got = (struct mf_target){.sides = 0};
    return made;
}

static void discard(struct made *made)
{
    mf_target_free(&made->got);
    mf_solve_free(&made->result);
}

static void put(struct mf_outcome *out, const struct made *made)
{
    mf_outcome_free(out);
    out->result = made->result;
    out->micro = made->micro;
    out->got = made->got;
    out->variation_error = made->variation_error;
    out->copied = made->copied;
}

/* Does the run go on with a candidate after the first? Then the metrics of those stay. Collective. */
static int goes_on(const struct mf_outcome *out)
{
    int found = 0;

    for (size_t k = 1; out->solve.keeper && out->solve.keeper->restart && k < out->candidates; ++k) {
        char *stem = mf_run_stem(out->run, k);
        struct mf_checkpoint_pair pair;

        mf_checkpoint_look(out->comm, stem, 1, &pair);
        found |= pair.turn[0] != -1 || pair.turn[1] != -1;
        free(stem);
    }
    return found;
}

/* Candidate k, by its own seed and with checkpoints of its own where there are any. */
static int run(struct mf_outcome *out, size_t k)
{
    const struct mf_solve_opts whole = out->solve;
    char *stem = out->run ? mf_run_stem(out->run, k) : NULL;
    struct mf_keeper_opts keeper;
    int rc;

    if (whole.keeper) {
        keeper = *whole.keeper;
        keeper.stem = stem;
        out->solve.keeper = &keeper;
    }
    out->solve.seed = seed_of(whole.seed, k);
    out->solve.snapshot_stem = stem;
    out->solve.turn = k;
    out->solve.turns = out->candidates;
    out->solve.metrics_append = whole.metrics_append || k > 0 || goes_on(out);
    if (out->no_metrics) out->solve.metrics = NULL;
    rc = solve(out);
    if (rc == MF_OK) rc = judge(out, &out->candidate[k]);
    out->solve.seed = whole.seed;
    out->solve.keeper = whole.keeper;
    out->solve.snapshot_stem = whole.snapshot_stem;
    out->solve.metrics_append = whole.metrics_append;
    out->solve.metrics = whole.metrics;
    free(stem);
    return rc;
}

static int choose(struct mf_outcome *out)
{
    const size_t count = out->candidates;
    double elapsed = 0;

    for (size_t k = 0; k < count; ++k) {
        struct made best = take(out);
        const struct mf_candidate *c = &out->candidate[k];
        int rc = run(out, k);

        if (rc == MF_STOPPED && k > 0 && mf_is_guest()) {
            put(out, &best);
            out->stopped = 1;
            return rc;
        }
        if (rc != MF_OK) {
            discard(&best);
            if (rc != MF_STOPPED) mf_outcome_free(out);
            return rc;
        }
        elapsed = fmax(elapsed, out->result.elapsed);
        say(out, k);
        if (k == 0 || is_better(c, &out->candidate[out->kept])) {
            discard(&best);
            out->kept = k;
        } else
            put(out, &best);
    }
    out->result.elapsed = elapsed;
    mf_info("candidate %zu is kept%s", out->kept + 1,
            mf_objective_by_example(&out->solve.objective) ? "" : ", by its score: these descriptors copy nothing");
    return MF_OK;
}

/* --outfile_data_steps that no run came as far as. */
static void say_no_fields(const struct mf_outcome *out)
{
    long most = out->result.evaluations;

    for (size_t k = 0; out->candidates > 1 && k < out->candidates; ++k)
        if (out->candidate[k].evaluations > most) most = out->candidate[k].evaluations;
    if (out->solve.snapshot_every > most)
        mf_warn("--outfile_data_steps %ld wrote no field: there were %ld evaluations", out->solve.snapshot_every, most);
}

int mf_outcome_solve(struct mf_outcome *out)
{
    out->kept = 0;
    MF_TRY(out->candidates > 1 ? choose(out) : solve(out));
    say_no_fields(out);
    return MF_OK;
}

int mf_outcome_may_choose(const struct mf_outcome *out)
{
    size_t edge = mf_min(out->dims[1], out->dims[2]);

    if (out->candidates < 2) return MF_OK;
    if (out->dims[0] > 1) edge = mf_min(edge, out->dims[0]);
    for (int d = 0; d < out->target->sides; ++d) {
        const struct mf_target_side *side = &out->target->side[d];

        if (!side->example)
            return mf_fail(MF_INPUT, "'%s' has no labels, which --candidates are judged by", out->target->source);
        edge = mf_min(edge, mf_min(side->example_nu, side->example_nv));
    }
    if (edge < MF_TEXTURE_EDGE)
        return mf_fail(MF_USAGE, "--candidates are judged by runs of up to %d pixels, and an edge has %zu",
                       MF_TEXTURE_EDGE, edge);
    return MF_OK;
}
