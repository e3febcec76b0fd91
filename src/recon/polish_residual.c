/* See polish_impl.h. */
#include "src/recon/polish_impl.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"

enum { SITES_LEAST = 256, SITES_MOST = 16384, VOXELS_PER_SITE = 128 };

/* Factor by which targets of slices overshoot the mean slice's error (objective.h). Rounds are short, so it may be
 * larger than in the gradient stages. */
static const double GAIN = 3;

static double gain_of(const struct mf_polish_work *w) { return w->polish->plain ? 0 : GAIN; }

static void *take(struct mf_polish_work *w, size_t bytes)
{
    return mf_arena_take(w->polish->queue->host, bytes, "polish");
}

static void extents(const struct mf_polish_work *w, size_t d, struct mf_swap_side *side)
{
    const size_t *n = w->polish->slab.dims;
    int periodic = w->polish->objective->periodic;

    side->nu = n[mf_slice_u(d)];
    side->nv = n[mf_slice_v(d)];
    side->slices = n[d];
    side->pixels = (double)side->nu * (double)side->nv;
    side->down = 1 / (periodic ? side->pixels : (double)(side->nu - 1) * (double)side->nv);
    side->along = 1 / (periodic ? side->pixels : (double)side->nu * (double)(side->nv - 1));
}

/* (N / n(r))^2 for every lag of the window, 0 in the spare floats. */
static void lag_weights(const struct mf_polish_work *w, struct mf_swap_side *side)
{
    const struct mf_window_shape *shape = &w->swap.sites.shape;
    ptrdiff_t c = (ptrdiff_t)(shape->rows / 2);

    memset(side->a2, 0, shape->n * 32 * sizeof(float));
    for (ptrdiff_t u = -c; u <= c; ++u)
        for (ptrdiff_t v = -c; v <= c; ++v) {
            double inside = ((double)side->nu - fabs((double)u)) * ((double)side->nv - fabs((double)v));

            side->a2[(size_t)(c + u) * shape->words * 32 + (size_t)(c + v)] =
                (float)(side->pixels / inside * (side->pixels / inside));
        }
}

static int take_side(struct mf_polish_work *w, size_t d)
{
    struct mf_swap_side *side = &w->swap.side[d];
    size_t fields = w->polish->fields, slices, n = w->swap.sites.shape.n * 32, rows = 2 * w->lag - 1;

    extents(w, d, side);
    slices = fields * side->slices;
    w->levels[d] = mf_objective_levels(w->objective, d);
    side->residual = take(w, slices * n * sizeof(float));
    side->v = take(w, slices * sizeof(double));
    side->v_target = take(w, fields * sizeof(double));
    w->s2[d] = take(w, slices * w->levels[d] * rows * rows * sizeof(float));
    w->v[d] = take(w, slices * w->levels[d] * sizeof(float));
    w->mean_error[d] = take(w, fields * rows * rows * sizeof(double));
    w->applied[d] = take(w, fields * rows * rows * sizeof(double));
    w->swap.start[d] = take(w, ((w->swap.by_rows ? side->nu : side->slices) + 2) * sizeof(uint32_t));
    if (!side->residual || !side->v || !side->v_target || !w->s2[d] || !w->v[d] || !w->mean_error[d] ||
        !w->applied[d] || !w->swap.start[d])
        return MF_MEMORY;
    if (!w->polish->objective->periodic) {
        side->a2 = take(w, n * sizeof(float));
        if (!side->a2) return MF_MEMORY;
        lag_weights(w, side);
    }
    return MF_OK;
}

static void weights(struct mf_polish_work *w)
{
    const struct mf_objective_opts *o = w->polish->objective;

    for (size_t d = 0; d < w->swap.sites.sides; ++d) {
        struct mf_swap_side *side = &w->swap.side[d];

        side->s2_weight = w->s2_term < o->terms ? mf_objective_square(w->objective, d, o->term[w->s2_term].weight) : 0;
        side->v_weight = w->v_term < o->terms ? mf_objective_square(w->objective, d, o->term[w->v_term].weight) : 0;
    }
}

