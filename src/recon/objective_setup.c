/* Builds an objective: checks options, then prepares shape, kernel plans and memory of every direction. */
#include "src/recon/objective_impl.h"

#include <stdlib.h>

#include "kernels/segment.h"
#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/desc/phases.h"

const char *mf_norm_name(enum mf_norm norm)
{
    static const char *const names[] = {"MSE", "SSE", "RMS", "L1", "L2"};

    return names[norm];
}

int mf_objective_by_example(const struct mf_objective_opts *o)
{
    for (size_t t = 0; t < o->terms; ++t)
        if (mf_descriptor_is(o->term[t].row, MF_BY_EXAMPLE)) return 1;
    return 0;
}

size_t mf_objective_in_space(const struct mf_objective_opts *o)
{
    size_t t = 0;

    while (t < o->terms && !mf_descriptor_is(o->term[t].row, MF_IN_SPACE)) ++t;
    return t;
}

/* Directions whose slices have this shape, where all directions of a volume are compared at once. */
static size_t alike(const struct mf_objective *o, const struct mf_objective_side *s)
{
    size_t n = 0;

    if (o->comm->size > 1 || o->home != o->queue || o->queue->deterministic) return 1;
    for (size_t d = 0; d < o->sides; ++d) n += o->side[d].nu == s->nu && o->side[d].nv == s->nv;
    return n;
}

struct mf_slice_desc mf_objective_desc(const struct mf_objective *o, const struct mf_objective_side *s, size_t levels)
{
    return (struct mf_slice_desc){.nu = s->nu,
                                  .nv = s->nv,
                                  .lag = o->lag,
                                  .levels = levels,
                                  .count_max = o->batch,
                                  .calls = alike(o, s),
                                  .periodic = o->opts.periodic,
                                  .seam = o->opts.compat,
                                  .threshold = o->goal->threshold,
                                  .steepness = o->goal->steepness,
                                  .vgg = o->opts.vgg,
                                  .smooth = o->opts.smooth,
                                  .phases = o->phases,
                                  .example = s->example,
                                  .one = o->sides == 1,
                                  .team = o->team.parts > 1 ? &o->team : NULL,
                                  .flip = o->opts.flip};
}

size_t mf_objective_parts(const struct mf_objective *o, size_t t)
{
    return mf_descriptor_parts(o->opts.term[t].row, o->phases);
}

int mf_objective_joint(const struct mf_objective *o, size_t t)
{
    return mf_descriptor_is(o->opts.term[t].row, MF_OF_PAIRS) || mf_descriptor_is(o->opts.term[t].row, MF_OF_ALL);
}

static int plan_for(struct mf_objective *o, const struct mf_slice_ops *ops, struct mf_slice_desc desc,
                    struct mf_slice_plan **plan)
{
    for (size_t i = 0; i < o->plans; ++i)
        if (o->plan[i].ops == ops && o->plan[i].desc.nu == desc.nu && o->plan[i].desc.nv == desc.nv &&
            o->plan[i].desc.levels == desc.levels && (!ops->match || o->plan[i].desc.example.x == desc.example.x)) {
            *plan = o->plan[i].plan;
            return MF_OK;
        }
    MF_TRY(mf_slices_plan(ops, o->queue, &desc, plan));
    o->plan[o->plans++] = (struct mf_objective_plan){ops, desc, *plan};
    return MF_OK;
}

/* What a term by example holds of every slice of this rank. On coarser grids slices may be too small for it. */
static int side_pull(struct mf_objective *o, struct mf_objective_side *s, size_t t)
{
    struct mf_slice_desc desc = mf_objective_desc(o, s, s->levels);
    size_t slices = o->helps ? 1 : 0;

    if (!o->ops[t]->pull) return MF_OK;
    for (size_t k = 0; k < mf_redistribute_rounds(s->redistribution[0]); ++k)
        slices += mf_redistribute_span(s->redistribution[0], k).count;
    s->pull_size[t] = o->ops[t]->pull(&desc);
    if (s->pull_size[t] == 0 && o->opts.level_first == 0)
        return mf_fail(MF_USAGE,
                       "%s compares patches of 9 x 9 pixels, and there is none in slices of %zu x %zu or an example of "
                       "%zu x %zu; try: larger ones, or leave it out",
                       o->opts.term[t].row->name, s->nu, s->nv, s->example.nu, s->example.nv);
    s->pull[t] = mf_arena_take(o->queue->arena, slices * s->pull_size[t] * sizeof(float), "pull of patches");
    return s->pull[t] ? MF_OK : MF_MEMORY;
}

