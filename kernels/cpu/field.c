/* See kernels/field.h. */
#include "kernels/field.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/form/box.h"
#include "kernels/form/simplex.h"
#include "src/base/pulse.h"

enum { LANES = 32 };

/* -- numbers without planes: cut into equal pieces, one or more to a thread -- */

struct span {
    float *x;
    const float *y;
    float a, b;
};

typedef size_t piece(struct span s, size_t n);

static size_t each(struct mf_queue *q, size_t n, piece *work, struct span s)
{
    const size_t most = MF_CPU_SERIAL, pieces = (n + most - 1) / most;
    const int threads = mf_cpu_threads(q, n);
    size_t found = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : found) if (threads > 1)
    for (size_t i = 0; i < pieces; ++i) {
        struct span part = {s.x + i * most, s.y ? s.y + i * most : NULL, s.a, s.b};

        mf_pulse_tell("field");
        found += work(part, i + 1 < pieces ? most : n - i * most);
    }
    return found;
}

MF_CPU_FAST static size_t fill_piece(struct span s, size_t n)
{
    for (size_t i = 0; i < n; ++i) s.x[i] = s.a;
    return 0;
}

static size_t copy_piece(struct span s, size_t n)
{
    memcpy(s.x, s.y, n * sizeof *s.x);
    return 0;
}

MF_CPU_FAST static size_t axpy_piece(struct span s, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) s.x[i] += s.a * s.y[i];
    return 0;
}

MF_CPU_FAST static size_t scale_piece(struct span s, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) s.x[i] *= s.a;
    return 0;
}

MF_CPU_FAST static size_t clamp_piece(struct span s, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) s.x[i] = mf_clamp(s.x[i], s.a, s.b);
    return 0;
}

MF_CPU_FAST static size_t broken_piece(struct span s, size_t n)
{
    size_t found = 0;

    for (size_t from = 0; from < n; from += MF_CPU_BLOCK) {
        const size_t to = n - from < MF_CPU_BLOCK ? n : from + MF_CPU_BLOCK;
        unsigned bad = 0;

#pragma omp simd reduction(+ : bad)
        for (size_t i = from; i < to; ++i) bad += fabsf(s.x[i]) <= FLT_MAX ? 0U : 1U;
        found += bad;
    }
    return found;
}

static void fill(struct mf_queue *q, size_t n, float value, float *x)
{
    each(q, n, fill_piece, (struct span){.x = x, .a = value});
}

static void copy(struct mf_queue *q, size_t n, const float *x, float *y)
{
    each(q, n, copy_piece, (struct span){.x = y, .y = x});
}

static void axpy(struct mf_queue *q, size_t n, float a, const float *x, float *y)
{
    each(q, n, axpy_piece, (struct span){.x = y, .y = x, .a = a});
}

static void scale(struct mf_queue *q, size_t n, float a, float *x)
{
    each(q, n, scale_piece, (struct span){.x = x, .a = a});
}

static void clamp(struct mf_queue *q, size_t n, float lo, float hi, float *x)
{
    each(q, n, clamp_piece, (struct span){.x = x, .a = lo, .b = hi});
}

static size_t broken(struct mf_queue *q, size_t n, const float *x)
{
    return each(q, n, broken_piece, (struct span){.x = (float *)(uintptr_t)x}); /* only read */
}

/* -- sums per plane -- */

struct args {
    struct mf_extent e;
    const float *x, *y, *shift;
    float lambda, lo, hi;
    float *g;
    double *grey, *out;
};

static size_t stride_of(const struct args *a) { return a->e.planes * a->e.plane; }

static struct mf_cpu_pass pass_of(const struct args *a)
{
    return (struct mf_cpu_pass){.phases = a->e.phases, .planes = a->e.planes, .plane = a->e.plane, .args = a};
}

static void dot_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    for (size_t p = 0; p < a->e.phases; ++p, at += stride_of(a)) value[0] += mf_cpu_dot(n, a->x + at, a->y + at);
}

static void dot_store(const void *args, size_t plane, const double *value)
{
    ((const struct args *)args)->out[plane] = value[0];
}

static void dot(struct mf_queue *q, struct mf_extent e, const float *x, const float *y, double *out)
{
    struct args a = {.e = e, .x = x, .y = y, .out = out};
    struct mf_cpu_pass pass = pass_of(&a);

    pass.sums = 1;
    pass.block = dot_block;
    pass.store = dot_store;
    mf_cpu_run(q, &pass);
}

static void sum_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    for (size_t p = 0; p < a->e.phases; ++p, at += stride_of(a)) value[p] = mf_cpu_sum(n, a->x + at);
}

static void sum_store(const void *args, size_t plane, const double *value)
{
    const struct args *a = args;

    for (size_t p = 0; p < a->e.phases; ++p) a->out[p * a->e.planes + plane] = value[p];
}

static void sum(struct mf_queue *q, struct mf_extent e, const float *x, double *out)
{
    struct args a = {.e = e, .x = x, .out = out};
    struct mf_cpu_pass pass = pass_of(&a);

    pass.sums = e.phases;
    pass.block = sum_block;
    pass.store = sum_store;
    mf_cpu_run(q, &pass);
}

