/* Clusters of slices: pixels connected by sides, across a periodic border too. Values: the probability that two pixels
 * along the axes are in one cluster; the number of clusters; the largest; the spanning share. Spanning ignores
 * connections across the border. */
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/count.h"
#include "kernels/form/axes.h"
#include "src/base/forest.h"

/* -- which cluster a pixel is of -- */

/* A pixel follows its left neighbour; where those above both are in as well, they are joined already. */
static void join_neighbours(const struct mf_count_slice *s, int periodic, uint32_t *parent)
{
    const size_t nu = s->nu, nv = s->nv;

    for (size_t u = 0, i = 0; u < nu; ++u)
        for (size_t v = 0; v < nv; ++v, ++i) {
            const int left = v > 0 && s->is[i - 1];

            parent[i] = left ? parent[i - 1] : (uint32_t)i;
            if (!s->is[i]) parent[i] = (uint32_t)i;
            if (s->is[i] && u > 0 && s->is[i - nv] && !(left && s->is[i - nv - 1])) mf_forest_join(parent, i, i - nv);
        }
    for (size_t u = 0; periodic && u < nu; ++u)
        if (s->is[u * nv] && s->is[u * nv + nv - 1]) mf_forest_join(parent, u * nv, u * nv + nv - 1);
    for (size_t v = 0; periodic && v < nv; ++v)
        if (s->is[v] && s->is[(nu - 1) * nv + v]) mf_forest_join(parent, v, (nu - 1) * nv + v);
}

/* id [nu][nv]: 1 + the first pixel of its cluster; 0: not of the phase. */
static void find_clusters(const struct mf_count_slice *s, int periodic, uint32_t *id)
{
    join_neighbours(s, periodic, id);
    for (size_t i = 0; i < s->nu * s->nv; ++i) id[i] = !s->is[i] ? 0 : id[i] == i ? (uint32_t)i + 1 : id[id[i]];
}

/* -- cluster function -- */

static size_t function_numbers(size_t lag) { return 2 * lag; }

static size_t function_room(size_t nu, size_t nv) { return nu * nv * sizeof(uint32_t); }

MF_CPU_FAST static int64_t alike(const uint32_t *restrict a, const uint32_t *restrict b, size_t n)
{
    uint32_t count = 0;

    for (size_t i = 0; i < n; ++i) count += (a[i] == b[i]) & (a[i] != 0);
    return count;
}

static int64_t alike_along(const struct mf_count_slice *s, const uint32_t *id, int axis, size_t r)
{
    const size_t nu = s->nu, nv = s->nv;
    int64_t count = 0;

    if (r >= (axis ? nv : nu)) return 0;
    if (axis == 0)
        return alike(id, id + r * nv, (nu - r) * nv) + (s->periodic ? alike(id + (nu - r) * nv, id, r * nv) : 0);
    for (const uint32_t *row = id; row < id + nu * nv; row += nv)
        count += alike(row, row + r, nv - r) + (s->periodic ? alike(row + nv - r, row, r) : 0);
    return count;
}

static void count_function(const struct mf_count_slice *s, void *scratch, int64_t *number)
{
    uint32_t *id = scratch;

    find_clusters(s, s->periodic, id);
    for (int axis = 0; axis < 2; ++axis)
        for (size_t r = 0; r < s->lag; ++r) number[(size_t)axis * s->lag + r] = alike_along(s, id, axis, r);
}

static void function_values(const struct mf_count_slice *s, const int64_t *number, double *value)
{
    for (int axis = 0; axis < 2; ++axis)
        for (size_t r = 0; r < s->lag; ++r) {
            const size_t at = (size_t)axis * s->lag + r;
            const double places = mf_axes_places(s->periodic, s->nu, s->nv, axis, r);

            value[at] = places > 0 ? (double)number[at] / places : 0;
        }
}

const struct mf_count mf_count_cluster_function = {.numbers = function_numbers,
                                                   .entries = function_numbers,
                                                   .room = function_room,
                                                   .count = count_function,
                                                   .values = function_values};

/* -- clusters -- */

/* SPANS + axis: pixels of clusters that reach from one end of the axis to the other. */
enum { CLUSTERS, LARGEST, SPANS, PIXELS = SPANS + 2, NUMBERS };

