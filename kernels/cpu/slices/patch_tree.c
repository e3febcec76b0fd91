/* See patch_tree.h. Medians are taken by (value, slot), so equal patches have an order. Numbers that decide are added
 * in one order, without fused operations. */
#include "kernels/cpu/slices/patch_tree.h"

#include <string.h>

#include "src/base/err.h"

#define ALWAYS static inline __attribute__((always_inline))

enum { PARTS = MF_PATCH_PARTS, LEAF = MF_PATCH_LEAF, FEW = MF_PATCH_FEW };
enum { OPEN = 2048 /* branches of a search, at most: MF_PATCH_MOST times the levels of a tree */, WIDE = 16 };
enum { LINE = 64, SAMPLES = 64 /* patches that choose an axis */, TASK = 2048 /* fewer patches are no task */ };
enum { AHEAD = 16 /* patches that are brought into a cache */ };

static const float NOWHERE = -1e30f; /* minus half the square of a place without a patch: it is the nearest of none */

/* -- memory -- */

static size_t leaves_of(size_t count)
{
    size_t leaves = 1;

    while (leaves * LEAF < count) leaves *= 2;
    return leaves;
}

/* The next @p bytes of the memory; NULL: only their number is wanted. */
static void *next(char *memory, size_t *used, size_t bytes)
{
    void *at = memory ? memory + *used : NULL;

    *used += (bytes + LINE - 1) / LINE * LINE;
    return at;
}

static size_t lay(const struct mf_patch_image *image, char *memory, struct mf_patch_tree *t)
{
    const size_t count = mf_patch_count(image), leaves = leaves_of(count), places = leaves * LEAF;
    size_t used = 0;

    *t = (struct mf_patch_tree){.slots = image->slots, .count = count, .leaves = leaves};
    t->row = next(memory, &used, image->slots * PARTS * sizeof *t->row);
    t->at = next(memory, &used, places * PARTS * sizeof *t->at);
    t->few = next(memory, &used, places * sizeof *t->few);
    t->half = next(memory, &used, places * sizeof *t->half);
    t->slot = next(memory, &used, places * sizeof *t->slot);
    t->node = next(memory, &used, leaves * sizeof *t->node);
    t->key = next(memory, &used, count * sizeof *t->key);
    return used;
}

size_t mf_patch_tree_bytes(const struct mf_patch_image *image)
{
    struct mf_patch_tree tree;

    return lay(image, NULL, &tree);
}

void mf_patch_tree_lay(const struct mf_patch_image *image, void *memory, struct mf_patch_tree *tree)
{
    (void)lay(image, memory, tree);
}

/* -- medians -- */

/* A number and a slot as one number, in the same order. */
static uint64_t key_of(float value, uint32_t slot)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return (uint64_t)bits << 32 | slot;
}

static float value_of(uint64_t key)
{
    uint32_t bits = (uint32_t)(key >> 32);
    float value;

    bits ^= bits >> 31 ? 0x80000000u : 0xffffffffu;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t slot_of(uint64_t key) { return (uint32_t)key; }

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;

    return c < low ? low : c < high ? c : high;
}

/* Parts keys, three or more, into smaller and larger ones: how many are smaller. None of both is empty. All are moved,
 * because a core cannot foresee which are smaller. */
static size_t part(uint64_t *key, size_t n)
{
    const uint64_t pivot = middle_of(key[0], key[n / 2], key[n - 1]);
    size_t smaller = 0;

    for (size_t i = 0; i < n; ++i) {
        const uint64_t one = key[i];

        key[i] = key[smaller];
        key[smaller] = one;
        smaller += one < pivot;
    }
    return smaller;
}

/* The @p k smallest keys come first (quickselect; Hoare 1961). All keys differ. */
static void select_first(uint64_t *key, size_t n, size_t k)
{
    while (n > 2) {
        const size_t smaller = part(key, n);

        if (k < smaller) {
            n = smaller;
        } else {
            key += smaller;
            k -= smaller;
            n -= smaller;
        }
    }
    if (n == 2 && key[0] > key[1]) {
        const uint64_t first = key[1];

        key[1] = key[0];
        key[0] = first;
    }
}

/* -- the tree -- */

/* The axis on which some evenly spread patches vary most. */
MF_CPU_FAST static size_t widest(const float *row, const uint64_t *key, size_t n)
{
    const size_t step = n > SAMPLES ? n / SAMPLES : 1;
    float sum[PARTS] = {0}, square[PARTS] = {0}, count = 0, most = -1;
    size_t axis = 0;

    for (size_t i = 0; i < n; i += step, ++count) {
        const float *p = row + slot_of(key[i]) * (size_t)PARTS;

        for (size_t c = 0; c < PARTS; ++c) {
            sum[c] += p[c];
            square[c] += p[c] * p[c];
        }
    }
    for (size_t c = 0; c < PARTS; ++c) {
        const float variance = square[c] - sum[c] * sum[c] / count;

        if (variance > most) {
            most = variance;
            axis = c;
        }
    }
    return axis;
}

