/* Shortest paths through a phase of slices, from the first row and column to the last. Paths go from pixel to pixel by
 * sides, not across the border (as in the measure tortuosity). */
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/count.h"
#include "src/base/err.h"

/* For each axis: pixels of the phase at the far end; the reached ones among them. Then sum and minimum of their path
 * lengths in pixels. */
enum { FAR, REACHED, SUM, LEAST, NUMBERS, SHARE = 0, MEAN, SHORTEST, ENTRIES };

static size_t numbers(size_t lag)
{
    (void)lag;
    return (size_t)2 * NUMBERS;
}

static size_t entries(size_t lag)
{
    (void)lag;
    return (size_t)2 * ENTRIES;
}

/* How far every pixel is, and the pixels in the order in which they are reached. */
static size_t room(size_t nu, size_t nv) { return 2 * nu * nv * sizeof(uint32_t); }

struct search {
    const struct mf_count_slice *slice;
    uint32_t *far, *queue; /* far: 0 not reached */
    size_t reached;
};

static void reach(struct search *s, size_t i, uint32_t far)
{
    if (!s->slice->is[i] || s->far[i]) return;
    s->far[i] = far;
    s->queue[s->reached++] = (uint32_t)i;
}

/* Pixel number k of the first, or last, line across the axis. */
static size_t end_of(const struct mf_count_slice *s, int axis, int last, size_t k)
{
    if (axis) return k * s->nv + (last ? s->nv - 1 : 0);
    return (last ? (s->nu - 1) * s->nv : 0) + k;
}

static void find_ways(struct search *s, int axis)
{
    const size_t nu = s->slice->nu, nv = s->slice->nv;

    MF_ASSERT(nv > 0);
    s->reached = 0;
    memset(s->far, 0, nu * nv * sizeof *s->far);
    for (size_t k = 0; k < (axis ? nu : nv); ++k) reach(s, end_of(s->slice, axis, 0, k), 1);
    for (size_t next = 0; next < s->reached; ++next) {
        const size_t i = s->queue[next], v = i % nv;
        const uint32_t far = s->far[i] + 1;

        if (v > 0) reach(s, i - 1, far);
        if (v + 1 < nv) reach(s, i + 1, far);
        if (i >= nv) reach(s, i - nv, far);
        if (i + nv < nu * nv) reach(s, i + nv, far);
    }
}

static void count(const struct mf_count_slice *slice, void *scratch, int64_t *number)
{
    const size_t nu = slice->nu, nv = slice->nv;
    struct search s = {.slice = slice, .far = scratch, .queue = (uint32_t *)scratch + nu * nv};

    memset(number, 0, numbers(slice->lag) * sizeof *number);
    for (int axis = 0; axis < 2; ++axis, number += NUMBERS) {
        find_ways(&s, axis);
        for (size_t k = 0; k < (axis ? nu : nv); ++k) {
            const size_t i = end_of(slice, axis, 1, k);
            const int64_t far = s.far[i];

            number[FAR] += slice->is[i];
            if (!far) continue;
            ++number[REACHED];
            number[SUM] += far;
            if (number[LEAST] == 0 || far < number[LEAST]) number[LEAST] = far;
        }
    }
}

/* Lengths over the extent; 0: there is no way through. */
static void values(const struct mf_count_slice *s, const int64_t *number, double *value)
{
    for (int axis = 0; axis < 2; ++axis, number += NUMBERS, value += ENTRIES) {
        const double length = (double)(axis ? s->nv : s->nu), reached = (double)number[REACHED];

        value[SHARE] = number[FAR] ? reached / (double)number[FAR] : 0;
        value[MEAN] = number[REACHED] ? (double)number[SUM] / reached / length : 0;
        value[SHORTEST] = (double)number[LEAST] / length;
    }
}

const struct mf_count mf_count_paths = {
    .numbers = numbers, .entries = entries, .room = room, .count = count, .values = values};

/* -- tables -- */

static size_t of_slice(const struct mf_slice_desc *d) { return mf_count_paths.entries(d->lag); }

const struct mf_slice_kind mf_kind_path = {"path", "shortest paths", of_slice, mf_cost_paths};

/* Only paths that wind through nearly all pixels of large slices are 64 times as long as those. */
static const struct mf_cpu_count path = MF_CPU_COUNT(mf_count_paths, 64);

MF_CPU_OF_FIELD(path, path);
