/* See polish.h. This file is the round: residuals, sites from all ranks, trials. Energies stand in swap.c, candidates
 * in site.c. */
#include "src/recon/polish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/recon/start.h"
#include "src/recon/swap.h"

enum { MOVED = 2, PARTNERS = 64, ROUNDS_MAX = 1000, SITES_LEAST = 256, SITES_MOST = 16384, VOXELS_PER_SITE = 128 };

/* Five rounds in a row that gain less than this part of the loss end it. */
static const double SLOW = 2e-3;

/* Slices are led to overshoot by so many times what their mean misses (objective.h): rounds are short, so more of it
 * than in the gradient stages holds. */
static const double LEAD = 3;

/* What lives as long as the polish. */
struct work {
    struct mf_polish *polish;
    struct mf_objective *objective;
    struct mf_swap swap;
    size_t s2_term, v_term; /* of the objective; its terms when absent */
    size_t levels[MF_SIDES];
    size_t lag, most;                  /* most sites of one kind of move */
    float *s2[MF_SIDES], *v[MF_SIDES]; /* captured values [fields][slices][levels][entries] */
    double *jump[MF_SIDES], *self[MF_SIDES];
    double *miss[MF_SIDES]; /* [fields][entries]: what the mean slice misses, as the last refresh saw it */
    struct mf_site *found;  /* [2 most]: this rank's */
    uint32_t *bits;         /* [most][sides][planes][n]: this rank's windows */
    double loss;
    double predicted; /* change of the loss that the round's swaps promise */
    long limit;       /* most swaps of a kind in a round */
    uint8_t *backup;  /* labels before the round */
};

static void *take(struct work *w, size_t bytes) { return mf_arena_take(w->polish->queue->arena, bytes, "polish"); }

static void extents(const struct work *w, size_t d, struct mf_swap_side *side)
{
    const size_t *n = w->polish->slab.dims;
    int periodic = w->polish->objective->periodic;

    side->nu = d == MF_Z ? n[1] : n[0];
    side->nv = d == MF_X ? n[1] : n[2];
    side->slices = n[d];
    side->pixels = (double)side->nu * (double)side->nv;
    side->down = 1 / (periodic ? side->pixels : (double)(side->nu - 1) * (double)side->nv);
    side->along = 1 / (periodic ? side->pixels : (double)side->nu * (double)(side->nv - 1));
}

/* (N / n(r))^2 for every lag of the window, 0 in the spare floats. */
static void lag_weights(const struct work *w, struct mf_swap_side *side)
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

static int take_side(struct work *w, size_t d)
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
    w->jump[d] = take(w, slices * sizeof(double));
    w->self[d] = take(w, slices * sizeof(double));
    w->miss[d] = take(w, fields * rows * rows * sizeof(double));
    w->swap.start[d] = take(w, (side->slices + 2) * sizeof(uint32_t));
    if (!side->residual || !side->v || !side->v_target || !w->s2[d] || !w->v[d] || !w->jump[d] || !w->self[d] ||
        !w->miss[d] || !w->swap.start[d])
        return MF_MEMORY;
    if (!w->polish->objective->periodic) {
        side->a2 = take(w, n * sizeof(float));
        if (!side->a2) return MF_MEMORY;
        lag_weights(w, side);
    }
    return MF_OK;
}

static void weights(struct work *w)
{
    const struct mf_objective_opts *o = w->polish->objective;

    for (size_t d = 0; d < w->swap.sites.sides; ++d) {
        struct mf_swap_side *side = &w->swap.side[d];
        double share =
            1 / ((double)w->swap.sites.sides * (double)side->slices * (double)mf_objective_entries(w->objective, d));

        if (o->compat) share = 1 / (double)mf_objective_entries(w->objective, d);
        share *= o->level_weight[0] * o->level_weight[0];
        side->s2_weight = w->s2_term < o->terms ? share * o->term[w->s2_term].weight * o->term[w->s2_term].weight : 0;
        side->v_weight = w->v_term < o->terms ? share * o->term[w->v_term].weight * o->term[w->v_term].weight : 0;
    }
}

