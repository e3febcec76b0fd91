/* See kernels/move.h. Data to and from the host pass through a page-locked buffer of the queue, a piece at a time.
 * Kernels access the buffer over the bus, and the host copies it. */
#include "kernels/cuda/pass.cuh"

namespace
{

struct pack_body {
    struct mf_block block;
    size_t from; /* first number of this piece */
    const float *slab;
    float *packed;
    __device__ void operator()(size_t i) const
    {
        const size_t at = from + i;

        packed[i] = slab[block.first + at / block.run * block.pitch + at % block.run];
    }
};

struct add_body {
    struct mf_block block;
    size_t from;
    const float *packed;
    float *slab;
    __device__ void operator()(size_t i) const
    {
        const size_t at = from + i;

        slab[block.first + at / block.run * block.pitch + at % block.run] += packed[i];
    }
};

size_t piece(size_t n, size_t from) { return n - from < size_t(MF_CUDA_STAGE) ? n - from : size_t(MF_CUDA_STAGE); }

void wait(struct mf_queue *q) { MF_CUDA(cudaStreamSynchronize(mf_cuda_of(q)->stream)); }

void pack(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed)
{
    const size_t all = block->rows * block->run;
    float *stage = mf_cuda_of(q)->stage;

    wait(q); /* for what the buffer holds */
    for (size_t from = 0, n; from < all; from += n) {
        n = piece(all, from);
        MF_SPOIL(stage, n * sizeof *stage);
        mf_each(q, n, pack_body{*block, from, slab, stage});
        wait(q);
        memcpy(packed + from, stage, n * sizeof *stage);
    }
}

void add(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab)
{
    const size_t all = block->rows * block->run;
    float *stage = mf_cuda_of(q)->stage;

    for (size_t from = 0, n; from < all; from += n) {
        n = piece(all, from);
        wait(q);
        memcpy(stage, packed + from, n * sizeof *stage);
        mf_each(q, n, add_body{*block, from, stage, slab});
    }
}

void pack_device(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed)
{
    mf_each(q, block->rows * block->run, pack_body{*block, 0, slab, packed});
}

void add_device(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab)
{
    mf_each(q, block->rows * block->run, add_body{*block, 0, packed, slab});
}

} // namespace

const struct mf_move_ops mf_move_cuda = {
    .pack = pack, .add = add, .pack_device = pack_device, .add_device = add_device};
