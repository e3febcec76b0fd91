/* See outcome.h: reports errors, fractions and times, as a JSON object and as lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/desc/distance.h"
#include "src/recon/outcome.h"

long mf_outcome_label(const struct mf_target *t, int p)
{
    if (t->phases > 1) return t->label[p];
    return p == 1 ? t->label[0] : t->label[0] == 0;
}

/* Phase of the target that phase p of the result aims at; -1: none (the rest of a singlephase solution). */
static int aimed_at(const struct mf_outcome *out, int p)
{
    if (out->result.phases == out->target->phases) return p;
    if (out->target->phases == 1) return p == 1 ? 0 : -1;
    return p == 1 ? 1 : -1;
}

/* Rms over the level-0 window of what the mean slice of normal d has minus its target. */
static double s2_error(const struct mf_outcome *out, int p, int d)
{
    const struct mf_target_side *got = mf_target_for(&out->got, (enum mf_normal)d);
    const struct mf_target_side *want = mf_target_for(out->target, (enum mf_normal)d);
    size_t w = 2 * out->target->lag - 1, n = w * w;
    double sum = 0;

    for (size_t i = 0; i < n; ++i) {
        double off =
            got->s2[(size_t)p * got->levels * n + i] - want->s2[(size_t)aimed_at(out, p) * want->levels * n + i];

        sum += off * off;
    }
    return sqrt(sum / (double)n);
}

static int has_whole(const struct mf_outcome *out, enum mf_whole which)
{
    return mf_solve_described(out->target, &out->solve).whole >> which & 1;
}

/* The same over all lags in space, of part @p i of the result and part @p j of the target. */
static double whole_error(const struct mf_outcome *out, enum mf_whole which, size_t i, size_t j)
{
    const size_t lag = out->target->lag, n = mf_whole_entries(which, lag);

    return mf_whole_rms(which, out->got.whole[which] + i * n, lag, out->target->whole[which] + j * n, lag);
}

static double space_error(const struct mf_outcome *out, int p)
{
    return whole_error(out, MF_WHOLE_S2, (size_t)p, (size_t)aimed_at(out, p));
}

/* A target of pairs has a field for every phase. */
static double pair_error(const struct mf_outcome *out, size_t pair)
{
    return whole_error(out, MF_WHOLE_CROSS, pair, pair);
}

static size_t pairs_of(const struct mf_outcome *out)
{
    return mf_whole_parts(MF_WHOLE_CROSS, (size_t)out->result.phases);
}

static void pair_name(const struct mf_outcome *out, size_t pair, char name[64])
{
    size_t a, b;

    mf_descriptor_pair((size_t)out->result.phases, pair, &a, &b);
    snprintf(name, 64, "%ld %ld", mf_outcome_label(out->target, (int)a), mf_outcome_label(out->target, (int)b));
}

double mf_outcome_variation(const struct mf_outcome *out)
{
    double worst = NAN;

    for (int p = 0; p < out->result.phases; ++p)
        for (int d = 0; d < (mf_outcome_ndim(out) == 3 ? 3 : 1); ++d) {
            const struct mf_target_side *got = mf_target_for(&out->got, (enum mf_normal)d);
            const struct mf_target_side *want = mf_target_for(out->target, (enum mf_normal)d);
            int q = aimed_at(out, p);
            double v = q >= 0 && want->variation ? want->variation[(size_t)q * want->levels] : 0;

            if (v > 0) worst = fmax(worst, fabs(got->variation[(size_t)p * got->levels] / v - 1));
        }
    return worst;
}

static double fraction_of(const struct mf_outcome *out, int p)
{
    return out->got.side[0].fraction[(size_t)p * out->got.side[0].levels];
}

static const char *const AXIS[3] = {"z", "y", "x"};

static void json_errors(const struct mf_outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();

    for (int p = 0; p < out->result.phases; ++p) {
        struct mf_json *one = mf_json_object();
        char label[32];

        snprintf(label, sizeof label, "%ld", mf_outcome_label(out->target, p));
        for (int d = 0; d < (mf_outcome_ndim(out) == 3 ? 3 : 1); ++d)
            if (aimed_at(out, p) >= 0) mf_json_real(one, AXIS[d], s2_error(out, p, d));
        mf_json_put(all, label, one);
    }
    mf_json_put(at, "s2_rms_error", all);
}