/* Targets of V and the phase weights, from the target's volume fractions. */
static void constants(struct mf_polish_work *w)
{
    const struct mf_polish *p = w->polish;

    for (size_t f = 0; f < p->fields; ++f) {
        size_t phase = mf_target_phase(p->target, p->fields, f);
        double fraction = p->target->side[0].fraction[phase * p->target->side[0].levels], q;

        q = (1 - fraction) * (1 - fraction) + 0.01;
        if (!mf_objective_weighs(p->objective)) q = p->objective->phase_weight[f];
        w->swap.q2[f] = q * q;
        for (size_t d = 0; d < w->swap.sites.sides; ++d) {
            const struct mf_target_side *t = mf_target_for(p->target, (enum mf_normal)d);

            w->swap.side[d].v_target[f] = t->variation && w->v_term < p->objective->terms
                                              ? t->variation[phase * t->levels + p->objective->level_first]
                                              : 0;
        }
    }
}

/* What bringing the best sites together has in use for a moment: they and their windows. */
static int book_exchange(struct mf_polish_work *w)
{
    const struct mf_sites *sites = &w->swap.sites;
    size_t window = sites->sides * sites->planes * sites->shape.n * sizeof *sites->window;
    size_t bytes = w->most * (sizeof(struct mf_site) + window);

    MF_TRY(mf_arena_book(w->polish->queue->host, (ptrdiff_t)bytes, "polish exchange"));
    w->booked = bytes;
    return MF_OK;
}

/* What rounds sort with. */
static int take_lists(struct mf_polish_work *w)
{
    size_t phases = (size_t)w->polish->phases;

    w->begin = take(w, (phases * (phases - 1) + 1) * sizeof *w->begin);
    w->order = take(w, 2 * w->most * sizeof *w->order);
    w->ranked = take(w, w->most * sizeof *w->ranked);
    return w->begin && w->order && w->ranked ? MF_OK : MF_MEMORY;
}

static int take_all(struct mf_polish_work *w)
{
    struct mf_sites *sites = &w->swap.sites;
    size_t room;

    MF_TRY(book_exchange(w));
    MF_TRY(take_lists(w));
    for (size_t d = 0; d < sites->sides; ++d) MF_TRY(take_side(w, d));
    room = w->most * 2 * (size_t)(w->polish->phases * (w->polish->phases - 1) / 2);
    MF_TRY(mf_candidates_open(&w->candidates, w->polish, w->lag, w->most));
    w->found = take(w, w->most * sizeof *w->found);
    w->bits = take(w, w->most * sites->sides * sites->planes * sites->shape.n * sizeof *w->bits);
    sites->site = take(w, room * sizeof *sites->site);
    sites->window = take(w, room * sites->sides * sites->planes * sites->shape.n * sizeof *sites->window);
    sites->mirror = take(w, room * sites->sides * sites->planes * sites->shape.n * sizeof *sites->mirror);
    w->swap.used = take(w, room);
    w->change = take(w, room * sizeof *w->change);
    for (size_t d = 0; d < sites->sides; ++d) {
        w->swap.member[d] = take(w, room * sizeof(uint32_t));
        if (!w->swap.member[d]) return MF_MEMORY;
    }
    return w->found && w->bits && sites->site && sites->window && sites->mirror && w->swap.used && w->change
               ? MF_OK
               : MF_MEMORY;
}

void mf_polish_close(struct mf_polish_work *w)
{
    struct mf_arena *arena = w->polish->queue->host;

    for (size_t d = 0; d < MF_SIDES; ++d) {
        void *const all[] = {w->swap.side[d].residual, w->swap.side[d].v, w->swap.side[d].v_target,
                             w->swap.side[d].a2,       w->s2[d],          w->v[d],
                             w->mean_error[d],         w->applied[d],     w->swap.start[d],
                             w->swap.member[d]};

        for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) mf_arena_give(arena, all[i]);
    }
    mf_arena_give(arena, w->begin);
    mf_arena_give(arena, w->order);
    mf_arena_give(arena, w->ranked);
    mf_arena_give(arena, w->found);
    mf_candidates_close(&w->candidates);
    mf_arena_give(arena, w->change);
    mf_arena_give(arena, w->bits);
    mf_arena_give(arena, w->swap.sites.site);
    mf_arena_give(arena, w->swap.sites.window);
    mf_arena_give(arena, w->swap.sites.mirror);
    mf_arena_give(arena, w->swap.used);
    if (w->booked) mf_arena_book(arena, -(ptrdiff_t)w->booked, "polish exchange");
    mf_objective_free(w->objective);
}

