/* Patches: nearest neighbours are the nearest and, of equals, the first. The vectors of an instruction set and the
 * begin of the search do not matter. The mismatch is that of a brute-force search over all pixels or little more.
 * Gradients are those of the held parabolas, and flips are exact. Nothing depends on threads, batches, or how slices
 * lie in memory.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slices/patch.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/dirty.h"

enum { NU = 20, NV = 26, COUNT = 3, MU = 22, MV = 18, LEVELS = 2, PHASES = 2, SIDE = MF_PATCH_SIDE };

/* -- the search -- */

/* Where coordinate c of a slot lies. */
static size_t at_of(size_t s, size_t c)
{
    return (s / MF_PATCH_LANES * MF_PATCH_PARTS + c) * MF_PATCH_LANES + s % MF_PATCH_LANES;
}

static int is_empty(size_t s) { return s % 29 == 28; }

/* Points at few places, so that many are equally near; some slots are empty. */
static float *points(size_t n, size_t seed)
{
    float *at = aligned_alloc(64, n * (MF_PATCH_PARTS + 1) * sizeof *at);

    for (size_t s = 0; s < n; ++s) {
        const int empty = is_empty(s);
        float *norm = at + n * MF_PATCH_PARTS + s;

        *norm = empty ? 1e30f : 0;
        for (size_t c = 0; c < MF_PATCH_PARTS; ++c) {
            const float x = empty || (c > 1 && c != 20) ? 0 : (float)((s * (c + 3) + c + seed) % 11) / 4;

            at[at_of(s, c)] = x;
            *norm += x * x;
        }
    }
    return at;
}

static double apart(const float *a, size_t i, const float *b, size_t j)
{
    double sum = 0;

    for (size_t c = 0; c < MF_PATCH_PARTS; ++c) {
        double d = (double)a[at_of(i, c)] - (double)b[at_of(j, c)];

        sum += d * d;
    }
    return sum;
}

static void check_nearest(const float *a, size_t n, const float *b, size_t m, const int32_t *near)
{
    for (size_t i = 0; i < n; ++i) {
        size_t best = m;

        if (a[n * MF_PATCH_PARTS + i] > 1e29f) continue;
        for (size_t j = 0; j < m; ++j)
            if (b[m * MF_PATCH_PARTS + j] < 1e29f && (best == m || apart(a, i, b, j) < apart(a, i, b, best))) best = j;
        CHECK((size_t)near[i] == best);
    }
}

/* From any neighbours, from the right ones, and from those that were right before the rows moved. */
static void check_search(mf_patch_search *search, int threads)
{
    const size_t n = 3 * MF_PATCH_LANES, m = 70 * MF_PATCH_LANES; /* more than one chunk */
    float *a = points(n, 1), *b = points(m, 2), *moved = points(n, 3);
    float *work = aligned_alloc(64, (mf_patch_nearest_room(threads, n, m) * sizeof *work + 63) / 64 * 64);
    struct mf_patch_points rows = {n, a, a + n * MF_PATCH_PARTS}, columns = {m, b, b + m * MF_PATCH_PARTS};
    int32_t *row = calloc(n, sizeof *row), *column = calloc(m, sizeof *column);

    for (int time = 0; time < 3; ++time) {
        if (time == 2) rows = (struct mf_patch_points){n, moved, moved + n * MF_PATCH_PARTS};
        mf_patch_nearest(search, threads, &rows, &columns, work, row, column);
        check_nearest(rows.at, n, b, m, row);
        check_nearest(b, m, rows.at, n, column);
    }
    free(row);
    free(column);
    free(work);
    free(a);
    free(b);
    free(moved);
}

/* Points about one that may be far from zero, so that squares are rounded by more than they differ by. They are apart
 * in their first coordinates most of all, as patches are. */
static float *cloud(size_t n, uint32_t stream, double offset, double spread)
{
    float *at = aligned_alloc(64, n * (MF_PATCH_PARTS + 1) * sizeof *at);

    for (size_t s = 0; s < n; ++s) {
        float *norm = at + n * MF_PATCH_PARTS + s;

        *norm = is_empty(s) ? 1e30f : 0;
        for (size_t c = 0; c < MF_PATCH_PARTS; ++c) {
            const double middle = offset * mf_random_uniform(3, 0, c), wide = c < 12 ? spread : spread / 64;
            const double x = middle + wide * mf_random_uniform(3, stream, s * MF_PATCH_PARTS + c);

            at[at_of(s, c)] = is_empty(s) ? 0 : (float)x;
            *norm += at[at_of(s, c)] * at[at_of(s, c)];
        }
    }
    return at;
}

