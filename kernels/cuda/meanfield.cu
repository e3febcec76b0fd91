/* See kernels/meanfield.h. */
#include "kernels/cuda/pass.cuh"

#include "kernels/form/meanfield.h"
#include "kernels/labels.h"

namespace
{

/** Calls @p work with the number of phases as a type. */
template <class Work> void by_phases(size_t phases, const Work &work)
{
    MF_ASSERT(phases <= MF_MEANFIELD_PHASES);
    mf_by_phases(phases, work);
}

template <class Phases> struct room {
    static constexpr int PHASES = Phases::ROOM < MF_MEANFIELD_PHASES ? Phases::ROOM : int(MF_MEANFIELD_PHASES);
    static constexpr int PAIRS = PHASES * (PHASES + 1) / 2;
};

struct phase_values {
    float of[MF_MEANFIELD_PHASES];
};

phase_values values_of(size_t phases, const float *from)
{
    phase_values to = {};

    for (size_t p = 0; p < phases; ++p) to.of[p] = from[p];
    return to;
}

/* Values of phases and of pairs. Numbers of phases above 3 share the largest body. */
template <class Phases> struct phase_sums {
    static constexpr int PHASES = room<Phases>::PHASES, SUMS = PHASES + room<Phases>::PAIRS;

    static __device__ void add_pairs(int phases, const float *keep, float share, double *value)
    {
        for (int p = 0, k = PHASES; p < phases; ++p)
            for (int o = p; o < phases; ++o, ++k)
                value[k] += double(mf_meanfield_pair(p == o, keep[p], keep[o], share));
    }

    /* Adds the sums of the probabilities nearest to v - shift, which replace v. */
    static __device__ void add(int phases, const phase_values &shift, float *v, double *value)
    {
        float keep[PHASES], share;

        for (int p = 0; p < phases; ++p) v[p] -= shift.of[p];
        mf_meanfield_project(phases, 1, v, keep);
        mf_meanfield_share(phases, 1, keep, &share);
        for (int p = 0; p < phases; ++p) value[p] += double(v[p]);
        add_pairs(phases, keep, share, value);
    }

    static __device__ void store(int phases, int k, double sum, double *to)
    {
        if (k < phases)
            to[k] = sum;
        else if (k >= PHASES && k < PHASES + phases * (phases + 1) / 2)
            to[phases + k - PHASES] = sum / double(MF_PAIR_UNIT);
    }
};

/* -- gradients inside -- */

template <class Phases> struct inner_body {
    typedef phase_sums<Phases> values;
    static constexpr int SUMS = values::SUMS, MAXIMA = 1;
    struct mf_probabilities at;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const int phases = Phases::count(at.phases);
        const size_t all = at.n[0] * at.n[1] * at.n[2];
        float x[values::PHASES], g[values::PHASES], keep[values::PHASES], share, mean = 0.0f;

        for (int p = 0; p < phases; ++p) {
            x[p] = at.x[size_t(p) * all + i];
            g[p] = at.g[size_t(p) * all + i] + at.slope[p] * mf_grey_slope(x[p]);
            value[SUMS] = double(fabsf(g[p])) > value[SUMS] ? double(fabsf(g[p])) : value[SUMS];
        }
        mf_meanfield_inside(phases, 1, x, keep);
        mf_meanfield_share(phases, 1, keep, &share);
        for (int p = 0; p < phases; ++p) mean += keep[p] * g[p] * (share / float(MF_PAIR_UNIT));
        for (int p = 0; p < phases; ++p) value[p] += double(keep[p] * (g[p] - mean));
        values::add_pairs(phases, keep, share, value);
    }
    __device__ void store(size_t plane, int k, double sum) const
    {
        const int phases = Phases::count(at.phases), most = phases + phases * (phases + 1) / 2;
        double *to = out + plane * size_t(most + 1);

        if (k == SUMS)
            to[most] = sum;
        else
            values::store(phases, k, sum, to);
    }
};

void inner(struct mf_queue *q, const struct mf_probabilities *at, double *out)
{
    MF_SPOIL(out, at->n[0] * (at->phases + mf_pairs(at->phases) + 1) * sizeof *out);
    by_phases(at->phases, [&](auto phases) {
        mf_pass_run(q, at->n[0], at->n[1] * at->n[2], inner_body<decltype(phases)>{*at, out});
    });
}

