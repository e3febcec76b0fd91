/* See space.h. */
#include "kernels/slices/space.h"

#include "kernels/slices/slices.h"

size_t mf_space_extent(const struct mf_space_desc *d, size_t n)
{
    return d->periodic ? n : mf_cheap_extent(n + d->lag - 1);
}

size_t mf_space_row(const struct mf_space_desc *d) { return 2 * (mf_space_extent(d, d->nx) / 2 + 1); }

size_t mf_space_plane(const struct mf_space_desc *d)
{
    const size_t floats = mf_space_extent(d, d->ny) * mf_space_row(d);

    return (floats + MF_SPACE_ALIGN - 1) / MF_SPACE_ALIGN * MF_SPACE_ALIGN;
}