/* Targets of V and the phase weights, from the target's volume fractions. */
static void constants(struct work *w)
{
    const struct mf_polish *p = w->polish;

    for (size_t f = 0; f < p->fields; ++f) {
        size_t phase = p->fields == 1 && p->target->phases > 1 ? 1 : f;
        double fraction = p->target->side[0].fraction[phase * p->target->side[0].levels], q;

        q = (1 - fraction) * (1 - fraction) + 0.01;
        w->swap.q2[f] = p->objective->multiphase ? q * q : 1;
        for (size_t d = 0; d < w->swap.sites.sides; ++d) {
            const struct mf_target_side *t = mf_target_for(p->target, (enum mf_normal)d);

            w->swap.side[d].v_target[f] = t->variation && w->v_term < p->objective->terms
                                              ? t->variation[phase * t->levels + p->objective->level_first]
                                              : 0;
        }
    }
}

static int take_all(struct work *w)
{
    struct mf_sites *sites = &w->swap.sites;
    size_t room;

    for (size_t d = 0; d < sites->sides; ++d) MF_TRY(take_side(w, d));
    room = w->most * 2 * (size_t)(w->polish->phases * (w->polish->phases - 1) / 2);
    w->backup = take(w, mf_slab_voxels(&w->polish->slab));
    if (!w->backup) return MF_MEMORY;
    w->found = take(w, (size_t)w->polish->queue->threads * 2 * w->most * sizeof *w->found);
    w->bits = take(w, w->most * sites->sides * sites->planes * sites->shape.n * sizeof *w->bits);
    sites->site = take(w, room * sizeof *sites->site);
    sites->window = take(w, room * sites->sides * sites->planes * sites->shape.n * sizeof *sites->window);
    sites->mirror = take(w, room * sites->sides * sites->planes * sites->shape.n * sizeof *sites->mirror);
    w->swap.used = take(w, room);
    for (size_t d = 0; d < sites->sides; ++d) {
        w->swap.member[d] = take(w, room * sizeof(uint32_t));
        if (!w->swap.member[d]) return MF_MEMORY;
    }
    return w->found && w->bits && sites->site && sites->window && sites->mirror && w->swap.used ? MF_OK : MF_MEMORY;
}

static void release(struct work *w)
{
    struct mf_arena *arena = w->polish->queue->arena;

    for (size_t d = 0; d < MF_SIDES; ++d) {
        void *const all[] = {w->swap.side[d].residual,
                             w->swap.side[d].v,
                             w->swap.side[d].v_target,
                             w->swap.side[d].a2,
                             w->s2[d],
                             w->v[d],
                             w->jump[d],
                             w->self[d],
                             w->miss[d],
                             w->swap.start[d],
                             w->swap.member[d]};

        for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) mf_arena_give(arena, all[i]);
    }
    mf_arena_give(arena, w->found);
    mf_arena_give(arena, w->backup);
    mf_arena_give(arena, w->bits);
    mf_arena_give(arena, w->swap.sites.site);
    mf_arena_give(arena, w->swap.sites.window);
    mf_arena_give(arena, w->swap.sites.mirror);
    mf_arena_give(arena, w->swap.used);
    mf_objective_free(w->objective);
}

/* The objective that ranks: Variation has no weight in it (its exact change is added per site), S2 and V are captured.
 */
static int open_objective(struct work *w)
{
    struct mf_polish *p = w->polish;
    struct mf_objective_opts o = *p->objective;

    o.norm = MF_MSE;
    o.smooth = 0;
    w->s2_term = w->v_term = o.terms;
    for (size_t t = 0; t < o.terms; ++t) {
        if (o.term[t].row->kind == MF_S2) w->s2_term = t;
        if (o.term[t].row->kind == MF_VARIATION) {
            w->v_term = t;
            o.term[t].weight = 0;
        }
    }
    return mf_objective_new(p->comm, p->backend, p->queue, &p->slab, p->fields, p->target, &o, &w->objective);
}

static int open(struct work *w)
{
    struct mf_polish *p = w->polish;
    size_t voxels = p->slab.dims[0] * p->slab.dims[1] * p->slab.dims[2];
    struct mf_sites *sites = &w->swap.sites;

    w->lag = p->target->lag;
    w->swap.periodic = p->objective->periodic;
    sites->sides = p->slab.dims[0] > 1 ? MF_SIDES : 1;
    sites->planes = p->fields == 1 ? 1 : 2;
    sites->shape.rows = 2 * w->lag - 1;
    sites->shape.words = (sites->shape.rows + 31) / 32;
    sites->shape.n = sites->shape.rows * sites->shape.words;
    w->most = voxels / VOXELS_PER_SITE;
    if (w->most < SITES_LEAST) w->most = SITES_LEAST;
    if (w->most > SITES_MOST) w->most = SITES_MOST;
    MF_TRY(open_objective(w));
    MF_TRY(mf_agree(p->comm, take_all(w)));
    weights(w);
    constants(w);
    mf_objective_capture(w->objective, w->s2_term, w->s2);
    if (w->v_term < p->objective->terms) mf_objective_capture(w->objective, w->v_term, w->v);
    return MF_OK;
}

