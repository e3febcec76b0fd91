/* The vectors of the optimisers on the shadow: see shadow.h. */
#include "kernels/shadow/shadow.h"

static const struct mf_optim_ops *cpu(void) { return mf_backend_cpu.optim; }

static void check_history(const char *kernel, const struct mf_history *h)
{
    for (size_t i = 0; i < h->count; ++i) mf_shadow_device(kernel, 2, (const void *const[]){h->s[i], h->y[i]});
}

static void free_dots(struct mf_queue *q, struct mf_extent e, const float *x, const float *g,
                      const struct mf_history *h, double *out)
{
    out = mf_shadow_output(q, "free_dots", out, e.planes * (1 + 2 * h->count) * sizeof *out);
    check_history("free_dots", h);
    MF_SHADOW_RUN("free_dots", cpu()->free_dots(mf_shadow_inner(q), e, x, g, h, out), x, g);
}

static void direction(struct mf_queue *q, struct mf_extent e, const float *x, const float *g,
                      const struct mf_history *h, const double *c, float *d, double *out)
{
    out = mf_shadow_output(q, "direction", out, e.planes * 2 * sizeof *out);
    check_history("direction", h);
    MF_SHADOW_RUN("direction", cpu()->direction(mf_shadow_inner(q), e, x, g, h, c, d, out), x, g, d);
}

static void step(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, const float *d, double length,
                 float *x_new, double *out)
{
    out = mf_shadow_output(q, "step", out, e.planes * sizeof *out);
    MF_SHADOW_RUN("step", cpu()->step(mf_shadow_inner(q), e, x, g, d, length, x_new, out), x, g, d, x_new);
}

static void pair(struct mf_queue *q, struct mf_extent e, const float *x, const float *x_new, const float *g,
                 const float *g_new, const struct mf_history *h, float *s, float *y, double *out)
{
    out = mf_shadow_output(q, "pair", out, e.planes * (2 + 3 * h->count) * sizeof *out);
    check_history("pair", h);
    MF_SHADOW_RUN("pair", cpu()->pair(mf_shadow_inner(q), e, x, x_new, g, g_new, h, s, y, out), x, x_new, g, g_new, s,
                  y);
}

static void adapt(struct mf_queue *q, struct mf_extent e, const struct mf_rule *rule, const float *g, float *m,
                  float *v, float *x)
{
    const void *kept[2];
    size_t n = 0;

    if (m) kept[n++] = m;
    if (v) kept[n++] = v;
    mf_shadow_device("adapt", n, kept);
    MF_SHADOW_RUN("adapt", cpu()->adapt(mf_shadow_inner(q), e, rule, g, m, v, x), g, x);
}

const struct mf_optim_ops mf_optim_shadow = {
    .free_dots = free_dots, .direction = direction, .step = step, .pair = pair, .adapt = adapt};
