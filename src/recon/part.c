/* See connect_impl.h. Clusters that span too much are eroded until they fall into cores, which then grow back over
 * them. A neck is where two of the parts meet. Parts are cut off there, first those with the largest gain for the size
 * of their necks. */
#include <string.h>

#include "src/base/err.h"
#include "src/recon/connect_impl.h"

enum { WEAR = 3, CORE = 1 }; /* most layers that are worn off; phase of cores */

/* What is known of a part (MF_PART_NUMBERS), in numbers that add up over the ranks. HELD: of its neck, what stays. */
enum { SIZE, NECK, HELD, TOUCHES };

struct parts {
    struct mf_connect *c;
    struct mf_account *is;
    uint8_t *body;  /* [own voxels] 1: of clusters that span too much */
    uint8_t *core;  /* [own voxels] 1: far from their surface */
    int64_t *known; /* [parts][MF_PART_NUMBERS] */
    uint8_t *cut;   /* [parts] */
    size_t count;
    uint8_t filling; /* what necks become */
};

static void find_body(struct parts *p)
{
    const uint32_t *own = mf_reach_own(&p->c->reach);
    const size_t voxels = mf_slab_voxels(&p->c->slab);

    for (size_t i = 0; i < voxels; ++i) {
        p->body[i] = 0;
        for (int a = 0; a < 3 && own[i]; ++a)
            if (p->is->spans[a] > p->is->wanted[a] && mf_touch_spans(p->c->list[own[i] - 1].touch, a)) p->body[i] = 1;
    }
}

/* Wears off @p layers, lists what is left as cores, and lets them grow back. */
static int find_parts(struct parts *p, size_t layers)
{
    struct mf_connect *c = p->c;
    const struct mf_micro micro = {
        .ndim = c->slab.dims[0] > 1 ? 3 : 2, .slab = c->slab, .phases = CORE + 1, .phase = p->core};
    const struct mf_measure_job job = {.comm = c->comm, .arena = c->arena, .micro = &micro};
    uint32_t *own = mf_reach_own(&c->reach);
    const size_t voxels = mf_slab_voxels(&c->slab);

    for (size_t i = 0; i < voxels; ++i) own[i] = !p->body[i];
    MF_TRY(mf_reach_flood(&c->reach, layers));
    for (size_t i = 0; i < voxels; ++i) p->core[i] = own[i] ? 0 : CORE;
    MF_TRY(mf_clusters_list(&job, CORE, c->most, c->list, &p->count, own));
    for (size_t i = 0; i < voxels; ++i)
        if (!p->body[i]) own[i] = MF_REACH_WALL;
    return mf_reach_flood(&c->reach, MF_REACH);
}

static int is_part(uint32_t owner) { return owner != 0 && owner != MF_REACH_WALL; }

/* Does another part begin beside voxel @p at of owner? */
static int is_neck(const struct mf_reach *r, size_t at)
{
    int neck = 0;

    for (int k = 0; k < 6; ++k) {
        const size_t next = mf_reach_neighbour(r, at, k);

        neck |= next != SIZE_MAX && is_part(r->owner[next]) && r->owner[next] != r->owner[at];
    }
    return neck;
}

static void know_parts(struct parts *p)
{
    const struct mf_reach *r = &p->c->reach;
    const size_t *n = p->c->slab.dims, first = r->below * n[1] * n[2], voxels = mf_slab_voxels(&p->c->slab);

    memset(p->known, 0, p->count * MF_PART_NUMBERS * sizeof *p->known);
    for (size_t i = 0; i < voxels; ++i) {
        const uint32_t part = r->owner[first + i];
        size_t is[3];
        int64_t *known;

        if (!is_part(part)) continue;
        is[0] = p->c->slab.first + i / (n[1] * n[2]);
        is[1] = i / n[2] % n[1];
        is[2] = i % n[2];
        known = p->known + (part - 1) * MF_PART_NUMBERS;
        ++known[SIZE];
        if (is_neck(r, first + i)) ++known[mf_connect_holds(p->c, i) ? HELD : NECK];
        for (int a = 0; a < 3; ++a) {
            known[TOUCHES + 2 * a] += is[a] == 0;
            known[TOUCHES + 2 * a + 1] += is[a] + 1 == n[a];
        }
    }
    mf_comm_sum_int(p->c->comm, p->count * MF_PART_NUMBERS, p->known);
}