/* Captured values of all ranks into residuals and V; what first-order energies need of them. */
static void spread_values(struct work *w, size_t d)
{
    struct mf_swap_side *side = &w->swap.side[d];
    const struct mf_window_shape *shape = &w->swap.sites.shape;
    const struct mf_target_side *t = mf_target_for(w->polish->target, (enum mf_normal)d);
    size_t rows = shape->rows, entries = rows * rows, fields = w->polish->fields, c = mf_swap_centre(shape);

    memset(side->residual, 0, fields * side->slices * shape->n * 32 * sizeof(float));
    for (size_t f = 0; f < fields; ++f) {
        size_t phase = fields == 1 && w->polish->target->phases > 1 ? 1 : f;
        const double *target = t->s2 + (phase * t->levels + w->polish->objective->level_first) * entries;

#pragma omp parallel for num_threads(w->polish->queue->threads)
        for (size_t s = 0; s < side->slices; ++s) {
            size_t i = f * side->slices + s;
            float *r = side->residual + i * shape->n * 32;
            const float *value = w->s2[d] + i * w->levels[d] * entries;
            const double *miss = w->miss[d] + f * entries;

            for (size_t k = 0; k < rows; ++k)
                for (size_t j = 0; j < rows; ++j) {
                    size_t at = k * shape->words * 32 + j;
                    double off = value[k * rows + j] - target[k * rows + j] + LEAD * miss[k * rows + j];

                    r[at] = (float)(side->a2 ? off * sqrt(side->a2[at]) : off);
                }
            side->v[i] = w->v[d][i * w->levels[d]];
            w->jump[d][i] = 2 * w->swap.q2[f] * side->v_weight * (side->v[i] - side->v_target[f]) / side->pixels;
            w->self[d][i] = 2 * w->swap.q2[f] * side->s2_weight * r[c] / side->pixels;
        }
    }
}

/*
 * What the mean slice misses now, from the captured values. Returns what makes the led loss just evaluated the one that
 * the polish lowers: plain loss + LEAD times the square of the mean slice's miss.
 */
static double new_miss(struct work *w, size_t d)
{
    struct mf_polish *p = w->polish;
    const struct mf_target_side *t = mf_target_for(p->target, (enum mf_normal)d);
    size_t entries = w->swap.sites.shape.rows * w->swap.sites.shape.rows, slices = w->swap.side[d].slices;
    double change = 0;

    for (size_t f = 0; f < p->fields; ++f) {
        size_t phase = p->fields == 1 && p->target->phases > 1 ? 1 : f;
        const double *target = t->s2 + (phase * t->levels + p->objective->level_first) * entries;

        for (size_t i = 0; i < entries; ++i) {
            double sum = 0, old, new;

            for (size_t s = 0; s < slices; ++s) sum += w->s2[d][(f * slices + s) * w->levels[d] * entries + i];
            old = w->miss[d][f * entries + i];
            new = slices > 1 ? sum / (double)slices - target[i] : 0;
            w->miss[d][f * entries + i] = new;
            change += w->swap.q2[f] * (new *new - 2 * old *new - LEAD *old *old);
        }
    }
    return LEAD * change * w->swap.side[d].s2_weight * (double)slices;
}

/* The gradient at the binary field, and all residuals on all ranks. */
static void refresh(struct work *w)
{
    struct mf_polish *p = w->polish;
    size_t entries = w->swap.sites.shape.rows * w->swap.sites.shape.rows;
    double loss;

    for (size_t d = 0; d < w->swap.sites.sides; ++d) {
        size_t slices = p->fields * w->swap.side[d].slices * w->levels[d];

        memset(w->s2[d], 0, slices * entries * sizeof(float));
        memset(w->v[d], 0, slices * sizeof(float));
    }
    mf_start_labels(&p->slab, p->fields, p->label, p->x);
    p->backend->field->fill(p->queue, p->fields * mf_slab_voxels(&p->slab), 0, p->g);
    mf_objective_lead(w->objective, w->s2_term, LEAD, w->miss);
    mf_objective_eval(w->objective, p->x, p->g, 1, &loss);
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
    for (size_t d = 0; d < w->swap.sites.sides; ++d) loss += new_miss(w, d);
    w->loss = loss;
}

