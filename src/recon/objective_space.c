/* See objective_impl.h: the term that compares the volume as a whole. */
#include "kernels/form/compare.h"
#include "src/base/err.h"
#include "src/recon/objective_impl.h"

size_t mf_objective_in_space(const struct mf_objective_opts *o)
{
    size_t t = 0;

    while (t < o->terms && !o->term[t].row->in_space) ++t;
    return t;
}

static int take(struct mf_objective *o)
{
    struct mf_objective_space *s = &o->space;
    size_t bytes = o->phases * s->entries * sizeof(double);

    s->window = mf_arena_take(o->home->host, bytes, "S2_3D window");
    s->slope = mf_arena_take(o->home->host, bytes, "S2_3D window");
    return s->window && s->slope ? MF_OK : MF_MEMORY;
}

/* Its work areas are the fields': planes are transformed where they are. */
int mf_objective_space_open(struct mf_objective *o)
{
    const struct mf_space_opts opts = {.lag = o->lag, .fields = o->phases, .periodic = o->opts.periodic, .gradient = 1};
    struct mf_objective_space *s = &o->space;

    s->term = mf_objective_in_space(&o->opts);
    if (s->term == o->opts.terms || o->opts.level_first > 0) return MF_OK;
    s->entries = mf_space_entries(o->lag);
    if (!o->goal->space)
        return mf_fail(MF_INPUT, "the target '%s' has no %s", o->goal->source, o->opts.term[s->term].row->name);
    MF_TRY(mf_space_new(o->comm, o->home, &o->slab, &opts, &s->space));
    return mf_agree(o->comm, take(o));
}

void mf_objective_space_close(struct mf_objective *o)
{
    mf_arena_give(o->home->host, o->space.window);
    mf_arena_give(o->home->host, o->space.slope);
    mf_space_free(o->space.space);
}

size_t mf_objective_staged(const struct mf_objective *o)
{
    return o->space.space ? mf_space_staged(o->space.space) : 0;
}

/* Sum over the window and its mirror image of |w (D - T)|^p over 2L-1; its derivatives into slope. */
static double compare(const struct mf_objective *o, size_t p)
{
    const struct mf_objective_space *s = &o->space;
    const double *want = o->goal->space + mf_objective_phase(o, p) * s->entries, *got = s->window + p * s->entries;
    const size_t width = 2 * o->lag - 1;
    const int power = o->opts.norm == MF_L1 ? 1 : 2;
    const double w = o->opts.phase_weight[p] * o->opts.term[s->term].weight * o->opts.level_weight[0];
    double *slope = s->slope + p * s->entries, sum = 0;

    for (size_t i = 0; i < s->entries; ++i) {
        double d = w * (got[i] - want[i]), times = i < width * width ? 1 : 2;

        sum += times * mf_compare_loss(power, d) / (double)width;
        slope[i] = w * mf_compare_slope(power, d) / (double)width;
    }
    return sum;
}

static struct mf_cost cost_of(const struct mf_objective *o, const float *g)
{
    const size_t *n = o->slab.dims;
    const struct mf_slice_desc desc = {
        .nu = n[1], .nv = n[2], .lag = o->lag, .levels = 1, .periodic = o->opts.periodic};

    return mf_cost_s2_3d(&desc, o->phases * o->slab.count, g ? MF_COST_GRADIENT : MF_COST_VALUES);
}

/* What is exchanged is a few planes: a rank that has no memory for their requests has none for anything. */
static void look(struct mf_objective *o, const float *x)
{
    struct mf_objective_space *s = &o->space;

    for (size_t p = 0; p < o->phases; ++p) {
        int rc = mf_space_window(s->space, p, x + p * mf_slab_voxels(&o->slab), s->window + p * s->entries);

        if (rc != MF_OK) mf_die(rc, __FILE__, __LINE__, "%s", mf_err_text());
    }
}

void mf_objective_space_eval(struct mf_objective *o, const float *x, float *g, double factor)
{
    struct mf_objective_space *s = &o->space;
    double slope;
    MF_PHASE(o->opts.term[s->term].row->phase);

    mf_phase_count(cost_of(o, g));
    look(o, x);
    s->sum = 0;
    for (size_t p = 0; p < o->phases; ++p) s->sum += compare(o, p);
    s->loss = mf_objective_norm(o->opts.norm, s->sum, (double)o->side[0].entries, &slope);
    for (size_t i = 0; i < o->phases * s->entries; ++i) s->slope[i] *= factor * slope;
    for (size_t p = 0; g && p < o->phases; ++p)
        mf_space_adjoint(s->space, p, s->slope + p * s->entries, g + p * mf_slab_voxels(&o->slab));
}
