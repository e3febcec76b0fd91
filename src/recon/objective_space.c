/* See objective_impl.h: the terms of the volume as a whole. */
#include <string.h>

#include "kernels/form/compare.h"
#include "src/base/err.h"
#include "src/desc/phases.h"
#include "src/recon/objective_impl.h"

static size_t term_of(const struct mf_objective_opts *o, enum mf_whole which)
{
    size_t t = 0;

    while (t < o->terms &&
           !(mf_descriptor_is(o->term[t].row, MF_IN_SPACE) && mf_descriptor_whole(o->term[t].row) == which))
        ++t;
    return t;
}

static int has(const struct mf_objective *o, int which) { return o->space.term[which] < o->opts.terms; }

static size_t parts_of(const struct mf_objective *o, int which)
{
    return has(o, which) ? mf_whole_parts((enum mf_whole)which, o->phases) : 0;
}

static size_t values_of(const struct mf_objective *o, int which)
{
    return parts_of(o, which) * mf_whole_entries((enum mf_whole)which, o->lag);
}

static int take(struct mf_objective *o, int which)
{
    struct mf_objective_space *s = &o->space;
    const size_t bytes = values_of(o, which) * sizeof(double);

    if (bytes == 0) return MF_OK;
    s->window[which] = mf_arena_take(o->home->host, bytes, "S2_3D window");
    s->slope[which] = mf_arena_take(o->home->host, bytes, "S2_3D window");
    return s->window[which] && s->slope[which] ? MF_OK : MF_MEMORY;
}

static int take_all(struct mf_objective *o)
{
    for (int k = 0; k < MF_WHOLE; ++k) MF_TRY(take(o, k));
    return MF_OK;
}

static int check(const struct mf_objective *o, int which)
{
    if (!has(o, which) || o->goal->whole[which]) return MF_OK;
    return mf_fail(MF_INPUT, "the target '%s' has no %s", o->goal->source,
                   o->opts.term[o->space.term[which]].row->name);
}

/* Its work areas are the fields': planes are transformed where they are. */
int mf_objective_space_open(struct mf_objective *o)
{
    struct mf_space_opts opts = {.lag = o->lag, .fields = o->phases, .periodic = o->opts.periodic, .gradient = 1};
    struct mf_objective_space *s = &o->space;
    const size_t first = mf_objective_in_space(&o->opts);
    int rc = MF_OK;

    for (int k = 0; k < MF_WHOLE; ++k) s->term[k] = o->opts.terms; /* it has none */
    if (first == o->opts.terms || o->opts.level_first > 0) return MF_OK;
    for (int k = 0; k < MF_WHOLE; ++k) {
        s->term[k] = term_of(&o->opts, (enum mf_whole)k);
        s->entries += parts_of(o, k) * (2 * o->lag - 1) * (2 * o->lag - 1);
        if (rc == MF_OK) rc = check(o, k);
    }
    MF_TRY(mf_agree(o->comm, rc));
    opts.pairs = has(o, MF_WHOLE_CROSS);
    opts.name = o->opts.term[first].row->name;
    MF_TRY(mf_space_new(o->comm, o->home, &o->slab, &opts, &s->space));
    return mf_agree(o->comm, take_all(o));
}

void mf_objective_space_close(struct mf_objective *o)
{
    for (int k = 0; k < MF_WHOLE; ++k) {
        mf_arena_give(o->home->host, o->space.window[k]);
        mf_arena_give(o->home->host, o->space.slope[k]);
    }
    mf_space_free(o->space.space);
}

size_t mf_objective_staged(const struct mf_objective *o)
{
    return o->space.space ? mf_space_staged(o->space.space) : 0;
}

/* Where the window of a phase has lag 0. */
static size_t centre_of(const struct mf_objective *o) { return (2 * o->lag - 1) * (2 * o->lag - 1) / 2; }

/* One part: sum over all lags of |w (D - T)|^p over 2L-1; its derivatives into slope. The window of a phase has half of
 * the lags, so their mirror images are counted too. */
static double compare(const struct mf_objective *o, int which, size_t part)
{
    const struct mf_objective_space *s = &o->space;
    const size_t width = 2 * o->lag - 1, n = mf_whole_entries((enum mf_whole)which, o->lag);
    const int power = o->opts.norm == MF_L1 ? 1 : 2, pair = which == MF_WHOLE_CROSS;
    const double *want = o->goal->whole[which] + (pair ? part : mf_target_phase(o->goal, o->phases, part)) * n;
    const double *got = s->window[which] + part * n, q = pair ? 1 : o->opts.phase_weight[part];
    const double w = q * o->opts.term[s->term[which]].weight * o->opts.level_weight[0];
    const size_t centre = pair ? n : centre_of(o);
    double *slope = s->slope[which] + part * n, sum = 0;

    for (size_t i = 0; i < n; ++i) {
        double d = w * (got[i] - want[i] + (i == centre ? s->centre[part] : 0)),
               times = pair || i < width * width ? 1 : 2;

        sum += times * mf_compare_loss(power, d) / (double)width;
        slope[i] = w * mf_compare_slope(power, d) / (double)width;
    }
    return sum;
}