int mf_objective_levels_for(size_t lag, size_t nu, size_t nv, size_t *levels)
{
    const size_t most = (nu < nv ? nu : nv) / 2;

    *levels = mf_levels(nu, nv, lag);
    if (*levels) return MF_OK;
    return mf_fail(
        MF_USAGE,
        "--limit_to %zu is too large for slices of %zu x %zu: at most %zu; try: --limit_to %zu (of descriptors "
        "in a file: when they are characterized), or larger extents",
        lag, nu, nv, most, most);
}

/* Extents of the slices of one direction and the levels that target and field share. */
static int side_shape(struct mf_objective *o, size_t normal)
{
    struct mf_objective_side *s = &o->side[normal];
    const size_t *n = o->slab.dims;
    const struct mf_target_side *from = mf_target_for(o->goal, (enum mf_normal)normal);
    size_t mine;
    double weights = 0;

    s->nu = n[mf_slice_u(normal)];
    s->nv = n[mf_slice_v(normal)];
    s->slices = n[normal];
    MF_TRY(mf_objective_levels_for(o->lag, s->nu, s->nv, &mine));
    if (from->levels <= o->opts.level_first)
        return mf_fail(MF_USAGE, "the target has %zu pyramid levels, level %zu is asked for", from->levels,
                       o->opts.level_first);
    s->levels = from->levels - o->opts.level_first;
    if (s->levels > mine) s->levels = mine;
    if (o->opts.levels_max && s->levels > o->opts.levels_max) s->levels = o->opts.levels_max;
    for (size_t l = 0; l < s->levels; ++l) weights += o->opts.level_weight[l];
    if (!(weights > 0))
        return mf_fail(MF_USAGE,
                       "--level_weights leaves no weight to any level; of this target and volume there %s %zu",
                       s->levels == 1 ? "is" : "are", s->levels);
    return MF_OK;
}

static int plan_slices(struct mf_objective *o, size_t normal)
{
    struct mf_objective_side *s = &o->side[normal];

    s->redistribution = mf_fault("recon.redistributions") ? NULL : calloc(o->phases, sizeof *s->redistribution);
    s->done = calloc(s->slices, 1);
    MF_TRY(
        mf_agree(o->comm, s->redistribution && s->done ? MF_OK : mf_fail(MF_MEMORY, "no memory for the slices' plan")));
    for (size_t p = 0; p < o->phases; ++p) {
        MF_TRY(mf_redistribute_new(o->comm, &o->slab, (enum mf_normal)normal, MF_OUT_AND_BACK, o->opts.batch, o->home,
                                   &s->redistribution[p]));
        if (mf_redistribute_batch(s->redistribution[p]) > o->batch)
            o->batch = mf_redistribute_batch(s->redistribution[p]);
    }
    return MF_OK;
}

static int side_plans(struct mf_objective *o, size_t d)
{
    struct mf_objective_side *s = &o->side[d];

    MF_TRY(mf_objective_example(o, d));
    s->entries = o->space.entries;
    for (size_t t = 0; t < o->opts.terms; ++t) {
        if (!o->ops[t]) continue;
        MF_TRY(side_pull(o, s, t));
        MF_TRY(plan_for(o, o->ops[t], mf_objective_desc(o, s, s->levels), &s->plan[t]));
        MF_TRY(mf_objective_aim(o, d, t));
    }
    if (mf_objective_weighs(&o->opts))
        MF_TRY(plan_for(o, o->backend->slices->frac, mf_objective_desc(o, s, 1), &s->mean));
    s->sum = mf_arena_take(o->queue->host, s->entries * sizeof *s->sum, "slice sums");
    return s->sum ? MF_OK : MF_MEMORY;
}

/* Several ranks, and a rank whose slices go elsewhere, sum the gradient of a direction in a separate volume; one rank
 * sums directly in the result. Their rounding differs. If bits must be reproducible, one rank uses a separate volume
 * too. */
static int take_apart(struct mf_objective *o)
{
    if (!o->queue->deterministic || o->comm->size > 1 || o->sides == 1 || o->home != o->queue) return MF_OK;
    o->apart =
        mf_arena_take(o->queue->arena, o->phases * mf_slab_voxels(&o->slab) * sizeof(float), "gradient of a direction");
    return o->apart ? MF_OK : MF_MEMORY;
}

/* Doubles of the work areas of a slice. */
static size_t work_size(const struct mf_objective *o)
{
    return o->opts.terms * o->parts + 2 * o->phases + o->scales + 1;
}

