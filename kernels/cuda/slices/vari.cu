/* Interface density of slices by itself: sums, comparison, gradients. Beside S2 its kernels do it (corr.cuh). */
#include "kernels/cuda/slices/jumps.cuh"
#include "kernels/cuda/slices/single.cuh"

namespace
{

/* Weights of the jumps out of pixel (u, v). */
struct out_term {
    struct mf_jumps j;
    size_t su, sv;
    __device__ double operator()(const float *x, size_t u, size_t v) const
    {
        const float own = x[u * su + v * sv];
        const float down = x[j.after(unsigned(u), j.nu) * su + v * sv],
                    right = x[u * su + j.after(unsigned(v), j.nv) * sv];

        return j.cu * double(j.times(unsigned(v)) * j.size(down - own)) +
               j.cv * double(j.times(unsigned(u)) * j.size(right - own));
    }
};

/* Slopes of the jumps in, less those of the jumps out. */
struct gradient_body {
    struct mf_jumps j;
    struct mf_view x, g, coarse;
    const double *slope; /* [count] */
    int add;
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        float *to = g.base + mf_at(g, s, u, v);
        const unsigned iu = unsigned(u), iv = unsigned(v);
        const float *row = x.base + mf_at(x, s, u, 0), *column = x.base + mf_at(x, s, 0, v), own = row[v * x.sv];
        const float down =
            j.slope(own - column[j.before(iu, j.nu) * x.su]) - j.slope(column[j.after(iu, j.nu) * x.su] - own);
        const float right =
            j.slope(own - row[j.before(iv, j.nv) * x.sv]) - j.slope(row[j.after(iv, j.nv) * x.sv] - own);
        const float2 by = mf_jumps_by(j, slope[s]);
        const float sum = by.x * j.times(iv) * down + by.y * j.times(iu) * right + mf_from_coarse(coarse, s, u, v);

        *to = add ? *to + sum : sum;
    }
};

int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
              struct mf_slice_plan **plan)
{
    return mf_single_plan(ops, queue, desc, 1, plan);
}

void values(struct mf_slice_plan *plan, const struct mf_view *x)
{
    const struct mf_slice_desc *d = &plan->single.desc;

    MF_ASSERT(x->count <= d->count_max);
    mf_pyramid_fill(&plan->pyramid, plan->queue, x);
    for (size_t l = d->first; l < d->levels; ++l) {
        const struct mf_view at = mf_pyramid_view(&plan->pyramid, x, l, 0);

        mf_single_sum(&plan->single, plan->queue, l, at, out_term{mf_jumps_of(d, at), at.su, at.sv});
    }
}

/* From the coarsest level down; each takes what the one before has for it. */
void gradients(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const struct mf_slice_desc *d = &plan->single.desc;
    struct mf_view coarse = {};

    for (size_t l = d->levels; l-- > 0;) {
        const struct mf_view x = mf_pyramid_view(&plan->pyramid, &task->x, l, 0);
        const struct mf_view g = mf_pyramid_gradient(&plan->pyramid, &task->g, l, 0);

        if (l < d->first)
            mf_pyramid_pass(plan->queue, coarse, g, l == 0);
        else
            mf_pixels(plan->queue, g,
                      gradient_body{mf_jumps_of(d, x), x, g, coarse, plan->single.slope + l * d->count_max, l == 0});
        coarse = g;
    }
}

void eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const size_t most = plan->single.desc.count_max;

    for (size_t at = 0; at < task->x.count; at += most) {
        struct mf_slice_task some = *task;

        some.x = mf_view_part(&task->x, at, most);
        some.g = mf_view_part(&task->g, at, most);
        if (some.scale) some.scale += at;
        if (some.sum) some.sum += at;
        if (some.values) some.values += at * plan->single.desc.levels;
        values(plan, &some.x);
        mf_single_compare(&plan->single, plan->queue, &some);
        if (some.g.base) gradients(plan, &some);
    }
}

} // namespace

const struct mf_slice_ops mf_vari_cuda = {
    .kind = &mf_kind_vari,
    .family = nullptr,
    .shares = 0,
    .plan = plan_make,
    .free = mf_single_free,
    .eval = eval,
    .total = mf_single_totals<values>,
    .cross = nullptr,
    .join = nullptr,
    .pull = nullptr,
    .match = nullptr,
    .memory = nullptr,
    .cost = nullptr,
};
