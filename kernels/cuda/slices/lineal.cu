/* Lineal path of slices: see form/lineal.h. A thread follows the runs that begin at its pixels, from the shortest to
 * the longest. For the gradient it stores what a pixel gets from the runs in which it is the k-th. Then every pixel
 * goes back along the direction and gathers these parts. */
#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/packed.cuh"
#include "kernels/form/lineal.h"

namespace
{

constexpr int DIRECTIONS = MF_LINEAL_DIRECTIONS, EACH = int(MF_LINEAL_BAND) / int(MF_CUDA_THREADS), FLUSH = 32;
constexpr unsigned WARPS = unsigned(MF_CUDA_THREADS) / unsigned(MF_CUDA_WARP);

/* A level of a chunk, and its numbers. */
struct work {
    int nu, nv, periodic, lag;
    size_t count, pixels, bands;
    const float *x;
    float *in, *out; /* [count][pixels] what pixels give to products; in: x itself of the exact kind */
    double *sum;     /* [count][DIRECTIONS][bands][lag + 1][2] */
    float *weight;   /* [count][DIRECTIONS][lag + 1][2] */
    float *slope;    /* [lag][count][pixels] of one direction */
    double *value;
    size_t stride;
};

struct work work_of(const struct mf_packed_job *job, bool exact)
{
    struct work w = {};

    w.nu = job->at.nu;
    w.nv = job->at.nv;
    w.periodic = job->desc->periodic;
    w.lag = int(job->desc->lag);
    w.count = job->count;
    w.pixels = job->pixels;
    w.bands = (job->pixels + MF_LINEAL_BAND - 1) / MF_LINEAL_BAND;
    w.x = job->at.x;
    w.in = exact ? const_cast<float *>(job->at.x) : job->scratch;
    w.out = job->scratch + w.count * w.pixels;
    w.weight = w.out + w.count * w.pixels;
    w.sum = reinterpret_cast<double *>(w.weight);
    w.slope = w.weight + w.count * size_t(2 * DIRECTIONS * (w.lag + 1));
    w.value = job->value;
    w.stride = job->stride;
    return w;
}

__device__ int wrapped(int i, int n) { return i >= n ? i - n : i < 0 ? i + n : i; }

/* One pixel further; false: out of the slice. */
__device__ bool step(const struct work &w, int du, int dv, int *u, int *v)
{
    *u += du;
    *v += dv;
    if (w.periodic) {
        *u = wrapped(*u, w.nu);
        *v = wrapped(*v, w.nv);
        return true;
    }
    return *u >= 0 && *u < w.nu && *v >= 0 && *v < w.nv;
}

struct factor_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        const float x = w.x[i];

        w.in[i] = mf_lineal_in(x);
        w.out[i] = mf_lineal_out(x);
    }
};

/* -- values -- */

/* The run that begins at a pixel. */
struct run {
    int u, v;
    bool inside;
    float in, out; /* products; in: the sum of the exact kind */
};

template <bool EXACT> __device__ void begin(const struct work &w, size_t slice, size_t i, struct run *r)
{
    const size_t at = slice * w.pixels + i;

    r->inside = i < w.pixels;
    r->u = int(i / size_t(w.nv));
    r->v = int(i % size_t(w.nv));
    r->in = r->inside ? w.in[at] : 0.0f;
    r->out = r->inside && !EXACT ? w.out[at] : 0.0f;
}

/* Two pixels more. */
template <bool EXACT> __device__ void extend(const struct work &w, size_t slice, int du, int dv, struct run *r)
{
    float in[2], out[2];

    for (int k = 0; k < 2 && r->inside; ++k) {
        r->inside = step(w, du, dv, &r->u, &r->v);
        if (!r->inside) return;
        const size_t at = slice * w.pixels + size_t(r->u) * size_t(w.nv) + size_t(r->v);

        in[k] = w.in[at];
        out[k] = EXACT ? 0.0f : w.out[at];
    }
    if (!r->inside) return;
    r->in = EXACT ? r->in + (in[0] + in[1]) : r->in * (in[0] * in[1]);
    if (!EXACT) r->out *= out[0] * out[1];
}