/* The objective for ranking: Variation has weight 0 in it (its exact change is added per site); S2 and V are
 * captured. */
static int open_objective(struct mf_polish_work *w)
{
    struct mf_polish *p = w->polish;
    struct mf_objective_opts o = *p->objective;

    o.norm = MF_MSE;
    o.smooth = 0;
    o.flip = 1;
    o.hold = MF_POLISH_HOLD;
    w->s2_term = w->v_term = o.terms;
    for (size_t t = 0; t < o.terms; ++t) {
        if (o.term[t].row->kind == MF_S2) w->s2_term = t;
        if (o.term[t].row->kind == MF_VARIATION) {
            w->v_term = t;
            o.term[t].weight = 0;
        }
    }
    if (w->s2_term == o.terms) { /* S2_3D alone: what the windows of S2 hold is looked at and not weighed */
        o.term[o.terms].row = &mf_descriptors[MF_S2];
        o.term[o.terms++].weight = 0;
    }
    o.captured = o.watched = 1;
    MF_TRY(mf_objective_new(p->comm, p->queue, &p->slab, p->fields, p->target, &o, &w->objective));
    if (p->searched) mf_objective_recall(w->objective, p->searched);
    return MF_OK;
}

int mf_polish_open(struct mf_polish_work *w)
{
    struct mf_polish *p = w->polish;
    size_t voxels = p->slab.dims[0] * p->slab.dims[1] * p->slab.dims[2];
    size_t pairs = (size_t)(p->phases * (p->phases - 1) / 2);
    struct mf_sites *sites = &w->swap.sites;

    w->lag = p->target->lag;
    w->swap.periodic = p->objective->periodic;
    sites->sides = p->slab.dims[0] > 1 ? MF_SIDES : 1;
    w->swap.by_rows = sites->sides == 1;
    sites->planes = p->fields == 1 ? 1 : 2;
    sites->shape = mf_window_shape_of(w->lag);
    w->most = voxels / VOXELS_PER_SITE;
    if (w->most < SITES_LEAST) w->most = SITES_LEAST;
    if (w->most > SITES_MOST) w->most = SITES_MOST;
    if (p->most) w->most = p->most;
    w->most = (w->most + pairs - 1) / pairs; /* windows of all kinds of moves are held at once */
    MF_TRY(open_objective(w));
    MF_TRY(mf_agree(p->comm, take_all(w)));
    weights(w);
    constants(w);
    mf_objective_capture(w->objective, w->s2_term, w->s2);
    if (w->v_term < p->objective->terms) mf_objective_capture(w->objective, w->v_term, w->v);
    return MF_OK;
}

/* Captured values of all ranks into residuals and V; what first-order energies need of them. */
static void spread_values(struct mf_polish_work *w, size_t d)
{
    struct mf_swap_side *side = &w->swap.side[d];
    const struct mf_window_shape *shape = &w->swap.sites.shape;
    const struct mf_target_side *t = mf_target_for(w->polish->target, (enum mf_normal)d);
    size_t rows = shape->rows, entries = rows * rows, fields = w->polish->fields, c = mf_swap_centre(shape);
    const double gain = gain_of(w);

    memset(side->residual, 0, fields * side->slices * shape->n * 32 * sizeof(float));
    for (size_t f = 0; f < fields; ++f) {
        size_t phase = mf_target_phase(w->polish->target, fields, f);
        const double *target = t->s2 + (phase * t->levels + w->polish->objective->level_first) * entries;

#pragma omp parallel for num_threads(w->polish->queue->threads)
        for (size_t s = 0; s < side->slices; ++s) {
            size_t i = f * side->slices + s;
            float *r = side->residual + i * shape->n * 32;
            const float *value = w->s2[d] + i * w->levels[d] * entries;
            const double *mean_error = w->mean_error[d] + f * entries;

            for (size_t k = 0; k < rows; ++k)
                for (size_t j = 0; j < rows; ++j) {
                    size_t at = k * shape->words * 32 + j;
                    double off = value[k * rows + j] - target[k * rows + j] + gain * mean_error[k * rows + j];

                    r[at] = (float)(side->a2 ? off * sqrt((double)side->a2[at]) : off);
                }
            side->v[i] = w->v[d][i * w->levels[d]];
            w->candidates.jump[d][i] =
                2 * w->swap.q2[f] * side->v_weight * (side->v[i] - side->v_target[f]) / side->pixels;
            w->candidates.self[d][i] = 2 * w->swap.q2[f] * side->s2_weight * r[c] / side->pixels;
        }
    }
}

