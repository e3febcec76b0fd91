/* See cpu.h. */
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { LANES = 32, RUN = 8, CHUNK = 32768 };

int mf_cpu_threads(const struct mf_queue *q, size_t voxels) { return voxels < MF_CPU_SERIAL ? 1 : q->threads; }

int mf_cpu_breaks(const char *what, int *stopped)
{
    int is;

    if (mf_pulse_breaks(what)) {
#pragma omp atomic write
        *stopped = 1;
    }
#pragma omp atomic read
    is = *stopped;
    return is;
}

/* A chunk is so large that a plane has no more than MF_CPU_CHUNKS of them. */
static size_t chunk_of(size_t plane)
{
    size_t chunk = CHUNK;

    while ((plane + chunk - 1) / chunk > MF_CPU_CHUNKS) chunk *= 2;
    return chunk;
}

static void join(const struct mf_cpu_pass *pass, double *to, const double *from)
{
    for (size_t i = 0; i < pass->sums; ++i) to[i] += from[i];
    for (size_t i = pass->sums; i < pass->sums + pass->maxima; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
}

static void run_chunk(const struct mf_cpu_pass *pass, size_t plane, size_t from, size_t to, double *value)
{
    const size_t most = pass->phases > 1 ? MF_CPU_MANY : MF_CPU_BLOCK;
    double part[MF_CPU_SUMS];

    mf_pulse_tell("field");
    memset(value, 0, (pass->sums + pass->maxima) * sizeof *value);
    for (size_t n; from < to; from += n) {
        n = to - from < most ? to - from : most;
        memset(part, 0, (pass->sums + pass->maxima) * sizeof *part);
        pass->block(pass->args, plane * pass->plane + from, n, part);
        join(pass, value, part);
    }
}

static void run_plane(const struct mf_cpu_pass *pass, size_t plane)
{
    const size_t chunk = chunk_of(pass->plane);
    double value[MF_CPU_SUMS] = {0}, part[MF_CPU_SUMS];

    for (size_t from = 0; from < pass->plane; from += chunk) {
        run_chunk(pass, plane, from, from + chunk < pass->plane ? from + chunk : pass->plane, part);
        join(pass, value, part);
    }
    if (pass->store) pass->store(pass->args, plane, value);
}

/* The same sums as run_plane(), by several threads. */
static void run_plane_shared(struct mf_queue *q, const struct mf_cpu_pass *pass, size_t plane, int threads)
{
    const size_t chunk = chunk_of(pass->plane), chunks = (pass->plane + chunk - 1) / chunk;
    double(*part)[MF_CPU_SUMS] = q->impl, value[MF_CPU_SUMS] = {0};

#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t c = 0; c < chunks; ++c)
        run_chunk(pass, plane, c * chunk, (c + 1) * chunk < pass->plane ? (c + 1) * chunk : pass->plane, part[c]);
    for (size_t c = 0; c < chunks; ++c) join(pass, value, part[c]);
    if (pass->store) pass->store(pass->args, plane, value);
}

void mf_cpu_run(struct mf_queue *q, const struct mf_cpu_pass *pass)
{
    const int threads = mf_cpu_threads(q, pass->phases * pass->planes * pass->plane);

    MF_ASSERT(pass->sums + pass->maxima <= MF_CPU_SUMS && pass->phases <= MF_SIMPLEX_MAX);
    if (threads == 1)
        for (size_t p = 0; p < pass->planes; ++p) run_plane(pass, p);
    else if (pass->planes < 4 * (size_t)threads && pass->plane >= 2 * CHUNK)
        for (size_t p = 0; p < pass->planes; ++p) run_plane_shared(q, pass, p, threads);
    else {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t p = 0; p < pass->planes; ++p) run_plane(pass, p);
    }
}

/* Adds neighbours, then neighbours of those, and so on. */
static inline __attribute__((always_inline)) double fold(double *lane)
{
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
}

MF_CPU_FAST double mf_cpu_dot(size_t n, const float *x, const float *y)
{
    double lane[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) lane[l] += (double)x[i + l] * (double)y[i + l];
    }
    for (size_t l = 0; i + l < n; ++l) lane[l] += (double)x[i + l] * (double)y[i + l];
    return fold(lane);
}

/* Adds @p steps products of every lane in float, then in double. */
static inline __attribute__((always_inline)) void dot2_run(size_t steps, const float *a, const float *x, const float *y,
                                                           double *first, double *second)
{
    float f[LANES] = {0}, s[LANES] = {0};

    for (size_t i = 0; i < steps * LANES; i += LANES) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) {
            f[l] += a[i + l] * x[i + l];
            s[l] += a[i + l] * y[i + l];
        }
    }
#pragma omp simd
    for (size_t l = 0; l < LANES; ++l) first[l] += (double)f[l];
#pragma omp simd
    for (size_t l = 0; l < LANES; ++l) second[l] += (double)s[l];
}

MF_CPU_FAST void mf_cpu_dot2(size_t n, const float *a, const float *x, const float *y, double out[2])
{
    double first[LANES] = {0}, second[LANES] = {0};
    size_t i = 0;

    for (; i + RUN * LANES <= n; i += RUN * LANES) dot2_run(RUN, a + i, x + i, y + i, first, second);
    dot2_run((n - i) / LANES, a + i, x + i, y + i, first, second);
    i += (n - i) / LANES * LANES;
    for (size_t l = 0; i + l < n; ++l) {
        first[l] += (double)(a[i + l] * x[i + l]);
        second[l] += (double)(a[i + l] * y[i + l]);
    }
    out[0] += fold(first);
    out[1] += fold(second);
}

MF_CPU_FAST double mf_cpu_sum(size_t n, const float *x)
{
    double lane[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) lane[l] += (double)x[i + l];
    }
    for (size_t l = 0; i + l < n; ++l) lane[l] += (double)x[i + l];
    return fold(lane);
}
