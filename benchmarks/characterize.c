/* Two-point statistics of a volume against bare forward transforms of all slices in three directions. These are FFTW's,
 * real to complex, the better of several batchings and layouts. Case s2_grey is the means of all slices by transforms.
 * Case s2_bits is the counts of a packed binary volume, with packing. Rounds alternate. A row gives the medians and the
 * median of the paired ratios, for every size, number of threads and share of set voxels.
 *
 *   characterize [sizes ...]      default 128 256 512; lag 16; prints tab-separated values */
#include <fftw3.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { LAG = 16, ROUNDS = 5, MOST_BATCH = 32 };

/** Forward transforms of all slices with one normal. */
struct bare {
    fftwf_plan plan;
    size_t batch, step; /* slices of one call; floats from slice to slice */
};

struct problem {
    size_t n;
    int threads;
    uint8_t *label;
    float *x;
    fftwf_complex *out[2]; /* of each thread */
    struct bare bare[3];
    uint64_t *bits;
};

static fftwf_plan plan_of(const struct problem *p, int normal, int batch, int interleaved)
{
    int n = (int)p->n, half = n / 2 + 1, in[3] = {n * n, n, 1};
    int u = normal == 0 ? 1 : 0, v = normal == 2 ? 1 : 2;
    int unit = interleaved ? batch : 1, each = interleaved ? 1 : n * half;
    fftwf_iodim dims[2] = {{n, in[u], half * unit}, {n, in[v], unit}}, many = {batch, in[normal], each};

    return fftwf_plan_guru_dft_r2c(2, dims, 1, &many, p->x, p->out[0], FFTW_MEASURE);
}

static void run_bare(const struct problem *p, int normal)
{
    const struct bare *b = &p->bare[normal];
    ptrdiff_t calls = (ptrdiff_t)(p->n / b->batch);

#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (ptrdiff_t i = 0; i < calls; ++i)
        fftwf_execute_dft_r2c(b->plan, p->x + (size_t)i * b->batch * b->step, p->out[omp_get_thread_num()]);
}

/** Keeps the fastest of batches 4 .. 32 and two layouts of the result. */
static void choose(struct problem *p, int normal)
{
    struct bare best = {0};
    double least = 1e30;

    for (int trial = 0; trial < 8; ++trial) {
        int batch = 4 << trial / 2;
        struct bare *b = &p->bare[normal];

        *b = (struct bare){plan_of(p, normal, batch, trial % 2), (size_t)batch,
                           normal == 0   ? p->n * p->n
                           : normal == 1 ? p->n
                                         : 1};
        for (int i = 0; i < 2; ++i) {
            double start = mf_now();

            run_bare(p, normal);
            if (mf_now() - start >= least) continue;
            least = mf_now() - start;
            best = *b;
        }
    }
    p->bare[normal] = best;
}

static double time_bare(const struct problem *p)
{
    double start = mf_now();

    for (int normal = 0; normal < 3; ++normal) run_bare(p, normal);
    return mf_now() - start;
}

static double time_bits(const struct problem *p, struct mf_queue *q, int64_t *count)
{
    size_t n = p->n, words = (n + 63) / 64;
    struct mf_bits field = {p->bits, n, 0, n, n, words};
    double start = mf_now();

    mf_bits_cpu.pack(q, n * n, n, p->label, 1, p->bits);
    mf_bits_cpu.count(q, &field, &field, LAG, 1, 0, n, 7, count);
    return mf_now() - start;
}

