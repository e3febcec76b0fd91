/* See set_measures.h: counts of one sample of phases. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/slices/bits.h"
#include "src/base/err.h"
#include "src/base/forest.h"
#include "src/desc/set_measures_impl.h"

size_t mf_set_entries_phases(const struct mf_set_shape *s, enum mf_set_measure measure)
{
    const size_t window = (2 * s->lag - 1) * (2 * s->lag - 1);

    switch (measure) {
    case MF_SET_FRACTION: return 1;
    case MF_SET_S2: return (s->ndim == 3 ? 3 : 1) * window;
    case MF_SET_LINEAL: return (size_t)s->ndim * (s->lag - 1);
    case MF_SET_INTERFACE: return 1;
    case MF_SET_PERCOLATES_Z: return s->ndim == 3;
    case MF_SET_PERCOLATES_Y:
    case MF_SET_PERCOLATES_X: return 1;
    default: return 0;
    }
}

/* Pairs of pixels at entry @p at of the window of slices normal to @p normal. */
static double pairs(const struct mf_set_measures *m, int normal, size_t at)
{
    const size_t lag = m->shape.lag, width = 2 * lag - 1, *n = m->shape.dims;
    const size_t u = n[normal == 0 ? 1 : 0], v = n[normal == 2 ? 1 : 2];
    const size_t du = (size_t)labs((long)(at / width) - (long)lag + 1);
    const size_t dv = (size_t)labs((long)(at % width) - (long)lag + 1);

    return (double)n[normal] * (double)(u - (m->shape.periodic ? 0 : du)) * (double)(v - (m->shape.periodic ? 0 : dv));
}

void mf_set_scale_phases(struct mf_set_measures *m)
{
    const size_t lag = m->shape.lag, window = (2 * lag - 1) * (2 * lag - 1);
    double *scale = m->scale;

    for (size_t e = 0; e < m->entries; ++e) scale[e] = 1;
    scale[m->first[MF_SET_FRACTION]] = 1 / (double)m->voxels;
    scale[m->first[MF_SET_INTERFACE]] = MF_SET_GRAIN;
    scale += m->first[MF_SET_S2];
    for (int normal = 0; normal < (m->shape.ndim == 3 ? 3 : 1); ++normal)
        for (size_t i = 0; i < window; ++i) *scale++ = 1 / pairs(m, normal, i);
    scale = m->scale + m->first[MF_SET_LINEAL];
    for (int axis = mf_set_axis_first(m); axis < 3; ++axis)
        for (size_t n = 2; n <= lag; ++n) *scale++ = 1 / mf_set_places(m, axis, n - 1);
}

/* ---- counts ---- */

static int64_t *counts(struct mf_set_measures *m, int phase, enum mf_set_measure measure)
{
    return m->count + (size_t)(phase - (m->shape.phases == 2)) * m->entries + m->first[measure];
}

/* Phase 0 of two says the same as phase 1. */
static int is_counted(const struct mf_set_measures *m, int phase) { return phase > 0 || m->shape.phases > 2; }

static int check(const struct mf_set_measures *m, const uint8_t *x)
{
    uint8_t most = 0;

    for (size_t i = 0; i < m->voxels; ++i) most = x[i] > most ? x[i] : most;
    return most < m->shape.phases ? MF_OK
                                  : mf_fail(MF_INPUT, "the value %d is none of the %d phases", most, m->shape.phases);
}

/* S2, and the fraction, which is its centre. */
static int count_pairs(struct mf_set_measures *m, const uint8_t *x)
{
    const size_t *n = m->shape.dims, words = (n[2] + 63) / 64, lag = m->shape.lag,
                 window = (2 * lag - 1) * (2 * lag - 1);
    const struct mf_bits field = {m->bits, n[0], 0, n[1], n[2], words};

    for (int p = 0; p < m->shape.phases; ++p) {
        if (!is_counted(m, p)) continue;
        mf_bits_cpu.pack(&m->queue, n[0] * n[1], n[2], x, (uint8_t)p, m->bits);
        MF_TRY(mf_bits_cpu.count(&m->queue, &field, &field, lag, m->shape.periodic, 0, n[0], m->shape.ndim == 3 ? 7 : 1,
                                 counts(m, p, MF_SET_S2)));
        *counts(m, p, MF_SET_FRACTION) = counts(m, p, MF_SET_S2)[window / 2];
    }
    return MF_OK;
}

