/* The distance of a slice's patches from those of an example, in both directions: see kernels/slices/slices.h. On every
 * level
 *
 *   E = (1/n) sum over patches p of the slice    |p - q(p)|^2     q(p): the nearest patch of the example
 *     + (1/m) sum over patches q of the example  |p(q) - q|^2     p(q): the nearest patch of the slice
 *   D = sqrt(E), compared with 0
 *
 * |.|^2 is weighted by a Gaussian of sum 1 and summed over all phases. With fixed neighbours E is one parabola per
 * pixel, E = C + sum_i A_i (x_i - M_i)^2. A, M and C are the slice's pull, which is all that eval() needs. A level on
 * which the slice or the example is smaller than a patch takes no part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/patch_near.h"
#include "kernels/cpu/slices/slice.h"
#include "kernels/form/compare.h"
#include "src/base/bounds.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { GROUP = 8, TAKES = 12 }; /* slices read side by side; arrays of a plan */

struct level {
    struct mf_patch_level is;
    int in_trees;                  /* else all pairs are compared */
    struct mf_patch_points points; /* of the example, for all pairs */
    struct mf_patch_tree tree;     /* the same, in a tree */
    float *axes;
    int32_t *row, *column; /* neighbours of the slice that was matched last, where the next search begins */
    float *far, *near;     /* trees: squared distances to them */
};

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    struct level level[MF_PYRAMID_MAX];
    size_t pyramid; /* pixels of all levels */
    int ready;      /* the example's patches have been found */
    float weight[MF_PATCH_PIXELS];
    /* of the slice that is matched */
    struct mf_patch_points points;
    float *image, *pixels, *search, *sums; /* its borders; [phases][pixels]; the search's; [1 + 2 phases][pixels] */
    char *tree;                            /* matches that are found, and the slice's tree */
    char *memory; /* what searches in trees remember: their number, then rows, columns and distances of each level */
    size_t memory_bytes;
    double *scatter;
    float *scratch; /* [threads][GROUP][1 or 2 pyramids] */
    void *taken[TAKES + 3 * MF_PYRAMID_MAX];
    size_t takes;
};

/* -- plans -- */

static void plan_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    while (plan->takes) mf_arena_give(plan->queue->arena, plan->taken[--plan->takes]);
    mf_arena_give(plan->queue->host, plan->memory);
    free(plan);
}

/* NULL when any before it was refused. */
static void *take(struct mf_slice_plan *p, size_t number, size_t size, const char *tag)
{
    if (p->takes && !p->taken[p->takes - 1]) return NULL;
    p->taken[p->takes] = mf_arena_take(p->queue->arena, number * size, tag);
    return p->taken[p->takes++];
}

/* The example, and where the search begins. */
static void take_level(struct mf_slice_plan *p, struct level *level)
{
    const size_t slots = level->is.example.slots, phases = level->is.example.phases;
    const size_t near = level->is.slice.slots + slots;

    level->is.example.x = take(p, mf_patch_image_floats(&level->is.example), sizeof(float), "example");
    level->axes = take(p, (phases * MF_PATCH_PIXELS + 1) * MF_PATCH_PARTS, sizeof(float), "example");
    if (level->in_trees) {
        void *tree = take(p, mf_patch_tree_bytes(&level->is.example), 1, "example");

        mf_patch_tree_lay(&level->is.example, tree, &level->tree);
        return;
    }
    level->points =
        (struct mf_patch_points){slots, take(p, slots * (MF_PATCH_PARTS + 1), sizeof(float), "example"), NULL};
    level->row = take(p, near, sizeof *level->row, "patch search");
    if (!level->row) return;
    level->points.norm = level->points.at + slots * MF_PATCH_PARTS;
    level->column = level->row + level->is.slice.slots;
    memset(level->row, 0, near * sizeof *level->row);
}

/* All slots of a level have a match and its distance. */
static size_t remembered(const struct level *level)
{
    return (level->is.slice.slots + level->is.example.slots) * (sizeof(int32_t) + sizeof(float));
}

