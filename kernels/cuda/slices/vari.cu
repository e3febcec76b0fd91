/* Interface density of slices: see kernels/slices/slices.h.
 *   V = cu sum |x(u+1,v) - x(u,v)| + cv sum |x(u,v+1) - x(u,v)|
 * cu = cv = 1 / (nu nv) on a periodic slice, else one over the number of jumps along that axis. */
#include "kernels/cuda/slices/single.cuh"

namespace
{

/* The jumps of one level. */
struct jumps {
    struct mf_jump jump;
    int soft, periodic, seam;
    double cu, cv; /* what a unit jump counts */
    size_t nu, nv, su, sv;

    __device__ float size(float d) const { return soft ? mf_jump_soft(jump, d) : mf_jump_hard(d); }
    __device__ float slope(float d) const { return soft ? mf_jump_soft_slope(jump, d) : mf_jump_hard_slope(d); }
    /* Jumps along u count twice in column 0, those along v in row 0, where the seam does. */
    __device__ double weight_u(size_t v) const { return seam && v == 0 ? 2.0 * cu : cu; }
    __device__ double weight_v(size_t u) const { return seam && u == 0 ? 2.0 * cv : cv; }

    /* What the jumps out of pixel (u, v) count. */
    __device__ double operator()(const float *x, size_t u, size_t v) const
    {
        const float *at = x + u * su + v * sv;
        double sum = 0.0;

        if (u + 1 < nu || periodic) sum += weight_u(v) * double(size((u + 1 < nu ? at[su] : x[v * sv]) - *at));
        if (v + 1 < nv || periodic) sum += weight_v(u) * double(size((v + 1 < nv ? at[sv] : x[u * su]) - *at));
        return sum;
    }

    /* dV/dx(u, v): slopes of the jumps in, less those of the jumps out. */
    __device__ float gradient(const float *x, size_t u, size_t v, double factor) const
    {
        const float *at = x + u * su + v * sv;
        float in = 0.0f, out = 0.0f, left = 0.0f, right = 0.0f;

        if (u > 0 || periodic) in = slope(*at - (u > 0 ? *(at - su) : x[(nu - 1) * su + v * sv]));
        if (u + 1 < nu || periodic) out = slope((u + 1 < nu ? at[su] : x[v * sv]) - *at);
        if (v > 0 || periodic) left = slope(*at - (v > 0 ? *(at - sv) : x[u * su + (nv - 1) * sv]));
        if (v + 1 < nv || periodic) right = slope((v + 1 < nv ? at[sv] : x[u * su]) - *at);
        return float(factor * weight_u(v)) * (in - out) + float(factor * weight_v(u)) * (left - right);
    }
};

struct gradient_body {
    struct jumps j;
    struct mf_view x, g, coarse;
    const double *slope; /* [count] */
    int add;
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        float *to = g.base + mf_at(g, s, u, v);
        const float own = j.gradient(x.base + s * x.ss, u, v, slope[s]) + mf_from_coarse(coarse, s, u, v);

        *to = add ? *to + own : own;
    }
};

struct jumps jumps_of(const struct mf_slice_desc *d, const struct mf_view &x)
{
    struct jumps j = {};
    const double nu = double(x.nu), nv = double(x.nv);

    j.jump = mf_jump_of(d->smooth);
    j.soft = d->smooth > 0;
    j.periodic = d->periodic;
    j.seam = d->periodic && d->seam;
    const double norm = j.soft ? j.jump.norm : 1.0;

    j.cu = d->periodic ? norm / (nu * nv) : x.nu > 1 ? norm / ((nu - 1) * nv) : 0.0;
    j.cv = d->periodic ? norm / (nu * nv) : x.nv > 1 ? norm / (nu * (nv - 1)) : 0.0;
    j.nu = x.nu;
    j.nv = x.nv;
    j.su = x.su;
    j.sv = x.sv;
    return j;
}

int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
              struct mf_slice_plan **plan)
{
    return mf_single_plan(ops, queue, desc, 1, plan);
}

void values(struct mf_slice_plan *plan, const struct mf_view *x)
{
    const struct mf_slice_desc *d = &plan->single.desc;

    MF_ASSERT(x->count <= d->count_max);
    mf_pyramid_fill(&plan->pyramid, plan->queue, x, 0);
    for (size_t l = d->first; l < d->levels; ++l) {
        const struct mf_view at = mf_pyramid_view(&plan->pyramid, x, l, 0);

        mf_single_sum(&plan->single, plan->queue, l, at, jumps_of(d, at));
    }
}

/* From the coarsest level down; each takes what the one before has for it. */
void gradients(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const struct mf_slice_desc *d = &plan->single.desc;
    struct mf_view coarse = {};

    for (size_t l = d->levels; l-- > 0;) {
        const struct mf_view x = mf_pyramid_view(&plan->pyramid, &task->x, l, 0);
        const struct mf_view g = mf_pyramid_gradient(&plan->pyramid, &task->g, l);

        if (l < d->first)
            mf_pyramid_pass(plan->queue, coarse, g, l == 0);
        else
            mf_pixels(plan->queue, g,
                      gradient_body{jumps_of(d, x), x, g, coarse, plan->single.slope + l * d->count_max, l == 0});
        coarse = g;
    }
}

void eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    values(plan, &task->x);
    mf_single_compare(&plan->single, plan->queue, task);
    if (task->g.base) gradients(plan, task);
}

} // namespace

const struct mf_slice_ops mf_vari_cuda = {
    .kind = &mf_kind_vari,
    .family = nullptr,
    .plan = plan_make,
    .free = mf_single_free,
    .eval = eval,
    .total = mf_single_totals<values>,
    .cross = nullptr,
    .join = nullptr,
    .pull = nullptr,
    .match = nullptr,
    .cost = nullptr,
};
