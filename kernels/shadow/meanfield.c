/* Mean-field annealing on the shadow: see shadow.h. */
#include "kernels/shadow/shadow.h"

static const struct mf_meanfield_ops *cpu(void) { return mf_backend_cpu.meanfield; }

static void inner(struct mf_queue *q, const struct mf_probabilities *at, double *out)
{
    out = mf_shadow_output(q, "inner", out, at->n[0] * (at->phases + mf_pairs(at->phases) + 1) * sizeof *out);
    MF_SHADOW_RUN("inner", cpu()->inner(mf_shadow_inner(q), at, out), at->x, at->g);
}

static void lines(struct mf_queue *q, const struct mf_probabilities *at, float scale, const struct mf_lines *to)
{
    MF_SHADOW_RUN("lines", cpu()->lines(mf_shadow_inner(q), at, scale, to), at->x, at->g, at->fixed, to->pair_x,
                  to->sum_x, to->pair_y, to->sum_y, to->pair_z);
}

static void move(struct mf_queue *q, const struct mf_probabilities *at, float momentum, float rate, const float *off,
                 const float *shift, float *v, double *out)
{
    const size_t values = at->phases + mf_pairs(at->phases);

    out = mf_shadow_output(q, "move", out, at->n[0] * values * sizeof *out);
    MF_SHADOW_RUN("move", cpu()->move(mf_shadow_inner(q), at, momentum, rate, off, shift, v, out), off, at->x, at->g,
                  at->fixed, v);
}

static void shifted(struct mf_queue *q, struct mf_extent e, const float *shift, const float *v, double *out)
{
    out = mf_shadow_output(q, "shifted", out, e.planes * (e.phases + mf_pairs(e.phases)) * sizeof *out);
    MF_SHADOW_RUN("shifted", cpu()->shifted(mf_shadow_inner(q), e, shift, v, out), v);
}

static void settle(struct mf_queue *q, struct mf_extent e, const float *shift, float *x, float *v, double *out)
{
    out = mf_shadow_output(q, "settle", out, e.planes * e.phases * sizeof *out);
    MF_SHADOW_RUN("settle", cpu()->settle(mf_shadow_inner(q), e, shift, x, v, out), x, v);
}

const struct mf_meanfield_ops mf_meanfield_shadow = {
    .inner = inner, .lines = lines, .move = move, .shifted = shifted, .settle = settle};
