/* S2 of slices: values, loss and gradient equal plain loops in double, which agree with finite differences. A slice is
 * bitwise the same alone, in a batch and on any number of threads. Calls total and cross give the sums. For every
 * engine. */
#include <fftw3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/fftw_memory.h"
#include "kernels/cpu/slices/corr.h"
#include "kernels/cpu/slices/lanes.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/oracle/corr.h"
#include "tests/unit/dirty.h"

struct corr_case {
    size_t nu, nv, lag, levels, count;
    int normal, periodic, power; /* normal: 0 z, 1 y, 2 x */
    size_t first, silent;        /* levels left out, and levels of weight 0 */
};

/* Result of one evaluation; the arrays lie like the volume or are indexed by slice. */
struct result {
    float *g, *values;
    double *sum;
};

static const double weights[3] = {1.0, 0.7, 1.6};

static struct mf_view view_of(const struct corr_case *k, float *base)
{
    const size_t nu = k->nu, nv = k->nv, c = k->count;

    if (k->normal == 0) return (struct mf_view){base, c, nu, nv, nu * nv, nv, 1};
    if (k->normal == 1) return (struct mf_view){base, c, nu, nv, nv, c * nv, 1};
    return (struct mf_view){base, c, nu, nv, 1, nv * c, c};
}

static size_t entries_of(const struct corr_case *k) { return (2 * k->lag - 1) * (2 * k->lag - 1); }

static float *random_field(size_t n, uint64_t stream)
{
    float *x = malloc((n + 1) * sizeof *x);

    for (size_t i = 0; i < n; ++i) x[i] = (float)mf_random_uniform(5, (uint32_t)stream, i);
    return x;
}

/* Even in the lag. */
static float *make_target(const struct corr_case *k)
{
    const size_t n = entries_of(k);
    float *t = malloc(n * k->levels * sizeof *t);

    for (size_t l = 0; l < k->levels; ++l)
        for (size_t i = 0; i < n; ++i) {
            const size_t j = i < n / 2 ? i : n - 1 - i;

            t[l * n + i] = (float)(0.2 + 0.1 * mf_random_uniform(7, (uint32_t)l, j));
        }
    return t;
}

static struct mf_slice_desc desc_of(const struct corr_case *k)
{
    return (struct mf_slice_desc){.nu = k->nu,
                                  .nv = k->nv,
                                  .lag = k->lag,
                                  .levels = k->levels,
                                  .count_max = k->count,
                                  .periodic = k->periodic,
                                  .first = k->first};
}

static double scale_of(size_t s) { return 0.5 + 0.1 * (double)s; }

static struct result run_case(const struct corr_case *k, const struct mf_corr_engine *engine, int threads, float *x,
                              size_t from, size_t count)
{
    const size_t n = k->nu * k->nv * k->count, e = entries_of(k) * k->levels;
    struct result r = {malloc(n * sizeof(float)), calloc(k->count * e, sizeof(float)),
                       calloc(k->count, sizeof(double))};
    struct mf_view vx = view_of(k, x), vg = view_of(k, r.g);
    struct mf_slice_desc desc = desc_of(k);
    double *scale = malloc(k->count * sizeof *scale), weight[3];
    float *target = make_target(k);
    struct mf_slice_plan *plan = NULL;
    struct mf_arena *arena;
    struct mf_queue *q;

    for (size_t i = 0; i < n; ++i) r.g[i] = 0;
    for (size_t s = 0; s < k->count; ++s) scale[s] = scale_of(s);
    for (size_t l = 0; l < 3; ++l) weight[l] = l < k->silent ? 0 : weights[l];
    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, threads, 1, arena, arena) == MF_OK);
    CHECK(mf_corr_plan(q, &desc, engine, &plan) == MF_OK);
    vx.base += from * vx.ss;
    vg.base += from * vg.ss;
    vx.count = vg.count = count;
    mf_corr_cpu.eval(plan, &(struct mf_slice_task){.x = vx,
                                                   .g = vg,
                                                   .target = target,
                                                   .weight = weight,
                                                   .power = k->power,
                                                   .scale = scale + from,
                                                   .sum = r.sum + from,
                                                   .values = r.values + from * e});
    mf_corr_cpu.free(plan);
    mf_backend_cpu.queue_close(q);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    free(scale);
    free(target);
    return r;
}

