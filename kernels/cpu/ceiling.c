/* See kernels/ceiling.h. */
#include "kernels/ceiling.h"

#include "src/base/cut.h"
#include "src/base/log.h"

enum { ROUNDS = 5000 };

/* Independent chains of x = x s + t, enough of them to cover the latency of the units. */
#define CHAINS(name, attributes, lanes, chains)                                                     \
    attributes static float name(float s, float t)                                                  \
    {                                                                                               \
        typedef float vec __attribute__((vector_size(4 * (lanes))));                                \
        vec x[chains], sum;                                                                         \
                                                                                                    \
        _Pragma("GCC unroll 16") for (int i = 0; i < (chains); ++i) x[i] = (vec){0} + (float)i * t; \
        for (int n = 0; n < ROUNDS; ++n)                                                            \
            _Pragma("GCC unroll 16") for (int i = 0; i < (chains); ++i) x[i] = x[i] * s + t;        \
        sum = x[0];                                                                                 \
        _Pragma("GCC unroll 16") for (int i = 1; i < (chains); ++i) sum += x[i];                    \
        return sum[0] + sum[(lanes)-1];                                                             \
    }

CHAINS(chains_4, , 4, 12)
#if defined(__x86_64__)
CHAINS(chains_8, __attribute__((target("avx2,fma"))), 8, 12)
CHAINS(chains_16, __attribute__((target("avx512f,fma"))), 16, 12)
#endif

struct engine {
    float (*run)(float s, float t);
    int lanes;
};

static struct engine best_engine(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return (struct engine){chains_16, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (struct engine){chains_8, 8};
#endif
    return (struct engine){chains_4, 4};
}

/* Every thread works by itself until the time is over: to wait for each other would measure the scheduler. */
double mf_ceiling_flops(int threads, double seconds)
{
    struct engine engine = best_engine();
    double start = mf_now(), passes = 0;
    volatile float keep;
    float sum = 0;

#pragma omp parallel num_threads(threads) reduction(+ : sum, passes)
    do {
        sum += engine.run(0.5F, 0.25F);
        passes += 1;
    } while (mf_now() < start + seconds);
    keep = sum;
    (void)keep;
    return passes * 2.0 * 12 * ROUNDS * engine.lanes / (mf_now() - start);
}

void mf_ceiling_touch(int threads, size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
        struct mf_span part = mf_cut(n, (size_t)threads, (size_t)t);

        for (size_t i = part.first; i < part.first + part.count; ++i) {
            a[i] = 0;
            b[i] = 1;
            c[i] = 2;
        }
    }
}

/* Enough sums at a time that none waits for another. */
static float sum_of(size_t n, const float *a)
{
    enum { SUMS = 64 };
    float sum[SUMS] = {0}, all = 0;
    size_t i = 0;

    for (; i + SUMS <= n; i += SUMS)
#pragma omp simd
        for (int k = 0; k < SUMS; ++k) sum[k] += a[i + (size_t)k];
    for (; i < n; ++i) sum[0] += a[i];
    for (int k = 0; k < SUMS; ++k) all += sum[k];
    return all;
}

double mf_ceiling_read(int threads, double seconds, size_t n, const float *a)
{
    const double start = mf_now();
    double bytes = 0;
    volatile float keep;
    float sum = 0;

#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : sum, bytes)
    for (int t = 0; t < threads; ++t) {
        const struct mf_span part = mf_cut(n, (size_t)threads, (size_t)t);

        do {
            sum += sum_of(part.count, a + part.first);
            bytes += (double)(part.count * sizeof *a);
        } while (mf_now() < start + seconds);
    }
    keep = sum;
    (void)keep;
    return bytes / (mf_now() - start);
}

double mf_ceiling_memory(int threads, double seconds, size_t n, float *a, const float *b, const float *c)
{
    double start = mf_now(), bytes = 0;

#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : bytes)
    for (int t = 0; t < threads; ++t) {
        struct mf_span part = mf_cut(n, (size_t)threads, (size_t)t);

        do {
#pragma omp simd
            for (size_t i = part.first; i < part.first + part.count; ++i) a[i] = b[i] + 0.5F * c[i];
            bytes += 12.0 * (double)part.count;
        } while (mf_now() < start + seconds);
    }
    return bytes / (mf_now() - start);
}