/* Where a search begins: at @p right but for one slot in @p every, which begins anywhere. */
static void begin(size_t n, const int32_t *right, size_t others, size_t every, int32_t *at)
{
    for (size_t s = 0; s < n; ++s) {
        const size_t any = (size_t)((double)others * mf_random_uniform(3, 3, s));

        at[s] = s % every == 0 ? (int32_t)(is_empty(any) ? any - 1 : any) : right[s];
    }
}

static void check_equal(size_t n, const int32_t *a, const int32_t *b)
{
    for (size_t s = 0; s < n; ++s) CHECK(is_empty(s) || a[s] == b[s]);
}

/* A search from neighbours that are as near as any leaves the most out. It must find what a search from slot 0 does.
 */
static void check_bounds(mf_patch_search *search, double offset, double spread)
{
    enum { ROWS = 6 * MF_PATCH_LANES, COLUMNS = 16 * MF_PATCH_LANES };
    static const size_t every[] = {ROWS * COLUMNS, 64, 8, 1};
    static int32_t row[ROWS], column[COLUMNS], row_of[ROWS], column_of[COLUMNS];
    float *a = cloud(ROWS, 1, offset, spread), *b = cloud(COLUMNS, 2, offset, spread);
    float *work = aligned_alloc(64, (mf_patch_nearest_room(1, ROWS, COLUMNS) * sizeof *work + 63) / 64 * 64);
    const struct mf_patch_points rows = {ROWS, a, a + (size_t)ROWS * MF_PATCH_PARTS};
    const struct mf_patch_points columns = {COLUMNS, b, b + (size_t)COLUMNS * MF_PATCH_PARTS};

    memset(row, 0, sizeof row);
    memset(column, 0, sizeof column);
    mf_patch_nearest(search, 1, &rows, &columns, work, row, column);
    for (size_t k = 0; k < sizeof every / sizeof *every; ++k) {
        begin(ROWS, row, COLUMNS, every[k], row_of);
        begin(COLUMNS, column, ROWS, every[k], column_of);
        mf_patch_nearest(search, 1, &rows, &columns, work, row_of, column_of);
        check_equal(ROWS, row, row_of);
        check_equal(COLUMNS, column, column_of);
    }
    free(work);
    free(a);
    free(b);
}

static void check_all_bounds(mf_patch_search *search)
{
    static const double offset[] = {0, 3, 100}, spread[] = {1, 1e-4};

    for (size_t i = 0; i < 3; ++i)
        for (size_t k = 0; k < 2; ++k) check_bounds(search, offset[i], spread[k]);
}

/* -- the descriptor -- */

static float example[PHASES][MU * MV], field[PHASES][COUNT * NU * NV];

static void make_fields(void)
{
    for (size_t p = 0; p < PHASES; ++p) {
        for (size_t i = 0; i < MU * MV; ++i)
            example[p][i] = sin(0.7 * (double)(i / MV) + 0.4 * (double)(i % MV) + 2 * (double)p) > 0.2;
        for (size_t i = 0; i < (size_t)COUNT * NU * NV; ++i) field[p][i] = (float)mf_random_uniform(2, 7, i);
    }
}

/* Level l of an image in double. */
static void pooled(size_t nu, size_t nv, const float *x, size_t l, double *to)
{
    const size_t cell = (size_t)1 << l;

    for (size_t u = 0; u < nu >> l; ++u)
        for (size_t v = 0; v < nv >> l; ++v) {
            double sum = 0;

            for (size_t k = 0; k < cell * cell; ++k) sum += (double)x[(u * cell + k / cell) * nv + v * cell + k % cell];
            to[u * (nv >> l) + v] = sum / (double)(cell * cell);
        }
}

struct image {
    size_t nu, nv;
    int periodic;
    double x[PHASES][NU * NV];
};

static double far(const struct image *a, size_t i, const struct image *b, size_t j, const float *weight)
{
    double sum = 0;

    for (size_t p = 0; p < PHASES; ++p)
        for (size_t k = 0; k < SIDE * SIDE; ++k) {
            double d = a->x[p][(i / a->nv + k / SIDE) % a->nu * a->nv + (i % a->nv + k % SIDE) % a->nv] -
                       b->x[p][(j / b->nv + k / SIDE) % b->nu * b->nv + (j % b->nv + k % SIDE) % b->nv];

            sum += (double)weight[k] * d * d;
        }
    return sum;
}

static int is_place(const struct image *a, size_t i)
{
    return a->periodic || (i / a->nv + SIDE <= a->nu && i % a->nv + SIDE <= a->nv);
}