template <bool EXACT> __device__ void add(const struct run &r, int c, float sum[2])
{
    if (!r.inside) return;
    sum[0] += EXACT ? mf_lineal_whole(float(2 * c + 1), r.in) : mf_lineal_sharp(r.in);
    if (!EXACT) sum[1] += mf_lineal_sharp(r.out);
}

/* Block (band, direction, slice): sums over the runs that begin in a band, entry 0 of the pixels themselves. */
template <bool EXACT> __global__ void __launch_bounds__(MF_CUDA_THREADS) walk(struct work w)
{
    MF_SHARED(float, shared); /* [FLUSH][2][WARPS] */
    const size_t slice = blockIdx.z, band = blockIdx.x;
    const unsigned lane = threadIdx.x % MF_CUDA_WARP, warp = threadIdx.x / MF_CUDA_WARP;
    double *to = w.sum + ((slice * DIRECTIONS + blockIdx.y) * w.bands + band) * size_t(2 * (w.lag + 1));
    struct run run[EACH];
    int du, dv;

    mf_lineal_along(int(blockIdx.y), &du, &dv);
    MF_UNROLL
    for (int k = 0; k < EACH; ++k)
        begin<EXACT>(w, slice, band * MF_LINEAL_BAND + size_t(k * MF_CUDA_THREADS) + threadIdx.x, &run[k]);
    for (int base = 0; base <= w.lag; base += FLUSH) {
        const int end = w.lag + 1 - base < FLUSH ? w.lag + 1 : base + FLUSH;

        for (int c = base; c < end; ++c) {
            float sum[2] = {0.0f, 0.0f};

            MF_UNROLL
            for (int k = 0; k < EACH; ++k) {
                if (c == 0) {
                    const size_t i = band * MF_LINEAL_BAND + size_t(k * MF_CUDA_THREADS) + threadIdx.x;

                    sum[0] += run[k].inside ? w.x[slice * w.pixels + i] : 0.0f;
                    continue;
                }
                extend<EXACT>(w, slice, du, dv, &run[k]);
                add<EXACT>(run[k], c, sum);
            }
            for (unsigned f = 0; f < 2; ++f) {
                const float all = mf_warp_sum(sum[f]);

                if (lane == 0) shared[(unsigned(c - base) * 2 + f) * WARPS + warp] = all;
            }
        }
        __syncthreads();
        for (unsigned t = threadIdx.x; t < unsigned(2 * (end - base)); t += blockDim.x) {
            double all = 0.0;

            for (unsigned k = 0; k < WARPS; ++k) all += double(shared[t * WARPS + k]);
            to[unsigned(2 * base) + t] = all;
        }
        __syncthreads();
    }
}

__device__ double runs_of(const struct work &w, int c, int direction)
{
    int du, dv;

    mf_lineal_along(direction, &du, &dv);
    return mf_lineal_runs(w.periodic, size_t(w.nu), size_t(w.nv), du, dv, size_t(2 * c + 1));
}

/* Thread (slice, direction, c, field): its bands, one after the other, to D. */
template <bool EXACT> struct values_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        const size_t numbers = size_t(2 * (w.lag + 1)), slot = i % numbers, rest = i / numbers;
        const int direction = int(rest % DIRECTIONS), c = int(slot / 2), field = int(slot % 2);
        const size_t slice = rest / DIRECTIONS;
        const double *from = w.sum + rest * w.bands * numbers + slot;
        double sum = 0.0, *d = w.value + slice * w.stride;

        if ((EXACT || c == 0) && field) return;
        for (size_t b = 0; b < w.bands; ++b) sum += from[b * numbers];
        if (c == 0) {
            if (direction == 0) d[0] = sum / double(w.pixels);
            return;
        }
        const double runs = runs_of(w, c, direction);
        const struct mf_soft f = mf_soft_line(double(2 * c + 1));

        d[mf_lineal_entry(EXACT, size_t(c), direction, field)] =
            runs > 0 ? EXACT ? sum / runs : double(f.a) * sum / runs + double(f.b) : 0.0;
    }
};

