/* See patch_near.h. Sixteen similar patches are compared with sixteen others: the others' coordinates are vectors,
 * which all of the first read. The first coordinates exclude most pairs. */
#include "kernels/cpu/slices/patch_near.h"

#include <string.h>

#define AVX512 __attribute__((target("avx512f")))
#define AVX2   __attribute__((target("avx2,fma")))

enum { PARTS = MF_PATCH_PARTS, LEAF = MF_PATCH_LEAF, FEW = MF_PATCH_FEW };
enum {
    MANY = 64,
    SOME = 2,     /* leaves that are looked at */
    TURNS = 8,    /* searches in which every patch looks at many leaves once */
    DEPTH = 32,   /* levels of a tree, at most */
    TOGETHER = 16 /* leaves that a thread takes at a time */
};

static const float MOVED = 1.1f; /* a match has moved away if its squared distance grew by more than this factor */

/* The patches p of a leaf, which look for their nearest ones. p q - |q|^2 / 2 is the larger, the nearer patch q is. */
struct queries {
    const float *at;  /* [PARTS][LEAF] */
    float best[LEAF]; /* the largest product so far */
    float rest[LEAF]; /* the most that the coordinates behind the first can add */
    int32_t match[LEAF];
};

/* The queries at the places @p place [count] look at a leaf of @p tree. */
typedef void compare_of(struct queries *queries, size_t count, const unsigned *place, const struct mf_patch_tree *tree,
                        size_t leaf);

/* Of equals the first found remains. */
static void keep_best(struct queries *t, unsigned i, const float *product, const int32_t *slot)
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
            _Pragma("GCC unroll 4") for (size_t i = 0; i < (tall); ++i) sum[i][k] += x * own[i][c * LEAF];     \
        }

/* Some patches at a time, whose sums stay in registers. */
#define COMPARE(name, lanes, tall, target)                                                                         \
    target static void name(struct queries *t, size_t count, const unsigned *of, const struct mf_patch_tree *tree, \
                            size_t leaf)                                                                           \
    {                                                                                                              \
        enum { VECTORS = LEAF / (lanes) };                                                                         \
        typedef float vf __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));                         \
        typedef int vi __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));                           \
        const float *at = tree->at + leaf * PARTS * LEAF;                                                          \
        const vf *few = (const vf *)(tree->few + leaf * LEAF), *half = (const vf *)(tree->half + leaf * LEAF);     \
                                                                                                                   \
        for (size_t first = 0; first < count; first += (tall)) {                                                   \
            const float *own[tall];                                                                                \
            unsigned place[tall];                                                                                  \
            vf sum[tall][VECTORS];                                                                                 \
            union {                                                                                                \
                vi lane;                                                                                           \
                uint64_t word[(lanes) / 2];                                                                        \
            } is = {{0}};                                                                                          \
            uint64_t any = 0;                                                                                      \
                                                                                                                   \
            for (size_t i = 0; i < (tall); ++i) {                                                                  \
                place[i] = of[first + i < count ? first + i : count - 1];                                          \
                own[i] = t->at + place[i];                                                                         \
                for (size_t k = 0; k < VECTORS; ++k) sum[i][k] = few[k];                                           \
            }                                                                                                      \
            PRODUCTS(0, FEW, lanes, tall)                                                                          \
            for (size_t i = 0; i < (tall); ++i)                                                                    \
                for (size_t k = 0; k < VECTORS; ++k) is.lane |= sum[i][k] > t->best[place[i]] - t->rest[place[i]]; \
            for (size_t w = 0; w < (lanes) / 2; ++w) any |= is.word[w];                                            \
            if (!any) continue;                                                                                    \
            for (size_t i = 0; i < (tall); ++i)                                                                    \
                for (size_t k = 0; k < VECTORS; ++k) sum[i][k] += half[k] - few[k];                                \
            PRODUCTS(FEW, PARTS, lanes, tall)                                                                      \
            for (size_t i = 0; i < (tall); ++i) {                                                                  \
                is.lane = sum[i][0] > t->best[place[i]];                                                           \
                for (size_t k = 1; k < VECTORS; ++k) is.lane |= sum[i][k] > t->best[place[i]];                     \
                any = 0;                                                                                           \
                for (size_t w = 0; w < (lanes) / 2; ++w) any |= is.word[w];                                        \
                if (any) keep_best(t, place[i], (const float *)sum[i], tree->slot + leaf * LEAF);                  \
            }                                                                                                      \
        }                                                                                                          \
    }

