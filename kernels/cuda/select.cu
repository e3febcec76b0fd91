/* See kernels/select.h. */
#include "kernels/cuda/pass.cuh"

namespace
{

typedef unsigned long long number; /* what devices add to at once */

constexpr unsigned BLOCKS = 2048; /* most of count(): each adds its bins to all of them once */

/* Every block counts in its shared memory, and adds that to bins [MF_BINS], which are 0. */
__global__ void __launch_bounds__(MF_CUDA_THREADS)
    count_bins(size_t n, const float *score, int digit, uint32_t prefix, number *bins)
{
    MF_SHARED(unsigned, mine);
    const int shift = mf_digit_shift(digit);
    const uint32_t mask = (1u << mf_digit_width(digit)) - 1;
    const size_t step = size_t(gridDim.x) * blockDim.x;

    for (unsigned b = threadIdx.x; b < MF_BINS; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const float at = score[i];
        const uint32_t key = mf_key_of(at);

        if (mf_key_takes_part(at) && mf_digits_to(key, digit - 1) == prefix) atomicAdd(&mine[key >> shift & mask], 1u);
    }
    __syncthreads();
    for (unsigned b = threadIdx.x; b < MF_BINS; b += blockDim.x)
        if (mine[b]) atomicAdd(&bins[b], number(mine[b]));
}

/* Room on the device that passes use in turn. */
number *room_of(struct mf_queue *q) { return reinterpret_cast<number *>(mf_cuda_of(q)->part); }

void count(struct mf_queue *q, size_t n, const float *score, int digit, uint32_t prefix, int64_t *bins)
{
    const size_t blocks = (n + MF_CUDA_THREADS - 1) / MF_CUDA_THREADS, bytes = MF_BINS * sizeof *bins;
    number *sum = room_of(q);

    MF_SPOIL(bins, bytes);
    MF_CUDA(cudaMemsetAsync(sum, 0, bytes, mf_cuda_of(q)->stream));
    if (n)
        MF_RUN(count_bins, unsigned(blocks < BLOCKS ? blocks : BLOCKS), MF_CUDA_THREADS, MF_BINS * sizeof(unsigned), q,
               n, score, digit, prefix, sum);
    MF_CUDA(cudaMemcpyAsync(bins, sum, bytes, cudaMemcpyDeviceToHost, mf_cuda_of(q)->stream));
}

__device__ inline bool is_tie(float score, uint32_t key) { return mf_key_takes_part(score) && mf_key_of(score) == key; }

/* Counts below 2^53 are exact in double. */
struct ties_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *score;
    uint32_t key;
    int64_t *out;
    __device__ void operator()(size_t i, double *value) const { value[0] += is_tie(score[i], key) ? 1.0 : 0.0; }
    __device__ void store(size_t plane, int, double sum) const { out[plane] = int64_t(sum); }
};

void ties(struct mf_queue *q, size_t planes, size_t plane, const float *score, uint32_t key, int64_t *out)
{
    MF_SPOIL(out, planes * sizeof *out);
    mf_pass_run(q, planes, plane, ties_body{score, key, out});
}

/* One block, a run of scores for every thread: the one in whose run it lies finds it. */
__global__ void __launch_bounds__(MF_CUDA_THREADS)
    find_nth(size_t n, const float *score, uint32_t key, number before, number *found)
{
    MF_SHARED(number, first);
    const size_t run = (n + blockDim.x - 1) / blockDim.x, from = threadIdx.x * run < n ? threadIdx.x * run : n;
    const size_t to = n - from < run ? n : from + run;
    number mine = 0, at = 0;

    for (size_t i = from; i < to; ++i) mine += is_tie(score[i], key);
    first[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned t = 0; t < threadIdx.x; ++t) at += first[t];
    if (at > before || at + mine <= before) return;
    for (size_t i = from; i < to; ++i)
        if (is_tie(score[i], key) && at++ == before) *found = i;
}

size_t nth(struct mf_queue *q, size_t n, const float *score, uint32_t key, size_t before)
{
    number *found = reinterpret_cast<number *>(mf_cuda_of(q)->word);

    *found = ~number(0);
    MF_RUN(find_nth, 1, MF_CUDA_THREADS, MF_CUDA_THREADS * sizeof(number), q, n, score, key, number(before), found);
    MF_CUDA(cudaStreamSynchronize(mf_cuda_of(q)->stream));
    MF_ASSERT(*found < n);
    return size_t(*found);
}

struct mark_body {
    const float *score;
    struct mf_choice choice;
    uint8_t value, *label;
    __device__ void operator()(size_t i) const
    {
        if (mf_key_chosen(choice, score[i], i)) label[i] = value;
    }
};

void mark(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, uint8_t value, uint8_t *label)
{
    mf_each(q, n, mark_body{score, choice, value, label});
}

/* The number found stands on the device, so that threads may add to it at once. */
struct list_body {
    const float *score;
    struct mf_choice choice;
    number most, *found;
    struct mf_pick *pick;
    __device__ void operator()(size_t i) const
    {
        if (!mf_key_chosen(choice, score[i], i)) return;
        const number at = atomicAdd(found, number(1));

        if (at < most) pick[at] = {i, score[i]};
    }
};

size_t list(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, size_t most,
            struct mf_pick *pick)
{
    struct mf_cuda_queue *own = mf_cuda_of(q);
    number *found = room_of(q), *said = reinterpret_cast<number *>(own->word);

    MF_SPOIL(pick, most * sizeof *pick);
    MF_CUDA(cudaMemsetAsync(found, 0, sizeof *found, own->stream));
    mf_each(q, n, list_body{score, choice, most, found, pick});
    MF_CUDA(cudaMemcpyAsync(said, found, sizeof *said, cudaMemcpyDeviceToHost, own->stream));
    MF_CUDA(cudaStreamSynchronize(own->stream));
    MF_ASSERT(*said <= most);
    return size_t(*said);
}

} // namespace

const struct mf_select_ops mf_select_cuda = {.count = count, .ties = ties, .nth = nth, .mark = mark, .list = list};
