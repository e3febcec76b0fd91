/* See polish.h. This file has the round: sites from all ranks, trials. Residuals are in polish_residual.c, energies in
 * swap.c, candidates in candidates.c. */
#include "src/recon/polish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/pulse.h"
#include "src/base/text.h"
#include "src/recon/phases.h"
#include "src/recon/polish_impl.h"

enum { MOVED = 2, PARTNERS = 64, ROUNDS_MAX = 1000 };

/* Five consecutive rounds that gain less than this fraction of the loss end the polish. With S2_3D the fraction is
 * larger, because rounds are expensive and its window is already close to the target. */
static const double SLOW = 2e-3, SLOW_IN_SPACE = 1e-2;

static int by_energy(const void *a, const void *b)
{
    const struct mf_site *s = a, *t = b;

    if (s->energy != t->energy) return s->energy < t->energy ? -1 : 1;
    return s->order < t->order ? -1 : s->order > t->order;
}

static size_t window_words(const struct mf_sites *sites) { return sites->sides * sites->planes * sites->shape.n; }

/* The rank whose slab holds a site. */
static int owner(const struct mf_polish *p, const struct mf_site *site)
{
    int r = 0;

    for (; r + 1 < p->comm->size; ++r) {
        struct mf_slab slab = mf_slab_of(p->comm, p->slab.dims, r);

        if (site->at[0] < slab.first + slab.count) break;
    }
    return r;
}

/* Appends the best sites to those of the round. Their windows are ordered by rank: @p at [ranks], in words, is the
 * position of a rank's next one. */
static void append(struct mf_polish_work *w, const struct mf_site *best, size_t count, const uint32_t *bits, size_t *at)
{
    struct mf_sites *sites = &w->swap.sites;
    size_t words = window_words(sites);

    for (size_t i = 0; i < count; ++i) {
        uint32_t *window = sites->window + sites->count * words, *mirror = sites->mirror + sites->count * words;
        int r = owner(w->polish, &best[i]);

        sites->site[sites->count++] = best[i];
        memcpy(window, bits + at[r], words * sizeof *window);
        at[r] += words;
        for (size_t k = 0; k < sites->sides * sites->planes; ++k)
            mf_flip_cpu.turn(&sites->shape, window + k * sites->shape.n, mirror + k * sites->shape.n);
    }
}

/* The windows of this rank's @p n sites travel behind them. */
static int bring_windows(struct mf_polish_work *w, size_t n, const struct mf_site *best, size_t count, size_t *offset)
{
    const struct mf_comm *comm = w->polish->comm;
    size_t words = window_words(&w->swap.sites);
    void *bits = NULL;

    MF_TRY(mf_comm_gather(comm, w->bits, n * words * sizeof *w->bits, &bits, offset));
    for (int r = 0; r <= comm->size; ++r) offset[r] /= sizeof *w->bits;
    append(w, best, count, bits, offset);
    free(bits);
    return MF_OK;
}

/* All ranks' sites, the best first; this rank has @p n. @p offset: room for ranks + 1. Collective. */
static int bring(struct mf_polish_work *w, size_t n, size_t *offset)
{
    const struct mf_comm *comm = w->polish->comm;
    struct mf_site *best;
    void *all = NULL;
    size_t count;
    int rc;

    MF_TRY(mf_comm_gather(comm, w->found, n * sizeof *w->found, &all, offset));
    best = all;
    count = offset[comm->size] / sizeof *best;
    qsort(best, count, sizeof *best, by_energy);
    rc = bring_windows(w, n, best, count, offset);
    free(all);
    return rc;
}

static size_t find(struct mf_polish_work *w, uint8_t from, uint8_t to)
{
    MF_PHASE(&mf_phase_rank);

    return mf_candidates_find(&w->candidates, from, to, w->found, w->bits);
}