COMPARE(compare_4, 4, 2, )
#if defined(__x86_64__)
COMPARE(compare_8, 8, 4, AVX2)
COMPARE(compare_16, 16, 4, AVX512)
#endif

static compare_of *compare_here(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return compare_16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return compare_8;
#endif
    return compare_4;
}

/* -- where a search begins -- */

static const float *point_of(const struct mf_patch_side *s, int32_t slot)
{
    return s->tree->row + (size_t)slot * PARTS;
}

static float apart(const float *a, const float *b)
{
    float sum[8] = {0};

    for (size_t c = 0; c < PARTS; c += 8)
        for (size_t k = 0; k < 8; ++k) sum[k] += (a[c + k] - b[c + k]) * (a[c + k] - b[c + k]);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* A slot (du, dv) further on; -1: there is no patch. */
static int32_t moved(const struct mf_patch_image *image, int32_t slot, long du, long dv)
{
    const long row = (long)image->row, pu = (long)image->pu, pv = (long)image->pv;
    long u = slot / row + du, v = slot % row + dv;

    if (image->periodic) {
        u = (u + pu) % pu;
        v = (v + pv) % pv;
    }
    return u < 0 || u >= pu || v < 0 || v >= pv ? -1 : (int32_t)(u * row + v);
}

/* The nearest of the last match and the shifted matches of four neighbours. */
static float begin_at(const struct mf_patch_side *own, const struct mf_patch_side *other, int32_t slot, int32_t *match)
{
    static const long step[4][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};
    const float *point = point_of(own, slot);
    float least = apart(point, point_of(other, own->match[slot]));

    *match = own->match[slot];
    for (int k = 0; k < 4; ++k) {
        const int32_t beside = moved(own->image, slot, step[k][0], step[k][1]);
        const int32_t there = beside < 0 ? -1 : moved(other->image, own->match[beside], -step[k][0], -step[k][1]);
        float distance;

        if (there < 0 || there == *match) continue;
        distance = apart(point, point_of(other, there));
        if (distance < least || (distance == least && there < *match)) {
            least = distance;
            *match = there;
        }
    }
    return least;
}

/* Does the patch look at many leaves? */
static int looks_far(const struct mf_patch_side *own, int32_t slot, size_t number, float distance)
{
    const size_t u = (size_t)slot / own->image->row, v = (size_t)slot % own->image->row;

    return number == 0 || distance > MOVED * own->far[slot] || (u + 2 * v + number) % TURNS == 0;
}

/* Some of the queries, by their places in the leaf. */
struct subset {
    size_t count;
    unsigned place[LEAF];
};

/* The queries of a leaf with their first matches; @p far: those that look at many leaves. */
static void gather(const struct mf_patch_side *own, const struct mf_patch_side *other, size_t leaf, size_t number,
                   struct queries *t, struct subset *all, struct subset *far)
{
    t->at = own->tree->at + leaf * PARTS * LEAF;
    all->count = far->count = 0;
    for (unsigned i = 0; i < LEAF; ++i) {
        const size_t place = leaf * LEAF + i;
        const int32_t slot = own->tree->slot[place];
        const float square = -2 * own->tree->half[place];
        float distance;

        if (slot < 0) continue;
        distance = begin_at(own, other, slot, &t->match[i]);
        t->best[i] = 0.5f * (square - distance);
        t->rest[i] = 0.5f * square + own->tree->few[place];
        all->place[all->count++] = i;
        if (looks_far(own, slot, number, distance)) far->place[far->count++] = i;
    }
}

static void mean_of(const struct queries *t, size_t count, float mean[PARTS])
{
    const float part = 1.0f / (float)count;

    for (size_t c = 0; c < PARTS; ++c) {
        float sum = 0;

        for (size_t i = 0; i < LEAF; ++i) sum += t->at[c * LEAF + i]; /* places without a patch hold 0 */
        mean[c] = part * sum;
    }
}

/* -- the nearest leaves first (best bin first; Beis and Lowe 1997) -- */

struct branch {
    float distance; /* squared distances to the cuts that were crossed */
    uint32_t node;
};

struct heap {
    size_t count;
    struct branch branch[MANY * DEPTH];
};

static void put(struct heap *h, struct branch b)
{
    size_t i = h->count++;

    for (; i > 0 && h->branch[(i - 1) / 2].distance > b.distance; i = (i - 1) / 2)
        h->branch[i] = h->branch[(i - 1) / 2];
    h->branch[i] = b;
}

static struct branch take(struct heap *h)
{
    const struct branch first = h->branch[0], last = h->branch[--h->count];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < h->count) {
        if (child + 1 < h->count && h->branch[child + 1].distance < h->branch[child].distance) ++child;
        if (h->branch[child].distance >= last.distance) break;
        h->branch[i] = h->branch[child];
        i = child;
    }
    h->branch[i] = last;
    return first;
}

