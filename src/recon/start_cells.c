/* Cells of an image: see start.h. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/recon/start.h"

enum { POINT = 0x6365 };

struct point {
    double y, x;
};

/* The nearest way from one place to another across the borders, squared; and that way. */
static double way(const struct point *to, double y, double x, const size_t dims[3], struct point *way)
{
    const double ny = (double)dims[1], nx = (double)dims[2];

    way->y = to->y - y;
    way->x = to->x - x;
    way->y -= ny * round(way->y / ny);
    way->x -= nx * round(way->x / nx);
    return way->y * way->y + way->x * way->x;
}

/* How far (y, x) is from where its two nearest points are equally near. */
static double from_wall(const struct point *point, size_t n, const size_t dims[3], double y, double x)
{
    double near = INFINITY, next = INFINITY;
    struct point a = {0, 0}, b = {0, 0};

    for (size_t i = 0; i < n; ++i) {
        struct point here;
        const double far = way(&point[i], y, x, dims, &here);

        if (far < near) {
            next = near;
            b = a;
            near = far;
            a = here;
        } else if (far < next) {
            next = far;
            b = here;
        }
    }
    return (next - near) / (2 * hypot(a.y - b.y, a.x - b.x));
}

static struct point *scatter(size_t n, const size_t dims[3], uint64_t seed)
{
    struct point *point = malloc(n * sizeof *point);

    if (!point) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %zu points", n);
    for (size_t i = 0; i < n; ++i)
        point[i] = (struct point){(double)dims[1] * mf_random_uniform(seed, POINT, 2 * i),
                                  (double)dims[2] * mf_random_uniform(seed, POINT, 2 * i + 1)};
    return point;
}

/* Walls between random points have 2 sqrt(wanted) of length a pixel. */
size_t mf_start_cells(const struct mf_slab *slab, size_t fields, const double *fraction, double wanted, uint64_t seed,
                      const struct mf_stage *stage, float *x)
{
    const size_t plane = slab->dims[1] * slab->dims[2], n = (size_t)llround(wanted * (double)plane);
    const double share = fraction[fields - 1], rare = fmin(share, 1 - share), half = rare / (4 * sqrt(wanted));
    struct point *point;

    MF_ASSERT(fields <= 2 && slab->dims[0] == 1);
    if (n < MF_START_CELLS) return 0;
    if (slab->count == 0) return n;
    point = scatter(n, slab->dims, seed);
    for (size_t p = 0; p < fields; ++p) {
        const int walls = (p + 1 == fields) == (share < 0.5);
        float *at = mf_stage_at(stage, x + p * plane);

        for (size_t i = 0; i < plane; ++i) {
            const size_t u = i / slab->dims[2], v = i % slab->dims[2];
            const double far = from_wall(point, n, slab->dims, (double)u + 0.5, (double)v + 0.5);
            const double wall = fmin(1, fmax(0, half + 0.5 - far));

            at[i] = (float)(walls ? wall : 1 - wall);
        }
        mf_stage_put(stage, x + p * plane, 1);
    }
    free(point);
    return n;
}