/* What spans without a part, unless it does by itself. */
static void spans_without(const struct parts *p, size_t k, double spans[3])
{
    const int64_t *known = p->known + k * MF_PART_NUMBERS, *touches = known + TOUCHES;

    for (int a = 0; a < 3; ++a) {
        const int by_itself = touches[2 * a] && touches[2 * a + 1];

        spans[a] = p->is->spans[a];
        if (spans[a] > p->is->wanted[a] && !by_itself) spans[a] -= (double)known[SIZE];
    }
}

/* The part that brings most for the size of its neck; count: none brings anything. */
static size_t best_part(const struct parts *p, uint64_t room)
{
    size_t best = p->count;
    double most = 0;

    for (size_t k = 0; k < p->count; ++k) {
        const int64_t neck = p->known[k * MF_PART_NUMBERS + NECK], held = p->known[k * MF_PART_NUMBERS + HELD];
        double spans[3], worth;

        if (p->cut[k] || neck == 0 || held) continue; /* a neck that stays in part joins as before */
        spans_without(p, k, spans);
        worth = (mf_account_miss(p->is->spans, p->is->wanted) - mf_account_miss(spans, p->is->wanted)) / (double)neck;
        if (worth > 0 && (uint64_t)neck > room)
            p->c->full = 1;
        else if (worth > most) {
            most = worth;
            best = k;
        }
    }
    return best;
}

/* Returns how many parts are to be cut off. */
static long choose_parts(struct parts *p)
{
    uint64_t room = mf_connect_room(p->c, p->filling);
    long cut = 0;

    memset(p->cut, 0, p->count);
    for (size_t k; (k = best_part(p, room)) < p->count; ++cut) {
        room -= (uint64_t)p->known[k * MF_PART_NUMBERS + NECK];
        spans_without(p, k, p->is->spans);
        p->cut[k] = 1;
    }
    return cut;
}

/* The phase but this one that most open voxels have. */
static uint8_t filling(const struct mf_connect *c, uint8_t phase)
{
    uint8_t best = phase == 0;

    for (uint8_t k = 0; k < c->phases; ++k)
        if (k != phase && c->open[k] > c->open[best]) best = k;
    return best;
}

static void pin_necks(struct parts *p, int *more)
{
    const struct mf_reach *r = &p->c->reach;
    const size_t first = r->below * p->c->slab.dims[1] * p->c->slab.dims[2];

    for (size_t i = 0; i < mf_slab_voxels(&p->c->slab); ++i)
        if (is_part(r->owner[first + i]) && p->cut[r->owner[first + i] - 1] && is_neck(r, first + i))
            mf_connect_pin(p->c, (struct mf_change){i, p->filling});
    if (mf_connect_pinned(p->c, p->filling)) *more = 1;
}

static int part_all(struct parts *p, int *more)
{
    long cut = 0;

    find_body(p);
    for (size_t layers = 1; layers <= WEAR && cut == 0; ++layers) {
        MF_TRY(find_parts(p, layers));
        know_parts(p);
        cut = choose_parts(p);
    }
    p->c->parted += cut;
    if (cut) pin_necks(p, more);
    return MF_OK;
}

int mf_connect_part(struct mf_connect *c, struct mf_account *is, int *more)
{
    struct parts p = {.c = c,
                      .is = is,
                      .body = c->body,
                      .core = c->body + mf_slab_voxels(&c->slab),
                      .known = c->known,
                      .cut = c->cut,
                      .filling = filling(c, is->phase)};

    return part_all(&p, more);
}
