/* permute and combine on cuda. See kernels/net/route.c. Slots are counted by chunk and expert, and one block adds the
 * chunks up. Then every chunk knows where its slots go, and rows move by a warp each. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/cuda/net/slots.cuh"
#include "kernels/form/route.h"

namespace
{

/* -- places -- */

/* The sum of @p value over the lanes before this one; the last lane knows that of all. */
__device__ int32_t before(int32_t value)
{
    const unsigned lane = threadIdx.x % MF_CUDA_WARP;
    int32_t sum = value;

    for (unsigned apart = 1; apart < MF_CUDA_WARP; apart *= 2) {
        const int32_t other = __shfl_sync(0xffffffffu, sum, int((lane - apart) % MF_CUDA_WARP));

        if (lane >= apart) sum += other;
    }
    return sum - value;
}

/* One warp: slots [expert] of all chunks become the offsets [experts + 1] of what each may take. */
__device__ void limit(const struct mf_slots &s, double factor, const int32_t *slots, int32_t *offset)
{
    const unsigned lane = threadIdx.x, each = (s.experts + MF_CUDA_WARP - 1) / MF_CUDA_WARP;
    const unsigned first = lane * each < s.experts ? lane * each : s.experts;
    const unsigned end = first + each < s.experts ? first + each : s.experts;
    int32_t sum = 0;

    for (unsigned e = first; e < end; ++e) sum += slots[e];
    const size_t most = mf_route_capacity(factor, size_t(mf_warp_sum(sum)), s.experts);
    const auto taken = [&](unsigned e) { return size_t(slots[e]) < most ? slots[e] : int32_t(most); };

    sum = 0;
    for (unsigned e = first; e < end; ++e) sum += taken(e);
    sum = before(sum);
    for (unsigned e = first; e < end; sum += taken(e++)) offset[e] = sum;
    if (end == s.experts) offset[end] = sum; /* of several lanes all have the same */
}

/* Counts become the slots of the same expert in earlier chunks. One block. */
__global__ void __launch_bounds__(MF_CUDA_THREADS)
    offsets_kernel(struct mf_slots s, double factor, int32_t *count, int32_t *offset)
{
    constexpr unsigned MANY = 8; /* loads under way */
    MF_SHARED(int32_t, slots);

    for (unsigned e = threadIdx.x; e < s.experts; e += MF_CUDA_THREADS) {
        int32_t sum = 0;

        for (unsigned c = 0; c < s.chunks; c += MANY) {
            int32_t *at = count + size_t(c) * s.experts + e, own[MANY];

            MF_UNROLL
            for (unsigned i = 0; i < MANY; ++i) own[i] = c + i < s.chunks ? at[size_t(i) * s.experts] : 0;
            MF_UNROLL
            for (unsigned i = 0; i < MANY; sum += own[i++])
                if (c + i < s.chunks) at[size_t(i) * s.experts] = sum;
        }
        slots[e] = sum;
    }
    __syncthreads();
    if (threadIdx.x < MF_CUDA_WARP) limit(s, factor, slots, offset);
}

__global__ void __launch_bounds__(MF_CUDA_THREADS)
    places_kernel(struct mf_slots s, const int32_t *count, const int32_t *offset, int32_t *place)
{
    for (unsigned first = 0; first < s.experts; first += MF_CUDA_THREADS) {
        const unsigned expert = first + threadIdx.x;
        int32_t next = 0, end = 0;

        if (expert < s.experts) {
            next = offset[expert] + count[size_t(blockIdx.x) * s.experts + expert];
            end = offset[expert + 1];
        }
        mf_slots_walk(s, [&](size_t slot, int32_t choice) {
            if (choice == int32_t(expert)) {
                place[slot] = next < end ? next : -1;
                ++next;
            } else if (choice < 0 && expert == 0) {
                place[slot] = -1;
            }
        });
    }
}

int plan(struct mf_queue *, const struct mf_call *call, int back, void **made, size_t *work)
{
    *made = nullptr;
    *work = mf_gpu_permute_work(call, back);
    return MF_OK;
}

void find_places(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_slots s = mf_slots_of(call->in[1], call->attr->experts, call->attr->first_expert);
    int32_t *count = static_cast<int32_t *>(call->work), *place = static_cast<int32_t *>(call->out[1].at);
    int32_t *offset = place + s.slots;

    mf_slots_count(q, s, count);
    MF_RUN(offsets_kernel, 1, MF_CUDA_THREADS, s.experts * sizeof(int32_t), q, s, call->attr->capacity, count, offset);
    MF_RUN(places_kernel, s.chunks, MF_CUDA_THREADS, MF_SLOTS_SHARED, q, s, count, offset, place);
}

/* -- rows -- */

/* Rows, and where the slots of each are. */
struct moves {
    size_t k, d; /* slots of a row; columns */
    const int32_t *place;
};

