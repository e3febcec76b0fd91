/* See kernels/optim.h. A block of voxels goes through all steps while it is in the caches of a core. So each function
 * reads and writes the slab once. */
#include "kernels/optim.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/form/box.h"
#include "kernels/form/rules.h"
#include "kernels/form/simplex.h"

struct args {
    struct mf_extent e;
    const float *x, *g;
    const struct mf_history *h;
    const double *c;
    const float *d;       /* step: direction */
    const float *x1, *g1; /* pair: new point and gradient */
    float *s, *y;         /* pair: out */
    float *to;            /* direction: d; step: x_new; adam: x */
    float *m, *v;
    struct mf_rule rule;
    float step;
    size_t values;
    double *out;
};

static size_t stride_of(const struct args *a) { return a->e.planes * a->e.plane; }

static void store(const void *args, size_t plane, const double *value)
{
    const struct args *a = args;

    for (size_t i = 0; i < a->values; ++i) a->out[plane * a->values + i] = value[i];
}

static void run(struct mf_queue *q, struct args *a, size_t sums, size_t maxima,
                void (*block)(const void *, size_t, size_t, double *))
{
    struct mf_cpu_pass pass = {.phases = a->e.phases,
                               .planes = a->e.planes,
                               .plane = a->e.plane,
                               .sums = sums,
                               .maxima = maxima,
                               .args = a,
                               .block = block,
                               .store = sums ? store : NULL};

    a->values = sums + maxima;
    mf_cpu_run(q, &pass);
}

/* -- the free gradient of a block: r[p * n + i], and keep = 1 where it may move -- */

MF_CPU_FAST static void free_box(size_t n, const float *restrict x, const float *restrict g, float *restrict r)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) r[i] = mf_box_free(x[i], g[i]);
}

/* A strip of voxels: short ones are filled up with zeros. */
static inline __attribute__((always_inline)) void free_strip(size_t phases, size_t n, size_t stride, const float *x,
                                                             const float *g, size_t out, float *r, float *keep)
{
    enum { W = MF_SIMPLEX_WIDTH };
    float vx[MF_SIMPLEX_MAX * W], vg[MF_SIMPLEX_MAX * W], vr[MF_SIMPLEX_MAX * W], vk[MF_SIMPLEX_MAX * W];

    for (size_t p = 0; p < phases; ++p)
        for (size_t w = 0; w < W; ++w) {
            vx[p * W + w] = w < n ? x[p * stride + w] : 0.0f;
            vg[p * W + w] = w < n ? g[p * stride + w] : 0.0f;
        }
    mf_simplex_free((int)phases, W, vx, vg, vr, vk);
    for (size_t p = 0; p < phases; ++p)
        for (size_t w = 0; w < n; ++w) {
            r[p * out + w] = vr[p * W + w];
            keep[p * out + w] = vk[p * W + w];
        }
}

MF_CPU_FAST static void free_simplex(size_t phases, size_t n, size_t stride, const float *x, const float *g, float *r,
                                     float *keep)
{
    enum { W = MF_SIMPLEX_WIDTH };
    size_t i = 0;

    for (; i + W <= n; i += W)
        if (phases == 3)
            free_strip(3, W, stride, x + i, g + i, n, r + i, keep + i);
        else
            free_strip(phases, W, stride, x + i, g + i, n, r + i, keep + i);
    if (i < n) free_strip(phases, n - i, stride, x + i, g + i, n, r + i, keep + i);
}

static void free_block(const struct args *a, size_t at, size_t n, float *r, float *keep)
{
    if (a->e.phases == 1)
        free_box(n, a->x + at, a->g + at, r);
    else
        free_simplex(a->e.phases, n, stride_of(a), a->x + at, a->g + at, r, keep);
}

/* -- dot products of the free gradient -- */

static void dots_of_phase(const struct mf_history *h, size_t at, size_t n, const float *r, double *value)
{
    value[0] += mf_cpu_dot(n, r, r);
    for (size_t i = 0; i < h->count; ++i) {
        double both[2] = {0, 0};

        mf_cpu_dot2(n, r, h->s[i] + at, h->y[i] + at, both);
        value[1 + i] += both[0];
        value[1 + h->count + i] += both[1];
    }
}

static void free_dots_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    if (a->e.phases == 1) {
        float r[MF_CPU_BLOCK];

        free_block(a, at, n, r, NULL);
        dots_of_phase(a->h, at, n, r, value);
    } else {
        float r[MF_SIMPLEX_MAX * MF_CPU_MANY], keep[MF_SIMPLEX_MAX * MF_CPU_MANY];

        free_block(a, at, n, r, keep);
        for (size_t p = 0; p < a->e.phases; ++p) dots_of_phase(a->h, at + p * stride_of(a), n, r + p * n, value);
    }
}

