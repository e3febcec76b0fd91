/* Slabs and a queue of the cpu back end for kernels_field and kernels_optim. */
#ifndef MF_TESTS_FIELD_CASE_H
#define MF_TESTS_FIELD_CASE_H

#include <stdlib.h>
#include <string.h>

#include "kernels/field.h"
#include "kernels/optim.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/oracle/field.h"

static const struct mf_extent cases[] = {{1, 1, 4096}, {1, 3, 65}, {1, 9, 4411},  {1, 1, 70001}, {1, 2, 131073},
                                         {2, 4, 577},  {3, 1, 1},  {3, 17, 1089}, {4, 5, 289},   {7, 3, 301}};

enum { CASES = sizeof cases / sizeof *cases };

static size_t voxels(struct mf_extent e) { return e.phases * e.planes * e.plane; }

/* Numbers in [lo, hi), from their own stream. */
static float *random_slab(struct mf_extent e, uint32_t stream, double lo, double hi)
{
    float *x = malloc(voxels(e) * sizeof *x);

    for (size_t i = 0; i < voxels(e); ++i) x[i] = (float)(lo + (hi - lo) * mf_random_uniform(7, stream, i));
    return x;
}

/* Points of the box or the simplex, a good part of them at bounds. */
static inline float *random_points(struct mf_extent e, uint32_t stream)
{
    const size_t stride = e.planes * e.plane;
    float *x = random_slab(e, stream, -0.5, 1.3);
    double v[64];

    for (size_t i = 0; i < stride; ++i) {
        for (size_t p = 0; p < e.phases; ++p) v[p] = (double)x[p * stride + i];
        oracle_project(e.phases, v);
        for (size_t p = 0; p < e.phases; ++p) x[p * stride + i] = (float)v[p];
    }
    return x;
}

static struct mf_queue *open_queue(int threads)
{
    struct mf_queue *q = NULL;

    CHECK(mf_backend_cpu.queue_open(&q, 0, threads, 1, NULL, NULL) == MF_OK);
    return q;
}

/* sum over the phases of one plane of x y, in double. */
static double plane_dot(struct mf_extent e, size_t plane, const float *x, const float *y)
{
    double sum = 0;

    for (size_t p = 0; p < e.phases; ++p)
        for (size_t i = 0; i < e.plane; ++i) {
            const size_t at = (p * e.planes + plane) * e.plane + i;

            sum += (double)x[at] * (double)y[at];
        }
    return sum;
}

#endif
