/* attention_kept on cuda. See kernels/net/text.c. A block has a row and a head. Its warps share the pages, and a lane
 * has every 32nd number of the head.
 * Rule: which warp adds a page, and in which order, follows from the page's number alone. So a row has the same bits
 * whatever other rows there are. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/soft.h"
#include "kernels/net/kept.h"

namespace
{

constexpr unsigned WARPS = 4, OWN = unsigned(MF_KEPT_HEAD) / MF_CUDA_WARP;

/* A warp sums values times exp(score - most), and these factors. */
struct answer {
    float most = -INFINITY, total = 0, sum[OWN] = {};
    __device__ void shrink(float to)
    {
        const float part = most == -INFINITY ? 0.0f : mf_soft_exp(most - to);

        most = to;
        total *= part;
        for (unsigned i = 0; i < OWN; ++i) sum[i] *= part;
    }
};

template <class T> struct tensors {
    const T *q, *keys, *values;
    T *y;
};

/* Calls work(i, number) for the numbers of a head that the lane has; i is a constant. */
template <class Work> __device__ inline void own_numbers(size_t d, unsigned lane, const Work &work)
{
    MF_UNROLL
    for (unsigned i = 0; i < OWN; ++i)
        if (i * MF_CUDA_WARP + lane < d) work(i, size_t(i * MF_CUDA_WARP + lane));
}

template <class T>
__device__ void add_position(const mf_kept &k, const T *key, const T *value, const float *q, unsigned lane, answer *a)
{
    float product = 0;

    own_numbers(k.d, lane, [&](unsigned i, size_t at) { product += q[i] * mf_wide(key[at]); });
    const float score = mf_warp_sum(product) * k.scale;

    if (score > a->most) a->shrink(score);
    if (a->most == -INFINITY) return;
    const float weight = mf_soft_exp(score - a->most);

    a->total += weight;
    own_numbers(k.d, lane, [&](unsigned i, size_t at) { a->sum[i] += weight * mf_wide(value[at]); });
}

/* The pages of this warp. */
template <class T> __device__ void add_pages(const mf_kept &k, const tensors<T> &t, unsigned warp, answer *a)
{
    const size_t row = blockIdx.x / k.heads, head = blockIdx.x % k.heads, columns = k.groups * k.d;
    const size_t group = head / (k.heads / k.groups);
    const unsigned lane = threadIdx.x % MF_CUDA_WARP;
    float q[OWN] = {};
    size_t first, end;

    mf_kept_sees(&k, row, &first, &end);
    own_numbers(k.d, lane, [&](unsigned i, size_t at) { q[i] = mf_wide(t.q[(row * k.heads + head) * k.d + at]); });
    for (size_t page = first / MF_KEPT_PAGE; page * MF_KEPT_PAGE < end; ++page) {
        const size_t from = page * MF_KEPT_PAGE;
        const int64_t slot = page % WARPS == warp ? mf_kept_slot(&k, k.row[2 * row], page) : -1;

        for (size_t j = from < first ? first - from : 0; slot >= 0 && j < MF_KEPT_PAGE && from + j < end; ++j) {
            const size_t at = (size_t(slot) + j) * columns + group * k.d;

            add_position(k, t.keys + at, t.values + at, q, lane, a);
        }
    }
}

/* The first warp adds the answers of all, in their order. */
template <class T> __global__ void __launch_bounds__(WARPS *MF_CUDA_WARP) kept_kernel(mf_kept k, tensors<T> t)
{
    MF_SHARED(float, shared);
    const unsigned lane = threadIdx.x % MF_CUDA_WARP, warp = threadIdx.x / MF_CUDA_WARP;
    const size_t each = k.d + 2;
    answer a;

    add_pages(k, t, warp, &a);
    own_numbers(k.d, lane, [&](unsigned i, size_t at) { shared[warp * each + 2 + at] = a.sum[i]; });
    if (lane == 0) {
        shared[warp * each] = a.most;
        shared[warp * each + 1] = a.total;
    }
    __syncthreads();
    for (unsigned w = 1; warp == 0 && w < WARPS; ++w) {
        const float most = shared[w * each];

        if (most == -INFINITY && shared[w * each + 1] == 0) continue;
        if (!(most <= a.most)) a.shrink(most);
        const float part = mf_soft_exp(most - a.most);

        a.total += part * shared[w * each + 1];
        own_numbers(k.d, lane, [&](unsigned i, size_t at) { a.sum[i] += part * shared[w * each + 2 + at]; });
    }
    if (warp > 0) return;
    own_numbers(k.d, lane, [&](unsigned i, size_t at) {
        t.y[size_t(blockIdx.x) * k.d + at] = mf_round<T>(a.total == 0 ? 0.0f : a.sum[i] / a.total);
    });
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const mf_kept k = mf_kept_of(call);

    mf_by_type(call->out[0].shape.type, [&](auto number) {
        using T = decltype(number);
        const tensors<T> t = {mf_numbers<T>(call->in[0]), mf_numbers<T>(call->in[1]), mf_numbers<T>(call->in[2]),
                              mf_numbers<T>(call->out[0])};

        MF_RUN((kept_kernel<T>), unsigned(k.rows * k.heads), WARPS * MF_CUDA_WARP, WARPS * (k.d + 2) * sizeof(float), q,
               k, t);
    });
}

} // namespace

MF_CUDA_CALLS(attention_kept, forward, nullptr)