static size_t numbers(size_t lag)
{
    (void)lag;
    return NUMBERS;
}

static size_t entries(size_t lag)
{
    (void)lag;
    return PIXELS;
}

/* Clusters of pixels, and how many pixels or which ends a cluster has. */
static size_t room(size_t nu, size_t nv) { return 2 * nu * nv * sizeof(uint32_t); }

/* A bit for each end of each axis. */
static void find_ends(const struct mf_count_slice *s, const uint32_t *id, uint32_t *ends)
{
    const size_t nu = s->nu, nv = s->nv;

    memset(ends, 0, nu * nv * sizeof *ends);
    for (size_t v = 0; v < nv; ++v) {
        const uint32_t first = id[v], last = id[(nu - 1) * nv + v];

        if (first) ends[first - 1] |= 1;
        if (last) ends[last - 1] |= 2;
    }
    for (size_t u = 0; u < nu; ++u) {
        const uint32_t first = id[u * nv], last = id[u * nv + nv - 1];

        if (first) ends[first - 1] |= 4;
        if (last) ends[last - 1] |= 8;
    }
}

static void count_spanning(const struct mf_count_slice *s, const uint32_t *id, uint32_t *ends, int64_t *number)
{
    find_ends(s, id, ends);
    for (size_t i = 0; i < s->nu * s->nv; ++i) {
        const unsigned has = id[i] ? ends[id[i] - 1] : 0;

        number[SPANS] += (has & 3) == 3;
        number[SPANS + 1] += (has & 12) == 12;
    }
}

static void count_sizes(const struct mf_count_slice *s, const uint32_t *id, uint32_t *size, int64_t *number)
{
    memset(size, 0, s->nu * s->nv * sizeof *size);
    for (size_t i = 0; i < s->nu * s->nv; ++i) {
        if (!id[i]) continue;
        ++number[PIXELS];
        number[CLUSTERS] += id[i] == i + 1;
        if (++size[id[i] - 1] > number[LARGEST]) number[LARGEST] = size[id[i] - 1];
    }
}

static void count(const struct mf_count_slice *s, void *scratch, int64_t *number)
{
    uint32_t *id = scratch, *of_each = id + s->nu * s->nv;

    memset(number, 0, NUMBERS * sizeof *number);
    find_clusters(s, 0, id);
    count_spanning(s, id, of_each, number);
    if (s->periodic) find_clusters(s, 1, id);
    count_sizes(s, id, of_each, number);
}

/* Values: the number of clusters in L x L pixels; the largest, over the slice; the shares of the phase that span. */
static void values(const struct mf_count_slice *s, const int64_t *number, double *value)
{
    const double pixels = (double)s->nu * (double)s->nv, phase = number[PIXELS] ? (double)number[PIXELS] : 1;

    value[CLUSTERS] = (double)number[CLUSTERS] * (double)s->lag * (double)s->lag / pixels;
    value[LARGEST] = (double)number[LARGEST] / pixels;
    value[SPANS] = (double)number[SPANS] / phase;
    value[SPANS + 1] = (double)number[SPANS + 1] / phase;
}

const struct mf_count mf_count_clusters = {
    .numbers = numbers, .entries = entries, .room = room, .count = count, .values = values};

/* -- tables -- */

static size_t cluster_function_entries(const struct mf_slice_desc *d)
{
    return mf_count_cluster_function.entries(d->lag);
}
static size_t cluster_entries(const struct mf_slice_desc *d) { return mf_count_clusters.entries(d->lag); }

const struct mf_slice_kind mf_kind_cluster_function = {"cluster_function", "cluster functions",
                                                       cluster_function_entries, mf_cost_cluster_function};
const struct mf_slice_kind mf_kind_cluster = {"cluster", "clusters", cluster_entries, mf_cost_clusters};

static const struct mf_cpu_count cluster_function = MF_CPU_COUNT(mf_count_cluster_function, 1);
/* There are at most L^2 / 2 clusters in L x L pixels; sums over slices below 2^25 in total are exact. */
static const struct mf_cpu_count cluster = MF_CPU_COUNT(mf_count_clusters, 1 << 10);

MF_CPU_OF_FIELD(cluster_function, cluster_function);
MF_CPU_OF_FIELD(cluster, cluster);