static void json_fractions(const struct mf_outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();

    for (int p = 0; p < out->result.phases; ++p) {
        char label[32];

        snprintf(label, sizeof label, "%ld", mf_outcome_label(out->target, p));
        mf_json_real(all, label, fraction_of(out, p));
    }
    mf_json_put(at, "volume_fractions", all);
}

static void json_space(const struct mf_outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();

    for (int p = 0; p < out->result.phases; ++p) {
        char label[32];

        snprintf(label, sizeof label, "%ld", mf_outcome_label(out->target, p));
        if (aimed_at(out, p) >= 0) mf_json_real(all, label, space_error(out, p));
    }
    mf_json_put(at, "s2_3d_rms_error", all);
}

/* Share of phase p that spans along z, y, x, in the result and in the target; NULL: not known. */
static const double *spans(const struct mf_outcome *out, int p) { return out->got.whole[MF_WHOLE_SPANS] + 3 * p; }

static const double *spans_wanted(const struct mf_outcome *out, int p)
{
    const double *all = out->target->whole[MF_WHOLE_SPANS];

    return all && out->got.whole[MF_WHOLE_SPANS] && aimed_at(out, p) >= 0 ? all + 3 * aimed_at(out, p) : NULL;
}

static void json_spans(const struct mf_outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();

    for (int p = 0; p < out->result.phases; ++p) {
        struct mf_json *one = mf_json_object();
        char label[32];

        if (!spans_wanted(out, p)) continue;
        snprintf(label, sizeof label, "%ld", mf_outcome_label(out->target, p));
        mf_json_reals(one, "is", spans(out, p), 3);
        mf_json_reals(one, "target", spans_wanted(out, p), 3);
        mf_json_put(all, label, one);
    }
    mf_json_put(at, "spanning_fraction", all);
}

static void json_pairs(const struct mf_outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();
    char name[64];

    for (size_t pair = 0; pair < pairs_of(out); ++pair) {
        pair_name(out, pair, name);
        mf_json_real(all, name, pair_error(out, pair));
    }
    mf_json_put(at, "cross_s2_3d_rms_error", all);
}

/* Relative error of a property. */
static double property_error(const struct mf_outcome *out, size_t i)
{
    return out->result.property[i] / out->solve.property.at[i].of - 1;
}

static void json_properties(const struct mf_outcome *out, struct mf_json *at)
{
    const struct mf_property_opts *p = &out->solve.property;
    struct mf_json *all = mf_json_object();

    for (size_t i = 0; i < p->count; ++i) {
        struct mf_json *one = mf_json_object();
        char name[32];

        snprintf(name, sizeof name, "conductivity_%s", AXIS[p->at[i].axis]);
        MF_JSON(one, "target", p->at[i].of * p->unit, "is", out->result.property[i] * p->unit, "relative_error",
                property_error(out, i));
        mf_json_put(all, name, one);
    }
    mf_json_put(at, "properties", all);
}

static double per_evaluation(const struct mf_solve_result *r) { return r->seconds / fmax((double)r->evaluations, 1); }

/* The runs that the result was chosen from. */
static void json_candidates(const struct mf_outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_array();

    for (size_t k = 0; k < out->candidates; ++k) {
        const struct mf_candidate *c = &out->candidate[k];
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "seed", c->seed, "evaluations", c->evaluations, "score", c->score, "copied", c->copied);
        if (out->solve.property.count) mf_json_real(one, "missed", c->missed);
        mf_json_put(all, NULL, one);
    }
    MF_JSON(at, "candidates", all, "kept", out->kept);
}

/* A stop leaves fewer figures. */
static void json_stopped(const struct mf_outcome *out, struct mf_json *at)
{
    mf_json_bool(at, "stopped", 1);
    MF_JSON(at, "loss", out->result.loss, "lag", out->target->lag, "evaluations", out->result.evaluations, "seconds",
            out->seconds);
}