static void result_free(struct result *r)
{
    free(r->g);
    free(r->values);
    free(r->sum);
}

/* Loss of one slice in double, its values and its gradient (each may be NULL). */
static double oracle(const struct corr_case *k, const float *target, const double *x, double *values, double *g)
{
    const size_t n = entries_of(k), big = k->nu * k->nv;
    double *p = malloc(big * sizeof *p), *h = malloc(big * sizeof *h), *d = malloc(n * sizeof *d), loss = 0;

    for (size_t i = 0; g && i < big; ++i) g[i] = 0;
    for (size_t l = 0; l < k->levels; ++l) {
        const struct oracle_corr o = {k->nu >> l, k->nv >> l, k->lag, k->periodic};

        oracle_pool(k->nu, k->nv, l, x, p);
        oracle_corr(&o, p, p, d);
        for (size_t i = 0; i < n; ++i) {
            const double e = weights[l] * (d[i] - (double)target[l * n + i]);

            if (values) values[l * n + i] = d[i];
            loss += k->power == 2 ? e * e : fabs(e);
            d[i] = weights[l] * (k->power == 2 ? 2 * e : (e > 0) - (e < 0));
        }
        if (!g) continue;
        oracle_corr_adjoint(&o, p, d, h);
        oracle_pool_adjoint(k->nu, k->nv, l, h, g);
    }
    free(p);
    free(h);
    free(d);
    return loss;
}

static void check_difference(const struct corr_case *k, const float *target, double *x, const double *g)
{
    for (size_t i = 1; i < k->nu * k->nv; i += k->nu * k->nv / 2 + 1) {
        const double h = 1e-6, x0 = x[i];
        double up, down;

        x[i] = x0 + h;
        up = oracle(k, target, x, NULL, NULL);
        x[i] = x0 - h;
        down = oracle(k, target, x, NULL, NULL);
        x[i] = x0;
        CHECK_NEAR((up - down) / (2 * h), g[i], 1e-6);
    }
}

static double at(const struct mf_view *v, size_t s, size_t i)
{
    return (double)v->base[s * v->ss + i / v->nv * v->su + i % v->nv * v->sv];
}

static void check_case(const struct corr_case *k, const struct mf_corr_engine *engine)
{
    const size_t big = k->nu * k->nv, e = entries_of(k) * k->levels;
    float *field = random_field(big * k->count, 1), *target = make_target(k);
    struct result r = run_case(k, engine, 1, field, 0, k->count);
    struct mf_view vx = view_of(k, field), vg = view_of(k, r.g);
    double *x = malloc(big * sizeof *x), *g = malloc(big * sizeof *g), *values = malloc(e * sizeof *values);
    const int before = failures;

    for (size_t s = 0; s < k->count; ++s) {
        double loss, worst = 0, wrong = 0, norm = 0;

        for (size_t i = 0; i < big; ++i) x[i] = at(&vx, s, i);
        loss = oracle(k, target, x, values, g);
        if (s == 0 && k->lag < 9) check_difference(k, target, x, g);
        CHECK_NEAR(r.sum[s], loss, 3e-6 * loss);
        for (size_t i = 0; i < e; ++i) worst = fmax(worst, fabs((double)r.values[s * e + i] - values[i]));
        CHECK_NEAR(worst, 0, 4e-7);
        for (size_t i = 0; i < big; ++i) wrong += pow(at(&vg, s, i) - scale_of(s) * g[i], 2);
        for (size_t i = 0; i < big; ++i) norm += pow(scale_of(s) * g[i], 2);
        CHECK_NEAR(sqrt(wrong), 0, 3e-6 * sqrt(norm) + 4e-7 * (double)e / sqrt((double)big));
    }
    if (failures != before)
        fprintf(stderr, "  in %s: %zu x %zu, lag %zu, %zu levels, %zu slices, normal %d, periodic %d, power %d\n",
                engine->name, k->nu, k->nv, k->lag, k->levels, k->count, k->normal, k->periodic, k->power);
    result_free(&r);
    free(x);
    free(g);
    free(values);
    free(field);
    free(target);
}