/* Sites of moves from one phase to another, all ranks' best. Collective. */
static int gather(struct mf_polish_work *w, uint8_t from, uint8_t to)
{
    const struct mf_comm *comm = w->polish->comm;
    size_t n = find(w, from, to), *offset;
    int rc;
    MF_PHASE(&mf_phase_gather);

    offset = mf_fault("recon.gather") ? NULL : malloc(((size_t)comm->size + 1) * sizeof *offset);
    rc = mf_agree(comm, offset ? MF_OK : mf_fail(MF_MEMORY, "no memory for the offsets of %d ranks", comm->size));
    if (rc == MF_OK) rc = bring(w, n, offset);
    free(offset);
    return rc;
}

static int ranked_order(const void *a, const void *b)
{
    return by_energy(&((const struct mf_ranked *)a)->site, &((const struct mf_ranked *)b)->site);
}

/* Sorts sites [first, end) into @p order by exact energy. If all share one slice, second orders of a pair cancel, and
 * they are sorted by the first-order part. */
static void rank_sites(struct mf_polish_work *w, size_t first, size_t end, uint32_t *order)
{
    struct mf_sites *sites = &w->swap.sites;
    struct mf_ranked *ranked = w->ranked;

#pragma omp parallel for num_threads(w->polish->queue->threads)
    for (size_t i = first; i < end; ++i) {
        sites->site[i].energy = (float)(sites->sides == 1 ? mf_swap_linear(&w->swap, i) + sites->site[i].rest
                                                          : mf_swap_energy(&w->swap, i));
        ranked[i - first] = (struct mf_ranked){sites->site[i], i};
    }
    qsort(ranked, end - first, sizeof *ranked, ranked_order);
    for (size_t i = 0; i < end - first; ++i) order[i] = (uint32_t)ranked[i].place;
}

/* Errors of properties are squared: beyond what sites alone change, and after the round's other swaps. */
static double second_order(const struct mf_polish_work *w, uint32_t i, uint32_t j)
{
    const struct mf_property *p = w->polish->property;
    const struct mf_site *a = &w->swap.sites.site[i], *b = &w->swap.sites.site[j];
    double then[MF_PROPERTIES];

    if (!p) return 0;
    for (int k = 0; k < MF_PROPERTIES; ++k) then[k] = w->moved[k] + a->change[k] + b->change[k];
    return mf_property_gain(p, then) - mf_property_gain(p, w->moved) - mf_property_alone(p, a->change) -
           mf_property_alone(p, b->change);
}

/* Makes a swap, whose sites alone have the energies ei and ej, if it lowers the loss. */
static int try_swap(struct mf_polish_work *w, uint32_t i, uint32_t j, double ei, double ej)
{
    struct mf_swap *swap = &w->swap;
    const double e = ei + ej + mf_swap_interaction(swap, i, j) + second_order(w, i, j);

    ++w->polish->tried;
    if (!(e < -1e-7 * w->loss) || (w->polish->whole_clusters && mf_swap_meet(swap, i, j))) return 0;
    mf_swap_apply(swap, i);
    mf_swap_apply(swap, j);
    swap->used[i] = swap->used[j] = MOVED;
    for (int k = 0; w->polish->property && k < MF_PROPERTIES; ++k)
        w->moved[k] += swap->sites.site[i].change[k] + swap->sites.site[j].change[k];
    w->predicted += e;
    return 1;
}

/* Has the voxel moved, or would it cut or join clusters that are to stay? */
static int is_held(const struct mf_polish_work *w, uint32_t i)
{
    return w->swap.used[i] || (w->polish->whole_clusters && !mf_swap_keeps(&w->swap, i));
}

