/* Variation of a phase's volume fraction between windows. Windows are cubes (squares) of 2, 4, 8, .. pixels that tile
 * the field from its origin; incomplete ones are left out. A rank counts the windows that begin in its slab. */
#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/desc/pairs.h"

enum { MOST = 64, EDGES = 6 };

/** Sums over windows of the voxels of a phase in them, and of their squares. */
struct sums {
    int64_t voxels, squares;
};

static size_t edges_of(const struct mf_micro *m)
{
    size_t least = MOST * 2, edges = 0;

    for (int axis = mf_axis_first(m); axis < 3; ++axis)
        if (m->slab.dims[axis] < least) least = m->slab.dims[axis];
    while (edges < EDGES && ((size_t)2 << edges) <= least / 2) ++edges;
    return edges;
}

/** Adds the windows of a layer; count: [windows along y][along x]. */
static void add_layer(const struct mf_measure_job *job, const uint8_t *label, size_t depth, size_t edge, int phase,
                      int64_t *count, struct sums *sums)
{
    const size_t ny = job->micro->slab.dims[1], nx = job->micro->slab.dims[2], wy = ny / edge, wx = nx / edge;

    for (size_t i = 0; i < wy * wx; ++i) count[i] = 0;
    for (size_t z = 0; z < depth; ++z)
        for (size_t y = 0; y < wy * edge; ++y)
            for (size_t x = 0; x < wx * edge; ++x)
                count[y / edge * wx + x / edge] += label[(z * ny + y) * nx + x] == phase;
    for (size_t i = 0; i < wy * wx; ++i) {
        sums->voxels += count[i];
        sums->squares += count[i] * count[i];
    }
}

static void add_edge(const struct mf_measure_job *job, const struct mf_reach *reach, size_t edge, int phase,
                     int64_t *count, struct sums *sums)
{
    const struct mf_slab *slab = &job->micro->slab;
    const size_t plane = slab->dims[1] * slab->dims[2], depth = job->micro->ndim == 3 ? edge : 1;

    for (size_t z = 0; z < slab->count && mf_pulse("windows") == MF_OK; ++z)
        if ((slab->first + z) % depth == 0 && slab->first + z + depth <= slab->dims[0])
            add_layer(job, reach->label + z * plane, depth, edge, phase, count, sums);
}

static struct mf_json *window_json(const struct mf_micro *m, size_t edge, const struct sums *sums)
{
    struct mf_json *one = mf_json_object();
    size_t windows = 1, size = 1;
    double number, mean;

    for (int axis = mf_axis_first(m); axis < 3; ++axis) {
        windows *= m->slab.dims[axis] / edge;
        size *= edge;
    }
    number = (double)windows * (double)size;
    mean = (double)sums->voxels / number;
    MF_JSON(one, "edge", edge, "windows", windows, "mean", mean, "variance",
            (double)sums->squares / number / (double)size - mean * mean);
    return one;
}

static void measure_phase(const struct mf_measure_job *job, const struct mf_reach *reach, size_t edges, int64_t *count,
                          int phase, struct mf_json *to)
{
    struct sums sums[EDGES] = {{0}};
    struct mf_json *all = mf_json_array();

    for (size_t e = 0; e < edges; ++e) add_edge(job, reach, (size_t)2 << e, phase, count, &sums[e]);
    mf_comm_sum_int(job->comm, (size_t)2 * EDGES, &sums[0].voxels);
    for (size_t e = 0; e < edges; ++e) mf_json_put(all, NULL, window_json(job->micro, (size_t)2 << e, &sums[e]));
    mf_json_put(to, "local_fraction", all);
}

int mf_measure_local_fraction(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    const size_t edges = edges_of(job->micro), plane = job->micro->slab.dims[1] * job->micro->slab.dims[2];
    int64_t *count = mf_arena_take(job->arena, (plane / 4 + 1) * sizeof *count, "windows");
    struct mf_measure_job open = *job;
    struct mf_reach reach = {0};
    int rc = mf_agree(job->comm, count ? MF_OK : MF_MEMORY);

    open.periodic = 0; /* windows do not cross the border */
    if (rc == MF_OK) rc = mf_reach_fetch(&open, 0, edges ? ((size_t)1 << edges) - 1 : 0, &reach);
    for (int p = 0; rc == MF_OK && p < job->micro->phases; ++p) measure_phase(job, &reach, edges, count, p, phase[p]);
    mf_reach_free(job, &reach);
    mf_arena_give(job->arena, count);
    return rc;
}

void mf_measure_local_fraction_text(FILE *to, const struct mf_json *values)
{
    for (size_t i = 0; i < mf_json_count(values); ++i) {
        const struct mf_json *one = mf_json_item(values, i);

        fprintf(to, "  in %lld windows of edge %lld: volume fraction %.6g, variance %.6g\n",
                mf_json_get_int(one, "windows"), mf_json_get_int(one, "edge"), mf_json_get_real(one, "mean"),
                mf_json_get_real(one, "variance"));
    }
}