/* Mean over the patches of a of their distance to the nearest of b. */
static double one_way(const struct image *a, const struct image *b, const float *weight)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < a->nu * a->nv; ++i) {
        double least = INFINITY;

        if (!is_place(a, i)) continue;
        for (size_t j = 0; j < b->nu * b->nv; ++j)
            if (is_place(b, j)) least = fmin(least, far(a, i, b, j, weight));
        sum += least;
        ++count;
    }
    return count ? sum / (double)count : 0;
}

static double brute(size_t s, size_t l, int periodic)
{
    struct image slice = {NU >> l, NV >> l, periodic, {{0}}}, other = {MU >> l, MV >> l, 0, {{0}}};
    float weight[MF_PATCH_PIXELS];

    mf_patch_weights(weight);
    for (size_t p = 0; p < PHASES; ++p) {
        pooled(NU, NV, field[p] + s * NU * NV, l, slice.x[p]);
        pooled(MU, MV, example[p], l, other.x[p]);
    }
    return one_way(&slice, &other, weight) + one_way(&other, &slice, weight);
}

struct run {
    double sum[PHASES][COUNT];
    float g[PHASES][COUNT * NU * NV], pull[COUNT * 4 * PHASES * NU * NV];
};

struct open {
    struct mf_arena *arena;
    struct mf_queue *q;
    struct mf_slice_plan *plan;
    size_t pull;
};

static struct open open_plan(int threads, int periodic, int flip)
{
    const struct mf_slice_desc desc = {.nu = NU,
                                       .nv = NV,
                                       .levels = LEVELS,
                                       .count_max = COUNT,
                                       .periodic = periodic,
                                       .phases = PHASES,
                                       .example = {example[0], MU, MV, 0},
                                       .flip = flip};
    struct open o;

    CHECK(mf_arena_open(&o.arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&o.q, 0, threads, 1, o.arena, o.arena) == MF_OK);
    CHECK(mf_slices_plan(&mf_patch_cpu, o.q, &desc, &o.plan) == MF_OK);
    o.pull = mf_patch_cpu.pull(&desc);
    return o;
}

static void close_plan(struct open *o)
{
    mf_patch_cpu.free(o->plan);
    mf_backend_cpu.queue_close(o->q);
    CHECK(mf_arena_live(o->arena) == 0);
    mf_arena_close(o->arena);
}

/* Slices [first, first + count) of a field that lies as @p by says: 0: [slice][u][v], 1: [u][v][slice]. */
static struct mf_view view(float *base, int by, size_t first, size_t count)
{
    if (by) return (struct mf_view){base + first, count, NU, NV, 1, NV * COUNT, COUNT};
    return (struct mf_view){base + first * NU * NV, count, NU, NV, NU * NV, NV, 1};
}

static const double weights[LEVELS] = {1, 0.5};

static void evaluate(struct open *o, const struct mf_view *x, const struct mf_view *g, size_t phase, int power,
                     const float *pull, double *sum)
{
    static const double scale[COUNT] = {0.7, 1.1, 1.3};
    struct mf_slice_task task = {
        .x = *x, .weight = weights, .power = power, .scale = scale, .sum = sum, .phase = phase, .pull = pull};

    if (g) task.g = *g;
    mf_patch_cpu.eval(o->plan, &task);
}

static void run_all(struct run *r, int threads, int periodic, int by, int power)
{
    static float x[PHASES][COUNT * NU * NV], g[PHASES][COUNT * NU * NV];
    struct open o = open_plan(threads, periodic, 0);
    struct mf_view vx[PHASES], vg;

    for (size_t p = 0; p < PHASES; ++p) {
        for (size_t i = 0; i < (size_t)COUNT * NU * NV; ++i)
            x[p][by ? i % (NU * NV) * COUNT + i / (NU * NV) : i] = field[p][i];
        vx[p] = view(x[p], by, 0, COUNT);
    }
    mf_patch_cpu.match(o.plan, vx, r->pull);
    memset(g, 0, sizeof g);
    for (size_t p = 0; p < PHASES; ++p) {
        vg = view(g[p], by, 0, COUNT);
        evaluate(&o, &vx[p], &vg, p, power, r->pull, r->sum[p]);
        for (size_t i = 0; i < (size_t)COUNT * NU * NV; ++i)
            r->g[p][i] = g[p][by ? i % (NU * NV) * COUNT + i / (NU * NV) : i];
    }
    close_plan(&o);
}

static void check_brute(int periodic)
{
    static struct run r;

    run_all(&r, 1, periodic, 0, 2);
    for (size_t s = 0; s < COUNT; ++s) {
        double least = 0, got = r.sum[0][s] + r.sum[1][s];

        for (size_t l = 0; l < LEVELS; ++l) least += weights[l] * weights[l] * brute(s, l, periodic);
        CHECK(got >= least * (1 - 1e-5) && got <= least * 1.03);
    }
}

