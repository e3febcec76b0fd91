/* See objective_impl.h. Slices normal to y and x by strips (kernels/slices/strips.h), for ranks on several nodes. Ranks
 * exchange the planes beside their slabs (mpi/halo.h) and sum the sums of all slices. They do not exchange whole slices
 * and gradients. */
#include <stdlib.h>
#include <string.h>

#include "kernels/slices/strips.h"
#include "mpi/halo.h"
#include "src/base/err.h"
#include "src/desc/phases.h"
#include "src/recon/objective_impl.h"
#include "src/recon/phases.h"

enum {
    CUT = 2,         /* directions that slabs cut through: y, x */
    MOST_LAG = 24,   /* beyond it products of rows take longer than transforms of slices */
    MOST_GRAIN = 64, /* rows that a pyramid binds together: as many are worked on at once */
    THICK = 4,       /* times the rows beside a strip: fewer own rows are transformed too often */
    FIELDS = MF_PHASES_MAX * (1 + CUT * MF_LEVELS_MAX)
};

/* An exchanged field: a phase at full resolution, for both directions, or a coarser level of its slices in one
 * direction. */
struct field {
    size_t side, phase, level, rows, plane; /* own rows; floats of one */
    float *coarse;                          /* [rows][plane]; NULL: level 0, the caller's */
    const float **row;                      /* [reach + rows + reach] */
};

struct mf_objective_strips {
    struct mf_strip_plan *plan[CUT]; /* one, where both directions look alike */
    struct mf_halo *halo;
    struct field field[FIELDS];
    const float *own[FIELDS];
    size_t fields, at[CUT][MF_PHASES_MAX][MF_LEVELS_MAX]; /* at: number of a field */
    float *coarse, *sums[CUT];                            /* of all fields; [phases][each] */
    const float **row;                                    /* of all fields */
    size_t each[CUT], term[2];                            /* term: of S2 and Variation; opts.terms: there is none */
};

static struct mf_objective_side *side_of(struct mf_objective *o, size_t side) { return &o->side[MF_Y + side]; }

static int is_x(size_t side) { return side == MF_X - MF_Y; }

/* -- may it be done, and does it pay? -- */

static size_t term_of(const struct mf_objective *o, enum mf_descriptor_kind kind)
{
    size_t t = 0;

    while (t < o->opts.terms && o->opts.term[t].row->kind != kind) ++t;
    return t;
}

/* L of strips: jumps alone reach as far as 1. */
static size_t strip_lag(const struct mf_objective *o) { return term_of(o, MF_S2) < o->opts.terms ? o->lag : 1; }

/* S2 and Variation, each once at most, and nothing else of slices. */
static int knows_terms(const struct mf_objective *o)
{
    const size_t s2 = term_of(o, MF_S2), variation = term_of(o, MF_VARIATION);

    return o->slicewise > 0 && o->slicewise == (size_t)(s2 < o->opts.terms) + (size_t)(variation < o->opts.terms);
}

/* Strips suit an evaluation whose scales are known before a slice is processed, and whose values nobody requests.
 * If the user limits slices in flight, memory is short, and strips need more of it. */
static int suits(const struct mf_objective *o)
{
    return !o->opts.compat && !o->opts.mean && !o->opts.captured && !o->opts.watched && o->opts.norm != MF_RMS &&
           o->opts.norm != MF_L2 && o->opts.batch == 0;
}

/* Do strips compute about as fast as whole slices? @p grain: rows that the pyramid binds together. */
static int is_quick(struct mf_objective *o, size_t grain)
{
    const size_t rows = o->slab.dims[0] / (size_t)o->comm->size, y = side_of(o, 0)->slices, x = side_of(o, 1)->slices;

    return strip_lag(o) <= MOST_LAG && rows >= THICK * mf_strip_reach(strip_lag(o)) && grain <= MOST_GRAIN &&
           (y < x ? y : x) >= (size_t)MF_STRIP_LANES * (size_t)o->threads;
}

/* A rank's floats of one field: planes beside the slab, and sums, both of both directions. */
static struct mf_strips_floats floats_of(struct mf_objective *o)
{
    double planes = 1, sums = 0;