/* Pairs, groups of pairs and threads leave no trace in the bits. */
static void check_same_bits(const struct corr_case *k, const struct mf_corr_engine *engine)
{
    const size_t big = k->nu * k->nv * k->count, e = entries_of(k) * k->levels;
    float *field = random_field(big, 2);
    struct result all = run_case(k, engine, 1, field, 0, k->count), again = run_case(k, engine, 3, field, 0, k->count);
    size_t count;

    CHECK(memcmp(all.g, again.g, big * sizeof(float)) == 0);
    CHECK(memcmp(all.sum, again.sum, k->count * sizeof(double)) == 0);
    CHECK(memcmp(all.values, again.values, k->count * e * sizeof(float)) == 0);
    result_free(&again);
    for (size_t s = 0; s < k->count; s += count) {
        count = s % 3 * 2 + 2 < k->count - s ? s % 3 * 2 + 2 : k->count - s;
        again = run_case(k, engine, 2, field, s, count);
        CHECK(memcmp(all.sum + s, again.sum + s, count * sizeof(double)) == 0);
        CHECK(memcmp(all.values + s * e, again.values + s * e, count * e * sizeof(float)) == 0);
        for (size_t t = s; t < s + count; ++t)
            for (size_t i = 0; i < k->nu * k->nv; ++i) {
                const struct mf_view one = view_of(k, all.g), two = view_of(k, again.g);

                if (at(&one, t, i) == at(&two, t, i)) continue;
                CHECK(!"same bits");
                break;
            }
        result_free(&again);
    }
    result_free(&all);
    free(field);
}

/* Leaving out levels is giving them no weight. */
static void check_first(const struct corr_case *k, const struct mf_corr_engine *engine)
{
    const size_t n = entries_of(k), big = k->nu * k->nv * k->count;
    struct corr_case out = *k, mute = *k;
    float *field = random_field(big, 5);
    struct result some, all;
    size_t wrong = 0;

    out.first = mute.silent = 1 + k->count % (k->levels - 1);
    some = run_case(&out, engine, 2, field, 0, k->count);
    all = run_case(&mute, engine, 2, field, 0, k->count);
    for (size_t i = 0; i < big; ++i) wrong += all.g[i] != some.g[i];
    for (size_t s = 0; s < k->count; ++s) {
        const size_t from = (s * k->levels + out.first) * n, left = (k->levels - out.first) * n;

        wrong += all.sum[s] != some.sum[s];
        wrong += memcmp(all.values + from, some.values + from, left * sizeof(float)) != 0;
    }
    CHECK(wrong == 0);
    result_free(&some);
    result_free(&all);
    free(field);
}

static void check_total(const struct corr_case *k, const struct mf_corr_engine *engine, int deterministic)
{
    const size_t n = entries_of(k), e = n * k->levels, big = k->nu * k->nv;
    float *a = random_field(big * k->count, 3), *b = random_field(big * k->count, 4);
    struct mf_view va = view_of(k, a), vb = view_of(k, b);
    struct mf_slice_desc desc = desc_of(k);
    double *x = malloc(big * sizeof *x), *y = malloc(big * sizeof *y), *d = malloc(n * sizeof *d);
    double *total = calloc(e, sizeof *total), *cross = calloc(e, sizeof *cross);
    double *want = calloc(e, sizeof *want), *wish = calloc(e, sizeof *wish);
    struct mf_slice_plan *plan = NULL;
    struct mf_arena *arena;
    struct mf_queue *q;

    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 2, deterministic, arena, arena) == MF_OK);
    CHECK(mf_corr_plan(q, &desc, engine, &plan) == MF_OK);
    mf_corr_cpu.total(plan, &va, total);
    mf_corr_cpu.cross(plan, &va, &vb, cross);
    for (size_t s = 0; s < k->count; ++s)
        for (size_t l = k->first; l < k->levels; ++l) {
            const struct oracle_corr o = {k->nu >> l, k->nv >> l, k->lag, k->periodic};
            double *p = malloc(big * sizeof *p), *h = malloc(big * sizeof *h);

            for (size_t i = 0; i < big; ++i) x[i] = at(&va, s, i);
            for (size_t i = 0; i < big; ++i) y[i] = at(&vb, s, i);
            oracle_pool(k->nu, k->nv, l, x, p);
            oracle_pool(k->nu, k->nv, l, y, h);
            oracle_corr(&o, p, p, d);
            for (size_t i = 0; i < n; ++i) want[l * n + i] += d[i];
            oracle_corr(&o, p, h, d);
            for (size_t i = 0; i < n; ++i) wish[l * n + i] += d[i];
            free(p);
            free(h);
        }
    for (size_t i = 0; i < k->first * n; ++i) CHECK(total[i] == 0 && cross[i] == 0);
    for (size_t i = k->first * n; i < e; ++i) CHECK_NEAR(total[i] / want[i], 1, 1e-6);
    for (size_t i = k->first * n; i < e; ++i) CHECK_NEAR(cross[i] / wish[i], 1, 1e-6);
    mf_corr_cpu.free(plan);
    mf_backend_cpu.queue_close(q);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    free(a), free(b), free(x), free(y), free(d), free(total), free(cross), free(want), free(wish);
}