static void deal_work(struct mf_objective *o)
{
    double *sums = o->sums, *work = o->work;

    for (size_t d = 0; d < o->sides; ++d) {
        struct mf_objective_side *s = &o->side[d];
        size_t each = o->phases * s->slices;

        s->sums = sums;
        s->a = work;
        s->q = s->a + o->opts.terms * o->parts * s->slices;
        s->vf = s->q + each;
        s->scale = s->vf + each;
        s->slope = s->scale + o->scales * s->slices;
        sums += s->slices * mf_objective_row(o);
        work += s->slices * work_size(o);
    }
}

static int take_fixed(struct mf_objective *o)
{
    const float fixed[2] = {0, -1};

    o->fixed = mf_arena_take(o->queue->arena, sizeof fixed, "target");
    if (!o->fixed) return MF_MEMORY;
    o->backend->put(o->queue, o->fixed, fixed, sizeof fixed);
    return MF_OK;
}

/* Descriptors that the back end gets at once share a phase: what they move and compute, and their time. */
static void choose_phases(struct mf_objective *o)
{
    struct mf_phase *one = NULL;

    for (size_t t = 0; t < o->opts.terms; ++t) {
        o->phase[t] = o->opts.term[t].row->phase;
        if (o->ops[t]) one = !one || one == o->phase[t] ? o->phase[t] : &mf_phase_descriptors;
    }
    for (size_t t = 0; o->backend->slices->all && t < o->opts.terms; ++t) o->phase[t] = one;
}

/* What this rank needs by itself once the batch is known. */
static int prepare(struct mf_objective *o)
{
    size_t slices = 0;

    if (o->batch == 0) o->batch = 1;
    if (o->batch == 1 && o->sides > 1) o->batch = 2; /* a rank may work on a pair of another's */
    MF_TRY(mf_objective_aims_open(o));
    for (size_t d = 0; d < o->sides; ++d) {
        MF_TRY(side_plans(o, d));
        slices += o->side[d].slices;
    }
    o->sums = mf_arena_take(o->queue->host, mf_objective_sums(o, slices) * sizeof(double), "slice losses");
    o->work = mf_arena_take(o->queue->host, slices * work_size(o) * sizeof(double), "slice sums");
    if (!o->sums || !o->work) return MF_MEMORY;
    deal_work(o);
    o->most_calls = o->sides * o->opts.terms * o->parts;
    o->call = calloc(o->most_calls + 1, sizeof *o->call);
    if (!o->call) return mf_fail(MF_MEMORY, "no memory for the objective");
    for (size_t t = 0; t < o->opts.terms; ++t)
        for (size_t l = 0; l < MF_LEVELS_MAX; ++l) o->weight[t][l] = mf_objective_weight(o, t, l);
    choose_phases(o);
    if (mf_objective_weighs(&o->opts)) MF_TRY(take_fixed(o));
    MF_TRY(mf_objective_draw_open(o));
    MF_TRY(mf_objective_watch_open(o));
    MF_TRY(mf_objective_strips_open(o));
    MF_TRY(mf_objective_team_take(o));
    return take_apart(o);
}

/* objective_mean.c takes differences of values and aims below 0.5: nothing is left where values are some hundred. */
static int check_mean(const struct mf_objective *o, size_t t)
{
    const struct mf_descriptor *row = o->opts.term[t].row;

    if (!o->opts.mean) return MF_OK;
    if (!o->ops[t]->total && !o->ops[t]->cross)
        return mf_fail(MF_USAGE, "--slice_objective mean: %s has no values of a mean slice; try: each", row->name);
    if (mf_descriptor_is(row, MF_OF_VGG))
        return mf_fail(MF_USAGE, "--slice_objective mean: values of %s are too large for it; try: each", row->name);
    return MF_OK;
}

static int check_pairs(const struct mf_objective *o, size_t t)
{
    if (mf_objective_parts(o, t) > 0) return MF_OK;
    return mf_fail(MF_USAGE, "%s compare pairs of phases, and one field is optimised; try: --use_multiphase",
                   o->opts.term[t].row->name);
}

static int check_parts(struct mf_objective *o, size_t t)
{
    const struct mf_descriptor *row = o->opts.term[t].row;
    size_t parts = mf_objective_parts(o, t);

    MF_TRY(check_pairs(o, t));
    if (mf_descriptor_is(row, MF_OF_ALL) && o->phases == 1 && o->goal->phases > 2)
        return mf_fail(MF_USAGE,
                       "%s are of all %d phases of the target, and one field is optimised; try: --use_multiphase",
                       row->name, o->goal->phases);
    MF_TRY(check_mean(o, t));
    if (parts > o->parts) o->parts = parts;
    if (mf_objective_joint(o, t)) o->scales = o->phases + 1;
    return MF_OK;
}

