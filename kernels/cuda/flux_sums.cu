/* See kernels/flux.h: passes with sums. A warp adds a row in the lanes of cpu (kernels/form/flux.h). Then a thread adds
 * the rows of a plane in their order. */
#include "kernels/cuda/flux.cuh"

namespace
{

enum { ROWS = MF_CUDA_THREADS / MF_CUDA_WARP, LINE = 64 };

/* Each body adds what lane @p lane has of row (z, y). */
struct apply_body {
    const float *x;
    float *y;
    __device__ void operator()(const mf_flux_grid &g, unsigned z, unsigned row, unsigned lane, double *sum) const
    {
        for (unsigned k = lane; k < g.n[2]; k += MF_FLUX_LANES) {
            const size_t i = mf_cell_at(g, z, row, k);

            y[i] = mf_cell_operate(g, i, x);
            *sum += double(x[i]) * double(y[i]);
        }
    }
};

struct dot_body {
    const float *x, *y;
    __device__ void operator()(const mf_flux_grid &g, unsigned z, unsigned row, unsigned lane, double *sum) const
    {
        for (unsigned k = lane; k < g.n[2]; k += MF_FLUX_LANES) {
            const size_t i = mf_cell_at(g, z, row, k);

            *sum += double(x[i]) * double(y[i]);
        }
    }
};

struct energy_body {
    const float *x;
    __device__ void operator()(const mf_flux_grid &g, unsigned z, unsigned y, unsigned lane, double *sum) const
    {
        const size_t row = mf_cell_at(g, z, y, 0), place[2] = {z, y};

        for (int a = 0; a < 3; ++a)
            for (unsigned k = lane; k < g.n[2]; k += MF_FLUX_LANES) {
                const size_t i = row + k;

                *sum +=
                    mf_flux_energy(mf_flux_face(&g, a, i, a == 2 ? k : place[a]), x[i], x[i - mf_flux_stride(&g, a)]);
            }
        for (int a = 0; a < 2; ++a)
            for (unsigned k = lane; k < g.n[2] && g.last[a] && place[a] + 1 == g.n[a]; k += MF_FLUX_LANES)
                *sum += mf_flux_energy_behind(&g, a, row + k + mf_flux_stride(&g, a), x);
        if (g.last[2] && lane == 0) *sum += mf_flux_energy_behind(&g, 2, row + g.n[2], x);
    }
};

__device__ double flux_at(const mf_flux_grid &g, int axis, size_t i, size_t place, const float *x)
{
    return double(mf_flux_face(&g, axis, i, place)) * (double(x[i]) - double(x[i - mf_flux_stride(&g, axis)]));
}

struct through_body {
    int axis;
    const float *x;
    __device__ void operator()(const mf_flux_grid &g, unsigned z, unsigned y, unsigned lane, double *sum) const
    {
        for (unsigned k = lane; k < g.n[2]; k += MF_FLUX_LANES)
            *sum += flux_at(g, axis, mf_cell_at(g, z, y, k), axis == 0 ? z : y, x);
    }
};

template <class Body>
__global__ void __launch_bounds__(MF_CUDA_THREADS)
    rows_kernel(mf_flux_grid g, Body body, size_t first, size_t rows, double *out)
{
    const unsigned lane = threadIdx.x % MF_CUDA_WARP;
    const size_t r = size_t(blockIdx.x) * ROWS + threadIdx.x / MF_CUDA_WARP, row = first + r;
    double sum = 0;

    if (r >= rows) return;
    body(g, unsigned(row / g.n[1]), unsigned(row % g.n[1]), lane, &sum);
    for (unsigned half = MF_CUDA_WARP / 2; half; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
    if (lane == 0) out[r] = sum;
}

__global__ void __launch_bounds__(LINE) planes_kernel(size_t rows, const double *part, double *out)
{
    MF_SHARED(double, shared);
    const double *own = part + blockIdx.x * rows;
    double sum = 0;

    for (size_t from = 0; from < rows; from += LINE) {
        if (from + threadIdx.x < rows) shared[threadIdx.x] = own[from + threadIdx.x];
        __syncthreads();
        for (size_t r = from; threadIdx.x == 0 && r < rows && r < from + LINE; ++r) sum += shared[r - from];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

template <class Body>
void run_rows(struct mf_queue *q, const mf_flux_grid &g, const Body &body, size_t first, size_t rows, double *out)
{
    if (rows)
        MF_RUN(rows_kernel<Body>, unsigned((rows + ROWS - 1) / ROWS), MF_CUDA_THREADS, 0, q, g, body, first, rows, out);
}

/* out[plane] */
template <class Body> void sum_planes(struct mf_queue *q, const mf_flux_grid &g, const Body &body, double *out)
{
    const size_t most = MF_PASS_PARTS / g.n[1];
    double *part = mf_cuda_of(q)->part;

    MF_ASSERT(most > 0);
    MF_SPOIL(out, g.n[0] * sizeof *out);
    for (size_t z = 0; z < g.n[0]; z += most) {
        const size_t planes = g.n[0] - z < most ? g.n[0] - z : most;

        run_rows(q, g, body, z * g.n[1], planes * g.n[1], part);
        MF_RUN(planes_kernel, unsigned(planes), LINE, LINE * sizeof(double), q, g.n[1], part, out + z);
    }
}

/* Thread (z, k) adds a column along y. */
__global__ void columns_kernel(mf_flux_grid g, const float *x, double *out)
{
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, z = i / g.n[2], k = i % g.n[2];
    double sum = 0;

    if (z >= g.n[0]) return;
    for (size_t y = 0; y < g.n[1]; ++y) sum += flux_at(g, 2, mf_flux_at(&g, z, y, k), k, x);
    out[i] = sum;
}

} // namespace

void mf_cuda_flux_apply(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, float *y, double *out)
{
    sum_planes(q, *g, apply_body{x, y}, out);
}

void mf_cuda_flux_dot(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, const float *y, double *out)
{
    sum_planes(q, *g, dot_body{x, y}, out);
}

void mf_cuda_flux_energy(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, double *out)
{
    sum_planes(q, *g, energy_body{x}, out);
}

void mf_cuda_flux_through(struct mf_queue *q, const struct mf_flux_grid *g, int axis, const float *x, double *out)
{
    const size_t columns = g->n[0] * g->n[2];

    if (axis == 0) {
        sum_planes(q, *g, through_body{axis, x}, out);
        return;
    }
    MF_SPOIL(out, g->n[0] * g->n[axis] * sizeof *out);
    if (axis == 1) run_rows(q, *g, through_body{axis, x}, 0, g->n[0] * g->n[1], out);
    if (axis == 2 && columns)
        MF_RUN(columns_kernel, unsigned((columns + MF_CUDA_THREADS - 1) / MF_CUDA_THREADS), MF_CUDA_THREADS, 0, q, *g,
               x, out);
}