/* The next leaf in the order of their distance. */
static size_t next_leaf(const struct mf_patch_tree *t, const float *mean, struct heap *h)
{
    struct branch b = take(h);

    while (b.node < t->leaves) {
        const float d = mean[t->axis[b.node]] - t->cut[b.node];
        const uint32_t right = d > 0;

        put(h, (struct branch){b.distance + d * d, 2 * b.node + !right});
        b.node = 2 * b.node + right;
    }
    return b.node - t->leaves;
}

/* -- the search -- */

/* The patches of one leaf. */
static void search_leaf(compare_of *compare, const struct mf_patch_side *own, const struct mf_patch_side *other,
                        size_t leaf, size_t number)
{
    struct subset all, far;
    struct queries queries;
    struct heap heap;
    float mean[PARTS];

    gather(own, other, leaf, number, &queries, &all, &far);
    if (!all.count) return;
    mean_of(&queries, all.count, mean);
    heap.count = 0;
    put(&heap, (struct branch){0, 1});
    for (size_t k = 0; k < MANY && heap.count > 0; ++k) {
        const struct subset *some = k < SOME ? &all : &far;

        if (!some->count) break;
        compare(&queries, some->count, some->place, other->tree, next_leaf(other->tree, mean, &heap));
    }
    for (unsigned i = 0; i < LEAF; ++i) {
        const int32_t slot = own->tree->slot[leaf * LEAF + i];

        if (slot < 0) continue;
        own->found[slot] = queries.match[i];
        own->far[slot] = apart(point_of(own, slot), point_of(other, queries.match[i]));
    }
}

static void search(int threads, const struct mf_patch_side *own, const struct mf_patch_side *other, size_t number)
{
    compare_of *compare = compare_here();

#pragma omp parallel for num_threads(threads) schedule(dynamic, TOGETHER)
    for (size_t leaf = 0; leaf < own->tree->leaves; ++leaf) search_leaf(compare, own, other, leaf, number);
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

void mf_patch_near(int threads, size_t number, const struct mf_patch_side *slice, const struct mf_patch_side *example)
{
    search(threads, slice, example, number);
    search(threads, example, slice, number);
    offer(slice, example);
    offer(example, slice);
    memcpy(slice->match, slice->found, slice->image->slots * sizeof *slice->match);
    memcpy(example->match, example->found, example->image->slots * sizeof *example->match);
}