static double time_grey(const struct problem *p, struct mf_slice_plan *plan, double *total)
{
    const size_t n = p->n, stride[3] = {n * n, n, 1};
    double start = mf_now();

    for (int normal = 0; normal < 3; ++normal) {
        struct mf_view view = {p->x, n, n, n, stride[normal], normal == 0 ? n : n * n, normal == 2 ? n : 1};

        mf_corr_cpu.total(plan, &view, total);
    }
    return mf_now() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

/** White noise; planning has written over x. */
static void fill(const struct problem *p, double fraction)
{
    uint64_t state = 1;

    for (size_t i = 0; i < p->n * p->n * p->n; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        p->label[i] = (double)(state >> 40) < fraction * 0x1p24;
        p->x[i] = (float)(state >> 40) * 0x1p-24F;
    }
}

static void measure_bits(struct problem *p, double fraction, struct mf_arena *arena)
{
    struct mf_queue q = {.backend = &mf_backend_cpu, .arena = arena, .host = arena, .threads = p->threads};
    double bare[ROUNDS], bits[ROUNDS], ratio[ROUNDS];
    int64_t *count = calloc(3 * (2 * LAG - 1) * (2 * LAG - 1), sizeof *count);

    fill(p, fraction);
    for (int i = 0; i < ROUNDS; ++i) {
        bare[i] = time_bare(p);
        bits[i] = time_bits(p, &q, count);
        ratio[i] = bare[i] / bits[i];
    }
    printf("s2_bits\t%zu\t%d\t%.2f\t%d\t%.6f\t%.6f\t%.2f\n", p->n, LAG, fraction, p->threads, median(bare),
           median(bits), median(ratio));
    fflush(stdout);
    free(count);
}

static void measure_grey(struct problem *p, struct mf_arena *arena)
{
    struct mf_slice_desc desc = {.nu = p->n, .nv = p->n, .lag = LAG, .levels = 1, .count_max = p->n, .periodic = 1};
    struct mf_queue q = {.backend = &mf_backend_cpu, .arena = arena, .host = arena, .threads = p->threads};
    double bare[ROUNDS], grey[ROUNDS], ratio[ROUNDS], *total = calloc((2 * LAG - 1) * (2 * LAG - 1), sizeof *total);
    struct mf_slice_plan *plan;

    if (!total || mf_slices_plan(&mf_corr_cpu, &q, &desc, &plan) != MF_OK) exit(1);
    fill(p, 0.5);
    for (int i = 0; i < ROUNDS; ++i) {
        bare[i] = time_bare(p);
        grey[i] = time_grey(p, plan, total);
        ratio[i] = bare[i] / grey[i];
    }
    printf("s2_grey\t%zu\t%d\t-\t%d\t%.6f\t%.6f\t%.2f\n", p->n, LAG, p->threads, median(bare), median(grey),
           median(ratio));
    fflush(stdout);
    mf_corr_cpu.free(plan);
    free(total);
}

static void take(struct problem *p)
{
    size_t n = p->n, voxels = n * n * n;

    p->label = malloc(voxels);
    p->x = fftwf_alloc_real(voxels);
    p->bits = malloc(n * n * ((n + 63) / 64) * sizeof *p->bits);
    for (int t = 0; t < 2; ++t) p->out[t] = fftwf_alloc_complex(MOST_BATCH * n * (n / 2 + 1));
    if (!p->label || !p->x || !p->bits || !p->out[0] || !p->out[1]) exit(1);
    fill(p, 0.5);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {128, 256, 512};
    size_t count = argc > 1 ? (size_t)argc - 1 : 3;
    struct mf_arena *arena;

    if (mf_arena_open(&arena, NULL, 0) != 0) return 1;
    printf("name\tn\tlag\tfraction\tthreads\tfftw_s\town_s\tratio\n");
    for (size_t i = 0; i < count; ++i)
        for (int threads = 1; threads <= 2; ++threads) {
            struct problem p = {.n = argc > 1 ? strtoul(argv[i + 1], NULL, 10) : sizes[i], .threads = threads};

            take(&p);
            for (int normal = 0; normal < 3; ++normal) choose(&p, normal);
            measure_grey(&p, arena);
            measure_bits(&p, 0.5, arena);
            measure_bits(&p, 0.3, arena);
            free(p.label);
            fftwf_free(p.x);
            free(p.bits);
            for (int t = 0; t < 2; ++t) fftwf_free(p.out[t]);
        }
    mf_arena_close(arena);
    return 0;
}
