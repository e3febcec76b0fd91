/* See kernels/meanfield.h. */
#include "kernels/meanfield.h"

#include "kernels/cpu/cpu.h"
#include "kernels/form/box.h"
#include "kernels/form/meanfield.h"
#include "src/base/err.h"

enum { LANES = 32 };

struct args {
    struct mf_extent e;
    const float *from, *g;
    float shift;
    float *x, *v;
    double *out;
    size_t values; /* of a plane in out */
};

static void store(const void *args, size_t plane, const double *value)
{
    const struct args *a = args;

    for (size_t k = 0; k < a->values; ++k) a->out[plane * a->values + k] = value[k];
}

/* @p maxima: the last ones of the values. */
static void run(struct mf_queue *q, const struct args *a, size_t maxima,
                void (*block)(const void *args, size_t at, size_t n, double *value))
{
    const struct mf_cpu_pass pass = {1, a->e.planes, a->e.plane, a->values - maxima, maxima, a, block, store};

    MF_ASSERT(a->e.phases == 1);
    mf_cpu_run(q, &pass);
}

/* Adds in LANES sums, whatever vectors a core has. */
#define BY_LANES(strip, ...)                                             \
    do {                                                                 \
        size_t i = 0;                                                    \
                                                                         \
        for (; i + LANES <= n; i += LANES) strip(i, LANES, __VA_ARGS__); \
        if (i < n) strip(i, n - i, __VA_ARGS__);                         \
    } while (0)

static double total(const double sum[LANES])
{
    double all = 0;

    for (size_t l = 0; l < LANES; ++l) all += sum[l];
    return all;
}

#define ALWAYS static inline __attribute__((always_inline))

struct inner {
    double sum[LANES], count[LANES], grey[LANES];
    float most[LANES];
};

ALWAYS void inner_strip(size_t from, size_t n, const float *x, const float *g, struct inner *to)
{
#pragma omp simd
    for (size_t l = 0; l < n; ++l) {
        const float at = x[from + l], slope = g[from + l];
        const int is = mf_inside(at);

        to->sum[l] += (double)(is ? slope : 0.0f);
        to->count[l] += is;
        to->grey[l] += (double)mf_grey(at);
        to->most[l] = fabsf(slope) > to->most[l] ? fabsf(slope) : to->most[l];
    }
}

MF_CPU_FAST static void inner_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;
    struct inner all = {.sum = {0}};

    BY_LANES(inner_strip, a->from + at, a->g + at, &all);
    value[0] = total(all.sum);
    value[1] = total(all.count);
    value[2] = total(all.grey);
    for (size_t l = 0; l < LANES; ++l) value[3] = (double)all.most[l] > value[3] ? (double)all.most[l] : value[3];
}

static void inner(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, double *out)
{
    run(q, &(struct args){.e = e, .from = x, .g = g, .out = out, .values = MF_INNER_VALUES}, 1, inner_block);
}

/* -- lines -- */

/* What the lines of a row need. */
struct row {
    const float *x, *g;
    const uint8_t *fixed;
    float level, scale;
};

ALWAYS int may_move(const struct row *r, size_t i, int holds)
{
    return mf_may_move(r->x[i], r->g[i], r->level) & (!holds || r->fixed[i] == MF_LABEL_OPEN);
}

ALWAYS void row_lines(const struct row *r, size_t n, int holds, int32_t *restrict count, int32_t *restrict sum,
                      int32_t *count_x, int32_t *sum_x)
{
    int32_t number = 0, total = 0;

#pragma omp simd reduction(+ : number, total)
    for (size_t i = 0; i < n; ++i) {
        const int32_t is = may_move(r, i, holds), part = is ? (int32_t)rintf(r->g[i] * r->scale) : 0;

        count[i] += is;
        sum[i] += part;
        number += is;
        total += part;
    }
    *count_x = number;
    *sum_x = total;
}

MF_CPU_FAST static void row_open(const struct row *r, size_t n, int32_t *count, int32_t *sum, int32_t *count_x,
                                 int32_t *sum_x)
{
    row_lines(r, n, 0, count, sum, count_x, sum_x);
}

MF_CPU_FAST static void row_held(const struct row *r, size_t n, int32_t *count, int32_t *sum, int32_t *count_x,
                                 int32_t *sum_x)
{
    row_lines(r, n, 1, count, sum, count_x, sum_x);
}

MF_CPU_FAST static void row_count(const struct row *r, size_t n, int32_t *count)
{
    if (r->fixed)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) count[i] += may_move(r, i, 1);
    else
#pragma omp simd
        for (size_t i = 0; i < n; ++i) count[i] += may_move(r, i, 0);
}

