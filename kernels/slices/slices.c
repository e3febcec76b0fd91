/* See slices.h. */
#include "kernels/slices/slices.h"

#include "src/base/err.h"

int mf_slices_check(const struct mf_slice_desc *desc)
{
    const size_t least = desc->nu < desc->nv ? desc->nu : desc->nv;

    MF_ASSERT(desc->first < desc->levels);
    if (desc->levels >= 1 && desc->levels <= MF_PYRAMID_MAX && least >> (desc->levels - 1)) return MF_OK;
    return mf_fail(MF_USAGE, "a slice of %zu x %zu pixels has no %zu pyramid levels", desc->nu, desc->nv, desc->levels);
}

int mf_slices_check_lag(const struct mf_slice_desc *desc, size_t level)
{
    const size_t nu = desc->nu >> level, nv = desc->nv >> level;
    const size_t least = desc->periodic ? 2 * desc->lag - 1 : desc->lag;

    if (nu >= least && nv >= least) return MF_OK;
    return mf_fail(MF_USAGE, "S2: lag %zu is too long for level %zu of a slice of %zu x %zu pixels", desc->lag, level,
                   desc->nu, desc->nv);
}

size_t mf_cheap_extent(size_t n)
{
    for (size_t m = n + n % 2;; m += 2) {
        size_t r = m;

        while (r % 2 == 0) r /= 2;
        while (r % 3 == 0) r /= 3;
        while (r % 5 == 0) r /= 5;
        if (r == 1) return m;
    }
}

size_t mf_entries_window(const struct mf_slice_desc *d) { return (2 * d->lag - 1) * (2 * d->lag - 1); }

size_t mf_entries_one(const struct mf_slice_desc *desc)
{
    (void)desc;
    return 1;
}