static int build(struct mf_objective *o)
{
    int rc = MF_OK;

    for (size_t t = 0; t < o->opts.terms && rc == MF_OK; ++t) {
        if (mf_descriptor_is(o->opts.term[t].row, MF_IN_SPACE)) {
            rc = check_pairs(o, t);
            continue;
        }
        rc = mf_descriptor_aim(o->opts.term[t].row, o->backend, o->opts.by_swaps, &o->ops[t]);
        if (rc == MF_OK) rc = check_parts(o, t);
        ++o->slicewise;
    }
    if (rc == MF_OK && o->slicewise == 0 && o->opts.level_first > 0)
        rc = mf_fail(MF_USAGE,
                     "--use_multigrid_reconstruction: %s has full resolution alone, and nothing is left for coarser "
                     "grids; try: S2 beside it",
                     o->opts.term[0].row->name);
    for (size_t d = 0; d < o->sides && rc == MF_OK; ++d) rc = side_shape(o, d);
    MF_TRY(mf_agree(o->comm, rc));
    MF_TRY(mf_objective_space_open(o));
    MF_TRY(mf_objective_team_open(o));
    o->threads = o->queue->threads;
    mf_comm_max_int(o->comm, 1, &o->threads);
    for (size_t d = 0; d < o->sides; ++d) MF_TRY(plan_slices(o, d));
    return mf_agree(o->comm, prepare(o));
}

int mf_objective_new(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, size_t phases,
                     const struct mf_target *target, const struct mf_objective_opts *opts,
                     struct mf_objective **objective)
{
    struct mf_objective *o = mf_fault("recon.objective") ? NULL : calloc(1, sizeof *o);
    int rc = mf_agree(comm, o ? MF_OK : mf_fail(MF_MEMORY, "no memory for the objective"));

    if (rc != MF_OK) {
        free(o);
        return rc;
    }
    o->comm = comm;
    o->home = queue;
    o->queue = mf_slices_queue(queue);
    o->backend = o->queue->backend;
    o->slab = *slab;
    o->opts = *opts;
    o->phases = o->parts = o->scales = phases;
    o->lag = target->lag;
    o->goal = target;
    o->sides = slab->dims[0] > 1 ? MF_SIDES : 1;
    o->opts.mean = opts->mean && o->sides > 1; /* an image is its own mean */
    o->name = mf_segment_name(o->queue);
    rc = build(o);
    if (rc != MF_OK) {
        mf_objective_free(o);
        return rc;
    }
    *objective = o;
    return MF_OK;
}

void mf_objective_free(struct mf_objective *o)
{
    if (!o) return;
    for (size_t i = 0; i < o->plans; ++i) o->plan[i].ops->free(o->plan[i].plan);
    for (size_t d = 0; d < o->sides; ++d) {
        mf_arena_give(o->queue->host, o->side[d].drawn);
        mf_arena_give(o->queue->host, o->side[d].sum);
        for (size_t t = 0; t < o->opts.terms; ++t) mf_arena_give(o->queue->arena, o->side[d].pull[t]);
        mf_arena_give(o->queue->host, o->example[d]);
        for (size_t p = 0; o->side[d].redistribution && p < o->phases; ++p)
            mf_redistribute_free(o->side[d].redistribution[p]);
        free(o->side[d].redistribution);
        free(o->side[d].done);
    }
    mf_objective_team_close(o);
    mf_objective_strips_close(o);
    mf_objective_space_close(o);
    mf_objective_watch_close(o);
    mf_objective_aims_close(o);
    free(o->call);
    mf_arena_give(o->queue->host, o->work);
    mf_arena_give(o->queue->host, o->sums);
    mf_arena_give(o->queue->arena, o->fixed);
    mf_arena_give(o->queue->arena, o->apart);
    free(o);
}

/* -- what it is -- */

double mf_objective_share(const struct mf_objective *o, size_t t) { return o->share[t]; }
size_t mf_objective_sides(const struct mf_objective *o) { return o->sides; }
size_t mf_objective_levels(const struct mf_objective *o, size_t side) { return o->side[side].levels; }
size_t mf_objective_entries(const struct mf_objective *o, size_t side) { return o->side[side].entries; }

double mf_objective_square(const struct mf_objective *o, size_t side, double weight)
{
    const double slices = o->opts.compat ? 1 : (double)o->sides * (double)o->side[side].slices;

    weight *= o->opts.level_weight[0];
    return weight * weight / (slices * (double)o->side[side].entries);
}