static void check_same(int power)
{
    static struct run a, b;

    run_all(&a, 1, 1, 0, power);
    for (int threads = 1; threads <= 3; threads += 2)
        for (int by = 0; by < 2; ++by) {
            run_all(&b, threads, 1, by, power);
            CHECK(memcmp(a.sum, b.sum, sizeof a.sum) == 0 && memcmp(a.g, b.g, sizeof a.g) == 0);
        }
}

/* With the pull held: central differences of a slice, and exact flips of a binary one. */
static void check_slopes(int power, int flip)
{
    static float x[PHASES][NU * NV], g[NU * NV], pull[4 * PHASES * NU * NV];
    struct open o = open_plan(1, 1, flip);
    struct mf_view vx[PHASES], vg = view(g, 0, 0, 1);

    for (size_t p = 0; p < PHASES; ++p) {
        for (size_t i = 0; i < NU * NV; ++i) x[p][i] = flip ? (float)(field[0][i] > 0.5f) == (float)p : field[p][i];
        vx[p] = view(x[p], 0, 0, 1);
    }
    mf_patch_cpu.match(o.plan, vx, pull);
    for (size_t p = 0; p < PHASES; ++p) {
        double before, sum;

        memset(g, 0, sizeof g);
        evaluate(&o, &vx[p], &vg, p, power, pull, &before);
        for (size_t i = 3; i < NU * NV; i += 37) {
            const float was = x[p][i], step = flip ? 1 - 2 * was : 0.125f;
            double up, down;

            x[p][i] = was + step;
            evaluate(&o, &vx[p], NULL, p, power, pull, &up);
            x[p][i] = flip ? was : was - step;
            evaluate(&o, &vx[p], NULL, p, power, pull, &down);
            x[p][i] = was;
            sum = 0.7 * (up - down) / ((flip ? 1 : 2) * (double)step);
            CHECK_NEAR((double)g[i], sum, power == 2 ? 2e-6 : 1e-5);
        }
    }
    close_plan(&o);
}

/* The example's own patches are near: a slice that is the example repeated has no mismatch. */
static void check_itself(void)
{
    const struct mf_slice_desc desc = {.nu = MU,
                                       .nv = MV,
                                       .levels = 1,
                                       .count_max = 1,
                                       .periodic = 1,
                                       .phases = 1,
                                       .example = {example[0], MU, MV, 1}};
    static float x[MU * MV], pull[2 * MU * MV + 1];
    struct mf_view v = {x, 1, MU, MV, MU * MV, MV, 1};
    struct mf_slice_plan *plan;
    struct mf_arena *arena;
    struct mf_queue *q;
    float value = -1;
    double one = 1;

    for (size_t i = 0; i < MU * MV; ++i) x[i] = example[0][(i / MV + 5) % MU * MV + (i % MV + 11) % MV];
    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 1, 1, arena, arena) == MF_OK);
    CHECK(mf_slices_plan(&mf_patch_cpu, q, &desc, &plan) == MF_OK);
    CHECK(mf_patch_cpu.pull(&desc) == 2 * MU * MV + 1);
    mf_patch_cpu.match(plan, &v, pull);
    mf_patch_cpu.eval(plan,
                      &(struct mf_slice_task){.x = v, .weight = &one, .power = 2, .values = &value, .pull = pull});
    CHECK(value >= 0 && value < 1e-3f);
    mf_patch_cpu.free(plan);
    mf_backend_cpu.queue_close(q);
    mf_arena_close(arena);
}

/* Slices or examples without a patch: nothing is held, nothing is missed. */
static void check_small(void)
{
    struct mf_slice_desc desc = {.nu = 8, .nv = 40, .levels = 1, .count_max = 1, .periodic = 1, .phases = 1};

    desc.example = (struct mf_slice_example){example[0], MU, MV, 0};
    CHECK(mf_patch_cpu.pull(&desc) == 0);
    desc.nu = 9;
    CHECK(mf_patch_cpu.pull(&desc) == 2 * 9 * 40 + 1);
    desc.example.nv = 8;
    CHECK(mf_patch_cpu.pull(&desc) == 0);
}

int main(void)
{
    make_fields();
    CHECK(mf_patch_search_of(0) != NULL);
    for (size_t i = 0; mf_patch_search_of(i); ++i) {
        for (int threads = 1; threads <= 3; ++threads) check_search(mf_patch_search_of(i), threads);
        check_all_bounds(mf_patch_search_of(i));
    }
    check_brute(1);
    check_brute(0);
    check_same(1);
    check_same(2);
    check_slopes(2, 0);
    check_slopes(1, 0);
    check_slopes(2, 1);
    check_itself();
    check_small();
    return failures != 0;
}