/* Memory of searches in trees. It begins with the number of the next search. */
static int take_memory(struct mf_slice_plan *p)
{
    char *at;

    for (size_t l = 0; l < p->desc.levels; ++l)
        if (p->level[l].in_trees) p->memory_bytes += remembered(&p->level[l]);
    if (p->memory_bytes == 0) return MF_OK;
    p->memory_bytes += sizeof(uint64_t);
    p->memory = mf_arena_zeros(p->queue->host, p->memory_bytes, 1, "patch search");
    if (!p->memory) return MF_MEMORY;
    at = p->memory + sizeof(uint64_t);
    for (size_t l = 0; l < p->desc.levels; ++l) {
        struct level *level = &p->level[l];

        if (!level->in_trees) continue;
        level->row = (int32_t *)(void *)at;
        level->column = level->row + level->is.slice.slots;
        level->far = (float *)(level->column + level->is.example.slots);
        level->near = level->far + level->is.slice.slots;
        at += remembered(level);
    }
    return MF_OK;
}

/* Memory of a slice for any level. */
struct room {
    size_t slots, search, tree; /* points and floats of a search of all pairs; bytes of a search of trees */
};

static struct room room_of(const struct mf_slice_plan *p)
{
    struct room room = {0, 0, 0};

    for (size_t l = 0; l < p->desc.levels; ++l) {
        const struct mf_patch_level *is = &p->level[l].is;
        const size_t slots = is->slice.slots, others = is->example.slots;

        if (!is->on) continue;
        room.search = mf_max(room.search, mf_patch_pull_room(&is->slice, p->queue->threads));
        if (p->level[l].in_trees) {
            room.tree = mf_max(room.tree, mf_patch_tree_bytes(&is->slice) + (slots + others) * sizeof(int32_t));
        } else {
            room.slots = mf_max(room.slots, slots);
            room.search = mf_max(room.search, mf_patch_nearest_room(p->queue->threads, slots, others));
        }
    }
    return room;
}

/* The finest level that is compared has the most pixels. */
static void take_work(struct mf_slice_plan *p, const struct level *first)
{
    const size_t phases = mf_patch_phases(&p->desc);
    const size_t floats = mf_max(p->level[0].is.pixels, p->desc.example.nu * p->desc.example.nv);
    const struct room room = room_of(p);
    float *points;

    p->pixels = take(p, phases * floats, sizeof(float), "patch search");
    p->image = take(p, mf_patch_image_floats(&first->is.slice), sizeof(float), "patch search");
    p->sums = take(p, (1 + 2 * phases) * first->is.pixels, sizeof(float), "patch search");
    points = take(p, room.slots * (MF_PATCH_PARTS + 1), sizeof(float), "patch search");
    p->search = take(p, room.search, sizeof(float), "patch search");
    p->tree = take(p, room.tree, 1, "patch search");
    p->scatter = take(p, mf_patch_axes_room(phases), sizeof *p->scatter, "patch search");
    if (!p->scatter) return;
    p->points = (struct mf_patch_points){room.slots, points, points + room.slots * MF_PATCH_PARTS};
}

static int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                     struct mf_slice_plan **plan)
{
    struct mf_patch_level shape[MF_PYRAMID_MAX];
    struct mf_slice_plan *p;
    size_t l = desc->first;

    MF_TRY(mf_slices_check(desc));
    MF_ASSERT(desc->example.x && mf_patch_phases(desc) <= MF_SIMPLEX_MAX);
    p = calloc(1, sizeof *p);
    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan of %s", ops->kind->what);
    p->queue = queue;
    p->desc = *desc;
    mf_patch_shape(desc, shape);
    for (size_t k = 0; k < desc->levels; ++k)
        p->level[k] =
            (struct level){.is = shape[k],
                           .in_trees = shape[k].on && mf_patch_in_trees(desc, (double)mf_patch_count(&shape[k].slice),
                                                                        (double)mf_patch_count(&shape[k].example))};
    mf_patch_weights(p->weight);
    p->pyramid = p->level[desc->levels - 1].is.at + p->level[desc->levels - 1].is.pixels;
    for (size_t k = l; k < desc->levels; ++k)
        if (p->level[k].is.on) take_level(p, &p->level[k]);
    if (p->level[l].is.on) take_work(p, &p->level[l]);
    p->scratch = take(p, (size_t)queue->threads * GROUP * p->pyramid * (desc->flip ? 2 : 1), sizeof(float), "patches");
    if (!p->scratch || take_memory(p) != MF_OK) {
        plan_free(p);
        return MF_MEMORY;
    }
    *plan = p;
    return MF_OK;
}

