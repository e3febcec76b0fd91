/* How concat, slice and transpose see their tensors: shared by the back ends. See arrange.c. */
#ifndef MF_KERNELS_NET_ARRANGE_H
#define MF_KERNELS_NET_ARRANGE_H

#include "kernels/op.h"

/** Numbers along the axes [first, end). */
static inline size_t mf_extents(const struct mf_shape *shape, int first, int end)
{
    size_t count = 1;

    for (int i = first; i < end; ++i) count *= shape->d[i];
    return count;
}

/** A tensor as [before][p][between][q][behind]; transpose makes it [before][q][between][p][behind]. */
struct mf_swap {
    size_t before, p, between, q, behind;
};

static inline struct mf_swap mf_swap_of(const struct mf_attr *attr, const struct mf_shape *shape)
{
    const int a = attr->axis < attr->other ? attr->axis : attr->other;
    const int b = attr->axis < attr->other ? attr->other : attr->axis;

    return (struct mf_swap){mf_extents(shape, 0, a), shape->d[a], mf_extents(shape, a + 1, b), shape->d[b],
                            mf_extents(shape, b + 1, shape->n)};
}

#endif