/* Copies rows to their places. */
template <int W, class T> struct spread_body {
    moves m;
    const T *x;
    T *y;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        mf_lane<W>(m.d, lane, [&](size_t i) {
            float v[W];

            mf_load<W>(x + row * m.d + i, v);
            for (size_t s = row * m.k; s < (row + 1) * m.k; ++s)
                if (m.place[s] >= 0) mf_store<W>(v, y + size_t(m.place[s]) * m.d + i);
        });
    }
};

/* Sums of what stands at the places, weighted if @p weight is there. */
template <int W, class Add, class T> struct gather_body {
    moves m;
    const T *x;
    const float *weight;
    T *y;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        mf_lane<W>(m.d, lane, [&](size_t i) {
            float sum[W] = {}, v[W];

            for (size_t s = row * m.k; s < (row + 1) * m.k; ++s) {
                if (m.place[s] < 0) continue;
                mf_load<W>(x + size_t(m.place[s]) * m.d + i, v);
                for (int w = 0; w < W; ++w) sum[w] += (weight ? weight[s] : 1.0f) * v[w];
            }
            mf_give<W, Add>(sum, y + row * m.d + i);
        });
    }
};

void gather(struct mf_queue *q, const moves &m, const struct mf_tensor &from, const float *weight,
            const struct mf_tensor &to, bool more)
{
    mf_by_type(to.shape.type, [&](auto number) {
        using T = decltype(number);

        mf_choose(more, [&](auto add) {
            mf_by_width<T>(m.d, {from.at, to.at}, [&](auto width) {
                mf_rows_run(q, to.shape.d[0],
                            gather_body<decltype(width)::OF, decltype(add), T>{m, mf_numbers<T>(from), weight,
                                                                               mf_numbers<T>(to)});
            });
        });
    });
}

void permute(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &x = call->in[0].shape;
    const moves m = {mf_shape_last(&call->in[1].shape), x.d[1], static_cast<const int32_t *>(call->out[1].at)};

    find_places(q, call);
    mf_by_type(x.type, [&](auto number) {
        using T = decltype(number);
        const T *from = mf_numbers<T>(call->in[0]);
        T *to = mf_numbers<T>(call->out[0]);

        mf_by_width<T>(m.d, {from, to}, [&](auto width) {
            mf_rows_run(q, x.d[0], spread_body<decltype(width)::OF, T>{m, from, to});
        });
    });
}

void permute_back(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &dx = call->din[0].shape;
    const moves m = {call->dout.shape.d[0] / dx.d[0], dx.d[1], static_cast<const int32_t *>(call->out[1].at)};

    gather(q, m, call->dout, nullptr, call->din[0], call->add & 1);
}

/* -- combine -- */

moves moves_of(const struct mf_call *call, const struct mf_shape &y)
{
    const struct mf_shape &weights = call->in[1].shape.n ? call->in[1].shape : call->din[1].shape;

    return {mf_shape_last(&weights), y.d[1], static_cast<const int32_t *>(call->in[2].at)};
}

void combine(struct mf_queue *q, const struct mf_call *call)
{
    gather(q, moves_of(call, call->out[0].shape), call->in[0], mf_floats(call->in[1]), call->out[0], false);
}

/* Both gradients, or one of them: dy = weight dout, dweight = <dout, y>. */
template <int W, class T> struct part_body {
    moves m;
    const T *dout, *y;
    const float *weight;
    T *dy;
    float *dweight;
    __device__ float slot(size_t row, size_t s, unsigned lane) const
    {
        const size_t at = size_t(m.place[s]) * m.d;
        float sum = 0;

        mf_lane<W>(m.d, lane, [&](size_t i) {
            float v[W], other[W];

            mf_load<W>(dout + row * m.d + i, v);
            if (dweight) mf_load<W>(y + at + i, other);
            for (int w = 0; dweight && w < W; ++w) sum += v[w] * other[w];
            for (int w = 0; dy && w < W; ++w) v[w] *= weight[s];
            if (dy) mf_store<W>(v, dy + at + i);
        });
        return sum;
    }
    __device__ void operator()(size_t row, unsigned lane) const
    {
        for (size_t s = row * m.k; s < (row + 1) * m.k; ++s) {
            const float sum = mf_warp_sum(m.place[s] < 0 ? 0.0f : slot(row, s, lane));

            if (dweight && lane == 0) dweight[s] = sum;
        }
    }
};

void combine_back(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &dout = call->dout.shape;
    const moves m = moves_of(call, dout);

    mf_by_type(dout.type, [&](auto number) {
        using T = decltype(number);

        mf_by_width<T>(m.d, {call->dout.at, call->in[0].at, call->din[0].at}, [&](auto width) {
            mf_rows_run(q, dout.d[0],
                        part_body<decltype(width)::OF, T>{m, mf_numbers<T>(call->dout), mf_numbers<T>(call->in[0]),
                                                          mf_floats(call->in[1]), mf_numbers<T>(call->din[0]),
                                                          mf_floats(call->din[1])});
        });
    });
}

} // namespace

const struct mf_op_calls mf_op_permute_cuda = {plan, nullptr, permute, permute_back};
MF_CUDA_CALLS(combine, combine, combine_back)