/* Volumes: two flips rarely share a slice, so the best site of one kind is paired with the best of the other. */
static long pair_best(struct mf_polish_work *w, const uint32_t *out, size_t outs, const uint32_t *in, size_t ins)
{
    const struct mf_site *site = w->swap.sites.site;
    long swaps = 0;

    for (size_t i = 0, j = 0; i < outs && j < ins && swaps < w->limit;) {
        const int held_out = is_held(w, out[i]), held_in = is_held(w, in[j]);
        double ei, ej;

        mf_pulse_tell("polish");
        if (held_out || held_in) {
            i += (size_t)held_out;
            j += (size_t)held_in;
            continue;
        }
        if (site[out[i]].energy + site[in[j]].energy >= 0) break;
        ei = mf_swap_energy(&w->swap, out[i]);
        ej = mf_swap_energy(&w->swap, in[j]);
        if (try_swap(w, out[i], in[j], ei, ej))
            ++swaps;
        else if (ei - site[out[i]].energy > ej - site[in[j]].energy) /* has become worse by more */
            ++i;
        else
            ++j;
    }
    return swaps;
}

/* The first sites that may move, in their order, with their energies. They hold until a swap is made. */
struct partners {
    size_t count, next; /* how many; how many of all were looked at */
    uint32_t site[PARTNERS];
    double energy[PARTNERS];
};

/* Partner k; 0: there is none. */
static int has_partner(const struct mf_polish_work *w, const uint32_t *in, size_t ins, size_t k, struct partners *p)
{
    while (p->count <= k && p->next < ins) {
        const uint32_t j = in[p->next++];

        if (is_held(w, j)) continue;
        p->site[p->count] = j;
        p->energy[p->count++] = mf_swap_energy(&w->swap, j);
    }
    return k < p->count;
}

/* Images: every flip changes the one window, and second orders cancel in pairs, so many partners are tried. */
static long pair_many(struct mf_polish_work *w, const uint32_t *out, size_t outs, const uint32_t *in, size_t ins)
{
    const struct mf_site *site = w->swap.sites.site;
    struct partners p = {0, 0, {0}, {0}};
    long swaps = 0;

    for (size_t i = 0; i < outs && swaps < w->limit; ++i) {
        double energy;

        if (is_held(w, out[i])) continue;
        energy = mf_swap_energy(&w->swap, out[i]);
        for (size_t k = 0; k < PARTNERS && has_partner(w, in, ins, k, &p); ++k) {
            if (swaps == 0 && site[out[i]].energy + site[p.site[k]].energy >= 0) break;
            if (!try_swap(w, out[i], p.site[k], energy, p.energy[k])) continue;
            ++swaps;
            p.count = p.next = 0;
            break;
        }
    }
    return swaps;
}

/* Gives this rank's moved sites their new labels or, @p back, their old ones. A voxel moves at most once in a round. */
static void relabel(struct mf_polish_work *w, int back)
{
    struct mf_polish *p = w->polish;
    const struct mf_sites *sites = &w->swap.sites;
    size_t n = 0;

    p->backend->sync(p->queue); /* change has been read */
    for (size_t i = 0; i < sites->count; ++i) {
        const struct mf_site *s = &sites->site[i];

        if (w->swap.used[i] == MOVED && s->at[0] >= p->slab.first && s->at[0] < p->slab.first + p->slab.count)
            w->change[n++] = (struct mf_change){
                ((s->at[0] - p->slab.first) * p->slab.dims[1] + s->at[1]) * p->slab.dims[2] + s->at[2],
                back ? s->from : s->to};
    }
    p->backend->label->change(p->queue, n, w->change, p->label);
}

/* What exact energies do not cover: nothing when level 0 of S2 is all there is besides Variation. */
static void set_rests(struct mf_polish_work *w)
{
    const struct mf_objective_opts *o = w->polish->objective;
    int alone = o->terms == (size_t)(w->s2_term < o->terms) + (w->v_term < o->terms);

    for (size_t d = 0; d < w->swap.sites.sides; ++d) alone &= w->levels[d] == 1;
    for (size_t i = 0; i < w->swap.sites.count; ++i) {
        struct mf_site *s = &w->swap.sites.site[i];

        if (!alone)
            s->rest -= (float)mf_swap_linear(&w->swap, i);
        else
            s->rest = w->polish->property ? (float)mf_property_alone(w->polish->property, s->change) : 0;
    }
}