MF_CPU_FAST static void fill_leaf(struct mf_patch_tree *t, size_t leaf, const uint64_t *key, size_t n)
{
    float *at = t->at + leaf * PARTS * LEAF, few[LEAF], all[LEAF] = {0};

    for (size_t l = 0; l < LEAF; ++l) {
        const float *p = t->row + (l < n ? slot_of(key[l]) * (size_t)PARTS : 0);

        for (size_t c = 0; c < PARTS; ++c) at[c * LEAF + l] = l < n ? p[c] : 0;
        t->slot[leaf * LEAF + l] = l < n ? (int32_t)slot_of(key[l]) : -1;
    }
    for (size_t c = 0; c < PARTS; ++c) {
        for (size_t l = 0; l < LEAF; ++l) all[l] += at[c * LEAF + l] * at[c * LEAF + l];
        if (c + 1 == FEW) memcpy(few, all, sizeof few);
    }
    for (size_t l = 0; l < LEAF; ++l) {
        t->few[leaf * LEAF + l] = l < n ? -0.5f * few[l] : NOWHERE;
        t->half[leaf * LEAF + l] = l < n ? -0.5f * all[l] : NOWHERE;
    }
}

/* Keys by the coordinates on an axis. */
static void set_keys(const float *row, size_t axis, uint64_t *key, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        const uint32_t slot = slot_of(key[i]);

        if (i + AHEAD < n) __builtin_prefetch(row + slot_of(key[i + AHEAD]) * (size_t)PARTS + axis);
        key[i] = key_of(row[slot * (size_t)PARTS + axis], slot);
    }
}

/* Halves the keys of a node. */
static void halve(struct mf_patch_tree *t, size_t node, uint64_t *key, size_t n)
{
    const size_t half = n / 2, axis = widest(t->row, key, n);
    uint64_t most = 0;

    set_keys(t->row, axis, key, n);
    select_first(key, n, half);
    for (size_t i = 0; i < half; ++i) most = key[i] > most ? key[i] : most;
    t->node[node] = (struct mf_patch_node){half ? value_of(most) : -3e38f, (uint32_t)axis};
}

static void split(struct mf_patch_tree *t, size_t node, uint64_t *key, size_t n)
{
    const size_t half = n / 2;

    if (node >= t->leaves) {
        fill_leaf(t, node - t->leaves, key, n);
        return;
    }
    halve(t, node, key, n);
#pragma omp task if (n >= TASK)
    split(t, 2 * node, key, half);
    split(t, 2 * node + 1, key + half, n - half);
}

/* -- a team makes a tree: all workers of a node halve it, and then some of them go on with each of its children -- */

/* Some leaves, their keys, and the workers [first, first + parts) that make them. */
struct branch {
    size_t node, leaf, leaves, key, keys;
    int first, parts;
};

static struct branch trunk(const struct mf_patch_tree *t, int parts)
{
    return (struct branch){1, 0, t->leaves, 0, t->count, 0, parts};
}

/* Few leaves may have several workers, who do the same. */
static int is_shared(const struct branch *b) { return b->parts > 1 && b->leaves > 1; }

/* From a branch to that child which worker @p part makes. */
static void climb(struct branch *b, int part)
{
    const size_t half = b->keys / 2;
    const int left = b->parts / 2, right = part - b->first >= left;

    b->node = 2 * b->node + (size_t)right;
    b->leaves /= 2;
    b->leaf += right ? b->leaves : 0;
    b->key += right ? half : 0;
    b->keys = right ? b->keys - half : half;
    b->first += right ? left : 0;
    b->parts = right ? b->parts - left : left;
}

/* Where the worker's own leaves and keys begin. */
static struct branch branch_of(const struct mf_patch_tree *t, int parts, int part)
{
    struct branch b = trunk(t, parts);

    while (is_shared(&b)) climb(&b, part);
    return b;
}

/* Keys and nodes of all branches to all workers. Nodes of a level stand side by side, in the order of their leaves. */
static void share_branches(const struct mf_team *team, struct mf_patch_tree *t)
{
    const size_t parts = (size_t)team->parts;
    size_t leaf[parts + 1], at[parts + 1];

    for (size_t k = 0; k < parts; ++k) {
        const struct branch b = branch_of(t, team->parts, (int)k);

        leaf[k] = b.leaf;
        at[k] = b.key * sizeof *t->key;
    }
    leaf[parts] = t->leaves;
    at[parts] = t->count * sizeof *t->key;
    team->share(team->context, t->key, at);
    for (size_t nodes = 2; nodes < t->leaves; nodes *= 2) {
        for (size_t k = 0; k <= parts; ++k) at[k] = (leaf[k] * nodes + t->leaves - 1) / t->leaves * sizeof *t->node;
        team->share(team->context, t->node + nodes, at);
    }
}