static void between_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    for (size_t i = at; i < at + n; ++i) {
        int is = 0;

        for (size_t p = 0; p < a->e.phases; ++p) {
            const float v = a->x[p * stride_of(a) + i];

            is |= v > a->lo && v < a->hi;
        }
        value[0] += is;
    }
}

/* Values of a plane, of all phases together. */
static void between(struct mf_queue *q, struct mf_extent e, float lo, float hi, const float *x, double *out)
{
    struct args a = {.e = e, .x = x, .lo = lo, .hi = hi, .out = out};
    struct mf_cpu_pass pass = pass_of(&a);

    pass.sums = 1;
    pass.block = between_block;
    pass.store = dot_store;
    mf_cpu_run(q, &pass);
}

/* g += lambda (1 - 2 x) + shift */
MF_CPU_FAST static void guide_span(size_t n, float lambda, float shift, const float *restrict x, float *restrict g)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) g[i] += lambda * mf_grey_slope(x[i]) + shift;
}

/* out[0] += sum x (1 - x);  out[1] += sum x */
MF_CPU_FAST static void guide_sums(size_t n, const float *x, double out[2])
{
    double grey[LANES] = {0}, mean[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) {
            grey[l] += (double)mf_grey(x[i + l]);
            mean[l] += (double)x[i + l];
        }
    }
    for (size_t l = 0; i + l < n; ++l) {
        grey[l] += (double)mf_grey(x[i + l]);
        mean[l] += (double)x[i + l];
    }
    for (size_t l = 0; l < LANES; ++l) out[0] += grey[l];
    for (size_t l = 0; l < LANES; ++l) out[1] += mean[l];
}

static void guide_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    for (size_t p = 0; p < a->e.phases; ++p, at += stride_of(a)) {
        double part[2] = {0, 0};

        guide_span(n, a->lambda, a->shift[p], a->x + at, a->g + at);
        if (!a->grey && !a->out) continue;
        guide_sums(n, a->x + at, part);
        value[0] += part[0];
        value[1 + p] = part[1];
    }
}

static void guide_store(const void *args, size_t plane, const double *value)
{
    const struct args *a = args;

    if (a->grey) a->grey[plane] = value[0];
    if (a->out) sum_store(args, plane, value + 1);
}

static void guide(struct mf_queue *q, struct mf_extent e, float lambda, const float *shift, const float *x, float *g,
                  double *grey, double *mean)
{
    struct args a = {.e = e, .x = x, .shift = shift, .lambda = lambda, .g = g, .grey = grey, .out = mean};
    struct mf_cpu_pass pass = pass_of(&a);

    pass.sums = 1 + e.phases;
    pass.block = guide_block;
    pass.store = guide_store;
    mf_cpu_run(q, &pass);
}

/* -- projection -- */

/* Strips of voxels are taken out, projected, and put back. A short strip is filled up with zeros. */
static inline __attribute__((always_inline)) void project_strip(int phases, size_t n, size_t stride, float *x)
{
    float v[MF_SIMPLEX_MAX * MF_SIMPLEX_WIDTH];

    for (int p = 0; p < phases; ++p)
        for (size_t w = 0; w < MF_SIMPLEX_WIDTH; ++w)
            v[(size_t)p * MF_SIMPLEX_WIDTH + w] = w < n ? x[(size_t)p * stride + w] : 0.0f;
    mf_simplex_project(phases, MF_SIMPLEX_WIDTH, v);
    for (int p = 0; p < phases; ++p)
        for (size_t w = 0; w < n; ++w) x[(size_t)p * stride + w] = v[(size_t)p * MF_SIMPLEX_WIDTH + w];
}

MF_CPU_FAST static void project_simplex(int phases, size_t n, size_t stride, float *x)
{
    size_t i = 0;

    for (; i + MF_SIMPLEX_WIDTH <= n; i += MF_SIMPLEX_WIDTH)
        if (phases == 3)
            project_strip(3, MF_SIMPLEX_WIDTH, stride, x + i);
        else
            project_strip(phases, MF_SIMPLEX_WIDTH, stride, x + i);
    if (i < n) project_strip(phases, n - i, stride, x + i);
}

void mf_cpu_project(size_t phases, size_t n, size_t stride, float *x)
{
    if (phases <= 1)
        clamp_piece((struct span){.x = x, .a = 0.0f, .b = 1.0f}, n);
    else
        project_simplex((int)phases, n, stride, x);
}

static void project_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    (void)value;
    mf_cpu_project(a->e.phases, n, stride_of(a), a->g + at);
}

static void project(struct mf_queue *q, struct mf_extent e, float *x)
{
    struct args a = {.e = e, .g = x};
    struct mf_cpu_pass pass = pass_of(&a);

    pass.block = project_block;
    mf_cpu_run(q, &pass);
}

const struct mf_field_ops mf_field_cpu = {
    .fill = fill,
    .copy = copy,
    .axpy = axpy,
    .scale = scale,
    .clamp = clamp,
    .dot = dot,
    .sum = sum,
    .guide = guide,
    .between = between,
    .broken = broken,
    .project = project,
};
