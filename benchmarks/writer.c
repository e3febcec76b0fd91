/* Writing a dataset by windows (io/dataset_writer.h) beside a bare parallel HDF5 program that writes as many bytes in
 * one call, flushes and renames the file. Samples are colour images of 64 x 64 pixels with activations of 768 x 8 x 8
 * floats.
 *
 *     mpirun -n R bench_writer FILE.h5 [SAMPLES [WINDOW [ROUNDS]]]     prints a row for each round, and medians
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/bare.h"
#include "io/dataset_writer.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/rng.h"

enum { X = 64 * 64 * 3, MID = 768 * 8 * 8, ROW = X + MID * 4, ROUNDS = 64 };

static struct mf_comm comm;

/* Processor seconds of this process, which others on the machine hardly change. */
static double processor(void)
{
    struct rusage used;

    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void must(int rc)
{
    if (rc == MF_OK) return;
    fprintf(stderr, "%s\n", mf_err_text());
    exit(rc);
}

/* All windows in turns. */
static double write_windows(const char *path, size_t samples, size_t window, const uint8_t *values)
{
    static const struct mf_writer_array array = {"/activations/mid", MF_H5_F32, 3, {768, 8, 8}};
    const struct mf_writer_wish wish = {
        .set = {.samples = samples, .ndim = 2, .dims = {1, 64, 64, 3}, .part = {0.8, 0.1}},
        .arrays = 1,
        .array = &array,
        .settings = "",
        .window = window,
        .seconds = 2,
        .anew = 1};
    const double start = mf_now();
    struct mf_writer *w;

    must(mf_writer_open(&comm, path, &wish, NULL, &w));
    for (size_t at = 0; at < samples; at += window * (size_t)comm.size) {
        const size_t first = at + window * (size_t)comm.rank, left = first < samples ? samples - first : 0;
        const size_t count = left < window ? left : window;
        const void *row = values + count * X;
        const struct mf_writer_window one = {.first = left ? first : 0, .count = count, .x = values, .row = &row};

        must(mf_writer_put(w, &one));
        values += count * ROW;
    }
    must(mf_writer_finish(w));
    must(mf_writer_close(w));
    return mf_now() - start;
}

static double write_bare(const char *path, size_t samples, const uint8_t *values)
{
    const size_t dims[3] = {samples, 1, ROW};
    const struct mf_slab slab = mf_slab_of(&comm, dims, comm.rank);
    const double start = mf_now();

    must(mf_bare_h5_write(&comm, path, &slab, 1, values));
    return mf_now() - start;
}

/* Wall and processor seconds of one way, of the slowest rank. */
struct cost {
    double wall, used;
};

static struct cost measure(const char *path, size_t samples, size_t window, const uint8_t *values)
{
    double cost[2], used = processor();

    mf_comm_barrier(&comm);
    cost[0] = window ? write_windows(path, samples, window, values) : write_bare(path, samples, values);
    cost[1] = processor() - used;
    mf_comm_max(&comm, 2, cost);
    return (struct cost){cost[0], cost[1]};
}

static int by_size(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) * 2 - 1; }

static double median(int n, double *values)
{
    qsort(values, (size_t)n, sizeof *values, by_size);
    return values[n / 2];
}

int main(int argc, char **argv)
{
    const size_t samples = argc > 2 ? (size_t)atol(argv[2]) : 1000, window = argc > 3 ? (size_t)atol(argv[3]) : 64;
    const int rounds = argc > 4 && atoi(argv[4]) < ROUNDS ? atoi(argv[4]) : 5;
    double wall[2][ROUNDS], used[2][ROUNDS];
    size_t room;
    uint8_t *values;
    char other[1100];

    if (argc < 2 || mf_comm_open(&comm, &argc, &argv, "bench") != MF_OK) return 2;
    mf_log_open(comm.rank, comm.size, MF_WARN);
    snprintf(other, sizeof other, "%.1000s.bare", argv[1]);
    room = (samples / (size_t)comm.size + window + 2) * ROW;
    values = MF_MUST(malloc(room), "samples");
    for (size_t i = 0; i < room / 16; ++i) mf_random4(1, 2, i, (uint32_t *)(void *)(values + 16 * i));
    for (int k = 0; k < rounds; ++k)
        for (int turn = 0; turn < 2; ++turn) {
            const int way = (k + turn) % 2;
            const struct cost cost = measure(way ? other : argv[1], samples, way ? 0 : window, values);

            wall[way][k] = cost.wall;
            used[way][k] = cost.used;
            if (comm.rank == 0)
                printf("%d %s wall_s %.3f processor_s %.3f\n", k, way ? "bare" : "windows", cost.wall, cost.used);
        }
    if (comm.rank == 0) {
        const double own = median(rounds, wall[0]), bare = median(rounds, wall[1]);

        printf("%zu samples, %.0f MiB, %d ranks: windows %.3f s (processor %.3f), bare %.3f s (%.3f), speed %.0f %%\n",
               samples, (double)samples * ROW / 1048576, comm.size, own, median(rounds, used[0]), bare,
               median(rounds, used[1]), 100 * bare / own);
        (void)unlink(argv[1]);
        (void)unlink(other);
    }
    free(values);
    mf_comm_close(&comm);
    return 0;
}
