/* The same work on two back ends: cpu says what is right, cuda is what MF_CUDA_LIBRARY names (tests/emu). With
 * MF_TEST_DEVICE another back end stands in its place. */
#ifndef MF_TESTS_CUDA_CASE_H
#define MF_TESTS_CUDA_CASE_H

#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/field.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

struct side {
    const struct mf_backend *be;
    struct mf_arena *device, *host;
    struct mf_queue *q;
};

enum { SIDES = 2 };

static inline struct side side_open(const char *name)
{
    struct side s = {NULL, NULL, NULL, NULL};
    const char *other = getenv("MF_TEST_DEVICE");

    if (other && strcmp(name, "cuda") == 0) name = other;
    if (mf_backend_find(&s.be, name) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        exit(1);
    }
    CHECK(mf_arena_open(&s.device, s.be->mem, 0) == MF_OK);
    CHECK(mf_arena_open(&s.host, s.be->host_mem, 0) == MF_OK);
    CHECK(s.be->queue_open(&s.q, 0, 2, 1, s.device, s.host) == MF_OK);
    return s;
}

static inline void side_close(struct side *s)
{
    s->be->queue_close(s->q);
    mf_arena_close(s->device);
    mf_arena_close(s->host);
}

/* A copy of x in device memory. */
static inline float *up(struct side *s, size_t n, const float *x)
{
    float *device = mf_arena_take(s->device, n * sizeof *x, "test");

    s->be->put(s->q, device, x, n * sizeof *x);
    return device;
}

/* Device memory comes to the host, and is given back; caller frees. */
static inline float *down(struct side *s, size_t n, float *device)
{
    float *x = malloc(n * sizeof *x);

    s->be->get(s->q, x, device, n * sizeof *x);
    mf_arena_give(s->device, device);
    return x;
}

/* Host memory that kernels write, of zeros. */
static inline double *sums_new(struct side *s, size_t n) { return mf_arena_zeros(s->host, n, sizeof(double), "test"); }

static inline float *random_floats(size_t n, uint32_t stream, double lo, double hi)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; ++i) x[i] = (float)(lo + (hi - lo) * mf_random_uniform(7, stream, i));
    return x;
}

/* Root of the mean squared difference, relative to b's. */
static inline double away(size_t n, const float *a, const float *b)
{
    double wrong = 0, norm = 0;

    for (size_t i = 0; i < n; ++i) {
        wrong += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return isfinite(wrong) ? sqrt(wrong / (norm > 0 ? norm : 1)) : INFINITY;
}

static inline double away_sums(size_t n, const double *a, const double *b)
{
    double wrong = 0, norm = 0;

    for (size_t i = 0; i < n; ++i) {
        wrong += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return isfinite(wrong) ? sqrt(wrong / (norm > 0 ? norm : 1)) : INFINITY;
}

#endif