static void free_dots(struct mf_queue *q, struct mf_extent e, const float *x, const float *g,
                      const struct mf_history *h, double *out)
{
    struct args a = {.e = e, .x = x, .g = g, .h = h, .out = out};

    run(q, &a, 1 + 2 * h->count, 0, free_dots_block);
}

/* -- direction -- */

/* d = a r */
MF_CPU_FAST static void scaled(size_t n, float a, const float *restrict r, float *restrict d)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) d[i] = a * r[i];
}

/* d += a s + b y */
MF_CPU_FAST static void add_two(size_t n, float a, const float *restrict s, float b, const float *restrict y,
                                float *restrict d)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) d[i] += a * s[i] + b * y[i];
}

MF_CPU_FAST static void hold_box(size_t n, const float *restrict x, const float *restrict g, float *restrict d)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) d[i] = mf_box_held(x[i], g[i]) ? 0.0f : d[i];
}

/* d = keep (d - its mean over the kept) */
MF_CPU_FAST static void hold_simplex(size_t phases, size_t n, size_t stride, const float *restrict keep,
                                     float *restrict d)
{
    float mean[MF_CPU_MANY], count[MF_CPU_MANY];

    for (size_t i = 0; i < n; ++i) mean[i] = count[i] = 0.0f;
    for (size_t p = 0; p < phases; ++p) {
#pragma omp simd
        for (size_t i = 0; i < n; ++i) {
            mean[i] += keep[p * n + i] * d[p * stride + i];
            count[i] += keep[p * n + i];
        }
    }
    for (size_t i = 0; i < n; ++i) mean[i] /= count[i] > 0.0f ? count[i] : 1.0f;
    for (size_t p = 0; p < phases; ++p) {
#pragma omp simd
        for (size_t i = 0; i < n; ++i) d[p * stride + i] = keep[p * n + i] * (d[p * stride + i] - mean[i]);
    }
}

MF_CPU_FAST static float largest(size_t n, const float *d)
{
    float top = 0.0f;

#pragma omp simd reduction(max : top)
    for (size_t i = 0; i < n; ++i) top = fabsf(d[i]) > top ? fabsf(d[i]) : top;
    return top;
}

static void combine(const struct args *a, size_t at, size_t n, const float *r)
{
    const size_t m = a->h->count;

    scaled(n, (float)-a->c[0], r, a->to + at);
    for (size_t i = 0; i < m; ++i)
        add_two(n, (float)-a->c[1 + i], a->h->s[i] + at, (float)-a->c[1 + m + i], a->h->y[i] + at, a->to + at);
}

static void direction_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    if (a->e.phases == 1) {
        float r[MF_CPU_BLOCK];

        free_block(a, at, n, r, NULL);
        combine(a, at, n, r);
        hold_box(n, a->x + at, a->g + at, a->to + at);
    } else {
        float r[MF_SIMPLEX_MAX * MF_CPU_MANY], keep[MF_SIMPLEX_MAX * MF_CPU_MANY];

        free_block(a, at, n, r, keep);
        for (size_t p = 0; p < a->e.phases; ++p) combine(a, at + p * stride_of(a), n, r + p * n);
        hold_simplex(a->e.phases, n, stride_of(a), keep, a->to + at);
    }
    for (size_t p = 0; p < a->e.phases; ++p, at += stride_of(a)) {
        const double top = (double)largest(n, a->to + at);

        value[0] += mf_cpu_dot(n, a->to + at, a->g + at);
        value[1] = top > value[1] ? top : value[1];
    }
}

static void direction(struct mf_queue *q, struct mf_extent e, const float *x, const float *g,
                      const struct mf_history *h, const double *c, float *d, double *out)
{
    struct args a = {.e = e, .x = x, .g = g, .h = h, .c = c, .to = d, .out = out};

    run(q, &a, 1, 1, direction_block);
}

/* -- step -- */

MF_CPU_FAST static void walk(size_t n, const float *restrict x, float step, const float *restrict d, float *restrict to)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) to[i] = x[i] + step * d[i];
}

/* out = a - b */
MF_CPU_FAST static void minus(size_t n, const float *restrict a, const float *restrict b, float *restrict out)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) out[i] = a[i] - b[i];
}

