/* See clock.h. */
#include "src/bench/clock.h"

#include <math.h>
#include <string.h>

#include "src/base/log.h"
#include "src/bench/median.h"

enum { LEAST_SAMPLES = 7, MOST_SAMPLES = 400, MOST_CALLS = 1 << 20, AT_ONCE = 4 };

static const double SAMPLE = 2e-3; /* seconds: long against the clock and the barrier before it */

static void repeat(const struct mf_comm *comm, const struct mf_bench_call *call, long calls)
{
    if (call->inside) mf_comm_enter(comm, call->inside, 0);
    for (long i = 0; i < calls; ++i) call->call(call->context);
    if (call->inside) mf_comm_leave(comm);
}

void mf_bench_once(const struct mf_comm *comm, const struct mf_bench_call *call) { repeat(comm, call, 1); }

static double seconds_of(const struct mf_comm *comm, const struct mf_bench_call *call, long calls)
{
    double took;

    mf_comm_barrier(comm);
    took = mf_now();
    repeat(comm, call, calls);
    took = mf_now() - took;
    mf_comm_max(comm, 1, &took);
    return took / (double)calls;
}

/* Calls per sample; the first ones warm up. */
static long calls_of(const struct mf_comm *comm, const struct mf_bench_call *call)
{
    long calls = 1;

    (void)seconds_of(comm, call, 1);
    while (calls < MOST_CALLS && seconds_of(comm, call, calls) * (double)calls < SAMPLE) calls *= 2;
    return calls;
}

/* Half the 95 % interval of the median of sorted samples, of the median (McGill, Tukey, Larsen 1978). */
static double doubt(const double *sorted, long n)
{
    double range = sorted[3 * n / 4] - sorted[n / 4];

    return 1.57 * range / sqrt((double)n) / sorted[n / 2];
}

static int settled(const double *sample, long n, double share, struct mf_bench_time *time)
{
    double sorted[MOST_SAMPLES];

    memcpy(sorted, sample, (size_t)n * sizeof *sorted);
    time->median = mf_bench_median(sorted, (size_t)n);
    time->least = sorted[0];
    time->most = sorted[n - 1];
    time->samples = n;
    return n >= LEAST_SAMPLES && doubt(sorted, n) <= share;
}

void mf_bench_measure(const struct mf_comm *comm, const struct mf_bench_enough *enough, size_t n,
                      const struct mf_bench_call *calls, struct mf_bench_time *times)
{
    static double sample[AT_ONCE][MOST_SAMPLES]; /* alike on every rank: all of them end together */
    double spent = 0;
    int sure = 0;

    for (size_t i = 0; i < n; ++i) times[i].calls = calls_of(comm, &calls[i]);
    for (long k = 0; k < MOST_SAMPLES && !sure && (k < LEAST_SAMPLES || spent < enough->seconds); ++k) {
        sure = 1;
        for (size_t i = 0; i < n; ++i) {
            size_t which = (size_t)k % 2 ? n - 1 - i : i; /* neither comes always first */

            sample[which][k] = seconds_of(comm, &calls[which], times[which].calls);
            spent += sample[which][k] * (double)times[which].calls;
        }
        for (size_t i = 0; i < n; ++i) sure = settled(sample[i], k + 1, enough->share, &times[i]) && sure;
    }
}