static int by_energy(const void *a, const void *b)
{
    const struct mf_site *s = a, *t = b;

    if (s->energy != t->energy) return s->energy < t->energy ? -1 : 1;
    return s->order < t->order ? -1 : s->order > t->order;
}

/* A site on its way between ranks: its windows are number `bits` of the gathered ones. */
struct parcel {
    struct mf_site site;
    size_t bits;
};

static int parcel_order(const void *a, const void *b)
{
    return by_energy(&((const struct parcel *)a)->site, &((const struct parcel *)b)->site);
}

/* The best of all ranks' sites, with their windows, behind those the round already has. */
static int merge(struct work *w, const struct mf_site *all, const uint32_t *bits, size_t count)
{
    struct mf_sites *sites = &w->swap.sites;
    size_t size = sites->sides * sites->planes * sites->shape.n;
    struct parcel *parcel = malloc((count + 1) * sizeof *parcel);

    if (!parcel) return mf_fail(MF_MEMORY, "no memory for %zu candidates of the polish", count);
    for (size_t i = 0; i < count; ++i) parcel[i] = (struct parcel){all[i], i};
    qsort(parcel, count, sizeof *parcel, parcel_order);
    for (size_t i = 0; i < count && i < w->most; ++i) {
        uint32_t *window = sites->window + sites->count * size, *mirror = sites->mirror + sites->count * size;

        sites->site[sites->count++] = parcel[i].site;
        memcpy(window, bits + parcel[i].bits * size, size * sizeof *window);
        for (size_t k = 0; k < sites->sides * sites->planes; ++k)
            mf_flip_cpu.turn(&sites->shape, window + k * sites->shape.n, mirror + k * sites->shape.n);
    }
    free(parcel);
    return MF_OK;
}

/* Sites of moves from one phase to another, all ranks' best. Collective. */
static int gather(struct work *w, const struct mf_around *around, uint8_t from, uint8_t to)
{
    struct mf_polish *p = w->polish;
    struct mf_sites *sites = &w->swap.sites;
    struct mf_rank_by by = {.g = p->g};
    size_t n, size = sites->sides * sites->planes * sites->shape.n, *offset, *ignored;
    void *all = NULL, *bits = NULL;
    int rc;

    for (size_t d = 0; d < sites->sides; ++d) {
        by.jump[d] = w->jump[d];
        by.self[d] = w->self[d];
    }
    n = mf_sites_find(p, around, &by, from, to, w->most, w->found);
#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < sites->sides * sites->planes; ++k) {
            uint8_t phase = sites->planes == 1 ? 1 : k % 2 ? to : from;

            mf_site_window(p, around, &sites->shape, &w->found[i], k / sites->planes, phase,
                           w->bits + i * size + k * sites->shape.n);
        }
    offset = malloc(2 * ((size_t)p->comm->size + 1) * sizeof *offset);
    MF_TRY(mf_agree(p->comm, offset ? MF_OK : mf_fail(MF_MEMORY, "no memory for offsets")));
    ignored = offset + p->comm->size + 1;
    rc = mf_comm_gather(p->comm, w->found, n * sizeof *w->found, &all, offset);
    if (rc == MF_OK) rc = mf_comm_gather(p->comm, w->bits, n * size * sizeof *w->bits, &bits, ignored);
    if (rc == MF_OK) rc = mf_agree(p->comm, merge(w, all, bits, offset[p->comm->size] / sizeof *w->found));
    free(all);
    free(bits);
    free(offset);
    return rc;
}

/* Sites [first, end) sorted into @p order: by exact energy, or by its first-order part where all share one slice and
 * second orders of a pair cancel. */
static void rank_sites(struct work *w, size_t first, size_t end, uint32_t *order)
{
    struct mf_sites *sites = &w->swap.sites;
    struct parcel *parcel = malloc((end - first + 1) * sizeof *parcel);

    if (!parcel) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %zu candidates", end - first);
#pragma omp parallel for num_threads(w->polish->queue->threads)
    for (size_t i = first; i < end; ++i) {
        sites->site[i].energy = (float)(sites->sides == 1 ? mf_swap_linear(&w->swap, i) + sites->site[i].rest
                                                          : mf_swap_energy(&w->swap, i));
        parcel[i - first] = (struct parcel){sites->site[i], i};
    }
    qsort(parcel, end - first, sizeof *parcel, parcel_order);
    for (size_t i = 0; i < end - first; ++i) order[i] = (uint32_t)parcel[i].bits;
    free(parcel);
}

