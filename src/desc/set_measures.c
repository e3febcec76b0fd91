/* See set_measures.h: sums over samples. */
#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/set_measures_impl.h"

const struct mf_set_fact mf_set_facts[MF_SET_MEASURES] = {
    [MF_SET_FRACTION] = {"volume_fraction", "volume fraction", 0, 0},
    [MF_SET_S2] = {"s2", "S2", 1, 0},
    [MF_SET_LINEAL] = {"lineal_path", "lineal path", 1, 0},
    [MF_SET_INTERFACE] = {"interface_density", "interface density", 0, 0},
    [MF_SET_PERCOLATES_Z] = {"percolates_z", "percolates along z", 0, 1},
    [MF_SET_PERCOLATES_Y] = {"percolates_y", "percolates along y", 0, 1},
    [MF_SET_PERCOLATES_X] = {"percolates_x", "percolates along x", 0, 1},
    [MF_SET_MEAN] = {"mean", "mean", 0, 0},
    [MF_SET_DEVIATION] = {"deviation", "deviation", 0, 0},
    [MF_SET_HISTOGRAM] = {"histogram", "histogram", 1, 1},
    [MF_SET_AUTOCORRELATION] = {"autocorrelation", "autocorrelation", 1, 0}};

size_t mf_set_lag_max(int ndim, const size_t dims[3])
{
    size_t least = dims[2];

    for (int a = 3 - ndim; a < 2; ++a) least = dims[a] < least ? dims[a] : least;
    return least / 2;
}

/* ---- memory ---- */

static void lay(struct mf_set_measures *m)
{
    const struct mf_set_shape *s = &m->shape;

    m->voxels = s->dims[0] * s->dims[1] * s->dims[2];
    m->parts = s->phases == 2 ? 1 : s->phases ? (size_t)s->phases : s->channels;
    for (enum mf_set_measure i = 0; i < MF_SET_MEASURES; ++i)
        m->first[i + 1] = m->first[i] + (s->phases ? mf_set_entries_phases(s, i) : mf_set_entries_values(s, i));
    m->entries = m->first[MF_SET_MEASURES];
}

static size_t totals(const struct mf_set_measures *m) { return m->parts * (m->entries + MF_SET_MEASURES); }

static int take(struct mf_set_measures *m)
{
    struct mf_arena *arena = m->queue.host;
    const size_t rows = m->shape.dims[0] * m->shape.dims[1], words = (m->shape.dims[2] + 63) / 64;

    m->scale = mf_arena_zeros(arena, m->entries, sizeof *m->scale, "statistics");
    m->count = mf_arena_zeros(arena, m->parts * m->entries, sizeof *m->count, "statistics");
    m->total = mf_arena_zeros(arena, totals(m), sizeof *m->total, "statistics");
    if (!m->scale || !m->count || !m->total) return MF_MEMORY;
    if (!m->shape.phases) {
        m->value = mf_arena_take(arena, m->voxels * sizeof *m->value, "statistics");
        return m->value ? MF_OK : MF_MEMORY;
    }
    m->parent = mf_arena_take(arena, m->voxels * sizeof *m->parent, "statistics");
    m->ends = mf_arena_take(arena, m->voxels, "statistics");
    m->bits = mf_arena_take(arena, rows * words * sizeof *m->bits, "statistics");
    return m->parent && m->ends && m->bits ? MF_OK : MF_MEMORY;
}

int mf_set_measures_begin(const struct mf_queue *queue, const struct mf_set_shape *shape,
                          struct mf_set_measures **measures)
{
    const size_t most = mf_set_lag_max(shape->ndim, shape->dims);
    struct mf_set_measures *m;
    int rc;