/* A run of @p length pixels holds runs of n = 2 .. lag pixels. A line of one phase (@p closed) has one at each place.
 */
static void add_run(struct mf_set_measures *m, int axis, int phase, size_t length, int closed)
{
    const size_t lag = m->shape.lag;
    int64_t *to;

    if (!is_counted(m, phase)) return;
    to = counts(m, phase, MF_SET_LINEAL) + (size_t)(axis - mf_set_axis_first(m)) * (lag - 1);
    for (size_t n = 2; n <= lag && n <= length; ++n) to[n - 2] += (int64_t)(closed ? length : length - n + 1);
}

/* Runs of a line, and its jumps: jumps[phase] += pairs of neighbours of which one is of the phase. */
static void count_line(struct mf_set_measures *m, const uint8_t *line, int axis, int64_t *jumps)
{
    const size_t stride = mf_set_stride(m->shape.dims, axis), n = m->shape.dims[axis];
    size_t begin = 0, length = 1;

    if (m->shape.periodic) /* the line is read from where a run begins */
        while (begin < n && line[begin * stride] == line[(begin ? begin - 1 : n - 1) * stride]) ++begin;
    if (begin == n) {
        add_run(m, axis, line[0], n, 1);
        return;
    }
    for (size_t i = begin + 1; i < begin + n; ++i, ++length) {
        const uint8_t before = line[(i - 1) % n * stride], here = line[i % n * stride];

        if (here == before) continue;
        ++jumps[before];
        ++jumps[here];
        add_run(m, axis, before, length, 0);
        length = 0;
    }
    add_run(m, axis, line[(begin + n - 1) % n * stride], length, 0);
    if (!m->shape.periodic) return;
    ++jumps[line[(begin + n - 1) % n * stride]];
    ++jumps[line[begin * stride]];
}

static void count_lines(struct mf_set_measures *m, const uint8_t *x)
{
    const size_t *n = m->shape.dims;

    for (int axis = mf_set_axis_first(m); axis < 3; ++axis) {
        const size_t stride = mf_set_stride(n, axis);
        int64_t jumps[UINT8_MAX + 1] = {0};

        for (size_t i = 0; i < m->voxels; i += stride * n[axis])
            for (size_t k = 0; k < stride; ++k) count_line(m, x + i + k, axis, jumps);
        for (int p = 0; p < m->shape.phases; ++p)
            if (is_counted(m, p))
                *counts(m, p, MF_SET_INTERFACE) += llround((double)jumps[p] / mf_set_places(m, axis, 1) / MF_SET_GRAIN);
    }
}

/* Joins voxels of one phase that share a face: parent is then a voxel's first one. */
static void join(struct mf_set_measures *m, const uint8_t *x)
{
    const size_t *n = m->shape.dims;

    for (size_t i = 0; i < m->voxels; ++i) {
        const size_t at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};

        m->parent[i] = (uint32_t)i;
        for (int axis = mf_set_axis_first(m); axis < 3; ++axis) {
            const size_t before = i - (at[axis] ? mf_set_stride(n, axis) : 0);

            if (before != i && x[before] == x[i]) mf_forest_join(m->parent, before, i);
        }
    }
    for (size_t i = 0; i < m->voxels; ++i) m->parent[i] = mf_forest_root(m->parent, (uint32_t)i);
}

/* Which phases have a path from one end of the axis to the other. */
static void count_paths(struct mf_set_measures *m, const uint8_t *x, int axis)
{
    const size_t *n = m->shape.dims, stride = mf_set_stride(n, axis), last = (n[axis] - 1) * stride;

    memset(m->ends, 0, m->voxels);
    for (size_t i = 0; i < m->voxels; i += stride * n[axis])
        for (size_t k = i; k < i + stride; ++k) m->ends[m->parent[k]] = 1;
    for (size_t i = 0; i < m->voxels; i += stride * n[axis])
        for (size_t k = i + last; k < i + last + stride; ++k)
            if (m->ends[m->parent[k]] && is_counted(m, x[k]))
                *counts(m, x[k], (enum mf_set_measure)(MF_SET_PERCOLATES_Z + axis)) = 1;
}

int mf_set_count_phases(struct mf_set_measures *m, const uint8_t *x)
{
    MF_TRY(check(m, x));
    MF_TRY(count_pairs(m, x));
    count_lines(m, x);
    join(m, x);
    for (int axis = mf_set_axis_first(m); axis < 3; ++axis) count_paths(m, x, axis);
    return MF_OK;
}
