/* pick on cuda. See kernels/net/text.c. A block has a row. Limits of logits are found bit by bit of their keys. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/wish.h"
#include "kernels/net/gpu_work.h"
#include "kernels/net/kept.h"

namespace
{

/* The logits of a row. */
struct tokens {
    const float *x;
    size_t n;
    float top;
    struct mf_wish wish;
    __device__ uint32_t key(size_t i) const { return mf_pick_key(x[i]); }
    __device__ uint64_t weight(size_t i) const { return mf_wish_weight(&wish, x[i], top); }
};

/* Joins what all threads of the block have; all get the result. */
template <class T, class Join> __device__ T joined(T *shared, T value, const Join &join)
{
    __syncthreads();
    shared[threadIdx.x] = value;
    for (unsigned half = MF_CUDA_THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    return shared[0];
}

template <class Value> __device__ uint64_t sum_of(size_t n, uint64_t *shared, const Value &value)
{
    uint64_t sum = 0;

    for (size_t i = threadIdx.x; i < n; i += MF_CUDA_THREADS) sum += value(i);
    return joined(shared, sum, [](uint64_t a, uint64_t b) { return a + b; });
}

/* The largest key such that the values of the tokens with it or larger ones reach @p wanted. */
template <class Value> __device__ uint32_t reach(const tokens &t, uint64_t *shared, uint64_t wanted, const Value &value)
{
    uint32_t found = 0;

    for (uint32_t bit = 0x80000000u; bit; bit >>= 1) {
        const uint32_t next = found | bit;

        if (sum_of(t.n, shared, [&](size_t i) { return t.key(i) >= next ? value(i) : 0; }) >= wanted) found = next;
    }
    return found;
}

/* The sum of @p value over the threads before this one. */
__device__ uint64_t before(uint64_t *shared, uint64_t value)
{
    uint64_t sum = 0;

    __syncthreads();
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned t = 0; t < threadIdx.x; ++t) sum += shared[t];
    return sum;
}

__device__ void draw(const tokens &t, uint64_t *shared, int32_t *token)
{
    const size_t each = (t.n + MF_CUDA_THREADS - 1) / MF_CUDA_THREADS;
    const size_t first = threadIdx.x * each < t.n ? threadIdx.x * each : t.n;
    const size_t end = first + each < t.n ? first + each : t.n;
    uint32_t least = 0;

    if (t.wish.most > 0 && size_t(t.wish.most) < t.n)
        least = reach(t, shared, uint64_t(t.wish.most), [](size_t) { return uint64_t(1); });
    const auto counted = [&](size_t i) { return t.key(i) >= least ? t.weight(i) : 0; };
    const uint64_t limit = mf_wish_limit(&t.wish, sum_of(t.n, shared, counted));
    const uint32_t last = reach(t, shared, limit, counted);
    const uint64_t above = sum_of(t.n, shared, [&](size_t i) { return t.key(i) > last ? t.weight(i) : 0; });
    const uint64_t one = joined(
        shared,
        [&] {
            uint64_t own = 0;

            for (size_t i = first; i < end; ++i) own = t.key(i) == last ? t.weight(i) : own;
            return own;
        }(),
        [](uint64_t a, uint64_t b) { return a > b ? a : b; });
    const uint64_t equal = (limit - above + one - 1) / one, n = mf_wish_draw(&t.wish, above + equal * one);
    uint64_t same = 0, own = 0;

    for (size_t i = first; i < end; ++i) same += t.key(i) == last;
    const uint64_t earlier = before(shared, same);
    const auto kept = [&](size_t i, uint64_t *seen) {
        return t.key(i) > last || (t.key(i) == last && (*seen)++ < equal) ? t.weight(i) : 0;
    };

    same = earlier;
    for (size_t i = first; i < end; ++i) own += kept(i, &same);
    uint64_t sum = before(shared, own);

    same = earlier;
    for (size_t i = first; i < end && sum <= n; ++i) {
        sum += kept(i, &same);
        if (sum > n) *token = int32_t(i);
    }
}

/* Logits with the penalty of tokens that came before. Threads that have the same token write the same number. */
__device__ void penalise(const mf_past &past, tokens *t, float *other)
{
    for (size_t i = threadIdx.x; i < t->n; i += MF_CUDA_THREADS) other[i] = t->x[i];
    __syncthreads();
    for (int i = int(threadIdx.x); i < t->wish.before; i += MF_CUDA_THREADS) {
        const int32_t token = mf_past_token(&past, t->wish.request, size_t(i));

        if (token >= 0) other[token] = mf_wish_again(&t->wish, t->x[token]);
    }
    __syncthreads();
    t->x = other;
}

__global__ void __launch_bounds__(MF_CUDA_THREADS)
    pick_kernel(size_t n, const float *logits, const float *wishes, const int32_t *numbers, mf_past past, float *other,
                int32_t *token)
{
    MF_SHARED(uint64_t, shared);
    tokens t = {logits + blockIdx.x * n, n, -INFINITY, mf_wish_of(wishes, numbers, blockIdx.x)};
    uint64_t own = n;

    if (past.token && mf_wish_repels(&t.wish)) penalise(past, &t, other + blockIdx.x * n);
    for (size_t i = threadIdx.x; i < n; i += MF_CUDA_THREADS) t.top = t.x[i] > t.top ? t.x[i] : t.top;
    t.top = joined(reinterpret_cast<float *>(shared), t.top, [](float a, float b) { return a > b ? a : b; });
    if (!mf_wish_is_plain(&t.wish, t.top)) {
        draw(t, shared, token + blockIdx.x);
        return;
    }
    for (size_t i = threadIdx.x; i < n && own == n; i += MF_CUDA_THREADS)
        if (t.x[i] == t.top) own = i;
    own = joined(shared, own, [](uint64_t a, uint64_t b) { return a < b ? a : b; });
    if (threadIdx.x == 0) token[blockIdx.x] = own < n ? int32_t(own) : 0;
}

int plan(struct mf_queue *, const struct mf_call *call, int, void **made, size_t *work)
{
    *made = nullptr;
    *work = mf_gpu_pick_work(call);
    return MF_OK;
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &logits = call->in[0].shape;

    MF_RUN(pick_kernel, unsigned(logits.d[0]), MF_CUDA_THREADS, MF_CUDA_THREADS * sizeof(uint64_t), q, logits.d[1],
           mf_floats(call->in[0]), mf_floats(call->in[1]), mf_numbers<int32_t>(call->in[2]), mf_past_of(call),
           static_cast<float *>(call->work), mf_numbers<int32_t>(call->out[0]));
}

} // namespace

const struct mf_op_calls mf_op_pick_cuda = {plan, nullptr, forward, nullptr};