    if (shape->lag < 1 || shape->lag > most)
        return mf_fail(MF_USAGE, "distances below %zu pixels do not fit into half of a sample; the largest is %zu",
                       shape->lag, most);
    m = mf_arena_zeros(queue->host, 1, sizeof *m, "statistics");
    if (!m) return MF_MEMORY;
    m->shape = *shape;
    m->queue = *queue;
    m->queue.threads = 1;
    for (size_t c = 0; !shape->phases && c < shape->channels; ++c) {
        m->low[c] = shape->low[c];
        m->high[c] = shape->high[c];
    }
    lay(m);
    rc = take(m);
    if (rc != MF_OK) {
        mf_set_measures_end(m);
        return rc;
    }
    (shape->phases ? mf_set_scale_phases : mf_set_scale_values)(m);
    *measures = m;
    return MF_OK;
}

void mf_set_measures_end(struct mf_set_measures *m)
{
    struct mf_arena *arena;

    if (!m) return;
    arena = m->queue.host;
    mf_arena_give(arena, m->value);
    mf_arena_give(arena, m->bits);
    mf_arena_give(arena, m->ends);
    mf_arena_give(arena, m->parent);
    mf_arena_give(arena, m->total);
    mf_arena_give(arena, m->count);
    mf_arena_give(arena, m->scale);
    mf_arena_give(arena, m);
}

/* ---- samples ---- */

/* The mean square of a measure's values, in grains. */
static int64_t square_of(const struct mf_set_measures *m, const int64_t *count, enum mf_set_measure measure)
{
    const size_t first = m->first[measure], end = m->first[measure + 1];
    double sum = 0;

    for (size_t e = first; e < end; ++e) {
        const double value = (double)count[e] * m->scale[e];

        sum += value * value;
    }
    return end > first ? llround(sum / (double)(end - first) / MF_SET_GRAIN) : 0;
}

int mf_set_measures_add(struct mf_set_measures *m, const void *x)
{
    memset(m->count, 0, m->parts * m->entries * sizeof *m->count);
    MF_TRY(m->shape.phases ? mf_set_count_phases(m, x) : mf_set_count_values(m, x));
    for (size_t p = 0; p < m->parts; ++p) {
        const int64_t *count = m->count + p * m->entries;
        int64_t *total = m->total + p * (m->entries + MF_SET_MEASURES);

        for (size_t e = 0; e < m->entries; ++e) total[e] += count[e];
        for (enum mf_set_measure i = 0; i < MF_SET_MEASURES; ++i) total[m->entries + i] += square_of(m, count, i);
    }
    ++m->samples;
    return MF_OK;
}

void mf_set_measures_join(struct mf_set_measures *to, const struct mf_set_measures *from)
{
    MF_ASSERT(totals(to) == totals(from));
    for (size_t i = 0; i < totals(to); ++i) to->total[i] += from->total[i];
    to->samples += from->samples;
}

void mf_set_measures_sum(const struct mf_comm *comm, struct mf_set_measures *m)
{
    mf_comm_sum_int(comm, totals(m), m->total);
    mf_comm_sum_int(comm, 1, &m->samples);
}

/* ---- facts ---- */

size_t mf_set_measures_samples(const struct mf_set_measures *m) { return (size_t)m->samples; }
size_t mf_set_measures_parts(const struct mf_set_measures *m) { return m->parts; }
size_t mf_set_measures_first(const struct mf_set_measures *m) { return m->shape.phases == 2; }

size_t mf_set_measures_entries(const struct mf_set_measures *m, enum mf_set_measure measure)
{
    return m->first[measure + 1] - m->first[measure];
}

void mf_set_measures_mean(const struct mf_set_measures *m, size_t part, enum mf_set_measure measure, double *value)
{
    const int64_t *total = m->total + part * (m->entries + MF_SET_MEASURES);

    for (size_t e = m->first[measure]; e < m->first[measure + 1]; ++e)
        *value++ = (double)total[e] * m->scale[e] / (double)m->samples;
}

double mf_set_measures_last(const struct mf_set_measures *m, size_t part, enum mf_set_measure measure)
{
    const size_t e = m->first[measure];

    return (double)m->count[part * m->entries + e] * m->scale[e];
}
