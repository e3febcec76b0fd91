/* Work memory of operations on GPUs, by the shapes of a call. The cuda back end takes so much, and plans for another
 * machine count it. What NVIDIA's libraries need comes on top; it is at most MF_TUNING_WORK. */
#ifndef MF_KERNELS_NET_GPU_WORK_H
#define MF_KERNELS_NET_GPU_WORK_H

#include "kernels/net/attention.h"
#include "kernels/net/ops.h"
#include "kernels/tuning.h"

enum { MF_GPU_SLOT_TILE = 256, MF_GPU_SLOT_CHUNKS = 1024, MF_GPU_GROUP_LINES = 128 };

/** The gradient of the sums, where backward may not write over dout. */
static inline size_t mf_gpu_act_work(const struct mf_call *call)
{
    return call->attr->act && !call->own ? mf_whole_lines(mf_shape_bytes(&call->dout.shape)) : 0;
}

/** linear: the bias in the type of y, or the gradient of the sums; then what products need. */
static inline size_t mf_gpu_linear_front(const struct mf_call *call, int back)
{
    const struct mf_shape *y = &call->out[0].shape;

    if (back) return mf_gpu_act_work(call);
    if (!call->in[2].shape.n || y->type == MF_F32) return 0;
    return mf_whole_lines(call->in[1].shape.d[0] * mf_type_bytes(y->type));
}

/* -- conv2d. What a call lacks follows from the rest -- */

static inline const struct mf_shape *mf_gpu_either(const struct mf_tensor *a, const struct mf_tensor *b)
{
    return a->shape.n ? &a->shape : &b->shape;
}

static inline const struct mf_shape *mf_gpu_image(const struct mf_call *call)
{
    return mf_gpu_either(&call->in[0], &call->din[0]);
}

static inline const struct mf_shape *mf_gpu_filter(const struct mf_call *call)
{
    return mf_gpu_either(&call->in[1], &call->din[1]);
}

static inline const struct mf_shape *mf_gpu_sums(const struct mf_call *call)
{
    return mf_gpu_either(&call->dout, &call->out[0]);
}

/** Is it a product of windows side by side? Without weights there is the gradient of the bias alone. */
static inline int mf_gpu_is_product(const struct mf_call *call)
{
    const struct mf_shape *w = mf_gpu_filter(call);
    const size_t stride = (size_t)call->attr->stride;

    return !w->n || (w->d[2] == stride && w->d[3] == stride && call->attr->pad == 0);
}

/** Windows one by one. Those of one pixel are there as they are. */
static inline size_t mf_gpu_patch_bytes(const struct mf_call *call)
{
    const struct mf_shape *w = mf_gpu_filter(call), *y = mf_gpu_sums(call);

    if (!w->n || w->d[2] == 1) return 0;
    return mf_whole_lines(mf_shape_rows(y) * (mf_shape_count(w) / w->d[0]) * mf_type_bytes(y->type));
}

/** Weights, or their gradient, with channels last. */
static inline size_t mf_gpu_turned_bytes(const struct mf_call *call)
{
    return mf_whole_lines(mf_shape_count(mf_gpu_filter(call)) * mf_type_bytes(mf_gpu_image(call)->type));
}

static inline size_t mf_gpu_conv_front(const struct mf_call *call, int back)
{
    const size_t areas = (size_t)(call->in[0].shape.n > 0) + (size_t)(call->din[0].shape.n > 0);

    if (mf_gpu_is_product(call)) return areas * mf_gpu_patch_bytes(call) + mf_gpu_linear_front(call, back);
    return (back ? mf_gpu_act_work(call) : 0) + (back && call->din[1].shape.n ? 2 : 1) * mf_gpu_turned_bytes(call);
}

/** conv_depthwise: weights as f32 with channels last. */
static inline size_t mf_gpu_depthwise_work(const struct mf_call *call)
{
    return mf_whole_lines(mf_shape_count(mf_gpu_filter(call)) * sizeof(float));
}

/* -- others -- */

static inline size_t mf_gpu_group_norm_work(const struct mf_call *call)
{
    const struct mf_shape *x = &call->in[0].shape;

    return 2 * x->d[0] * (mf_shape_last(x) * sizeof(double) + (size_t)call->attr->groups * sizeof(float));
}

static inline size_t mf_gpu_attention_work(const struct mf_call *call, int back)
{
    const struct mf_attention a = mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);

    return back ? a.samples * a.heads * a.rows * sizeof(float) : 0;
}

/** Tiles of rows that any groups need, at most. */
static inline size_t mf_gpu_row_tiles(size_t rows, size_t groups) { return rows / MF_GPU_GROUP_LINES + groups; }

static inline size_t mf_gpu_grouped_work(const struct mf_call *call, int back)
{
    const struct mf_shape *dy = &call->dout.shape;

    if (!back) return 0;
    if (!call->din[2].shape.n) return mf_gpu_act_work(call);
    return mf_gpu_act_work(call) +
           mf_gpu_row_tiles(dy->d[0], (size_t)call->attr->row_groups) * dy->d[1] * sizeof(double);
}

/** Slots of a mixture are counted chunk by chunk: slots of a chunk, and bytes of all counts. */
static inline size_t mf_gpu_slot_chunk(size_t slots)
{
    const size_t tiles = (slots + MF_GPU_SLOT_TILE - 1) / MF_GPU_SLOT_TILE;

    return (tiles + MF_GPU_SLOT_CHUNKS - 1) / MF_GPU_SLOT_CHUNKS * MF_GPU_SLOT_TILE;
}

static inline size_t mf_gpu_slots_bytes(const struct mf_shape *choice, size_t experts)
{
    const size_t slots = mf_shape_count(choice), chunk = mf_gpu_slot_chunk(slots);

    return (slots + chunk - 1) / chunk * experts * sizeof(int);
}

static inline size_t mf_gpu_route_load_work(const struct mf_call *call)
{
    const struct mf_shape *logits = &call->in[0].shape;

    return mf_whole_lines(mf_gpu_slots_bytes(&call->in[1].shape, logits->d[1])) + logits->d[0] * sizeof(float);
}

static inline size_t mf_gpu_permute_work(const struct mf_call *call, int back)
{
    return back ? 0 : mf_gpu_slots_bytes(&call->in[1].shape, call->attr->experts);
}

/** pick: logits with the penalty. */
static inline size_t mf_gpu_pick_work(const struct mf_call *call)
{
    return call->in[3].shape.n ? mf_shape_bytes(&call->in[0].shape) : 0;
}

#endif