/* -- pixels -- */

/* @p lanes slices from slice s on, packed, @p apart floats from one to the next. */
static void gather(const struct mf_view *x, size_t s, size_t lanes, float *to, size_t apart)
{
    const float *from = x->base + s * x->ss;

    for (size_t u = 0; u < x->nu; ++u)
        for (size_t v = 0; v < x->nv; ++v)
            for (size_t k = 0; k < lanes; ++k) to[k * apart + u * x->nv + v] = from[u * x->su + v * x->sv + k * x->ss];
}

/* -- matching -- */

/* Prepares the patches of the example on all levels. It waits until they are needed, because plans are also made only
 * to measure memory. */
static void prepare(struct mf_slice_plan *p)
{
    const struct mf_slice_example *e = &p->desc.example;
    const size_t phases = mf_patch_phases(&p->desc), apart = e->nu * e->nv;

    if (p->ready) return;
    memcpy(p->pixels, e->x, phases * apart * sizeof *p->pixels);
    for (size_t l = 0; l < p->desc.levels; ++l) {
        struct level *level = &p->level[l];

        if (level->is.on) {
            mf_patch_image_fill(&level->is.example, p->pixels, apart);
            mf_patch_axes(&level->is.example, p->scatter, level->axes);
            if (level->in_trees)
                mf_patch_tree_make(p->queue->threads, p->desc.team, &level->is.example, level->axes, &level->tree);
            else
                mf_patch_project(p->queue->threads, &level->is.example, level->axes, &level->points);
        }
        for (size_t k = 0; k < phases; ++k)
            mf_cpu_coarsen(e->nu >> l, e->nv >> l, p->pixels + k * apart, p->pixels + k * apart);
    }
    p->ready = 1;
}

/* Sums of weights, of weighted neighbours and of their squares to A, M and C. */
static void settle(const struct level *level, size_t phases, const float *sums, float *pull)
{
    const size_t n = level->is.pixels;

    memcpy(pull, sums, n * sizeof *pull);
    for (size_t f = 0; f < phases; ++f) {
        const float *one = sums + (1 + 2 * f) * n, *two = one + n;
        float *mean = pull + (1 + f) * n;
        double rest = 0;

        for (size_t i = 0; i < n; ++i) {
            mean[i] = sums[i] > 0 ? one[i] / sums[i] : 0;
            rest += (double)two[i] - (double)one[i] * (double)mean[i];
        }
        pull[(1 + phases) * n + f] = (float)(rest > 0 ? rest : 0);
    }
}

static void search_pairs(struct mf_slice_plan *p, const struct level *level, const struct mf_patch_image *slice)
{
    struct mf_patch_points points = p->points;
    const int threads = p->queue->threads;

    points.slots = slice->slots;
    mf_patch_project(threads, slice, level->axes, &points);
    mf_patch_nearest(mf_patch_search_of(0), threads, &points, &level->points, p->search, level->row, level->column);
}