/* Tries one swap; true when it was made. The energies of both alone into ei, ej. */
static int try_swap(struct work *w, uint32_t i, uint32_t j, double *ei, double *ej)
{
    struct mf_swap *swap = &w->swap;
    double e;

    *ei = mf_swap_energy(swap, i);
    *ej = mf_swap_energy(swap, j);
    e = *ei + *ej + mf_swap_interaction(swap, i, j);
    ++w->polish->tried;
    if (!(e < -1e-7 * w->loss)) return 0;
    mf_swap_apply(swap, i);
    mf_swap_apply(swap, j);
    swap->used[i] = swap->used[j] = MOVED;
    w->predicted += e;
    return 1;
}

/* Volumes: two flips seldom share a slice, so the best of one kind goes with the best of the other. */
static long pair_best(struct work *w, const uint32_t *out, size_t outs, const uint32_t *in, size_t ins)
{
    const uint8_t *used = w->swap.used;
    const struct mf_site *site = w->swap.sites.site;
    long swaps = 0;

    for (size_t i = 0, j = 0; i < outs && j < ins && swaps < w->limit;) {
        double ei, ej;

        if (used[out[i]] || used[in[j]]) {
            i += used[out[i]] != 0;
            j += used[in[j]] != 0;
            continue;
        }
        if (site[out[i]].energy + site[in[j]].energy >= 0) break;
        if (try_swap(w, out[i], in[j], &ei, &ej))
            ++swaps;
        else if (ei > ej)
            ++i;
        else
            ++j;
    }
    return swaps;
}

/* Images: every flip changes the one window, and second orders cancel in pairs, so many partners are tried. */
static long pair_many(struct work *w, const uint32_t *out, size_t outs, const uint32_t *in, size_t ins)
{
    const uint8_t *used = w->swap.used;
    const struct mf_site *site = w->swap.sites.site;
    long swaps = 0;

    for (size_t i = 0; i < outs && swaps < w->limit; ++i) {
        size_t tries = 0;

        for (size_t j = 0; j < ins && tries < PARTNERS && !used[out[i]]; ++j) {
            double ei, ej;

            if (used[in[j]]) continue;
            if (swaps == 0 && site[out[i]].energy + site[in[j]].energy >= 0) break;
            ++tries;
            swaps += try_swap(w, out[i], in[j], &ei, &ej);
        }
    }
    return swaps;
}

/* Moved sites of this rank into its labels. */
static void keep(struct work *w)
{
    struct mf_polish *p = w->polish;
    const struct mf_sites *sites = &w->swap.sites;

    for (size_t i = 0; i < sites->count; ++i) {
        const struct mf_site *s = &sites->site[i];

        if (w->swap.used[i] == MOVED && s->at[0] >= p->slab.first && s->at[0] < p->slab.first + p->slab.count)
            p->label[((s->at[0] - p->slab.first) * p->slab.dims[1] + s->at[1]) * p->slab.dims[2] + s->at[2]] = s->to;
    }
}

/* What exact energies do not cover: nothing when level 0 of S2 is all there is besides Variation. */
static void set_rests(struct work *w)
{
    const struct mf_objective_opts *o = w->polish->objective;
    int alone = o->terms == (size_t)(w->s2_term < o->terms) + (w->v_term < o->terms);

    for (size_t d = 0; d < w->swap.sites.sides; ++d) alone &= w->levels[d] == 1;
    for (size_t i = 0; i < w->swap.sites.count; ++i) {
        struct mf_site *s = &w->swap.sites.site[i];

        s->rest = alone ? 0 : s->rest - (float)mf_swap_linear(&w->swap, i);
    }
}

