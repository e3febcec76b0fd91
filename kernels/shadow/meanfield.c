/* Mean-field annealing on the shadow: see shadow.h. */
#include "kernels/shadow/shadow.h"

static const struct mf_meanfield_ops *cpu(void) { return mf_backend_cpu.meanfield; }

static void inner(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, double *out)
{
    out = mf_shadow_output(q, "inner", out, e.planes * MF_INNER_VALUES * sizeof *out);
    MF_SHADOW_RUN("inner", cpu()->inner(mf_shadow_inner(q), e, x, g, out), x, g);
}

static void lines(struct mf_queue *q, const size_t n[3], const float *x, const float *g, const uint8_t *fixed,
                  float level, float scale, const struct mf_lines *to)
{
    MF_SHADOW_RUN("lines", cpu()->lines(mf_shadow_inner(q), n, x, g, fixed, level, scale, to), x, g, fixed, to->count_x,
                  to->sum_x, to->count_y, to->sum_y, to->count_z);
}

static void move(struct mf_queue *q, const size_t n[3], float momentum, float rate, const float *off, const float *x,
                 const float *g, const uint8_t *fixed, float *v)
{
    MF_SHADOW_RUN("move", cpu()->move(mf_shadow_inner(q), n, momentum, rate, off, x, g, fixed, v), off, x, g, fixed, v);
}

static void shifted(struct mf_queue *q, struct mf_extent e, float shift, const float *v, double *out)
{
    out = mf_shadow_output(q, "shifted", out, e.planes * 2 * sizeof *out);
    MF_SHADOW_RUN("shifted", cpu()->shifted(mf_shadow_inner(q), e, shift, v, out), v);
}

static void settle(struct mf_queue *q, struct mf_extent e, float shift, float *x, float *v, double *out)
{
    out = mf_shadow_output(q, "settle", out, e.planes * sizeof *out);
    MF_SHADOW_RUN("settle", cpu()->settle(mf_shadow_inner(q), e, shift, x, v, out), x, v);
}

const struct mf_meanfield_ops mf_meanfield_shadow = {
    .inner = inner, .lines = lines, .move = move, .shifted = shifted, .settle = settle};