static void step_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;
    float moved[MF_CPU_BLOCK];

    for (size_t p = 0; p < a->e.phases; ++p)
        walk(n, a->x + at + p * stride_of(a), a->step, a->d + at + p * stride_of(a), a->to + at + p * stride_of(a));
    mf_cpu_project(a->e.phases, n, stride_of(a), a->to + at);
    for (size_t p = 0; p < a->e.phases; ++p, at += stride_of(a)) {
        minus(n, a->to + at, a->x + at, moved);
        value[0] += mf_cpu_dot(n, a->g + at, moved);
    }
}

static void step(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, const float *d, double length,
                 float *x_new, double *out)
{
    struct args a = {.e = e, .x = x, .g = g, .d = d, .step = (float)length, .to = x_new, .out = out};

    run(q, &a, 1, 0, step_block);
}

/* -- pair -- */

static void pair_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;
    const size_t m = a->h->count;

    for (size_t p = 0; p < a->e.phases; ++p, at += stride_of(a)) {
        float *s = a->s + at, *y = a->y + at;

        minus(n, a->x1 + at, a->x + at, s);
        minus(n, a->g1 + at, a->g + at, y);
        value[0] += mf_cpu_dot(n, s, y);
        value[1] += mf_cpu_dot(n, y, y);
        for (size_t i = 0; i < m; ++i) {
            double both[2] = {0, 0};

            mf_cpu_dot2(n, a->h->y[i] + at, s, y, both);
            value[3 + 2 * i] += both[0];
            value[2 + 2 * m + i] += both[1];
        }
        for (size_t i = 0; i < m; i += 2) { /* the last of an odd number is taken twice */
            const size_t k = i + 1 < m ? i + 1 : i;
            double both[2] = {0, 0};

            mf_cpu_dot2(n, y, a->h->s[i] + at, a->h->s[k] + at, both);
            value[2 + 2 * i] += both[0];
            if (k > i) value[2 + 2 * k] += both[1];
        }
    }
}

static void pair(struct mf_queue *q, struct mf_extent e, const float *x, const float *x_new, const float *g,
                 const float *g_new, const struct mf_history *h, float *s, float *y, double *out)
{
    struct args a = {.e = e, .x = x, .x1 = x_new, .g = g, .g1 = g_new, .h = h, .s = s, .y = y, .out = out};

    run(q, &a, 2 + 3 * h->count, 0, pair_block);
}

/* -- first-order rules -- */

static inline __attribute__((always_inline)) void span(enum mf_rule_kind kind, size_t n, struct mf_rule rule,
                                                       const float *restrict g, float *restrict m, float *restrict v,
                                                       float *restrict x)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) x[i] = mf_rule_step(kind, rule, g[i], &m[i], &v[i], x[i]);
}

/* One loop for every rule; what a rule has not (m, v) is not looked at. */
MF_CPU_FAST static void rule_span(size_t n, struct mf_rule rule, const float *g, float *m, float *v, float *x)
{
    switch (rule.kind) {
    case MF_RULE_ADAM: span(MF_RULE_ADAM, n, rule, g, m, v, x); break;
    case MF_RULE_ADAMAX: span(MF_RULE_ADAMAX, n, rule, g, m, v, x); break;
    case MF_RULE_NADAM: span(MF_RULE_NADAM, n, rule, g, m, v, x); break;
    case MF_RULE_ADADELTA: span(MF_RULE_ADADELTA, n, rule, g, m, v, x); break;
    case MF_RULE_ADAGRAD: span(MF_RULE_ADAGRAD, n, rule, g, m, v, x); break;
    case MF_RULE_RMSPROP: span(MF_RULE_RMSPROP, n, rule, g, m, v, x); break;
    default: span(MF_RULE_SGD, n, rule, g, m, v, x);
    }
}

static void adapt_block(const void *args, size_t at, size_t n, double *value)
{
    const struct args *a = args;

    (void)value;
    for (size_t p = 0; p < a->e.phases; ++p) {
        const size_t i = at + p * stride_of(a);

        rule_span(n, a->rule, a->g + i, a->m + i, a->v + i, a->to + i);
    }
    mf_cpu_project(a->e.phases, n, stride_of(a), a->to + at);
}

static void adapt(struct mf_queue *q, struct mf_extent e, const struct mf_rule *rule, const float *g, float *m,
                  float *v, float *x)
{
    struct args a = {.e = e, .g = g, .m = m ? m : x, .v = v ? v : x, .to = x, .rule = *rule};

    run(q, &a, 0, 0, adapt_block);
}

const struct mf_optim_ops mf_optim_cpu = {
    .free_dots = free_dots,
    .direction = direction,
    .step = step,
    .pair = pair,
    .adapt = adapt,
};