/* -- lines -- */

/* A block has a line along x. Lines along y and z get their integers by atomic additions, in any order. */
template <class Phases>
__global__ void __launch_bounds__(MF_CUDA_THREADS)
    add_lines(struct mf_probabilities at, float scale, struct mf_lines to)
{
    constexpr int PHASES = room<Phases>::PHASES;
    MF_SHARED(int, total); /* of pairs, of phases */
    const int phases = Phases::count(at.phases), pairs = phases * (phases + 1) / 2;
    const size_t ny = at.n[1], nx = at.n[2], rows = at.n[0] * ny, columns = at.n[0] * nx, all = rows * nx;
    const size_t line = blockIdx.x, z = line / ny, y = line % ny;

    for (int k = int(threadIdx.x); k < pairs + phases; k += int(blockDim.x)) total[k] = 0;
    __syncthreads();
    for (size_t c = threadIdx.x; c < nx; c += blockDim.x) {
        const size_t i = line * nx + c;
        float x[PHASES], g[PHASES], r[PHASES], keep[PHASES], share;

        if (at.fixed && at.fixed[i] != MF_LABEL_OPEN) continue;
        for (int p = 0; p < phases; ++p) {
            x[p] = at.x[size_t(p) * all + i];
            g[p] = at.g[size_t(p) * all + i] + at.slope[p] * mf_grey_slope(x[p]) - at.level[p];
        }
        mf_meanfield_free_gradient(phases, 1, x, g, r, keep);
        mf_meanfield_share(phases, 1, keep, &share);
        for (int p = 0, k = 0; p < phases; ++p) {
            const float most = 1 << MF_LINE_BITS;
            const int part = int(rintf(mf_clamp(r[p] * scale, -most, most)));

            if (part != 0) {
                atomicAdd(&total[pairs + p], part);
                atomicAdd(&to.sum_y[size_t(p) * columns + z * nx + c], part);
            }
            for (int o = p; o < phases; ++o, ++k) {
                const int pair = int(mf_meanfield_pair(p == o, keep[p], keep[o], share));

                if (pair == 0) continue;
                atomicAdd(&total[k], pair);
                atomicAdd(&to.pair_y[size_t(k) * columns + z * nx + c], pair);
                atomicAdd(&to.pair_z[size_t(k) * ny * nx + y * nx + c], pair);
            }
        }
    }
    __syncthreads();
    for (int k = int(threadIdx.x); k < pairs + phases; k += int(blockDim.x)) {
        if (k < pairs)
            to.pair_x[size_t(k) * rows + line] = total[k];
        else
            to.sum_x[size_t(k - pairs) * rows + line] = total[k];
    }
}

void clear(struct mf_queue *q, size_t n, int32_t *table)
{
    MF_CUDA(cudaMemsetAsync(table, 0, n * sizeof *table, mf_cuda_of(q)->stream));
}

void lines(struct mf_queue *q, const struct mf_probabilities *at, float scale, const struct mf_lines *to)
{
    const size_t warps = (at->n[2] + 31) / 32 * 32, most = MF_CUDA_THREADS, threads = warps < most ? warps : most;
    const size_t pairs = mf_pairs(at->phases);

    MF_ASSERT(at->n[1] <= MF_LINE_MOST && at->n[2] <= MF_LINE_MOST);
    clear(q, pairs * at->n[0] * at->n[2], to->pair_y);
    clear(q, at->phases * at->n[0] * at->n[2], to->sum_y);
    clear(q, pairs * at->n[1] * at->n[2], to->pair_z);
    if (at->n[0] == 0) return;
    by_phases(at->phases, [&](auto phases) {
        MF_RUN(add_lines<decltype(phases)>, unsigned(at->n[0] * at->n[1]), unsigned(threads),
               (pairs + at->phases) * sizeof(int), q, *at, scale, *to);
    });
}

/* -- the step -- */

