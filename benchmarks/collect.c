/* Asynchronous collectives beside MPI's calls and beside the least work in memory: mpirun -n R bench_collect [MIB ...].
 *
 * Part one, per exchange and size: least of 25 turns and more in which all ways alternate, the slowest rank each.
 * `floor_ms` is the same arithmetic on this rank's share alone, on all ranks at once, without any meeting. `iall_ms` is
 * MPI's call that does not wait, and a wait.
 *
 * Part two: a step computes for a known time. It starts the sum of a bucket after each eighth, and polls between
 * pieces. `hidden` is the share of the time of the sums alone by which compute and sums after each other take longer.
 * In the uneven step rank 0 computes a quarter longer in the first half, and the others in the second. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/collect.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { TURNS = 25, WAYS = 4, BUCKETS = 8, PIECES = 16 /* of the compute of a bucket */ };

static struct {
    struct mf_comm comm;
    MPI_Comm mpi;
    struct mf_collect *collect;
    float *array, *other; /* shared; the result of MPI */
    size_t n;
} b;

static double slowest(double seconds)
{
    mf_comm_max(&b.comm, 1, &seconds);
    return seconds;
}

/* Short ones are repeated more often. */
static int turns(void) { return b.n >= (size_t)16 << 18 ? TURNS : TURNS * (int)(((size_t)16 << 18) / b.n); }

static double least_of(double one, double other) { return one < other ? one : other; }

/* -- one exchange -- */

static uint64_t start(int kind, float *array, size_t n)
{
    const struct mf_collective what = {.kind = (enum mf_exchange_kind)kind, .type = MF_F32, .array = array, .n = n};

    return mf_collect_start(b.collect, &what);
}

static void own(int kind) { mf_collect_finish(b.collect, start(kind, b.array, b.n)); }

static void all(int kind)
{
    const int n = (int)b.n, each = n / b.comm.size;

    if (kind == 0) MPI_Allreduce(MPI_IN_PLACE, b.other, n, MPI_FLOAT, MPI_SUM, b.mpi);
    if (kind == 1) MPI_Reduce_scatter_block(MPI_IN_PLACE, b.other, each, MPI_FLOAT, MPI_SUM, b.mpi);
    if (kind == 2) MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.other, each, MPI_FLOAT, b.mpi);
}

