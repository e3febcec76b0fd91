/* See patch_near.h. Sixteen similar patches are compared with sixteen others: the others' coordinates are vectors,
 * which all of the first read. The first coordinates exclude most pairs. */
#include "kernels/cpu/slices/patch_near.h"
#include "src/base/pulse.h"

#include <math.h>
#include <string.h>

#define AVX512 __attribute__((target("avx512f")))
#define AVX2   __attribute__((target("avx2,fma")))

enum { PARTS = MF_PATCH_PARTS, LEAF = MF_PATCH_LEAF, FEW = MF_PATCH_FEW };
enum {
    MANY = MF_PATCH_MOST,
    SOME = 4,     /* leaves that are looked at */
    TURNS = 8,    /* searches in which every leaf looks at many once */
    STRAYED = 5,  /* so many patches whose match has moved away make their leaf look at many */
    TOGETHER = 16 /* leaves that a thread takes at a time */
};

/* The patches p of a leaf, which look for their nearest ones. The nearer patch q is, the larger is p q - |q|^2 / 2. */
struct queries {
    const float *at;  /* [PARTS][LEAF] */
    float best[LEAF]; /* the largest product so far; very large for a place without a patch */
    float rest[LEAF]; /* the most that the coordinates behind the first can add */
    int32_t match[LEAF];
};

/* The queries look at a leaf of @p tree. */
typedef void compare_of(struct queries *queries, const struct mf_patch_tree *tree, size_t leaf);

/* Keeps the first of equals. */
static void keep_best(struct queries *t, size_t i, const float *product, const int32_t *slot)
{
    for (size_t l = 0; l < LEAF; ++l)
        if (product[l] > t->best[i]) {
            t->best[i] = product[l];
            t->match[i] = slot[l];
        }
}

/* Adds products of coordinates [from, to) of so many patches with those of a leaf. */
#define PRODUCTS(from, to, lanes, tall)                                                                        \
    for (size_t c = (from); c < (to); ++c) _Pragma("GCC unroll 4") for (size_t k = 0; k < LEAF / (lanes); ++k) \
        {                                                                                                      \
            const vf x = *(const vf *)(at + c * LEAF + k * (lanes));                                           \
                                                                                                               \
            _Pragma("GCC unroll 8") for (size_t i = 0; i < (tall); ++i) sum[i][k] += x * own[c * LEAF + i];    \
        }

/* Some patches at a time, whose sums stay in registers. */
#define COMPARE(name, lanes, tall, target)                                                                           \
    target static void name(struct queries *t, const struct mf_patch_tree *tree, size_t leaf)                        \
    {                                                                                                                \
        enum { VECTORS = LEAF / (lanes) };                                                                           \
        typedef float vf __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));                           \
        typedef int vi __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));                             \
        const float *at = tree->at + leaf * PARTS * LEAF;                                                            \
        const vf *few = (const vf *)(tree->few + leaf * LEAF), *half = (const vf *)(tree->half + leaf * LEAF);       \
                                                                                                                     \
        for (size_t first = 0; first < LEAF; first += (tall)) {                                                      \
            const float *own = t->at + first;                                                                        \
            vf sum[tall][VECTORS];                                                                                   \
            union {                                                                                                  \
                vi lane;                                                                                             \
                uint64_t word[(lanes) / 2];                                                                          \
            } is = {{0}};                                                                                            \
            uint64_t any = 0;                                                                                        \
                                                                                                                     \
            for (size_t i = 0; i < (tall); ++i)                                                                      \
                for (size_t k = 0; k < VECTORS; ++k) sum[i][k] = few[k];                                             \
            PRODUCTS(0, FEW, lanes, tall)                                                                            \
            for (size_t i = 0; i < (tall); ++i)                                                                      \
                for (size_t k = 0; k < VECTORS; ++k) is.lane |= sum[i][k] > t->best[first + i] - t->rest[first + i]; \
            for (size_t w = 0; w < (lanes) / 2; ++w) any |= is.word[w];                                              \
            if (!any) continue;                                                                                      \
            for (size_t i = 0; i < (tall); ++i)                                                                      \
                for (size_t k = 0; k < VECTORS; ++k) sum[i][k] += half[k] - few[k];                                  \
            PRODUCTS(FEW, PARTS, lanes, tall)                                                                        \
            for (size_t i = 0; i < (tall); ++i) {                                                                    \
                is.lane = sum[i][0] > t->best[first + i];                                                            \
                for (size_t k = 1; k < VECTORS; ++k) is.lane |= sum[i][k] > t->best[first + i];                      \
                any = 0;                                                                                             \
                for (size_t w = 0; w < (lanes) / 2; ++w) any |= is.word[w];                                          \
                if (any) keep_best(t, first + i, (const float *)sum[i], tree->slot + leaf * LEAF);                   \
            }                                                                                                        \
        }                                                                                                            \
    }