    for (size_t k = 0; k < CUT; ++k) {
        const struct mf_objective_side *s = side_of(o, k);

        for (size_t l = 1; l < s->levels; ++l) planes += (double)(s->nv >> l) / (double)s->nv;
        sums += (double)mf_strip_sums(s->slices, s->levels, strip_lag(o));
    }
    planes *= 2 * (double)mf_strip_reach(strip_lag(o)) * (double)o->slab.dims[1] * (double)o->slab.dims[2];
    return (struct mf_strips_floats){planes, sums};
}

/* Those on their way, against slices and their gradients. */
static int pays(struct mf_objective *o)
{
    const double ranks = o->comm->size, n = (double)o->slab.dims[1] * (double)o->slab.dims[2];
    const struct mf_strips_floats strips = floats_of(o);

    return strips.planes + 2 * strips.sums < 4 * n * (double)o->slab.dims[0] / ranks * (ranks - 1) / ranks;
}

/* Rows that the pyramid of either direction binds together. */
static size_t grain_of(struct mf_objective *o)
{
    const size_t y = side_of(o, 0)->levels, x = side_of(o, 1)->levels;

    return (size_t)1 << ((y > x ? y : x) - 1);
}

/* The same on all ranks. */
static int may(struct mf_objective *o)
{
    if (o->sides == 1 || o->comm->local_size == o->comm->size || o->comm->transport) return 0;
    if (!o->backend->slices->strips || o->home != o->queue || o->queue->deterministic || !suits(o)) return 0;
    return knows_terms(o) && is_quick(o, grain_of(o)) && pays(o) && mf_halo_fits(o->comm, o->slab.dims, grain_of(o));
}

/* -- opening -- */

static void add_field(struct mf_objective *o, size_t side, size_t phase, size_t level)
{
    struct mf_objective_strips *st = o->strips;
    const struct mf_objective_side *s = side_of(o, side);

    st->at[side][phase][level] = st->fields;
    st->field[st->fields++] = (struct field){.side = side,
                                             .phase = phase,
                                             .level = level,
                                             .rows = o->slab.count >> level,
                                             .plane = s->slices * (s->nv >> level)};
}

static void list_fields(struct mf_objective *o)
{
    struct mf_objective_strips *st = o->strips;

    for (size_t p = 0; p < o->phases; ++p) {
        add_field(o, 0, p, 0);
        st->at[1][p][0] = st->at[0][p][0];
        for (size_t k = 0; k < CUT; ++k)
            for (size_t l = 1; l < side_of(o, k)->levels; ++l) add_field(o, k, p, l);
    }
}

/* Memory of the coarser levels, and of the pointers to rows. */
static int take_fields(struct mf_objective *o)
{
    struct mf_objective_strips *st = o->strips;
    const size_t beside = 2 * mf_strip_reach(strip_lag(o));
    size_t floats = 0, rows = 0;

    for (size_t f = 0; f < st->fields; ++f) {
        rows += st->field[f].rows + beside;
        if (st->field[f].level > 0) floats += st->field[f].rows * st->field[f].plane;
    }
    st->row = calloc(rows, sizeof *st->row); /* NOLINT(clang-analyzer-optin.portability.UnixAPI): there is a field */
    if (!st->row) return mf_fail(MF_MEMORY, "no memory for the rows of %zu strips", st->fields);
    st->coarse = mf_arena_take(o->queue->arena, floats * sizeof(float), "coarse planes");
    if (!st->coarse) return MF_MEMORY;
    floats = rows = 0;
    for (size_t f = 0; f < st->fields; ++f) {
        struct field *field = &st->field[f];

        field->row = st->row + rows;
        rows += field->rows + beside;
        if (field->level > 0) field->coarse = st->coarse + floats;
        if (field->level > 0) floats += field->rows * field->plane;
    }
    return MF_OK;
}

static int open_halo(struct mf_objective *o)
{
    struct mf_objective_strips *st = o->strips;
    struct mf_halo_field field[FIELDS];

    for (size_t f = 0; f < st->fields; ++f)
        field[f] = (struct mf_halo_field){(size_t)1 << st->field[f].level, st->field[f].plane};
    return mf_halo_new(o->comm, &o->slab, mf_strip_reach(strip_lag(o)), o->opts.periodic, st->fields, field,
                       o->queue->arena, &st->halo);
}

/* Directions come one after the other. */
static int same_shape(const struct mf_objective_side *a, const struct mf_objective_side *b)
{
    return a->slices == b->slices && a->nu == b->nu && a->nv == b->nv && a->levels == b->levels;
}