void mf_outcome_json(const struct mf_outcome *out, struct mf_json *j)
{
    const struct mf_solve_result *r = &out->result;

    MF_JSON(j, "seed", out->solve.seed);
    if (out->stopped) {
        json_stopped(out, j);
        return;
    }
    mf_json_some(j, "problem", out->run ? out->run->problem : NULL);
    MF_JSON(j, "loss", r->loss, "loss_cut", r->loss_cut, "loss_final", r->loss_final, "lag", out->target->lag);
    mf_json_bool(j, "periodic", out->solve.objective.periodic);
    MF_JSON(j, "evaluations", r->evaluations, "binarise_from", r->binarise, "seconds", out->seconds,
            "seconds_per_evaluation", per_evaluation(r), "polish_seconds", r->polish_seconds, "swaps_tried",
            r->swaps_tried, "swaps", r->swaps, "grey_fraction", 0.0, "grey_before_cut", r->grey);
    json_fractions(out, j);
    json_errors(out, j);
    if (has_whole(out, MF_WHOLE_S2)) json_space(out, j);
    if (has_whole(out, MF_WHOLE_S2)) json_spans(out, j);
    if (has_whole(out, MF_WHOLE_CROSS)) json_pairs(out, j);
    if (out->solve.property.count) json_properties(out, j);
    mf_json_finite(j, "variation_error", out->variation_error);
    if (out->copied.edge) mf_json_real(j, "copied", out->copied.share);
    if (out->copied.edge) mf_json_real(j, "copied_by_chance", mf_copied_by_chance(&out->copied));
    if (out->copied.edge) mf_json_int(j, "copied_window", (long long)out->copied.edge);
    if (out->candidates > 1) json_candidates(out, j);
}

/* What was written, and by how much of which work. */
static void report_losses(const struct mf_outcome *out)
{
    const struct mf_solve_result *r = &out->result;

    if (out->solve.method.method->swaps)
        mf_info("wrote %s: loss %.4e before annealing, %.4e after it; %ld step%s, %ld accepted, %.3g us each",
                out->path ? out->path : "no file", r->loss_cut, r->loss_final, r->swaps_tried, MF_S(r->swaps_tried),
                r->swaps, 1e6 * r->polish_seconds / fmax((double)r->swaps_tried, 1));
    else
        mf_info("wrote %s: loss %.4e grey, %.4e cut, %.4e final; %ld evaluation%s, %.3g ms each",
                out->path ? out->path : "no file", r->loss, r->loss_cut, r->loss_final, r->evaluations,
                MF_S(r->evaluations), 1e3 * per_evaluation(r));
}

/* Was it over before it could get there? Annealing ends by itself; descents use what they may. */
static int is_short(const struct mf_outcome *out)
{
    if (out->solve.method.method->swaps) return out->result.swaps_tried >= out->asked;
    return out->asked < out->usual && out->result.evaluations >= out->asked;
}

static const double COPIED = 0.5; /* of the windows; from here on it is said aloud */

static const char *remedy_of_swaps(const struct mf_outcome *out)
{
    const struct mf_anneal_opts *a = &out->solve.anneal;

    if (out->result.loss_final <= a->tolerance) return "a smaller --tolerance";
    return a->exponential ? "slower cooling: a --cooldown_factor nearer to 1, a lower --final_temperature"
                          : "--acceptance_distribution exponential";
}

enum { SMALL_SLICE = 256 }; /* voxels */

/* Are there slices too small for each to have the statistics of the target? Their mean can have them. */
static int has_small_slices(const struct mf_outcome *out)
{
    const struct mf_objective_opts *o = &out->solve.objective;
    const size_t *n = out->dims;

    if (mf_outcome_ndim(out) != 3 || o->mean || o->compat || o->draw > 0) return 0;
    return n[0] * n[1] < SMALL_SLICE || n[0] * n[2] < SMALL_SLICE || n[1] * n[2] < SMALL_SLICE;
}

/* What brings interfaces nearer than what was aimed at. */
static const char *remedy(const struct mf_outcome *out)
{
    const struct mf_objective_opts *o = &out->solve.objective;
    const int brief = is_short(out);
    int both = 0;

    for (size_t t = 0; t < o->terms; ++t)
        both += (o->term[t].row->kind == MF_S2 || o->term[t].row->kind == MF_VARIATION) && o->term[t].weight > 0;
    if (both < 2)
        return brief ? "more --max_iter, and FFTCorrelations and Variation together"
                     : "FFTCorrelations and Variation together";
    if (brief) return "more --max_iter: the run used all of them";
    if (out->solve.method.method->swaps) return remedy_of_swaps(out);
    if (o->terms > 2) return "FFTCorrelations and Variation alone, or with larger weights";
    if (has_small_slices(out)) return "--slice_objective mean: slices are too small for each to be like the target";
    return "more --max_iter, a larger weight of Variation, or targets that do not contradict each other";
}

/* Two digits, and no exponent: 100 and not 1e+02, 0.0012 and not 0.00. */
static int decimals(double percent)
{
    return percent <= 0 || percent >= 10 ? 0 : (int)fmin(15, 1 - floor(log10(percent)));
}

