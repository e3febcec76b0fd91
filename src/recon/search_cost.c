/* See search_cost.h. */
#include "src/recon/search_cost.h"

#include <math.h>

#include "kernels/slices/patch.h"

/* TREES: per patch of both images and the square of log2 of their number. One logarithm is the depth of trees, the
 * other stands for the memory that lies ever further away. PAIRS: per pair of patches. PULL: per patch of both images
 * and array of the pull. PULLED: per pixel of a level. */
static const double TREES = 59, PAIRS = 28, PULL = 1000, PULLED = 120;

static double patches(size_t nu, size_t nv, int periodic)
{
    const double beside = periodic ? 0 : MF_PATCH_SIDE - 1;

    return nu < MF_PATCH_SIDE || nv < MF_PATCH_SIDE ? 0 : ((double)nu - beside) * ((double)nv - beside);
}

struct mf_search_cost mf_search_cost_of(const struct mf_slice_desc *desc)
{
    const double arrays = 1 + 2 * (double)mf_patch_phases(desc);
    struct mf_search_cost cost = {0, 0, 0, 0};

    for (size_t l = desc->first; l < desc->levels; ++l) {
        const size_t nu = desc->nu >> l, nv = desc->nv >> l;
        const double n = patches(nu, nv, desc->periodic);
        const double m = patches(desc->example.nu >> l, desc->example.nv >> l, desc->example.periodic);
        const double depth = log2(n + m + 1);

        cost.pulled += PULLED * (double)nu * (double)nv;
        if (n == 0 || m == 0) continue;
        cost.search += mf_patch_in_trees(desc, n, m) ? TREES * (n + m) * depth * depth : PAIRS * n * m;
        cost.search += PULL * arrays * (n + m);
        cost.pairs += n * m;
        cost.moved += MF_PATCH_PIXELS * arrays * (n + m);
    }
    return cost;
}