static const struct {
    size_t nu, nv, lag, levels;
} sizes[] = {{8, 8, 4, 1},    {16, 16, 4, 2},  {30, 42, 7, 2},  {33, 17, 4, 2}, {64, 64, 16, 2},
             {31, 37, 8, 1},  {96, 100, 6, 3}, {128, 64, 8, 3}, {23, 20, 5, 1}, {44, 26, 5, 2},
             {15, 105, 7, 1}, {48, 160, 9, 1}, {11, 9, 5, 1}};

/* Every `step`-th case. */
static void check_engine(const struct mf_corr_engine *engine, size_t step)
{
    static const size_t counts[] = {1, 2, 3, 5, 17, 33, 117};
    size_t run = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int periodic = 0; periodic < 2; ++periodic)
            for (int normal = 0; normal < 3; ++normal, ++run) {
                struct corr_case k = {sizes[i].nu,
                                      sizes[i].nv,
                                      sizes[i].lag,
                                      sizes[i].levels,
                                      1 + run % 3,
                                      normal,
                                      periodic,
                                      1 + (int)(run % 2),
                                      0,
                                      0};

                if (run % step) continue;
                check_case(&k, engine);
                if (run % 5 == 0) check_total(&k, engine, (int)run % 2);
                if (k.levels > 1) check_first(&k, engine);
            }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        for (int normal = 0; normal < 3; ++normal) {
            struct corr_case k = {20, 24, 5, 2, counts[i], normal, (int)i % 2, 2, 0, 0};

            check_case(&k, engine);
            k.first = (size_t)normal % 2;
            check_total(&k, engine, 0);
            check_total(&k, engine, 1);
            check_same_bits(&k, engine);
        }
    for (int i = 0; i < 4; ++i) { /* so large that threads share a pair */
        struct corr_case k = {260, 256 + (size_t)i, 5, 3, 1 + (size_t)i, i % 3, i % 2, 2, 0, 0};

        check_same_bits(&k, engine);
        check_first(&k, engine);
        if (i < 2) check_total(&k, engine, 0);
    }
}

static size_t touched; /* bytes of mapped memory with something behind them */

static void *map(void *context, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)context;
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *context, void *memory, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
    unsigned char *in = calloc(pages, 1);

    (void)context;
    if (mincore(memory, bytes, in) != 0) touched += bytes;
    for (size_t i = 0; i < pages; ++i) touched += in[i] & 1 ? page : 0;
    free(in);
    munmap(memory, bytes);
}

/* A plan takes work areas for the slices that are there, not for every thread. It touches next to none of them. */
static void check_areas(const struct mf_corr_engine *engine)
{
    struct mf_slice_desc desc = {.nu = 1024, .nv = 1024, .lag = 8, .levels = 2, .count_max = 1, .periodic = 1};
    const struct mf_mem mapped = {.alloc = map, .release = unmap};
    const size_t slice = 1024 * 1024 * sizeof(float);

    for (int threads = 1; threads <= 16; threads += 15) {
        struct mf_slice_plan *plan = NULL;
        struct mf_arena *arena;
        struct mf_queue *q;

        touched = 0;
        CHECK(mf_arena_open(&arena, &mapped, 0) == MF_OK);
        CHECK(mf_backend_cpu.queue_open(&q, 0, threads, 1, arena, arena) == MF_OK);
        CHECK(mf_corr_plan(q, &desc, engine, &plan) == MF_OK);
        CHECK(mf_arena_peak(arena) < 12 * slice);
        mf_corr_cpu.free(plan);
        CHECK(touched < slice / 8);
        mf_backend_cpu.queue_close(q);
        mf_arena_close(arena);
    }
}

static void add_plans(void *context, const char *tag, size_t live, size_t peak)
{
    (void)peak;
    if (strcmp(tag, "FFTW plans") == 0) *(size_t *)context += live;
}