/* All kinds of moves: sites [begin[k], begin[k + 1]) are those of kind k, opposite kinds 2m and 2m + 1. */
static int gather_all(struct work *w, size_t *begin)
{
    struct mf_around around;
    size_t kind = 0;
    int rc = mf_around_make(w->polish, w->lag, &around);

    w->swap.sites.count = 0;
    for (int a = 0; a < w->polish->phases && rc == MF_OK; ++a)
        for (int b = a + 1; b < w->polish->phases && rc == MF_OK; ++b) {
            begin[kind++] = w->swap.sites.count;
            rc = gather(w, &around, (uint8_t)b, (uint8_t)a);
            begin[kind++] = w->swap.sites.count;
            if (rc == MF_OK) rc = gather(w, &around, (uint8_t)a, (uint8_t)b);
        }
    begin[kind] = w->swap.sites.count;
    mf_around_free(w->polish, &around);
    return rc;
}

static int one_round(struct work *w, size_t *begin, uint32_t *order, long *swaps)
{
    int kinds = w->polish->phases * (w->polish->phases - 1);
    double start;

    MF_TRY(gather_all(w, begin));
    memset(w->swap.used, 0, w->swap.sites.count);
    mf_swap_index(&w->swap);
    set_rests(w);
    start = mf_now();
    *swaps = 0;
    w->predicted = 0;
    for (int k = 0; k < kinds; k += 2) {
        rank_sites(w, begin[k], begin[k + 1], order);
        rank_sites(w, begin[k + 1], begin[k + 2], order + (begin[k + 1] - begin[k]));
        *swaps += (w->swap.sites.sides == 1 ? pair_many : pair_best)(
            w, order, begin[k + 1] - begin[k], order + (begin[k + 1] - begin[k]), begin[k + 2] - begin[k + 1]);
    }
    w->polish->trial_seconds += mf_now() - start;
    keep(w);
    return MF_OK;
}

/*
 * What the exact energies leave out holds to first order only, so a round is a step in a region of trust: one that
 * makes the loss worse is taken back, and the next makes fewer swaps.
 */
static void judge(struct work *w, double before, long swaps, long *idle)
{
    double gain = before - w->loss;

    if (gain <= 0) {
        memcpy(w->polish->label, w->backup, mf_slab_voxels(&w->polish->slab));
        refresh(w);
        w->limit = swaps / 4;
        return;
    }
    w->polish->swaps += swaps;
    if (gain < -0.5 * w->predicted)
        w->limit = swaps > 2 ? swaps / 2 : 1;
    else if (w->limit < (long)w->most)
        w->limit *= 2;
    *idle = gain < SLOW * before ? *idle + 1 : 0;
}

static int rounds(struct work *w, size_t *begin, uint32_t *order)
{
    long most = w->polish->rounds > 0 ? w->polish->rounds : ROUNDS_MAX;

    for (size_t d = 0; d < w->swap.sites.sides; ++d) {
        size_t rows = w->swap.sites.shape.rows;

        memset(w->miss[d], 0, w->polish->fields * rows * rows * sizeof(double));
    }
    refresh(w); /* finds the miss */
    refresh(w); /* and this is led by it */
    w->limit = (long)w->most;
    for (long k = 0, idle = 0; k < most && idle < 5 && w->limit > 0; ++k) {
        double before = w->loss;
        char text[80];
        long swaps;

        memcpy(w->backup, w->polish->label, mf_slab_voxels(&w->polish->slab));
        MF_TRY(one_round(w, begin, order, &swaps));
        if (swaps == 0) break;
        refresh(w);
        judge(w, before, swaps, &idle);
        mf_debug("polish round %ld: %ld swaps, loss %.4e, promised %.2e", k + 1, swaps, w->loss, before + w->predicted);
        snprintf(text, sizeof text, "%ld swaps, loss %.4e", w->polish->swaps, w->loss);
        mf_progress("polish", k, most, text);
    }
    return MF_OK;
}

int mf_polish_run(struct mf_polish *polish)
{
    struct work w = {.polish = polish};
    size_t kinds = (size_t)(polish->phases * (polish->phases - 1));
    size_t *begin = calloc(kinds + 1, sizeof *begin);
    uint32_t *order = NULL;
    int rc;

    polish->tried = polish->swaps = 0;
    polish->trial_seconds = 0;
    rc = mf_agree(polish->comm, begin ? MF_OK : mf_fail(MF_MEMORY, "no memory for the polish"));
    if (rc == MF_OK) rc = open(&w);
    if (rc == MF_OK) {
        order = malloc(2 * w.most * sizeof *order);
        rc = mf_agree(polish->comm, order ? MF_OK : mf_fail(MF_MEMORY, "no memory for the polish"));
    }
    if (rc == MF_OK) rc = rounds(&w, begin, order);
    free(order);
    free(begin);
    release(&w);
    return rc;
}