COMPARE(compare_4, 4, 2, )
#if defined(__x86_64__)
COMPARE(compare_8, 8, 4, AVX2)
COMPARE(compare_16, 16, 8, AVX512)
#endif

static compare_of *compare_here(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return compare_16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return compare_8;
#endif
    return compare_4;
}

/* -- the search -- */

/* The queries of a leaf with their first matches: how many of these have moved away. */
static size_t gather(const struct mf_patch_side *own, size_t leaf, struct queries *t)
{
    size_t strayed = 0;

    t->at = own->tree->at + leaf * PARTS * LEAF;
    for (size_t i = 0; i < LEAF; ++i) {
        const size_t place = leaf * LEAF + i;
        const int32_t slot = own->tree->slot[place];
        const float square = -2 * own->tree->half[place];

        t->best[i] = slot < 0 ? 1e30f : 0.5f * (square - fabsf(own->far[slot]));
        t->rest[i] = slot < 0 ? 0 : 0.5f * square + own->tree->few[place];
        t->match[i] = slot < 0 ? 0 : own->found[slot];
        strayed += slot >= 0 && signbit(own->far[slot]);
    }
    return strayed;
}

static void mean_of(const struct queries *t, const int32_t *slot, float mean[PARTS])
{
    float part = 0;

    for (size_t i = 0; i < LEAF; ++i) part += slot[i] >= 0;
    part = 1.0f / part;
    for (size_t c = 0; c < PARTS; ++c) {
        float sum = 0;

        for (size_t i = 0; i < LEAF; ++i) sum += t->at[c * LEAF + i]; /* places without a patch hold 0 */
        mean[c] = part * sum;
    }
}

/* Patches of a leaf whose match is another one than at the begin have another distance. */
static void settle(const struct mf_patch_side *own, const struct mf_patch_side *other, size_t leaf,
                   const struct queries *queries)
{
    for (size_t i = 0; i < LEAF; ++i) {
        const int32_t slot = own->tree->slot[leaf * LEAF + i];

        if (slot < 0) continue;
        own->far[slot] = own->found[slot] == queries->match[i] ? fabsf(own->far[slot])
                                                               : mf_patch_apart(own, slot, other, queries->match[i]);
        own->found[slot] = queries->match[i];
    }
}

/* Brings what is read first of a leaf into a cache. */
static void fetch(const struct mf_patch_tree *t, size_t leaf)
{
    const float *at = t->at + leaf * PARTS * LEAF;

    __builtin_prefetch(t->few + leaf * LEAF);
    __builtin_prefetch(t->half + leaf * LEAF);
    for (size_t c = 0; c < FEW; ++c) __builtin_prefetch(at + c * LEAF);
}

/* The patches of one leaf. */
static void search_leaf(compare_of *compare, const struct mf_patch_side *own, const struct mf_patch_side *other,
                        size_t leaf, size_t number)
{
    struct queries queries;
    uint32_t near[MANY];
    float mean[PARTS];
    const size_t strayed = gather(own, leaf, &queries);
    const int far = number == 0 || (leaf + number) % TURNS == 0 || strayed >= STRAYED;
    size_t n;

    if (own->tree->slot[leaf * LEAF] < 0) return;
    mean_of(&queries, own->tree->slot + leaf * LEAF, mean);
    n = mf_patch_tree_nearest(other->tree, mean, far ? MANY : SOME, near);
    fetch(other->tree, near[0]);
    for (size_t k = 0; k < n; ++k) {
        if (k + 1 < n) fetch(other->tree, near[k + 1]);
        compare(&queries, other->tree, near[k]);
    }
    settle(own, other, leaf, &queries);
}

