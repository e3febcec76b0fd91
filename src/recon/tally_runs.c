/* See tally_impl.h: voxels of a phase, and straight runs of 2c + 1 of its pixels, c = 0 .. L, along the axes and
 * diagonals of a slice. */
#include "src/recon/tally_impl.h"

/* -- voxels -- */

static void voxels_inverse(const struct mf_tally *t, size_t d, double *inverse)
{
    *inverse = 1 / ((double)t->field->dims[mf_slice_u(d)] * (double)t->field->dims[mf_slice_v(d)]);
}

static void count_voxel(const struct mf_tally *t, const struct mf_pixel *p, int64_t *count)
{
    (void)t;
    (void)p;
    ++*count;
}

static void add_voxel(const struct mf_tally *t, const struct mf_pixel *p, int sign, int64_t *count)
{
    (void)t;
    (void)p;
    *count += sign;
}

/* An image keeps its voxels. */
const struct mf_counted mf_counted_frac = {
    .of_volumes = 1, .inverse = voxels_inverse, .count = count_voxel, .add = add_voxel};

/* -- runs -- */

enum { DIRECTIONS = 4 };

/* Steps along the rows and columns of a slice, in the order of the entries. */
static const int along[DIRECTIONS][2] = {{1, 1}, {1, -1}, {0, 1}, {1, 0}};

/* Of runs of 2c + 1 pixels, c > 0; entry 0 is a pixel by itself. */
static size_t entry(size_t c, int direction) { return 1 + DIRECTIONS * (c - 1) + (size_t)direction; }

/* How many runs of n pixels along a direction a slice has. */
static double runs_of(const struct mf_tally *t, size_t d, size_t n, int direction)
{
    double rows = (double)t->field->dims[mf_slice_u(d)], columns = (double)t->field->dims[mf_slice_v(d)];

    if (t->field->periodic) return rows * columns;
    if (along[direction][0]) rows -= (double)(n - 1);
    if (along[direction][1]) columns -= (double)(n - 1);
    return rows > 0 && columns > 0 ? rows * columns : 0;
}

static void runs_inverse(const struct mf_tally *t, size_t d, double *inverse)
{
    voxels_inverse(t, d, inverse);
    for (size_t c = 1; c <= t->lag; ++c)
        for (int k = 0; k < DIRECTIONS; ++k) {
            const double runs = runs_of(t, d, 2 * c + 1, k);

            inverse[entry(c, k)] = runs > 0 ? 1 / runs : 0;
        }
}

/* How many pixels next to this one are of its phase, at most @p most. */
static size_t reach(struct mf_pixel p, int du, int dv, size_t most)
{
    const uint8_t phase = *p.label;

    for (size_t k = 0; k < most; ++k)
        if (!mf_pixel_go(&p, 0, du) || !mf_pixel_go(&p, 1, dv) || *p.label != phase) return k;
    return most;
}

static void count_runs(const struct mf_tally *t, const struct mf_pixel *p, int64_t *count)
{
    ++count[0];
    for (int k = 0; k < DIRECTIONS; ++k) {
        const size_t ahead = reach(*p, along[k][0], along[k][1], 2 * t->lag);

        for (size_t c = 1; 2 * c <= ahead; ++c) ++count[entry(c, k)];
    }
}

/* The runs that contain this pixel. If an axis is as short as the longest run, a periodic line has fewer runs than
 * positions in one. */
static void add_along(const struct mf_tally *t, const struct mf_pixel *p, int direction, int sign, int64_t *count)
{
    const int du = along[direction][0], dv = along[direction][1];
    const size_t most = 2 * t->lag, behind = reach(*p, -du, -dv, most), ahead = reach(*p, du, dv, most);

    for (size_t c = 1; c <= t->lag && 2 * c <= behind + ahead; ++c) {
        const size_t first = 2 * c > ahead ? 2 * c - ahead : 0, last = 2 * c < behind ? 2 * c : behind;
        size_t runs = last - first + 1;

        if (p->periodic && runs > most) {
            const size_t around = !dv ? p->nu : !du ? p->nv : p->nu > p->nv ? p->nu : p->nv;

            if (runs > around && (!du || !dv || p->nu == p->nv)) runs = around;
        }
        count[entry(c, direction)] += sign * (int64_t)runs;
    }
}

static void add_runs(const struct mf_tally *t, const struct mf_pixel *p, int sign, int64_t *count)
{
    count[0] += sign;
    for (int k = 0; k < DIRECTIONS; ++k) add_along(t, p, k, sign, count);
}

const struct mf_counted mf_counted_lineal_exact = {.inverse = runs_inverse, .count = count_runs, .add = add_runs};
