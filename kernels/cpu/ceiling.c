/* See kernels/ceiling.h. */
#include "kernels/ceiling.h"

#include <stdint.h>

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
CHAINS(chains_16, __attribute__((target("avx512f,fma,prefer-vector-width=512"))), 16, 12)
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

double mf_ceiling_flops(int threads, double seconds)
{
    struct engine engine = best_engine();
    double start = mf_now(), done = 0, per_pass = 2.0 * 12 * ROUNDS * engine.lanes * threads;
    volatile float keep = 0;

    do {
        float sum = 0;

#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : sum)
        for (int i = 0; i < threads; ++i) sum += engine.run(0.5F + 1e-7F * (float)i, 0.25F);
        keep = keep + sum;
        done += per_pass;
    } while (mf_now() < start + seconds);
    return done / (mf_now() - start);
}

void mf_ceiling_touch(int threads, size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < n; ++i) {
        a[i] = 0;
        b[i] = 1;
        c[i] = 2;
    }
}

double mf_ceiling_memory(int threads, double seconds, size_t n, float *a, const float *b, const float *c)
{
    double start = mf_now(), done = 0;

    do {
#pragma omp parallel for simd num_threads(threads) schedule(static)
        for (size_t i = 0; i < n; ++i) a[i] = b[i] + 0.5F * c[i];
        done += 12.0 * (double)n;
    } while (mf_now() < start + seconds);
    return done / (mf_now() - start);
}