/* All kinds of moves: sites [begin[k], begin[k + 1]) are of kind k; 2m and 2m + 1 are opposite kinds. */
static int gather_all(struct mf_polish_work *w, size_t *begin)
{
    size_t kind = 0;
    int rc = mf_candidates_update(&w->candidates);

    w->swap.sites.count = 0;
    for (int a = 0; a < w->polish->phases && rc == MF_OK; ++a)
        for (int b = a + 1; b < w->polish->phases && rc == MF_OK; ++b) {
            begin[kind++] = w->swap.sites.count;
            rc = gather(w, (uint8_t)b, (uint8_t)a);
            begin[kind++] = w->swap.sites.count;
            if (rc == MF_OK) rc = gather(w, (uint8_t)a, (uint8_t)b);
        }
    begin[kind] = w->swap.sites.count;
    return rc;
}

static int one_round(struct mf_polish_work *w, size_t *begin, uint32_t *order, long *swaps)
{
    int kinds = w->polish->phases * (w->polish->phases - 1);
    double start;

    MF_TRY(gather_all(w, begin));
    memset(w->swap.used, 0, w->swap.sites.count);
    mf_swap_index(&w->swap);
    MF_PHASE(&mf_phase_swaps);

    set_rests(w);
    start = mf_now();
    *swaps = 0;
    w->predicted = 0;
    memset(w->moved, 0, sizeof w->moved);
    for (int k = 0; k < kinds; k += 2) {
        rank_sites(w, begin[k], begin[k + 1], order);
        rank_sites(w, begin[k + 1], begin[k + 2], order + (begin[k + 1] - begin[k]));
        *swaps += (w->swap.sites.sides == 1 ? pair_many : pair_best)(
            w, order, begin[k + 1] - begin[k], order + (begin[k + 1] - begin[k]), begin[k + 2] - begin[k + 1]);
    }
    w->polish->trial_seconds += mf_now() - start;
    relabel(w, 0);
    return MF_OK;
}

/* Whoever asks for rounds gets them. */
static double slow(const struct mf_polish_work *w)
{
    const struct mf_polish *p = w->polish;

    return p->rounds == 0 && mf_objective_in_space(p->objective) < p->objective->terms ? SLOW_IN_SPACE : SLOW;
}

/* A limit below the @p swaps of all kinds that made the loss worse. The limit is per kind. With many kinds a quarter of
 * all swaps may not be smaller, and the same swaps would repeat for ever. */
static long fewer(long limit, long swaps) { return swaps / 4 < limit ? swaps / 4 : limit / 2; }

/* Half of the @p swaps of all kinds that gained less than predicted, for each kind; never more than before. */
static long half_of(long limit, long swaps)
{
    const long half = swaps > 2 ? swaps / 2 : 1;

    return half < limit ? half : limit;
}

/*
 * Effects beyond the exact energies are only first order. So a round is a trust-region step: a round that makes the
 * loss worse is undone, and the next makes fewer swaps.
 */
static void judge(struct mf_polish_work *w, double before, long swaps, long *idle)
{
    double gain = before - w->loss;

    if (gain <= 0) {
        relabel(w, 1);
        mf_polish_refresh(w);
        w->limit = fewer(w->limit, swaps);
        return;
    }
    w->polish->swaps += swaps;
    if (gain < -0.5 * w->predicted)
        w->limit = half_of(w->limit, swaps);
    else if (w->limit < (long)w->most)
        w->limit *= 2;
    *idle = gain < slow(w) * before ? *idle + 1 : 0;
}

