/* See kernels/slices/shifts.h: sum (a - b)^2 = sum a^2 + sum b^2 - 2 sum a(v + s) b(v). */
#include "kernels/slices/shifts.h"

#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/fast.h"
#include "kernels/cpu/fftw_memory.h"
#include "src/base/err.h"

struct mf_shifts {
    struct mf_queue *queue;
    size_t voxels, waves, channels, queries; /* waves: complex numbers of a channel's spectrum, with padding */
    int threads;
    fftwf_complex *query; /* [queries][channels][waves] */
    fftwf_complex *own;   /* [channels][waves] of the field that is compared */
    double *square;       /* [queries] sums of squares */
    fftwf_complex *sum;   /* [threads][waves] */
    float *real;          /* [threads][padded voxels] */
    size_t padded;
    fftwf_plan forward, inverse;
    ptrdiff_t held, booked;
};

static size_t even16(size_t n) { return (n + 15) / 16 * 16; }

/* ---- memory ---- */

static int take(struct mf_shifts *s)
{
    struct mf_arena *arena = s->queue->host;
    const size_t field = s->channels * s->waves, threads = (size_t)s->threads;

    s->query = mf_arena_zeros(arena, s->queries * field, sizeof *s->query, "spectra");
    s->own = mf_arena_take(arena, field * sizeof *s->own, "spectra");
    s->square = mf_arena_zeros(arena, s->queries, sizeof *s->square, "spectra");
    s->sum = mf_arena_take(arena, threads * s->waves * sizeof *s->sum, "spectra");
    s->real = mf_arena_take(arena, threads * s->padded * sizeof *s->real, "spectra");
    return s->query && s->own && s->square && s->sum && s->real ? MF_OK : MF_MEMORY;
}

/* Plans by estimate: those that are measured may differ from rank to rank. */
static int transforms(struct mf_shifts *s, const size_t dims[3])
{
    const int n[3] = {(int)dims[0], (int)dims[1], (int)dims[2]}, skip = dims[0] == 1;
    int rc;

    mf_fftw_begin();
    s->forward = fftwf_plan_dft_r2c(3 - skip, n + skip, s->real, s->own, FFTW_ESTIMATE);
    s->inverse = fftwf_plan_dft_c2r(3 - skip, n + skip, s->sum, s->real, FFTW_ESTIMATE);
    s->held = mf_fftw_made();
    if (!s->forward || !s->inverse) return mf_fail(MF_MEMORY, "FFTW has no plan for %d x %d x %d", n[0], n[1], n[2]);
    s->booked = s->held + s->threads * (ptrdiff_t)mf_fftw_buffers(dims[0] * dims[1], dims[2]);
    rc = mf_arena_book(s->queue->host, s->booked, "FFTW plans");
    if (rc != MF_OK) s->booked = 0;
    return rc;
}

int mf_shifts_open(struct mf_queue *queue, const size_t dims[3], size_t channels, size_t queries,
                   struct mf_shifts **shifts)
{
    struct mf_shifts *s = mf_arena_zeros(queue->host, 1, sizeof *s, "spectra");
    int rc;

    if (!s) return MF_MEMORY;
    *s = (struct mf_shifts){.queue = queue,
                            .voxels = dims[0] * dims[1] * dims[2],
                            .waves = even16(dims[0] * dims[1] * (dims[2] / 2 + 1)),
                            .channels = channels,
                            .queries = queries,
                            .threads = queue->threads > 0 ? queue->threads : 1};
    s->padded = even16(s->voxels);
    rc = take(s);
    if (rc == MF_OK) rc = transforms(s, dims);
    if (rc == MF_OK)
        *shifts = s;
    else
        mf_shifts_close(s);
    return rc;
}

void mf_shifts_close(struct mf_shifts *s)
{
    struct mf_arena *arena;

    if (!s) return;
    arena = s->queue->host;
    mf_fftw_begin();
    if (s->forward) fftwf_destroy_plan(s->forward);
    if (s->inverse) fftwf_destroy_plan(s->inverse);
    mf_fftw_gone(s->held);
    if (s->booked) (void)mf_arena_book(arena, -s->booked, "FFTW plans");
    mf_arena_give(arena, s->real);
    mf_arena_give(arena, s->sum);
    mf_arena_give(arena, s->square);
    mf_arena_give(arena, s->own);
    mf_arena_give(arena, s->query);
    mf_arena_give(arena, s);
}

/* ---- one field ---- */

/* The spectra of all channels; returns the sum of squares. */
static double transform(struct mf_shifts *s, const float *x, fftwf_complex *to)
{
    double square = 0;

    for (size_t c = 0; c < s->channels; ++c) {
        for (size_t i = 0; i < s->voxels; ++i) {
            const float value = x[i * s->channels + c];

            s->real[i] = value;
            square += (double)value * (double)value;
        }
        fftwf_execute_dft_r2c(s->forward, s->real, to + c * s->waves);
    }
    return square;
}

void mf_shifts_query(struct mf_shifts *s, size_t k, const float *x)
{
    s->square[k] = transform(s, x, s->query + k * s->channels * s->waves);
}

/* sum += a conj(b), or = for the first channel. */
MF_CPU_FAST static void multiply(size_t n, const float *a, const float *b, int first, float *sum)
{
    for (size_t i = 0; i < n; ++i) {
        const float real = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
        const float imaginary = a[2 * i + 1] * b[2 * i] - a[2 * i] * b[2 * i + 1];

        sum[2 * i] = first ? real : sum[2 * i] + real;
        sum[2 * i + 1] = first ? imaginary : sum[2 * i + 1] + imaginary;
    }
}

MF_CPU_FAST static float largest(size_t n, const float *x)
{
    float most = x[0];

#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

static struct mf_shift compare(const struct mf_shifts *s, size_t k, double square, fftwf_complex *sum, float *real)
{
    struct mf_shift found = {.at = 0};
    float most;

    for (size_t c = 0; c < s->channels; ++c)
        multiply(s->waves, (const float *)(s->query + (k * s->channels + c) * s->waves),
                 (const float *)(s->own + c * s->waves), c == 0, (float *)sum);
    fftwf_execute_dft_c2r(s->inverse, sum, real);
    most = largest(s->voxels, real);
    while (real[found.at] < most) ++found.at;
    found.square = s->square[k] + square - 2 * (double)most / (double)s->voxels;
    return found;
}

void mf_shifts_near(struct mf_shifts *s, const float *x, struct mf_shift *found)
{
    const double square = transform(s, x, s->own);

#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (size_t k = 0; k < s->queries; ++k) {
        const size_t thread = (size_t)omp_get_thread_num();

        found[k] = compare(s, k, square, s->sum + thread * s->waves, s->real + thread * s->padded);
    }
}