/* The keys of a leaf, and how many there are. */
static const uint64_t *keys_of(const struct mf_patch_tree *t, size_t leaf, size_t *n)
{
    const uint64_t *key = t->key;

    *n = t->count;
    for (size_t bit = t->leaves / 2; bit > 0; bit /= 2) {
        key += leaf & bit ? *n / 2 : 0;
        *n = leaf & bit ? *n - *n / 2 : *n / 2;
    }
    return key;
}

/* Brings the patches of a leaf into a cache. */
static void fetch_leaf(const struct mf_patch_tree *t, size_t leaf)
{
    size_t n;
    const uint64_t *key = keys_of(t, leaf, &n);

    for (size_t i = 0; i < n; ++i) {
        const float *p = t->row + slot_of(key[i]) * (size_t)PARTS;

        __builtin_prefetch(p);
        __builtin_prefetch(p + PARTS - 1);
    }
}

/* A leaf that another worker has made. */
static void copy_leaf(struct mf_patch_tree *t, size_t leaf)
{
    size_t n;
    const uint64_t *key = keys_of(t, leaf, &n);

    if (leaf + 1 < t->leaves) fetch_leaf(t, leaf + 1);
    fill_leaf(t, leaf, key, n);
}

static void complete(int threads, const struct mf_team *team, const struct branch *own, struct mf_patch_tree *t)
{
    share_branches(team, t);
#pragma omp parallel for num_threads(threads)
    for (size_t leaf = 0; leaf < t->leaves; ++leaf)
        if (leaf - own->leaf >= own->leaves) copy_leaf(t, leaf);
}

void mf_patch_tree_make(int threads, const struct mf_team *team, const struct mf_patch_image *image, const float *axes,
                        struct mf_patch_tree *t)
{
    struct branch own = trunk(t, mf_team_parts(team));
    size_t n = 0;

    mf_patch_project_rows(threads, team, image, axes, t->row);
    for (size_t s = 0; s < image->slots; ++s)
        if (s % image->row < image->pv) t->key[n++] = s;
    for (; is_shared(&own); climb(&own, team->part)) halve(t, own.node, t->key + own.key, own.keys);
#pragma omp parallel num_threads(threads)
#pragma omp single
    split(t, own.node, t->key + own.key, own.keys);
    if (own.leaves < t->leaves) complete(threads, team, &own, t);
}

/* -- the nearest leaves first (best bin first; Beis and Lowe 1997) -- */

/* A few hundred branches at most are open. So a look at all, many at a time, finds the nearest one. */
struct branches {
    size_t count;
    int32_t key[OPEN]; /* squared distance to the cuts that were crossed, without its last bits; these are the index */
    uint32_t node[OPEN];
};

ALWAYS void put(struct branches *b, size_t at, float distance, uint32_t node)
{
    int32_t bits;

    memcpy(&bits, &distance, sizeof bits);
    b->key[at] = (bits & -OPEN) | (int32_t)at;
    b->node[at] = node;
}

/* The least key. The bits of numbers, unless negative, are in the order of the numbers. */
ALWAYS int32_t least_of(struct branches *b)
{
    int32_t least[WIDE], all = INT32_MAX;

    for (size_t i = 0; i < WIDE; ++i) b->key[b->count + i] = INT32_MAX;
    memcpy(least, b->key, sizeof least);
    for (size_t i = WIDE; i < b->count; i += WIDE)
#pragma omp simd
        for (size_t k = 0; k < WIDE; ++k) least[k] = b->key[i + k] < least[k] ? b->key[i + k] : least[k];
#pragma omp simd reduction(min : all)
    for (size_t k = 0; k < WIDE; ++k) all = least[k] < all ? least[k] : all;
    return all;
}

/* Follows the nearest branch to its leaf, and opens those on the way. The last one takes the place of the branch. */
ALWAYS uint32_t next_leaf(const struct mf_patch_tree *t, const float *point, struct branches *b)
{
    const int32_t key = least_of(b), bits = key & -OPEN;
    size_t at = (size_t)(key & (OPEN - 1));
    uint32_t node = b->node[at];
    float distance;

    memcpy(&distance, &bits, sizeof distance);
    while (node < t->leaves) {
        const float d = point[t->node[node].axis] - t->node[node].cut;
        const uint32_t right = d > 0;

        put(b, at, distance + d * d, 2 * node + !right);
        node = 2 * node + right;
        at = b->count++;
    }
    --b->count;
    b->key[at] = (b->key[b->count] & -OPEN) | (int32_t)at;
    b->node[at] = b->node[b->count];
    return node - (uint32_t)t->leaves;
}

MF_CPU_FAST size_t mf_patch_tree_nearest(const struct mf_patch_tree *t, const float *point, size_t most, uint32_t *leaf)
{
    struct branches b;
    size_t n = 0;

    MF_ASSERT(most <= MF_PATCH_MOST);
    b.count = 1;
    put(&b, 0, 0, 1);
    while (n < most && b.count > 0) leaf[n++] = next_leaf(t, point, &b);
    return n;
}