static int open_side(struct mf_objective *o, size_t side)
{
    struct mf_objective_strips *st = o->strips;
    const struct mf_objective_side *s = side_of(o, side);
    const struct mf_strip_desc desc = {.slices = s->slices,
                                       .nu = s->nu,
                                       .nv = s->nv,
                                       .rows = o->slab.count,
                                       .lag = strip_lag(o),
                                       .levels = s->levels,
                                       .periodic = o->opts.periodic,
                                       .smooth = o->opts.smooth,
                                       .s2 = st->term[0] < o->opts.terms,
                                       .variation = st->term[1] < o->opts.terms};

    if (side == 1 && same_shape(side_of(o, 0), s)) {
        st->plan[1] = st->plan[0];
        return MF_OK;
    }
    return o->backend->slices->strips->plan(o->backend->slices->strips, o->queue, &desc, &st->plan[side]);
}

static int take_sums(struct mf_objective *o)
{
    struct mf_objective_strips *st = o->strips;
    size_t floats = 0;

    for (size_t k = 0; k < CUT; ++k) {
        st->each[k] = mf_strip_sums(side_of(o, k)->slices, side_of(o, k)->levels, strip_lag(o));
        floats += o->phases * st->each[k];
    }
    st->sums[0] = mf_arena_take(o->queue->host, floats * sizeof(float), "sums of strips");
    if (!st->sums[0]) return MF_MEMORY;
    st->sums[1] = st->sums[0] + o->phases * st->each[0];
    return MF_OK;
}

int mf_objective_strips_open(struct mf_objective *o)
{
    struct mf_objective_strips *st;

    if (!may(o)) return MF_OK;
    st = o->strips = calloc(1, sizeof *st);
    if (!st) return mf_fail(MF_MEMORY, "no memory for strips of slices");
    st->term[0] = term_of(o, MF_S2);
    st->term[1] = term_of(o, MF_VARIATION);
    list_fields(o);
    MF_TRY(take_fields(o));
    MF_TRY(open_halo(o));
    for (size_t k = 0; k < CUT; ++k) MF_TRY(open_side(o, k));
    return take_sums(o);
}

void mf_objective_strips_close(struct mf_objective *o)
{
    struct mf_objective_strips *st = o->strips;

    if (!st) return;
    if (st->plan[1] != st->plan[0]) o->backend->slices->strips->free(st->plan[1]);
    o->backend->slices->strips->free(st->plan[0]);
    mf_halo_free(st->halo);
    mf_arena_give(o->queue->arena, st->coarse);
    mf_arena_give(o->queue->host, st->sums[0]);
    free(st->row);
    free(st);
}

struct mf_strips_floats mf_objective_strips_floats(struct mf_objective *o)
{
    const struct mf_strips_floats one = o->strips ? floats_of(o) : (struct mf_strips_floats){0, 0};

    return (struct mf_strips_floats){one.planes * (double)o->phases, one.sums * (double)o->phases};
}

/* -- an evaluation -- */

int mf_objective_strips_serve(const struct mf_objective *o)
{
    if (!o->strips) return 0;
    for (size_t d = MF_Y; d < o->sides; ++d)
        for (size_t t = 0; t < o->opts.terms; ++t)
            if (o->side[d].values[t]) return 0;
    return 1;
}

void mf_objective_strips_start(struct mf_objective *o, const float *x)
{
    struct mf_objective_strips *st = o->strips;

    for (size_t f = 0; f < st->fields; ++f) {
        const struct field *at = &st->field[f];
        const struct mf_objective_side *s = side_of(o, at->side);
        MF_PHASE(&mf_phase_field);

        st->own[f] = at->level ? at->coarse : x + at->phase * mf_slab_voxels(&o->slab);
        if (at->level == 0) continue;
        mf_phase_count(mf_cost_pass((struct mf_extent){1, at->rows, at->plane}, 4, 5));
        o->backend->slices->strips->coarsen(o->queue, is_x(at->side), s->slices, s->nv >> (at->level - 1), at->rows,
                                            st->own[st->at[at->side][at->phase][at->level - 1]], at->coarse);
    }
    mf_halo_start(st->halo, st->own);
}