static void search_trees(struct mf_slice_plan *p, const struct level *level, const struct mf_patch_image *slice)
{
    int32_t *found = (int32_t *)(void *)p->tree;
    struct mf_patch_tree tree;
    const struct mf_patch_side of = {slice, &tree, level->row, level->far, found};
    const struct mf_patch_side to = {&level->is.example, &level->tree, level->column, level->near,
                                     found + slice->slots};

    mf_patch_tree_lay(slice, found + slice->slots + level->is.example.slots, &tree);
    mf_patch_tree_make(p->queue->threads, p->desc.team, slice, level->axes, &tree);
    mf_patch_near(p->queue->threads, p->desc.team, (size_t) * (uint64_t *)(void *)p->memory, &of, &to);
}

static void match_level(struct mf_slice_plan *p, const struct level *level, size_t apart, float *pull)
{
    struct mf_patch_image slice = level->is.slice;

    slice.x = p->image;
    mf_patch_image_fill(&slice, p->pixels, apart);
    (level->in_trees ? search_trees : search_pairs)(p, level, &slice);
    mf_patch_pull_sums(p->queue->threads, p->desc.team, &level->is, p->weight, level->row, level->column, p->search,
                       p->sums);
    settle(level, slice.phases, p->sums, pull + level->is.pull);
}

static void match(struct mf_slice_plan *p, const struct mf_view *x, float *pull)
{
    const size_t phases = mf_patch_phases(&p->desc), apart = p->level[0].is.pixels, size = mf_patch_pull(&p->desc);

    if (size == 0) return;
    prepare(p);
    for (size_t s = 0; s < x->count; ++s) {
        mf_pulse_tell("patches");
        for (size_t f = 0; f < phases; ++f) gather(&x[f], s, 1, p->pixels + f * apart, 0);
        for (size_t l = 0; l < p->desc.levels; ++l) {
            if (p->level[l].is.on) match_level(p, &p->level[l], apart, pull + s * size);
            for (size_t f = 0; f < phases; ++f)
                mf_cpu_coarsen(p->desc.nu >> l, p->desc.nv >> l, p->pixels + f * apart, p->pixels + f * apart);
        }
    }
    if (p->memory && x->count > 0) ++*(uint64_t *)(void *)p->memory;
}

static void *memory(struct mf_slice_plan *plan, size_t *bytes)
{
    *bytes = plan->memory_bytes;
    return plan->memory;
}

/* -- values and gradients -- */

/* E of a phase on a level. */
static double mismatch(const struct level *level, size_t phases, size_t phase, const float *pull, const float *x)
{
    const float *strength = pull + level->is.pull, *mean = strength + (1 + phase) * level->is.pixels;
    double sum = (double)strength[(1 + phases) * level->is.pixels + phase];

    for (size_t i = 0; i < level->is.pixels; ++i) {
        const float d = x[i] - mean[i];

        sum += (double)(strength[i] * d * d);
    }
    return sum;
}

/* x to the gradient c dE/dx; @p second (NULL: not wanted) to half its slope, c A. */
static void slopes(const struct level *level, size_t phase, const float *pull, double c, float *x, float *second)
{
    const float *strength = pull + level->is.pull, *mean = strength + (1 + phase) * level->is.pixels;
    const float c1 = (float)c, c2 = (float)(2 * c);

    for (size_t i = 0; i < level->is.pixels; ++i) x[i] = c2 * strength[i] * (x[i] - mean[i]);
    for (size_t i = 0; second && i < level->is.pixels; ++i) second[i] = c1 * strength[i];
}

/* Compares one slice, whose pixels are at the begin of a pyramid: sum and values. With a gradient, the pyramid is
 * replaced by it. */