template <class Phases> struct move_body {
    typedef phase_sums<Phases> values;
    static constexpr int PHASES = values::PHASES, SUMS = values::SUMS, MAXIMA = 0;
    struct mf_probabilities at;
    float momentum, rate;
    const float *off;
    phase_values shift;
    float *v;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const int phases = Phases::count(at.phases);
        const size_t ny = at.n[1], nx = at.n[2], all = at.n[0] * ny * nx, line = i / nx;
        const size_t parts = at.n[0] + ny + nx;
        const bool held = at.fixed && at.fixed[i] != MF_LABEL_OPEN;
        float to[PHASES];

        for (int p = 0; p < phases; ++p) {
            const size_t a = size_t(p) * all + i, k = size_t(p) * parts;
            const float x = at.x[a], slope = at.g[a] + at.slope[p] * mf_grey_slope(x);
            const float taken = off[k + line / ny] + off[k + at.n[0] + line % ny];

            to[p] = held ? mf_stay(x) : x + momentum * v[a] - rate * (slope - taken - off[k + at.n[0] + ny + i % nx]);
            v[a] = to[p];
        }
        values::add(phases, shift, to, value);
    }
    __device__ void store(size_t plane, int k, double sum) const
    {
        const int phases = Phases::count(at.phases);

        values::store(phases, k, sum, out + plane * size_t(phases + phases * (phases + 1) / 2));
    }
};

void move(struct mf_queue *q, const struct mf_probabilities *at, float momentum, float rate, const float *off,
          const float *shift, float *v, double *out)
{
    MF_SPOIL(out, at->n[0] * (at->phases + mf_pairs(at->phases)) * sizeof *out);
    by_phases(at->phases, [&](auto phases) {
        mf_pass_run(q, at->n[0], at->n[1] * at->n[2],
                    move_body<decltype(phases)>{*at, momentum, rate, off, values_of(at->phases, shift), v, out});
    });
}

template <class Phases> struct shifted_body {
    typedef phase_sums<Phases> values;
    static constexpr int SUMS = values::SUMS, MAXIMA = 0;
    struct mf_extent e;
    phase_values shift;
    const float *v;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const int phases = Phases::count(e.phases);
        float at[values::PHASES];

        for (int p = 0; p < phases; ++p) at[p] = v[size_t(p) * e.planes * e.plane + i];
        values::add(phases, shift, at, value);
    }
    __device__ void store(size_t plane, int k, double sum) const
    {
        const int phases = Phases::count(e.phases);

        values::store(phases, k, sum, out + plane * size_t(phases + phases * (phases + 1) / 2));
    }
};

void shifted(struct mf_queue *q, struct mf_extent e, const float *shift, const float *v, double *out)
{
    MF_SPOIL(out, e.planes * (e.phases + mf_pairs(e.phases)) * sizeof *out);
    by_phases(e.phases, [&](auto phases) {
        mf_pass_run(q, e.planes, e.plane, shifted_body<decltype(phases)>{e, values_of(e.phases, shift), v, out});
    });
}

template <class Phases> struct settle_body {
    static constexpr int SUMS = room<Phases>::PHASES, MAXIMA = 0;
    struct mf_extent e;
    phase_values shift;
    float *x, *v;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const int phases = Phases::count(e.phases);
        const size_t all = e.planes * e.plane;
        float to[SUMS], keep[SUMS];

        for (int p = 0; p < phases; ++p) to[p] = v[size_t(p) * all + i] - shift.of[p];
        mf_meanfield_project(phases, 1, to, keep);
        for (int p = 0; p < phases; ++p) {
            const size_t a = size_t(p) * all + i;

            v[a] = to[p] - x[a];
            x[a] = to[p];
            value[p] += double(mf_grey(to[p]));
        }
    }
    __device__ void store(size_t plane, int p, double sum) const
    {
        if (size_t(p) < e.phases) out[plane * e.phases + size_t(p)] = sum;
    }
};

void settle(struct mf_queue *q, struct mf_extent e, const float *shift, float *x, float *v, double *out)
{
    MF_SPOIL(out, e.planes * e.phases * sizeof *out);
    by_phases(e.phases, [&](auto phases) {
        mf_pass_run(q, e.planes, e.plane, settle_body<decltype(phases)>{e, values_of(e.phases, shift), x, v, out});
    });
}

} // namespace

const struct mf_meanfield_ops mf_meanfield_cuda = {
    .inner = inner, .lines = lines, .move = move, .shifted = shifted, .settle = settle};