static void plane_lines(const struct row *from, const size_t n[3], size_t z, const struct mf_lines *to)
{
    int32_t *count_y = to->count_y + z * n[2], *sum_y = to->sum_y + z * n[2];

    for (size_t x = 0; x < n[2]; ++x) count_y[x] = sum_y[x] = 0;
    for (size_t y = 0; y < n[1]; ++y) {
        const size_t line = z * n[1] + y, at = line * n[2];
        const struct row r = {from->x + at, from->g + at, from->fixed ? from->fixed + at : NULL, from->level,
                              from->scale};

        (r.fixed ? row_held : row_open)(&r, n[2], count_y, sum_y, to->count_x + line, to->sum_x + line);
    }
}

/* Lines along z cross all planes: threads share the rows y, and read the field once more. */
static void column_lines(const struct row *from, const size_t n[3], size_t y, int32_t *count)
{
    for (size_t x = 0; x < n[2]; ++x) count[x] = 0;
    for (size_t z = 0; z < n[0]; ++z) {
        const size_t at = (z * n[1] + y) * n[2];
        const struct row r = {from->x + at, from->g + at, from->fixed ? from->fixed + at : NULL, from->level,
                              from->scale};

        row_count(&r, n[2], count);
    }
}

static void lines(struct mf_queue *q, const size_t n[3], const float *x, const float *g, const uint8_t *fixed,
                  float level, float scale, const struct mf_lines *to)
{
    const struct row from = {x, g, fixed, level, scale};
    const int threads = mf_cpu_threads(q, n[0] * n[1] * n[2]);

    MF_ASSERT(n[1] <= MF_LINE_MOST && n[2] <= MF_LINE_MOST);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static) nowait
        for (size_t z = 0; z < n[0]; ++z) plane_lines(&from, n, z, to);
#pragma omp for schedule(static)
        for (size_t y = 0; y < n[1]; ++y) column_lines(&from, n, y, to->count_z + y * n[2]);
    }
}

/* -- the step -- */

struct motion {
    float momentum, rate, level; /* level: what the plane and the row take off */
};

MF_CPU_FAST static void row_move(const struct motion *m, size_t n, const float *restrict off, const float *restrict x,
                                 const float *restrict g, float *restrict v)
{
    const float momentum = m->momentum, rate = m->rate, level = m->level;

#pragma omp simd
    for (size_t i = 0; i < n; ++i) v[i] = x[i] + momentum * v[i] - rate * (g[i] - level - off[i]);
}

MF_CPU_FAST static void row_hold(size_t n, const uint8_t *restrict fixed, const float *restrict x, float *restrict v)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) v[i] = fixed[i] == MF_LABEL_OPEN ? v[i] : mf_stay(x[i]);
}

static void move(struct mf_queue *q, const size_t n[3], float momentum, float rate, const float *off, const float *x,
                 const float *g, const uint8_t *fixed, float *v)
{
    const int threads = mf_cpu_threads(q, n[0] * n[1] * n[2]);

#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t line = 0; line < n[0] * n[1]; ++line) {
        const size_t at = line * n[2];
        const struct motion m = {momentum, rate, off[line / n[1]] + off[n[0] + line % n[1]]};

        row_move(&m, n[2], off + n[0] + n[1], x + at, g + at, v + at);
        if (fixed) row_hold(n[2], fixed + at, x + at, v + at);
    }
}

ALWAYS void shifted_strip(size_t from, size_t n, const float *v, float shift, double *sum, double *count)
{
#pragma omp simd
    for (size_t l = 0; l < n; ++l) {
        const float x = mf_clip(v[from + l] - shift);

        sum[l] += (double)x;
        count[l] += mf_inside(x);
    }
}

MF_CPU_FAST static void shifted_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;
    double sum[LANES] = {0}, count[LANES] = {0};

    BY_LANES(shifted_strip, a->from + at, a->shift, sum, count);
    value[0] = total(sum);
    value[1] = total(count);
}

static void shifted(struct mf_queue *q, struct mf_extent e, float shift, const float *v, double *out)
{
    run(q, &(struct args){.e = e, .from = v, .shift = shift, .out = out, .values = 2}, 0, shifted_block);
}

ALWAYS void settle_strip(size_t from, size_t n, float *restrict x, float *restrict v, float shift, double *grey)
{
#pragma omp simd
    for (size_t l = 0; l < n; ++l) {
        const float to = mf_clip(v[from + l] - shift);

        v[from + l] = to - x[from + l];
        x[from + l] = to;
        grey[l] += (double)mf_grey(to);
    }
}

MF_CPU_FAST static void settle_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;
    double grey[LANES] = {0};

    BY_LANES(settle_strip, a->x + at, a->v + at, a->shift, grey);
    value[0] = total(grey);
}

static void settle(struct mf_queue *q, struct mf_extent e, float shift, float *x, float *v, double *out)
{
    run(q, &(struct args){.e = e, .x = x, .v = v, .shift = shift, .out = out, .values = 1}, 0, settle_block);
}

const struct mf_meanfield_ops mf_meanfield_cpu = {
    .inner = inner, .lines = lines, .move = move, .shifted = shifted, .settle = settle};
