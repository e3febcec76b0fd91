/* Operations that only move numbers. concat: inputs one behind the other along attr.axis. slice: [first, first + count)
 * of attr.axis. transpose: attr.axis and attr.other change places. */
#include "kernels/net/arrange.h"

#include "kernels/net/kinds.h"
#include "src/base/err.h"

/* Refuses where @p axis is not one of the shape's. */
static int check_axis(const struct mf_shape *shape, int axis)
{
    if (axis >= 0 && axis < shape->n) return MF_OK;
    return mf_fail(MF_USAGE, "its input has %d axes, and none with number %d", shape->n, axis);
}

static int concat_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    MF_TRY(check_axis(&in[0], attr->axis));
    out[0] = in[0];
    for (int i = 1; i < MF_INS && in[i].n; ++i) {
        for (int k = 0; k < MF_DIMS; ++k)
            if (in[i].n != in[0].n || (k != attr->axis && k < in[0].n && in[i].d[k] != in[0].d[k]))
                return mf_fail(MF_USAGE, "its inputs 0 and %d differ in more than axis %d", i, attr->axis);
        out[0].d[attr->axis] += in[i].d[attr->axis];
    }
    return MF_OK;
}

/* Inputs without a gradient still say where the next one begins. */
static void concat_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr;
    *in = 0;
    for (int i = 0; i < MF_INS; ++i)
        if (wanted >> i > 1 && !(wanted >> i & 1)) *in |= 1U << i;
    *out = 0;
}

static int slice_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    MF_TRY(check_axis(&in[0], attr->axis));
    if (attr->count == 0 || attr->first > in[0].d[attr->axis] || attr->count > in[0].d[attr->axis] - attr->first)
        return mf_fail(MF_USAGE, "axis %d has %zu numbers, not [%zu, %zu)", attr->axis, in[0].d[attr->axis],
                       attr->first, attr->first + attr->count);
    out[0] = in[0];
    out[0].d[attr->axis] = attr->count;
    return MF_OK;
}

static int transpose_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    MF_TRY(check_axis(&in[0], attr->axis));
    MF_TRY(check_axis(&in[0], attr->other));
    if (attr->axis == attr->other) return mf_fail(MF_USAGE, "axis %d cannot change places with itself", attr->axis);
    out[0] = in[0];
    out[0].d[attr->axis] = in[0].d[attr->other];
    out[0].d[attr->other] = in[0].d[attr->axis];
    return MF_OK;
}

const struct mf_op mf_op_concat = {
    .name = "concat", .shape = concat_shape, .reads = concat_reads, .adds = (1U << MF_INS) - 1, .cheap = 1};
const struct mf_op mf_op_slice = {.name = "slice", .shape = slice_shape, .adds = 1, .cheap = 1};
const struct mf_op mf_op_transpose = {.name = "transpose", .shape = transpose_shape, .adds = 1, .cheap = 1};