/* Residuals and the region of trust, at the begin or where another polish left off. */
static void start(struct mf_polish_work *w, struct mf_polish_state *at)
{
    const struct mf_polish_state *from = w->polish->from;
    size_t rows = w->swap.sites.shape.rows;

    *at = (struct mf_polish_state){.limit = (long)w->most, .entries = w->polish->fields * rows * rows};
    if (from) {
        *at = *from;
        w->polish->tried = from->tried;
        w->polish->swaps = from->swaps;
    } else {
        mf_polish_set_mean_error(w, NULL);
        mf_polish_refresh(w); /* finds the error of the mean slice */
    }
    if (from) mf_polish_set_mean_error(w, from->mean_error);
    mf_polish_refresh(w); /* and this corrects it */
    w->limit = at->limit;
    at->neighbours = mf_objective_memory(w->objective, &at->bytes);
    for (size_t d = 0; d < w->swap.sites.sides; ++d) at->mean_error[d] = w->applied[d];
}

/* The end of a round. Returns true if the polish ends here. It may be saved only where neighbours of patches have been
 * used long enough. Then they are searched again, as a continued polish would do. */
static int wants_to_end(struct mf_polish_work *w, struct mf_polish_state *at)
{
    struct mf_polish *p = w->polish;

    if (!mf_objective_renew(w->objective)) return p->asked && p->asked(p->context) != MF_OK;
    at->limit = w->limit;
    at->tried = p->tried;
    at->swaps = p->swaps;
    if (p->after_round && p->after_round(p->context, at)) return 1;
    if (mf_objective_by_example(p->objective)) {
        mf_polish_set_mean_error(w, at->mean_error);
        mf_polish_refresh(w);
    }
    return 0;
}

/* Has it done what it was begun for? */
static int is_met(const struct mf_polish_work *w)
{
    return w->failed || (w->polish->until_met && mf_property_met(w->polish->property));
}

static int rounds(struct mf_polish_work *w, size_t *begin, uint32_t *order)
{
    long most = w->polish->rounds > 0 ? w->polish->rounds : ROUNDS_MAX;
    struct mf_polish_state at;

    for (start(w, &at); at.round < most && at.idle < 5 && w->limit > 0 && !is_met(w);) {
        double before = w->loss;
        char text[80];
        long swaps;

        MF_TRY(one_round(w, begin, order, &swaps));
        if (swaps == 0) break;
        mf_polish_refresh(w);
        if (!w->failed) judge(w, before, swaps, &at.idle);
        MF_TRY(w->failed);
        ++at.round;
        mf_debug("polish round %ld: %ld swap%s, loss %.4e, promised %.2e", at.round, swaps, MF_S(swaps), w->loss,
                 before + w->predicted);
        snprintf(text, sizeof text, "%ld swap%s, loss %.4e", w->polish->swaps, MF_S(w->polish->swaps), w->loss);
        mf_progress("polish", at.round, w->polish->rounds, text); /* 0: nobody knows how many */
        if (wants_to_end(w, &at)) break;
    }
    return w->failed;
}

int mf_polish_run(struct mf_polish *polish)
{
    struct mf_polish_work w = {.polish = polish};
    int rc = mf_fault("recon.polish") ? mf_fail(MF_MEMORY, "no memory for the polish") : MF_OK;

    polish->tried = polish->swaps = 0;
    polish->trial_seconds = 0;
    rc = mf_agree(polish->comm, rc);
    if (rc == MF_OK) rc = mf_polish_open(&w);
    if (rc == MF_OK) rc = rounds(&w, w.begin, w.order);
    if (rc == MF_OK && polish->searched) mf_objective_recall(polish->searched, w.objective);
    mf_polish_close(&w);
    return rc;
}

int mf_polish_measure(struct mf_polish *polish)
{
    struct mf_polish_work w = {.polish = polish};
    struct mf_arena *arena = polish->queue->host;
    int rc = mf_polish_open(&w);

    if (rc == MF_OK) {
        size_t labels = mf_candidates_staged(&w.candidates), planes = mf_objective_staged(w.objective);
        ptrdiff_t staged = (ptrdiff_t)(labels > planes ? labels : planes);

        rc = mf_arena_book_once(arena, staged, "planes sent");
        rc = mf_agree(polish->comm, rc);
    }
    mf_polish_close(&w);
    return rc;
}