static void compare(const struct mf_slice_plan *p, const struct mf_slice_task *task, size_t s, float *pyramid)
{
    const size_t phases = mf_patch_phases(&p->desc), levels = p->desc.levels;
    const float *pull = task->pull + s * mf_patch_pull(&p->desc);
    const double scale = task->scale ? task->scale[s] : 1.0;
    float *second = p->desc.flip ? pyramid + p->pyramid : NULL;
    double sum = 0;

    for (size_t l = 0; l + 1 < levels; ++l)
        mf_cpu_coarsen(p->desc.nu >> l, p->desc.nv >> l, pyramid + p->level[l].is.at, pyramid + p->level[l + 1].is.at);
    for (size_t l = 0; l < levels; ++l) {
        const struct level *level = &p->level[l];
        const double w = task->weight[l];
        double e = level->is.on ? mismatch(level, phases, task->phase, pull, pyramid + level->is.at) : 0, d = sqrt(e);
        double c = task->power == 2 ? w * w : d > 0 ? w / (2 * d) : 0; /* d|w D|^p / dE */

        sum += mf_compare_loss(task->power, w * d);
        if (task->values && l >= p->desc.first) task->values[s * levels + l] = (float)d;
        if (!task->g.base) continue;
        if (level->is.on) {
            slopes(level, task->phase, pull, scale * c, pyramid + level->is.at, second ? second + level->is.at : NULL);
        } else {
            memset(pyramid + level->is.at, 0, level->is.pixels * sizeof *pyramid);
            if (second) memset(second + level->is.at, 0, level->is.pixels * sizeof *second);
        }
    }
    if (task->sum) task->sum[s] = sum;
    for (size_t l = levels - 1; task->g.base && l-- > 0;) {
        const size_t nu = p->desc.nu >> l, nv = p->desc.nv >> l, at = p->level[l].is.at, next = p->level[l + 1].is.at;

        mf_cpu_spread(nu, nv, 0.25f, pyramid + next, pyramid + at);
        if (second) mf_cpu_spread(nu, nv, 0.0625f, second + next, second + at);
    }
}

/* Gradients of @p lanes slices back to where they belong. */
static void scatter(const struct mf_slice_plan *p, const struct mf_slice_task *task, size_t s, size_t lanes,
                    const float *from, size_t apart)
{
    const struct mf_view *x = &task->x, *g = &task->g;

    for (size_t u = 0; u < x->nu; ++u)
        for (size_t v = 0; v < x->nv; ++v)
            for (size_t k = 0; k < lanes; ++k) {
                const float *at = from + k * apart + u * x->nv + v;
                float *to = g->base + (s + k) * g->ss + u * g->su + v * g->sv;

                *to += *at;
                if (p->desc.flip) /* half the second derivative times the step */
                    *to += at[p->pyramid] * (1.0f - 2.0f * x->base[(s + k) * x->ss + u * x->su + v * x->sv]);
            }
}

static void eval_group(const struct mf_slice_plan *p, const struct mf_slice_task *task, size_t s, size_t lanes,
                       float *scratch)
{
    const size_t apart = p->pyramid * (p->desc.flip ? 2 : 1);

    gather(&task->x, s, lanes, scratch, apart);
    for (size_t k = 0; k < lanes; ++k) compare(p, task, s + k, scratch + k * apart);
    if (task->g.base) scatter(p, task, s, lanes, scratch, apart);
}

static void eval(struct mf_slice_plan *p, const struct mf_slice_task *task)
{
    const size_t count = task->x.count, wide = task->x.ss == 1 ? GROUP : 1, groups = (count + wide - 1) / wide;
    const size_t threads = (size_t)mf_cpu_threads(p->queue, count * p->level[0].is.pixels);
    const size_t apart = GROUP * p->pyramid * (p->desc.flip ? 2 : 1);

    MF_ASSERT(count <= p->desc.count_max);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (size_t t = 0; t < threads; ++t) {
        const struct mf_span span = mf_cut(groups, threads, t);

        for (size_t k = span.first; k < span.first + span.count; ++k)
            eval_group(p, task, k * wide, count - k * wide < wide ? count - k * wide : wide, p->scratch + t * apart);
    }
}

const struct mf_slice_kind mf_kind_patch = {"patch", "patches", mf_entries_one, mf_cost_patches};

const struct mf_slice_ops mf_patch_cpu = {
    .kind = &mf_kind_patch,
    .plan = plan_make,
    .free = plan_free,
    .eval = eval,
    .pull = mf_patch_pull,
    .match = match,
    .memory = memory,
};
