/* Passes over the planes of a slab with sums per plane, in double. A plane is cut into chunks, a block adds a chunk,
 * and chunks are added in order. Rule: the order of additions depends on the size of a plane alone. */
#ifndef MF_KERNELS_CUDA_PASS_CUH
#define MF_KERNELS_CUDA_PASS_CUH

#include "kernels/cuda/queue.cuh"

enum {
    MF_PASS_CHUNK = 4096,   /* voxels of a chunk at least */
    MF_PASS_CHUNKS = 512,   /* most chunks of a plane */
    MF_PASS_PARTS = 1 << 19 /* partial sums of chunks held at a time */
};

/*
 * A body defines what is summed:
 *   enum { SUMS, MAXIMA }                        values of a voxel: first the sums, then the maxima
 *   void operator()(size_t i, double *value)     works on voxel i of a phase's slab, adds to value [SUMS + MAXIMA]
 *   void store(size_t plane, int v, double sum)  receives a value of a plane
 */
template <class Body> struct mf_pass {
    Body body;
    size_t plane, first, chunk; /* voxels of a plane; first plane of this launch; voxels of a chunk */
    double *part;               /* [plane][chunk][value] */
};

template <class Body> struct mf_pass_values {
    enum { SUMS = Body::SUMS, COUNT = int(Body::SUMS) + int(Body::MAXIMA), SHARED = COUNT ? COUNT : 1 };
};

template <class Body> __device__ inline double mf_pass_join(int v, double a, double b)
{
    return v < int(Body::SUMS) ? a + b : (b > a ? b : a);
}

/* Adds the values of a block's threads: first within each warp, then warp after warp. Thread v < COUNT gets the v-th
 * sum. */
template <class Body> __device__ inline double mf_pass_block(const double *value, double *shared)
{
    enum { COUNT = mf_pass_values<Body>::COUNT };
    const unsigned lane = threadIdx.x % MF_CUDA_WARP, warp = threadIdx.x / MF_CUDA_WARP;

    for (int v = 0; v < COUNT; ++v) {
        double sum = value[v];

        for (unsigned half = MF_CUDA_WARP / 2; half; half /= 2)
            sum = mf_pass_join<Body>(v, sum, __shfl_down_sync(0xffffffffu, sum, half));
        if (lane == 0) shared[warp * COUNT + unsigned(v)] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= COUNT) return 0.0;
    double sum = shared[threadIdx.x];

    for (unsigned w = 1; w < MF_CUDA_THREADS / MF_CUDA_WARP; ++w)
        sum = mf_pass_join<Body>(int(threadIdx.x), sum, shared[w * COUNT + threadIdx.x]);
    return sum;
}

/* Block (x, y): chunk y of plane first + x. */
template <class Body> __global__ void __launch_bounds__(MF_CUDA_THREADS) mf_pass_chunks(mf_pass<Body> pass)
{
    enum { COUNT = mf_pass_values<Body>::COUNT };
    MF_SHARED(double, shared);
    const size_t plane = pass.first + blockIdx.x, from = blockIdx.y * pass.chunk;
    const size_t to = pass.plane - from < pass.chunk ? pass.plane : from + pass.chunk;
    double value[mf_pass_values<Body>::SHARED] = {0};

    for (size_t i = from + threadIdx.x; i < to; i += MF_CUDA_THREADS) pass.body(plane * pass.plane + i, value);
    if constexpr (COUNT > 0) {
        const double sum = mf_pass_block<Body>(value, shared);

        if (threadIdx.x >= COUNT) return;
        if (gridDim.y == 1)
            pass.body.store(plane, int(threadIdx.x), sum);
        else
            pass.part[(size_t(blockIdx.x) * gridDim.y + blockIdx.y) * COUNT + threadIdx.x] = sum;
    }
}

/* Thread (plane, value) adds its chunks. */
template <class Body> __global__ void mf_pass_planes(mf_pass<Body> pass, unsigned planes, unsigned chunks)
{
    enum { COUNT = mf_pass_values<Body>::COUNT };
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, plane = i / COUNT, v = i % COUNT;

    if (plane >= planes) return;
    const double *part = pass.part + size_t(plane) * chunks * COUNT + v;
    double sum = part[0];

    for (unsigned c = 1; c < chunks; ++c) sum = mf_pass_join<Body>(int(v), sum, part[size_t(c) * COUNT]);
    pass.body.store(pass.first + plane, int(v), sum);
}

static inline size_t mf_pass_chunk(size_t plane)
{
    size_t chunk = MF_PASS_CHUNK;

    while ((plane + chunk - 1) / chunk > MF_PASS_CHUNKS) chunk *= 2;
    return chunk;
}

/** Runs a pass over planes of @p plane voxels. */
template <class Body> void mf_pass_run(struct mf_queue *q, size_t planes, size_t plane, const Body &body)
{
    enum { COUNT = mf_pass_values<Body>::COUNT, SHARED = mf_pass_values<Body>::SHARED };
    const size_t chunk = mf_pass_chunk(plane), chunks = (plane + chunk - 1) / chunk;
    const size_t most = MF_PASS_PARTS / (chunks * SHARED);
    const size_t shared = COUNT * sizeof(double) * (MF_CUDA_THREADS / MF_CUDA_WARP);

    if (plane == 0) return;
    for (size_t first = 0; first < planes; first += most) {
        const unsigned n = unsigned(planes - first < most ? planes - first : most);
        const mf_pass<Body> pass = {body, plane, first, chunk, mf_cuda_of(q)->part};

        MF_RUN(mf_pass_chunks<Body>, dim3(n, unsigned(chunks)), MF_CUDA_THREADS, shared, q, pass);
        if constexpr (COUNT > 0)
            if (chunks > 1) MF_RUN(mf_pass_planes<Body>, (n * COUNT + 63) / 64, 64, 0, q, pass, n, unsigned(chunks));
    }
}

/* -- numbers without planes -- */

template <class Body> __global__ void mf_each_kernel(size_t n, Body body)
{
    const size_t step = size_t(gridDim.x) * blockDim.x;

    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) body(i);
}

/** Calls @p body for every i < n. */
template <class Body> void mf_each(struct mf_queue *q, size_t n, const Body &body)
{
    const size_t blocks = (n + MF_CUDA_THREADS - 1) / MF_CUDA_THREADS, most = size_t(1) << 20;

    if (n == 0) return;
    MF_RUN(mf_each_kernel<Body>, unsigned(blocks < most ? blocks : most), MF_CUDA_THREADS, 0, q, n, body);
}

/* -- phases -- */

/** P phases; 0: the number is known at run time. */
template <int P> struct mf_phases {
    static constexpr int ROOM = P > 0 ? P : int(MF_SIMPLEX_MAX);
    __host__ __device__ static int count(size_t phases) { return P > 0 ? P : int(phases); }
};

/** Calls @p work with the number of phases as a type, so that common numbers keep voxels in registers. */
template <class Work> void mf_by_phases(size_t phases, const Work &work)
{
    switch (phases) {
    case 1: work(mf_phases<1>()); break;
    case 2: work(mf_phases<2>()); break;
    case 3: work(mf_phases<3>()); break;
    default: work(mf_phases<0>()); break;
    }
}

#endif