static void count(const struct mf_objective *o, int which, const float *g)
{
    const size_t *n = o->slab.dims;
    const struct mf_slice_desc desc = {
        .nu = n[1], .nv = n[2], .lag = o->lag, .levels = 1, .periodic = o->opts.periodic};

    if (!has(o, which)) return;
    mf_phase_count(o->opts.term[o->space.term[which]].row->form->cost(&desc, parts_of(o, which) * o->slab.count,
                                                                      g ? MF_COST_GRADIENT : MF_COST_VALUES));
}

/* Only a few planes are exchanged. A rank without memory for the requests has none for anything, so this ends the
 * job. */
static void look(struct mf_objective *o, const float *x)
{
    struct mf_objective_space *s = &o->space;
    const size_t n = mf_whole_entries(MF_WHOLE_CROSS, o->lag);
    size_t a, b;

    for (size_t p = 0; p < o->phases; ++p) {
        int rc = mf_space_hold(s->space, p, x + p * mf_slab_voxels(&o->slab));

        if (rc != MF_OK) mf_die(rc, __FILE__, __LINE__, "%s", mf_err_text());
    }
    for (size_t p = 0; p < parts_of(o, MF_WHOLE_S2); ++p)
        mf_space_window(s->space, p, s->window[MF_WHOLE_S2] + p * mf_whole_entries(MF_WHOLE_S2, o->lag));
    for (size_t p = 0; p < parts_of(o, MF_WHOLE_CROSS); ++p) {
        mf_descriptor_pair(o->phases, p, &a, &b);
        mf_space_cross(s->space, a, b, s->window[MF_WHOLE_CROSS] + p * n);
    }
}

/* Pairs first: a field's own gradient uses up what is held of it. */
static void pull(struct mf_objective *o, float *g)
{
    const struct mf_objective_space *s = &o->space;
    const size_t voxels = mf_slab_voxels(&o->slab);
    size_t a, b;

    for (size_t p = 0; p < parts_of(o, MF_WHOLE_CROSS); ++p) {
        mf_descriptor_pair(o->phases, p, &a, &b);
        mf_space_cross_adjoint(s->space, a, b, s->slope[MF_WHOLE_CROSS] + p * mf_whole_entries(MF_WHOLE_CROSS, o->lag),
                               g + a * voxels, g + b * voxels);
    }
    for (size_t p = 0; p < parts_of(o, MF_WHOLE_S2); ++p)
        mf_space_adjoint(s->space, p, s->slope[MF_WHOLE_S2] + p * mf_whole_entries(MF_WHOLE_S2, o->lag),
                         g + p * voxels);
}

void mf_objective_space_eval(struct mf_objective *o, const float *x, float *g, double factor)
{
    struct mf_objective_space *s = &o->space;
    double slope, all = 0;
    MF_PHASE(&mf_phase_s2);

    look(o, x);
    for (int k = 0; k < MF_WHOLE; ++k) {
        count(o, k, g);
        s->sum[k] = 0;
        for (size_t p = 0; p < parts_of(o, k); ++p) s->sum[k] += compare(o, k, p);
        all += s->sum[k];
    }
    s->loss = mf_objective_norm(o->opts.norm, all, (double)o->side[0].entries, &slope);
    for (int k = 0; k < MF_WHOLE; ++k)
        for (size_t i = 0; i < values_of(o, k); ++i) s->slope[k][i] *= factor * slope;
    for (size_t p = 0; p < parts_of(o, MF_WHOLE_S2); ++p)
        s->centre_slope[p] = s->slope[MF_WHOLE_S2][p * mf_whole_entries(MF_WHOLE_S2, o->lag) + centre_of(o)];
    if (g) pull(o, g);
}

void mf_objective_centre(struct mf_objective *o, const double *centre)
{
    memcpy(o->space.centre, centre, o->phases * sizeof *centre);
}

double mf_objective_centre_slope(const struct mf_objective *o, size_t p)
{
    return has(o, MF_WHOLE_S2) ? o->space.centre_slope[p] : 0;
}

double mf_objective_space_square(const struct mf_objective *o, double weight)
{
    weight *= o->opts.level_weight[0];
    return weight * weight / (double)(2 * o->lag - 1) / (double)o->side[0].entries;
}