/* -- the workers of a team take some leaves in turn, because those side by side cost alike -- */

static size_t worker_of(const struct mf_team *team, size_t leaf) { return leaf / TOGETHER % (size_t)team->parts; }

/* Where the patches of each worker's leaves begin among those of all, worker after worker: at [parts + 1]. */
static void find_runs(const struct mf_team *team, const struct mf_patch_tree *t, size_t *at)
{
    memset(at, 0, ((size_t)team->parts + 1) * sizeof *at);
    for (size_t place = 0; place < t->leaves * LEAF; ++place)
        at[worker_of(team, place / LEAF) + 1] += t->slot[place] >= 0;
    for (int k = 0; k < team->parts; ++k) at[k + 1] += at[k];
}

/* What was found for a patch, as one number, and back. */
static uint64_t pack(const struct mf_patch_side *own, int32_t slot)
{
    uint32_t far;

    memcpy(&far, &own->far[slot], sizeof far);
    return (uint64_t)far << 32 | (uint32_t)own->found[slot];
}

static void unpack(const struct mf_patch_side *own, int32_t slot, uint64_t packed)
{
    const uint32_t far = (uint32_t)(packed >> 32);

    memcpy(&own->far[slot], &far, sizeof far);
    own->found[slot] = (int32_t)(uint32_t)packed;
}

/* All workers get what each has found. The tree's keys are work memory. */
static void share_found(const struct mf_team *team, const struct mf_patch_side *own)
{
    const struct mf_patch_tree *t = own->tree;
    const size_t parts = (size_t)mf_team_parts(team), places = t->leaves * LEAF;
    size_t at[parts + 1], next;

    if (parts == 1) return;
    find_runs(team, t, at);
    next = at[team->part];
    for (size_t p = 0; p < places; ++p)
        if (t->slot[p] >= 0 && worker_of(team, p / LEAF) == (size_t)team->part) t->key[next++] = pack(own, t->slot[p]);
    for (size_t k = 0; k <= parts; ++k) at[k] *= sizeof *t->key;
    team->share(team->context, t->key, at);
    for (size_t k = 0; k < parts; ++k) at[k] /= sizeof *t->key;
    for (size_t p = 0; p < places; ++p)
        if (t->slot[p] >= 0) unpack(own, t->slot[p], t->key[at[worker_of(team, p / LEAF)]++]);
}

static void search(int threads, const struct mf_team *team, const struct mf_patch_side *own,
                   const struct mf_patch_side *other, size_t number)
{
    compare_of *compare = compare_here();

    mf_patch_begin(threads, team, own, other);
#pragma omp parallel for num_threads(threads) schedule(dynamic, TOGETHER)
    for (size_t leaf = 0; leaf < own->tree->leaves; ++leaf) {
        if (!mf_team_has(team, leaf / TOGETHER)) continue;
        mf_pulse_tell("patches");
        search_leaf(compare, own, other, leaf, number);
    }
    share_found(team, own);
}

/* A patch is a candidate of its match. */
static void offer(const struct mf_patch_side *own, const struct mf_patch_side *other)
{
    for (size_t u = 0; u < own->image->pu; ++u)
        for (size_t s = u * own->image->row; s < u * own->image->row + own->image->pv; ++s) {
            const int32_t q = own->found[s];

            if (own->far[s] < other->far[q] || (own->far[s] == other->far[q] && (int32_t)s < other->found[q])) {
                other->far[q] = own->far[s];
                other->found[q] = (int32_t)s;
            }
        }
}

/* Slots at the end of a row may have no patch, and then nothing was found for them. */
static void keep(const struct mf_patch_side *s)
{
    const struct mf_patch_image *image = s->image;

    for (size_t at = 0; at < image->pu * image->row; at += image->row)
        memcpy(s->match + at, s->found + at, image->pv * sizeof *s->match);
}

void mf_patch_near(int threads, const struct mf_team *team, size_t number, const struct mf_patch_side *slice,
                   const struct mf_patch_side *example)
{
    search(threads, team, slice, example, number);
    search(threads, team, example, slice, number);
    offer(slice, example);
    offer(example, slice);
    keep(slice);
    keep(example);
}
