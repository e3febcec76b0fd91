/* Surface correlations and chords of slices (form/axes.h): counts, without a gradient. A pixel is in the phase where it
 * is above one half; on labels that is exact.
 *   D = count / largest possible count (if that is 0: 0) */
#include <stdint.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/packed.h"
#include "kernels/form/axes.h"
#include "src/base/err.h"

static int is_in(float x) { return x > 0.5f; }

/* -- surfaces -- */

/* Scratch: the kinds of all pixels, a byte each. */
static int surface_open(struct mf_slice_plan *plan)
{
    plan->scratch = plan->desc.nu * plan->desc.nv / sizeof(float) + 1;
    return MF_OK;
}

/* Is the pixel beside number i of n, at @p step from it, not in the phase? Outside there is none. */
static int is_other(const float *x, size_t i, size_t n, size_t stride, int periodic, int step)
{
    const size_t last = step > 0 ? n - 1 : 0;
    const ptrdiff_t s = (ptrdiff_t)stride;

    if (i != last) return !is_in(*(x + step * s));
    return periodic && !is_in(*(x - step * (ptrdiff_t)(n - 1) * s));
}

static uint8_t kind_of(const struct mf_cpu_level *level, int periodic, size_t u, size_t v)
{
    const float *x = level->x + u * level->nv + v;

    if (!is_in(*x)) return MF_AXES_OTHER;
    for (int step = -1; step <= 1; step += 2)
        if (is_other(x, u, level->nu, level->nv, periodic, step) || is_other(x, v, level->nv, 1, periodic, step))
            return MF_AXES_SURFACE;
    return MF_AXES_INSIDE;
}

/* Pairs a[i], b[i]: two of the surface; one of it and one that is not of the phase. */
MF_CPU_FAST static void meet(const uint8_t *restrict a, const uint8_t *restrict b, size_t n, int64_t count[2])
{
    int32_t alike = 0, unlike = 0;

    for (size_t i = 0; i < n; ++i) {
        alike += (a[i] & b[i] & MF_AXES_SURFACE) != 0;
        unlike += (a[i] | b[i]) == (MF_AXES_SURFACE | MF_AXES_OTHER);
    }
    count[MF_AXES_ALIKE] += alike;
    count[MF_AXES_UNLIKE] += unlike;
}

static void meet_along(const struct mf_cpu_level *level, int periodic, const uint8_t *kind, int axis, size_t r,
                       int64_t count[2])
{
    const size_t nu = level->nu, nv = level->nv;

    if (r >= (axis ? nv : nu)) return;
    if (axis == 0) {
        meet(kind, kind + r * nv, (nu - r) * nv, count);
        if (periodic) meet(kind + (nu - r) * nv, kind, r * nv, count);
        return;
    }
    for (const uint8_t *row = kind; row < kind + nu * nv; row += nv) {
        meet(row, row + r, nv - r, count);
        if (periodic) meet(row + nv - r, row, r, count);
    }
}

static void surface_value(const struct mf_cpu_job *job, double *d)
{
    const struct mf_cpu_level *level = job->level;
    const int periodic = job->plan->desc.periodic;
    const size_t lag = job->plan->desc.lag;
    uint8_t *kind = (uint8_t *)job->scratch;

    for (size_t u = 0; u < level->nu; ++u)
        for (size_t v = 0; v < level->nv; ++v) kind[u * level->nv + v] = kind_of(level, periodic, u, v);
    for (int axis = 0; axis < 2; ++axis)
        for (size_t r = 0; r < lag; ++r) {
            const double places = mf_axes_places(periodic, level->nu, level->nv, axis, r);
            int64_t count[2] = {0, 0};

            meet_along(level, periodic, kind, axis, r, count);
            for (enum mf_axes_meet m = MF_AXES_ALIKE; m <= MF_AXES_UNLIKE; ++m)
                d[mf_surface_entry(lag, m, axis, r)] = places > 0 ? mf_surface_share(m) * (double)count[m] / places : 0;
        }
}

/* -- chords -- */

static int chord_open(struct mf_slice_plan *plan)
{
    plan->scratch = 0;
    return MF_OK;
}

/* d[n - 1] += 1 for every chord of n <= most pixels of a line. A line that closes is read from where it changes. */
static void count_line(const float *x, size_t stride, size_t n, int periodic, size_t most, double *d)
{
    size_t first = 0, begin = n;

    if (periodic)
        while (first < n && is_in(x[first * stride]) == is_in(x[(first + n - 1) % n * stride])) ++first;
    if (first == n) return;
    for (size_t k = !periodic; k < n + (size_t)periodic; ++k) {
        const int was = is_in(x[(first + k + n - 1) % n * stride]);

        if (was == is_in(x[(first + k) % n * stride])) continue;
        if (was && begin < n && k - begin <= most) d[k - begin - 1] += 1;
        begin = k;
    }
}

static void chord_value(const struct mf_cpu_job *job, double *d)
{
    const struct mf_cpu_level *level = job->level;
    const int periodic = job->plan->desc.periodic;
    const size_t lag = job->plan->desc.lag, most = mf_chord_longest(lag), nu = level->nu, nv = level->nv;

    memset(d, 0, mf_chord_entries(lag) * sizeof *d);
    for (size_t v = 0; v < nv; ++v) count_line(level->x + v, nv, nu, periodic, most, d + mf_chord_entry(lag, 0, 1));
    for (size_t u = 0; u < nu; ++u) count_line(level->x + u * nv, 1, nv, periodic, most, d + mf_chord_entry(lag, 1, 1));
    for (int axis = 0; axis < 2; ++axis)
        for (size_t n = 1; n <= most; ++n) {
            const double places = mf_axes_places(periodic, nu, nv, axis, n + 1);

            d[mf_chord_entry(lag, axis, n)] *= places > 0 ? 1 / places : 0;
        }
}

/* -- tables -- */

static void close_plan(struct mf_slice_plan *plan) { (void)plan; }

static const struct mf_cpu_family surface = {surface_open, close_plan, surface_value, NULL, 0, 0};
static const struct mf_cpu_family chord = {chord_open, close_plan, chord_value, NULL, 0, 0};

static size_t surface_entries(const struct mf_slice_desc *d) { return mf_surface_entries(d->lag); }
static size_t chord_entries(const struct mf_slice_desc *d) { return mf_chord_entries(d->lag); }

const struct mf_slice_kind mf_kind_surface = {"surface", "surface correlations", surface_entries, mf_cost_surface};
const struct mf_slice_kind mf_kind_chord = {"chord", "chords", chord_entries, mf_cost_chords};

MF_CPU_OF_FIELD(surface, surface);
MF_CPU_OF_FIELD(chord, chord);
