/* Interface density of slices, pixel by pixel: see kernels/slices/slices.h.
 *   V = cu sum |x(u+1,v) - x(u,v)| + cv sum |x(u,v+1) - x(u,v)|
 * cu = cv = 1 / (nu nv) on a periodic slice, else one over the number of jumps along that axis. */
#ifndef MF_KERNELS_CUDA_JUMPS_CUH
#define MF_KERNELS_CUDA_JUMPS_CUH

#include "kernels/cuda/slices/slice.cuh"

/** The jumps of one level. */
struct mf_jumps {
    struct mf_jump jump;
    int soft, periodic, seam;
    double cu, cv; /* what a unit jump counts */
    size_t nu, nv, su, sv;

    __device__ float size(float d) const { return soft ? mf_jump_soft(jump, d) : mf_jump_hard(d); }
    __device__ float slope(float d) const { return soft ? mf_jump_soft_slope(jump, d) : mf_jump_hard_slope(d); }
    /* Jumps along u count twice in column 0, those along v in row 0, where the seam does. */
    __device__ float times(size_t beside) const { return seam && beside == 0 ? 2.0f : 1.0f; }

    /* The jumps out of pixel (u, v), along u and along v. */
    __device__ float2 out(const float *x, size_t u, size_t v) const
    {
        const float *at = x + u * su + v * sv;
        float2 to = make_float2(0.0f, 0.0f);

        if (u + 1 < nu || periodic) to.x = times(v) * size((u + 1 < nu ? at[su] : x[v * sv]) - *at);
        if (v + 1 < nv || periodic) to.y = times(u) * size((v + 1 < nv ? at[sv] : x[u * su]) - *at);
        return to;
    }

    /* What they count. */
    __device__ double operator()(const float *x, size_t u, size_t v) const
    {
        const float2 own = out(x, u, v);

        return cu * double(own.x) + cv * double(own.y);
    }

    /* The gradient at x(u, v): slopes of the jumps in, less those of the jumps out, times @p by along u and v. */
    __device__ float gradient(const float *x, size_t u, size_t v, float2 by) const
    {
        const float *at = x + u * su + v * sv;
        float in = 0.0f, out = 0.0f, left = 0.0f, right = 0.0f;

        if (u > 0 || periodic) in = slope(*at - (u > 0 ? *(at - su) : x[(nu - 1) * su + v * sv]));
        if (u + 1 < nu || periodic) out = slope((u + 1 < nu ? at[su] : x[v * sv]) - *at);
        if (v > 0 || periodic) left = slope(*at - (v > 0 ? *(at - sv) : x[u * su + (nv - 1) * sv]));
        if (v + 1 < nv || periodic) right = slope((v + 1 < nv ? at[sv] : x[u * su]) - *at);
        return by.x * times(v) * (in - out) + by.y * times(u) * (left - right);
    }
};

/** What slopes of jumps are multiplied by, where dA/dV is @p slope. */
__device__ inline float2 mf_jumps_by(const struct mf_jumps &j, double slope)
{
    return make_float2(float(slope * j.cu), float(slope * j.cv));
}

inline struct mf_jumps mf_jumps_of(const struct mf_slice_desc *d, const struct mf_view &x)
{
    struct mf_jumps j = {};
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

#endif