/* A phase that the target has and the result has not. */
static void warn_of_none(const struct mf_outcome *out, int p)
{
    const struct mf_target_side *side = &out->target->side[0];
    const double wanted = side->fraction[(size_t)aimed_at(out, p) * side->levels];

    if (fraction_of(out, p) == 0 && wanted > 0)
        mf_warn("label %ld: the target's volume fraction, %.2g, rounds to no voxel of the result; try: a larger result",
                mf_outcome_label(out->target, p), wanted);
}

/* One lag is the volume fraction, and says nothing of S2. */
static void report_s2(const struct mf_outcome *out, int p)
{
    if (out->target->lag == 1)
        mf_info("label %ld: volume fraction %.6f; S2 is not compared, as L is 1 (--limit_to)",
                mf_outcome_label(out->target, p), fraction_of(out, p));
    else if (mf_outcome_ndim(out) == 3)
        mf_info("label %ld: volume fraction %.6f, S2 rms error %.2e %.2e %.2e (normals z y x)",
                mf_outcome_label(out->target, p), fraction_of(out, p), s2_error(out, p, 0), s2_error(out, p, 1),
                s2_error(out, p, 2));
    else
        mf_info("label %ld: volume fraction %.6f, S2 rms error %.2e", mf_outcome_label(out->target, p),
                fraction_of(out, p), s2_error(out, p, 0));
}

/* Only descriptors by example copy; of the others what agrees does so by chance. */
static void report_copied(const struct mf_outcome *out)
{
    const double share = 100 * out->copied.share, chance = 100 * mf_copied_by_chance(&out->copied);

    if (!out->copied.edge) return;
    mf_info("copied from the target: %.*f %% of windows of %zu x %zu, by chance about %.*f %%", decimals(share), share,
            out->copied.edge, out->copied.edge, decimals(chance), chance);
    if (mf_objective_by_example(&out->solve.objective) && mf_copied_beyond(&out->copied) > COPIED)
        mf_warn("more than half of the result is copied from its target, which has few features; try: another --seed, "
                "a larger micrograph, or %s",
                out->by_recipe ? "--descriptor_types and --descriptor_weights with less of Patches"
                               : "less of Patches (--descriptor_weights)");
}

static void report_properties(const struct mf_outcome *out)
{
    const struct mf_property_opts *p = &out->solve.property;

    for (size_t i = 0; i < p->count; ++i) {
        const double off = property_error(out, i), is = out->result.property[i] * p->unit;

        mf_info("conductivity along %s: %.6g, target %.6g (%+.2f %%)", AXIS[p->at[i].axis], is, p->at[i].of * p->unit,
                100 * off);
        if (fabs(off) > p->tolerance)
            mf_warn("conductivity_%s=%g is out of reach of this run, %.6g is the nearest; try: a target nearer to it, "
                    "or a larger --property-weight",
                    AXIS[p->at[i].axis], p->at[i].of * p->unit, is);
    }
}

void mf_outcome_report(const struct mf_outcome *out)
{
    const struct mf_solve_result *r = &out->result;
    char name[64];

    report_losses(out);
    for (int p = 0; p < r->phases; ++p)
        if (aimed_at(out, p) >= 0) {
            report_s2(out, p);
            warn_of_none(out, p);
        }
    for (int p = 0; has_whole(out, MF_WHOLE_S2) && p < r->phases; ++p)
        if (aimed_at(out, p) >= 0)
            mf_info("label %ld: S2_3D rms error %.2e", mf_outcome_label(out->target, p), space_error(out, p));
    for (int p = 0; has_whole(out, MF_WHOLE_S2) && p < r->phases; ++p) {
        const double *is = spans(out, p), *wanted = spans_wanted(out, p);

        if (wanted)
            mf_info("label %ld: %.4f %.4f %.4f of it spans the volume (along z y x), in the target %.4f %.4f %.4f",
                    mf_outcome_label(out->target, p), is[0], is[1], is[2], wanted[0], wanted[1], wanted[2]);
    }
    for (size_t pair = 0; has_whole(out, MF_WHOLE_CROSS) && pair < pairs_of(out); ++pair) {
        pair_name(out, pair, name);
        mf_info("phases %s: CrossS2_3D rms error %.2e", name, pair_error(out, pair));
    }
    if (!isnan(out->variation_error))
        mf_info("interface density: largest relative error %.*f %%", decimals(100 * out->variation_error),
                100 * out->variation_error);
    report_properties(out);
    report_copied(out);
    if (out->variation_error > 0.1)
        mf_warn("the interface density of the result differs from its target's; try: %s", remedy(out));
}