/*
 * The mean slice's new error. Returns the difference between the loss just evaluated and the one that the polish
 * lowers: plain loss + GAIN times the squared error of the mean slice. An image is its own mean.
 */
static double new_mean_error(struct mf_polish_work *w, size_t d)
{
    const size_t entries = w->swap.sites.shape.rows * w->swap.sites.shape.rows, slices = w->swap.side[d].slices;
    const double gain = gain_of(w), weight = w->swap.side[d].s2_weight * (double)slices;
    double change = 0;

    for (size_t f = 0; slices > 1 && f < w->polish->fields; ++f) {
        double *error = w->mean_error[d] + f * entries;
        const struct mf_error_losses losses = mf_objective_renew_error(w->objective, w->s2_term, d, f, gain, 0, error);

        change += w->swap.q2[f] * (gain * losses.square - losses.led);
    }
    return change * weight;
}

/* The gradient at the binary field, and all residuals on all ranks. */
void mf_polish_refresh(struct mf_polish_work *w)
{
    struct mf_polish *p = w->polish;
    const struct mf_extent extent = {p->fields, p->slab.count, p->slab.dims[1] * p->slab.dims[2]};
    size_t entries = w->swap.sites.shape.rows * w->swap.sites.shape.rows;
    double loss;

    for (size_t d = 0; d < w->swap.sites.sides; ++d) {
        size_t slices = p->fields * w->swap.side[d].slices * w->levels[d];

        memset(w->s2[d], 0, slices * entries * sizeof(float));
        memset(w->v[d], 0, slices * sizeof(float));
        memcpy(w->applied[d], w->mean_error[d], p->fields * entries * sizeof(double));
    }
    p->backend->label->indicate(p->queue, extent, p->label, p->x);
    if (!p->plain) p->backend->field->fill(p->queue, p->fields * mf_slab_voxels(&p->slab), 0, p->g);
    mf_objective_correct(w->objective, w->s2_term, gain_of(w), w->mean_error);
    mf_objective_eval(w->objective, p->x, p->plain ? NULL : p->g, 1, &loss);
    for (size_t d = 0; d < w->swap.sites.sides; ++d) {
        size_t slices = p->fields * w->swap.side[d].slices * w->levels[d];

        mf_comm_sum_float(p->comm, slices * entries, w->s2[d]);
        mf_comm_sum_float(p->comm, slices, w->v[d]);
        spread_values(w, d);
        for (size_t f = 0; f < p->fields; ++f)
            for (size_t s = 0; s < w->swap.side[d].slices; ++s) {
                double off = w->swap.side[d].v[f * w->swap.side[d].slices + s] - w->swap.side[d].v_target[f];

                loss += w->swap.q2[f] * w->swap.side[d].v_weight * off * off;
            }
    }
    for (size_t d = 0; d < w->swap.sites.sides; ++d) loss += new_mean_error(w, d);
    w->failed = p->property ? mf_property_flips(p->property, p->until_met, p->x, p->g, &loss) : MF_OK;
    w->loss = loss;
}

void mf_polish_set_mean_error(struct mf_polish_work *w, double *const mean_error[MF_SIDES])
{
    size_t rows = w->swap.sites.shape.rows, bytes = w->polish->fields * rows * rows * sizeof(double);

    for (size_t d = 0; d < w->swap.sites.sides; ++d) {
        if (mean_error)
            memcpy(w->mean_error[d], mean_error[d], bytes);
        else
            memset(w->mean_error[d], 0, bytes);
    }
}