template <bool EXACT> void value(const struct mf_packed_job *job)
{
    const struct work w = work_of(job, EXACT);

    if (!EXACT) mf_each(job->q, w.count * w.pixels, factor_body{w});
    MF_RUN(walk<EXACT>, dim3(unsigned(w.bands), DIRECTIONS, unsigned(w.count)), MF_CUDA_THREADS,
           sizeof(float) * FLUSH * 2 * WARPS, job->q, w);
    mf_each(job->q, w.count * size_t(DIRECTIONS * 2 * (w.lag + 1)), values_body<EXACT>{w});
}

/* -- gradient -- */

/* Weights of a run's sum in the entries of its length. */
struct weight_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        const size_t numbers = size_t(2 * (w.lag + 1)), slot = i % numbers, rest = i / numbers;
        const int direction = int(rest % DIRECTIONS), c = int(slot / 2), field = int(slot % 2);
        double each = 0.0, slope = 0.0;

        if (c > 0) {
            const double runs = runs_of(w, c, direction);

            each = runs > 0 ? double(MF_LINEAL_STEEP * mf_soft_line(double(2 * c + 1)).a) / runs : 0.0;
            slope = w.value[rest / DIRECTIONS * w.stride + mf_lineal_entry(0, size_t(c), direction, field)];
        }
        w.weight[i] = float(slope * each);
    }
};

/* Pixel i begins runs of all lengths. slope [c - 1] is the gradient of those with at least 2c + 1 pixels. */
struct slope_body {
    struct work w;
    int direction;
    __device__ void operator()(size_t i) const
    {
        const size_t slice = i / w.pixels, all = w.count * w.pixels;
        const float *weight = w.weight + (slice * DIRECTIONS + size_t(direction)) * size_t(2 * (w.lag + 1));
        struct run r;
        int du, dv;
        float h = 0.0f;

        mf_lineal_along(direction, &du, &dv);
        begin<false>(w, slice, i % w.pixels, &r);
        for (int c = 1; c <= w.lag; ++c) {
            extend<false>(w, slice, du, dv, &r);
            const float in = mf_lineal_slope(mf_lineal_sharp(r.in)), out = mf_lineal_slope(mf_lineal_sharp(r.out));

            w.slope[size_t(c - 1) * all + i] = r.inside ? weight[2 * c] * in - weight[2 * c + 1] * out : 0.0f;
        }
        for (int c = w.lag; c > 0; --c) {
            h += w.slope[size_t(c - 1) * all + i];
            w.slope[size_t(c - 1) * all + i] = h;
        }
    }
};

/* Pixel i takes from the pixels behind it what their runs have left for it. */
struct take_body {
    struct work w;
    int direction;
    float *g;
    __device__ void operator()(size_t i) const
    {
        const size_t slice = i / w.pixels, at = i % w.pixels, all = w.count * w.pixels;
        int u = int(at / size_t(w.nv)), v = int(at % size_t(w.nv)), du, dv;
        float sum = w.slope[i];
        bool inside = true;

        mf_lineal_along(direction, &du, &dv);
        for (int k = 1; k <= 2 * w.lag && inside; ++k) {
            inside = step(w, -du, -dv, &u, &v);
            if (inside)
                sum += w.slope[size_t((k - 1) / 2) * all + slice * w.pixels + size_t(u) * size_t(w.nv) + size_t(v)];
        }
        if (direction == 0) sum += float(w.value[slice * w.stride] / double(w.pixels)); /* entry 0 */
        g[i] += sum;
    }
};

void gradient(const struct mf_packed_job *job)
{
    const struct work w = work_of(job, false);
    const size_t n = w.count * w.pixels;

    mf_each(job->q, n, factor_body{w});
    mf_each(job->q, w.count * size_t(DIRECTIONS * 2 * (w.lag + 1)), weight_body{w});
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
        mf_each(job->q, n, slope_body{w, direction});
        mf_each(job->q, n, take_body{w, direction, job->at.g});
    }
}

} // namespace

static constexpr struct mf_packed_family sharp = {&mf_packed_lineal, nullptr, value<false>, gradient};
static constexpr struct mf_packed_family exact = {&mf_packed_lineal_exact, nullptr, value<true>, nullptr};

MF_PACKED_OPS(mf_lineal_cuda, mf_kind_lineal, mf_packed_total, nullptr, nullptr, sharp);
MF_PACKED_OPS(mf_lineal_exact_cuda, mf_kind_lineal_exact, mf_packed_total, nullptr, nullptr, exact);