/* FFTW's buffers fit into what is booked for them. */
static void check_buffers(size_t nu, size_t nv)
{
    struct corr_case k = {nu, nv, 4, 1, 1, 0, 1, 2, 0, 0};
    struct mf_slice_desc desc = {.nu = nu, .nv = nv, .lag = 4, .levels = 1, .count_max = 1, .periodic = 1};
    float *x = random_field(nu * nv, 6), values[49];
    struct mf_slice_plan *plan = NULL;
    struct mf_arena *arena;
    struct mf_queue *q;
    size_t booked = 0;

    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 1, 1, arena, arena) == MF_OK);
    CHECK(mf_corr_plan(q, &desc, &mf_corr_fftw, &plan) == MF_OK);
    mf_arena_tags(arena, add_plans, &booked);
    mf_fftw_mark();
    mf_corr_cpu.eval(plan, &(struct mf_slice_task){.x = view_of(&k, x), .power = 2, .values = values});
    CHECK(mf_fftw_peak() <= booked);
    mf_corr_cpu.free(plan);
    mf_backend_cpu.queue_close(q);
    mf_arena_close(arena);
    free(x);
}

/* Memory of FFTW is counted and booked as long as its plans are there. So is the memory that it keeps between plans. */
static void check_fftw_memory(void)
{
    struct mf_slice_desc desc = {.nu = 74, .nv = 94, .lag = 8, .levels = 1, .count_max = 4, .periodic = 1};
    struct mf_slice_plan *plan[2];
    struct mf_arena *arena;
    struct mf_queue *q;
    size_t one = 0, two = 0, left;

    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 1, 0, arena, arena) == MF_OK);
    CHECK(mf_corr_plan(q, &desc, &mf_corr_fftw, &plan[0]) == MF_OK);
    mf_arena_tags(arena, add_plans, &one);
    CHECK(one >= mf_fftw_live() && mf_fftw_live() > 10000);
    CHECK(mf_corr_plan(q, &desc, &mf_corr_fftw, &plan[1]) == MF_OK);
    mf_arena_tags(arena, add_plans, &two);
    CHECK(two >= mf_fftw_live() && two > one);
    for (int i = 0; i < 2; ++i) mf_corr_cpu.free(plan[i]);
    CHECK(mf_arena_live(arena) == 0);
    left = mf_fftw_live();
    fftwf_cleanup();
    CHECK(mf_fftw_live() == 0 && left < one);
    mf_backend_cpu.queue_close(q);
    mf_arena_close(arena);
}

/* A lag that would meet itself is refused. */
static void check_refusal(void)
{
    struct mf_slice_desc desc = {.nu = 16, .nv = 16, .lag = 8, .levels = 2, .count_max = 4, .periodic = 1};
    struct mf_slice_plan *plan = NULL;
    struct mf_arena *arena;
    struct mf_queue *q;

    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 1, 1, arena, arena) == MF_OK);
    CHECK(mf_slices_plan(&mf_corr_cpu, q, &desc, &plan) == MF_USAGE && !plan);
    mf_backend_cpu.queue_close(q);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
}

#ifdef MF_LANES_TEXT_16
extern const struct mf_lanes_text MF_LANES_TEXT_16;

static void check_wide(void)
{
    struct mf_corr_engine engine = mf_corr_lanes4;

    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
    engine.name = "lanes16, narrowed";
    engine.text = &MF_LANES_TEXT_16;
    check_engine(&engine, 5);
}
#else
static void check_wide(void) {}
#endif

/* Sizes for which FFTW takes large buffers. */
static const size_t lines[][2] = {{74, 94},   {127, 127},  {131, 131},  {172, 244},   {268, 517},
                                  {276, 468}, {1865, 211}, {272, 1602}, {1018, 1018}, {2026, 1968}};

int main(void)
{
    check_engine(&mf_corr_fftw, 7);
    check_engine(mf_corr_lanes(), SANITIZED ? 5 : 1);
    if (mf_corr_lanes() != &mf_corr_lanes4) check_engine(&mf_corr_lanes4, 7);
    check_wide();
    check_refusal();
    check_fftw_memory();
    check_areas(&mf_corr_fftw);
    check_areas(mf_corr_lanes());
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) check_buffers(lines[i][0], lines[i][1]);
    return failures != 0;
}
