/* Slots of a mixture of experts, counted by expert. A block has a chunk of the slots and a thread an expert. The thread
 * looks at all slots of the chunk in their order. Rule: what a slot gets depends on the slots before it alone, so
 * places are the same in every run. */
#ifndef MF_KERNELS_CUDA_NET_SLOTS_CUH
#define MF_KERNELS_CUDA_NET_SLOTS_CUH

#include "kernels/cuda/pass.cuh"
#include "kernels/net/gpu_work.h"

/** Chunks have whole tiles of MF_SLOT_TILE slots; there are at most MF_SLOT_CHUNKS. */
constexpr size_t MF_SLOT_CHUNKS = MF_GPU_SLOT_CHUNKS, MF_SLOT_TILE = MF_GPU_SLOT_TILE;
static_assert(MF_SLOT_TILE == MF_CUDA_THREADS, "a thread loads a slot");

struct mf_slots {
    const int32_t *choice; /* [slots]; -1: none */
    size_t slots, chunk;
    unsigned experts, chunks;
    int32_t first; /* expert 0 of these is that number of the choices */
};

static inline struct mf_slots mf_slots_of(const struct mf_tensor &choice, size_t experts, size_t first_expert)
{
    const size_t slots = mf_shape_count(&choice.shape), chunk = mf_gpu_slot_chunk(slots);

    return {static_cast<const int32_t *>(choice.at),
            slots,
            chunk,
            unsigned(experts),
            unsigned((slots + chunk - 1) / chunk),
            int32_t(first_expert)};
}

/** Bytes of the counts of all chunks. */
static inline size_t mf_slots_bytes(const struct mf_slots &s) { return size_t(s.chunks) * s.experts * sizeof(int32_t); }

/** Shared memory of a block that walks. */
constexpr size_t MF_SLOTS_SHARED = MF_SLOT_TILE * sizeof(int32_t);

/** Calls look(slot, choice) for all slots of the block's chunk, in their order, by all threads. Choices are counted
 * from the first expert; -1: none of these. */
template <class Look> __device__ inline void mf_slots_walk(const struct mf_slots &s, const Look &look)
{
    MF_SHARED(int32_t, tile);
    const size_t first = blockIdx.x * s.chunk, end = first + s.chunk < s.slots ? first + s.chunk : s.slots;

    for (size_t from = first; from < end; from += MF_SLOT_TILE) {
        const unsigned n = unsigned(end - from < MF_SLOT_TILE ? end - from : MF_SLOT_TILE);

        __syncthreads();
        if (threadIdx.x < n) {
            const int32_t own = s.choice[from + threadIdx.x] - s.first;

            tile[threadIdx.x] = own >= 0 && own < int32_t(s.experts) ? own : -1;
        }
        __syncthreads();
        MF_UNROLL_FOUR
        for (unsigned i = 0; i < n; ++i) look(from + i, tile[i]);
    }
}

static __global__ void __launch_bounds__(MF_CUDA_THREADS) mf_slots_kernel(struct mf_slots s, int32_t *count)
{
    for (unsigned first = 0; first < s.experts; first += MF_CUDA_THREADS) {
        const unsigned expert = first + threadIdx.x;
        int32_t sum = 0;

        mf_slots_walk(s, [&](size_t, int32_t choice) { sum += choice == int32_t(expert); });
        if (expert < s.experts) count[size_t(blockIdx.x) * s.experts + expert] = sum;
    }
}

/** count [chunk][expert] = slots of the expert in the chunk. */
static inline void mf_slots_count(struct mf_queue *q, const struct mf_slots &s, int32_t *count)
{
    MF_RUN(mf_slots_kernel, s.chunks, MF_CUDA_THREADS, MF_SLOTS_SHARED, q, s, count);
}

#endif