static void levels_of(struct mf_objective *o, size_t side, size_t phase, struct mf_strip_rows *level)
{
    const struct mf_objective_strips *st = o->strips;
    const struct mf_objective_side *s = side_of(o, side);

    for (size_t l = 0; l < s->levels; ++l)
        level[l] = (struct mf_strip_rows){.row = st->field[st->at[side][phase][l]].row,
                                          .ss = is_x(side) ? 1 : s->nv >> l,
                                          .sv = is_x(side) ? s->slices : 1};
}

/* What this rank's share of the slices costs by their formulas. */
static void count(struct mf_objective *o, size_t side, enum mf_cost_of what)
{
    const struct mf_objective_side *s = side_of(o, side);

    for (size_t i = 0; i < 2; ++i)
        if (o->strips->term[i] < o->opts.terms)
            mf_phase_count(
                mf_objective_cost(o, s, o->strips->term[i], mf_redistribute_share(s->redistribution[0]).count, what));
}

/* What a phase's slices are compared with by S2 (0) or Variation (1). */
static const float *target_of(const struct mf_objective *o, size_t side, size_t phase, size_t i)
{
    const struct mf_objective_side *s = &o->side[MF_Y + side];
    const struct mf_slice_desc desc = mf_objective_desc(o, s, s->levels);
    const size_t t = o->strips->term[i];

    return t < o->opts.terms ? s->target[t] + phase * s->levels * o->ops[t]->kind->entries(&desc) : NULL;
}

static void values(struct mf_objective *o)
{
    struct mf_objective_strips *st = o->strips;
    struct mf_strip_rows level[MF_LEVELS_MAX];
    MF_PHASE(&mf_phase_s2);

    for (size_t f = 0; f < st->fields; ++f) mf_halo_rows(st->halo, f, st->own[f], st->field[f].row);
    for (size_t k = 0; k < CUT; ++k)
        for (size_t p = 0; p < o->phases; ++p) {
            float *sums = st->sums[k] + p * st->each[k];

            memset(sums, 0, st->each[k] * sizeof *sums);
            levels_of(o, k, p, level);
            if (o->slab.count > 0) o->backend->slices->strips->values(st->plan[k], level, target_of(o, k, p, 0), sums);
        }
}

static void compare(struct mf_objective *o, size_t side, size_t phase)
{
    struct mf_objective_strips *st = o->strips;
    struct mf_objective_side *s = side_of(o, side);
    double weight[2][MF_LEVELS_MAX];
    struct mf_strip_task task = {.power = o->opts.norm == MF_L1 ? 1 : 2, .scale = s->scale + phase * s->slices};

    for (size_t i = 0; i < 2; ++i) {
        const size_t t = st->term[i];

        if (t == o->opts.terms) continue;
        for (size_t l = 0; l < s->levels; ++l) weight[i][l] = mf_objective_weight(o, t, l);
        task.target[i] = target_of(o, side, phase, i);
        task.weight[i] = weight[i];
        task.sum[i] = s->a + (t * o->parts + phase) * s->slices;
    }
    o->backend->slices->strips->compare(st->plan[side], &task, st->sums[side] + phase * st->each[side]);
}

static void gradient(struct mf_objective *o, size_t side, size_t phase, float *g)
{
    const struct mf_objective_strips *st = o->strips;
    const size_t plane = o->slab.dims[1] * o->slab.dims[2];
    struct mf_strip_rows level[MF_LEVELS_MAX];

    levels_of(o, side, phase, level);
    o->backend->slices->strips->gradient(st->plan[side], level, st->sums[side] + phase * st->each[side],
                                         g + phase * mf_slab_voxels(&o->slab), plane);
}

void mf_objective_strips_finish(struct mf_objective *o, float *g)
{
    struct mf_objective_strips *st = o->strips;

    mf_halo_finish(st->halo);
    values(o);
    mf_comm_sum_float(o->comm, o->phases * (st->each[0] + st->each[1]), st->sums[0]);
    MF_PHASE(&mf_phase_s2);

    for (size_t k = 0; k < CUT; ++k) {
        count(o, k, g ? MF_COST_GRADIENT : MF_COST_VALUES);
        for (size_t p = 0; p < o->phases; ++p) {
            compare(o, k, p);
            if (g && o->slab.count > 0) gradient(o, k, p, g);
        }
    }
}
