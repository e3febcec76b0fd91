/* Volume fraction of slices: see kernels/slices/slices.h. On level l it is the mean of the pooled slice. That is the
 * mean over its first floor(nu / 2^l) 2^l rows and floor(nv / 2^l) 2^l columns. So no pooling is needed. */
#include "kernels/cuda/slices/single.cuh"

namespace
{

__host__ __device__ size_t cropped(size_t n, size_t level) { return n >> level << level; }

struct mean_term {
    size_t su, sv;
    double each; /* one over the number of pixels */
    __device__ double operator()(const float *x, size_t u, size_t v) const { return each * double(x[u * su + v * sv]); }
};

struct gradient_body {
    struct mf_slice_desc d;
    struct mf_view g;
    const double *slope; /* [levels][count_max] */
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        double sum = 0.0;

        for (size_t l = d.first; l < d.levels; ++l) {
            const size_t nu = cropped(d.nu, l), nv = cropped(d.nv, l);

            if (u < nu && v < nv) sum += slope[l * d.count_max + s] / (double(nu) * double(nv));
        }
        g.base[mf_at(g, s, u, v)] += float(sum);
    }
};

int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
              struct mf_slice_plan **plan)
{
    return mf_single_plan(ops, queue, desc, 0, plan);
}

/* Level l looks at pixels of the slice itself, as many as its own pixels stand for. */
void values(struct mf_slice_plan *plan, const struct mf_view *x)
{
    const struct mf_slice_desc *d = &plan->single.desc;

    MF_ASSERT(x->count <= d->count_max);
    for (size_t l = d->first; l < d->levels; ++l) {
        struct mf_view at = *x;

        at.nu = cropped(x->nu, l);
        at.nv = cropped(x->nv, l);
        mf_single_sum(&plan->single, plan->queue, l, at,
                      mean_term{x->su, x->sv, 1.0 / (double(at.nu) * double(at.nv))});
    }
}

void eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    values(plan, &task->x);
    mf_single_compare(&plan->single, plan->queue, task);
    if (task->g.base) mf_pixels(plan->queue, task->g, gradient_body{plan->single.desc, task->g, plan->single.slope});
}

} // namespace

const struct mf_slice_ops mf_frac_cuda = {
    .kind = &mf_kind_frac,
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