static void iall(int kind)
{
    const int n = (int)b.n, each = n / b.comm.size;
    MPI_Request request = MPI_REQUEST_NULL;

    if (kind == 0) MPI_Iallreduce(MPI_IN_PLACE, b.other, n, MPI_FLOAT, MPI_SUM, b.mpi, &request);
    if (kind == 1) MPI_Ireduce_scatter_block(MPI_IN_PLACE, b.other, each, MPI_FLOAT, MPI_SUM, b.mpi, &request);
    if (kind == 2) MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.other, each, MPI_FLOAT, b.mpi, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void least(int kind)
{
    const size_t ranks = (size_t)b.comm.size, each = b.n / ranks;
    float *x = b.other;

    for (size_t r = 1; r < ranks && kind == 2; ++r) memcpy(x + r * each, x, each * sizeof *x);
    for (size_t r = 1; r < ranks && kind < 2; ++r)
#pragma omp simd
        for (size_t i = 0; i < each; ++i) x[i] += x[r * each + i];
    for (size_t r = 1; r < ranks && kind == 0; ++r) memcpy(x + r * each, x, each * sizeof *x);
}

static void exchange(int kind)
{
    void (*const way[WAYS])(int) = {own, all, iall, least};
    static const char *const names[] = {"sum", "reduce-scatter", "all-gather"};
    double time[WAYS] = {1e9, 1e9, 1e9, 1e9}, start;

    memset(b.array, 0, b.n * sizeof *b.array);
    memset(b.other, 0, b.n * sizeof *b.other);
    for (int t = turns(); t > 0; --t)
        for (int w = 0; w < WAYS; ++w) {
            mf_comm_barrier(&b.comm);
            start = mf_now();
            way[w](kind);
            time[w] = least_of(time[w], 1e3 * slowest(mf_now() - start));
        }
    if (b.comm.rank) return;
    printf("%s\t%d\t%zu\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\n", names[kind], b.comm.size, b.n >> 18, time[0], time[1],
           time[2], time[3], time[0] / time[3], time[1] / time[0]);
}

/* -- beside a computation -- */

enum beside { COMPUTE, SUMS, BOTH, MPI_SUMS, MPI_BOTH, STEPS };

static volatile double sink = 1;

/* Counts turns, not time: it takes longer where others have the core. */
static void compute(size_t work)
{
    double x = sink;

    for (size_t i = 0; i < work; ++i) x = x * 0.999999 + 1e-6;
    sink = x;
}

static size_t work_of(double seconds)
{
    const size_t work = 1 << 20;
    double best = 1e9;

    for (int i = 0; i < 20; ++i) {
        const double start = mf_now();

        compute(work);
        if (mf_now() - start < best) best = mf_now() - start;
    }
    return (size_t)((double)work * seconds / best);
}

static void step(enum beside what, int uneven, size_t work)
{
    const size_t n = b.n / BUCKETS;
    MPI_Request request[BUCKETS];
    int over, begun = 0;
    uint64_t last = 0;

    for (int k = 0; k < BUCKETS; ++k) {
        const size_t more = uneven && (b.comm.rank == 0) == (k < BUCKETS / 2) ? work / 4 : 0;

        for (int p = 0; p < PIECES; ++p) {
            if (what == COMPUTE || what == BOTH || what == MPI_BOTH) compute(work + more);
            if (what == BOTH) mf_collect_poll(b.collect);
            if (what == MPI_BOTH && begun) MPI_Testall(begun, request, &over, MPI_STATUSES_IGNORE);
        }
        if (what == SUMS || what == BOTH) last = start(MF_EXCHANGE_SUM, b.array + (size_t)k * n, n);
        if (what == MPI_SUMS || what == MPI_BOTH)
            MPI_Iallreduce(MPI_IN_PLACE, b.other + (size_t)k * n, (int)n, MPI_FLOAT, MPI_SUM, b.mpi, &request[begun++]);
    }
    if (what == SUMS || what == BOTH) mf_collect_finish(b.collect, last);
    MPI_Waitall(begun, request, MPI_STATUSES_IGNORE);
}

static void overlap(int uneven)
{
    double time[STEPS] = {1e9, 1e9, 1e9, 1e9, 1e9}, alone = 1e9, start, hidden[2];
    size_t work;

    memset(b.array, 0, b.n * sizeof *b.array);
    memset(b.other, 0, b.n * sizeof *b.other);
    for (int t = turns(); t > 0; --t) {
        mf_comm_barrier(&b.comm);
        start = mf_now();
        step(SUMS, 0, 0);
        alone = least_of(alone, slowest(mf_now() - start));
    }
    work = work_of(4 * alone / (BUCKETS * PIECES)); /* sums take a fifth of a step */
    for (int t = turns(); t > 0; --t)
        for (int what = 0; what < STEPS; ++what) {
            mf_comm_barrier(&b.comm);
            start = mf_now();
            step((enum beside)what, uneven, work);
            time[what] = least_of(time[what], 1e3 * slowest(mf_now() - start));
        }
    for (int i = 0; i < 2; ++i)
        hidden[i] = (time[COMPUTE] + time[SUMS + 2 * i] - time[BOTH + 2 * i]) / time[SUMS + 2 * i];
    if (b.comm.rank) return;
    printf("%s\t%d\t%zu\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", uneven ? "uneven" : "even", b.comm.size,
           b.n >> 18, time[COMPUTE], time[SUMS], time[BOTH], hidden[0], time[MPI_SUMS], time[MPI_BOTH], hidden[1]);
}

int main(int argc, char **argv)
{
    const size_t standard[] = {1, 16, 64};
    const int given = argc - 1, sizes = given ? given : 3;
    struct mf_arena *arena;
    size_t mib[16], most = 0;

    for (int i = 0; i < sizes && i < 16; ++i) {
        mib[i] = given ? strtoul(argv[i + 1], NULL, 10) : standard[i];
        most = mib[i] > most ? mib[i] : most;
    }
    if (mf_comm_open(&b.comm, &argc, &argv, "benchmark") != MF_OK || mf_arena_open(&arena, NULL, 0) != MF_OK) return 4;
    if (b.comm.size < 2 || most == 0) return 2;
    b.mpi = *(MPI_Comm *)mf_comm_native(&b.comm);
    if (mf_collect_open(&b.comm, arena, most << 20, &b.collect) != MF_OK) return 5;
    b.array = mf_collect_memory(b.collect);
    b.other = MF_MUST(aligned_alloc(64, most << 20), "the result of MPI");
    if (b.comm.rank == 0)
        printf("# %s\nexchange\tranks\tMiB\town_ms\tall_ms\tiall_ms\tfloor_ms\town/floor\tall/own\n",
               mf_comm_version());
    for (int i = 0; i < sizes && i < 16; ++i)
        for (int kind = 0; kind < 3; ++kind) {
            b.n = mib[i] << 18;
            exchange(kind);
        }
    if (b.comm.rank == 0)
        printf("step\tranks\tMiB\tcompute_ms\tsums_ms\tboth_ms\thidden\tmpi_sums_ms\tmpi_both_ms\tmpi_hidden\n");
    for (int i = 0; i < sizes && i < 16; ++i)
        for (int uneven = 0; uneven < 2; ++uneven) {
            b.n = mib[i] << 18;
            overlap(uneven);
        }
    free(b.other);
    mf_collect_close(b.collect);
    mf_comm_close(&b.comm);
    mf_arena_close(arena);
    return 0;
}
