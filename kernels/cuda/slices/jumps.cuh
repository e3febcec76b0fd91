/* Interface density of slices, pixel by pixel: see kernels/slices/slices.h.
 *   V = cu sum |x(u+1,v) - x(u,v)| + cv sum |x(u,v+1) - x(u,v)|
 * cu = cv = 1 / (nu nv) on a periodic slice, else one over the number of jumps along that axis. */
#ifndef MF_KERNELS_CUDA_JUMPS_CUH
#define MF_KERNELS_CUDA_JUMPS_CUH

#include "kernels/cuda/slices/slice.cuh"

/** The jumps of one level. Where a pixel has no neighbour, it is its own: a jump of 0. */
struct mf_jumps {
    struct mf_jump jump; /* nothing smoothed: below 2^-60, so that powers of two keep |d| exact */
    int periodic, seam;
    double cu, cv; /* what a unit jump counts */
    unsigned nu, nv;

    __device__ float size(float d) const { return mf_jump_soft(jump, d); }
    __device__ float slope(float d) const { return mf_jump_soft_slope(jump, d); }
    /* Jumps along u count twice in column 0, those along v in row 0, where the seam does. */
    __device__ float times(unsigned beside) const { return seam && beside == 0 ? 2.0f : 1.0f; }
    /* Neighbours of row or column i of n. */
    __device__ unsigned before(unsigned i, unsigned n) const { return i ? i - 1 : periodic ? n - 1 : i; }
    __device__ unsigned after(unsigned i, unsigned n) const { return i + 1 < n ? i + 1 : periodic ? 0 : i; }
};

/** Factors of the slopes of jumps, where dA/dV is @p slope. */
__device__ inline float2 mf_jumps_by(const struct mf_jumps &j, double slope)
{
    return make_float2(float(slope * j.cu), float(slope * j.cv));
}

inline struct mf_jumps mf_jumps_of(const struct mf_slice_desc *d, const struct mf_view &x)
{
    struct mf_jumps j = {};
    const double nu = double(x.nu), nv = double(x.nv);

    j.jump = mf_jump_of(d->smooth > 0 ? d->smooth : 0x1p-60);
    j.periodic = d->periodic;
    j.seam = d->periodic && d->seam;
    const double norm = j.jump.norm;

    j.cu = d->periodic ? norm / (nu * nv) : x.nu > 1 ? norm / ((nu - 1) * nv) : 0.0;
    j.cv = d->periodic ? norm / (nu * nv) : x.nv > 1 ? norm / (nu * (nv - 1)) : 0.0;
    j.nu = unsigned(x.nu);
    j.nv = unsigned(x.nv);
    return j;
}

#endif
