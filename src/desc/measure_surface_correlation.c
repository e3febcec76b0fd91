/* Correlations of a phase's surface with itself and with the other phases. Surface voxels share a face with another
 * phase. The values are means over both directions of an axis. */
#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/desc/pairs.h"

static int is_surface(const struct mf_measure_job *job, const struct mf_reach *reach, size_t z, size_t y, size_t x)
{
    const ptrdiff_t at[3] = {(ptrdiff_t)z, (ptrdiff_t)y, (ptrdiff_t)x};
    const int phase = mf_reach_label(job, reach, at[0], at[1], at[2]);

    for (int axis = mf_axis_first(job->micro); axis < 3; ++axis)
        for (int step = -1; step <= 1; step += 2) {
            const int other = mf_reach_label(job, reach, at[0] + (axis == 0) * step, at[1] + (axis == 1) * step,
                                             at[2] + (axis == 2) * step);

            if (other >= 0 && other != phase) return 1;
        }
    return 0;
}

/** The phase's surface is ONE, its inside NONE. */
static void find_surface(struct mf_pairs *pairs, int phase)
{
    const size_t ny = pairs->job->micro->slab.dims[1], nx = pairs->job->micro->slab.dims[2];

    mf_pairs_phase(pairs, phase);
    for (size_t z = 0; z < pairs->planes && mf_pulse("surfaces") == MF_OK; ++z)
        for (size_t y = 0; y < ny; ++y)
            for (size_t x = 0; x < nx; ++x) {
                uint8_t *kind = pairs->kind + (z * ny + y) * nx + x;

                if (*kind == MF_PAIRS_ONE && !is_surface(pairs->job, &pairs->reach, z, y, x)) *kind = MF_PAIRS_NONE;
            }
}

int mf_measure_surface_correlation(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    struct mf_pairs pairs;

    MF_TRY(mf_pairs_open(&pairs, job, 1));
    for (int p = 0; p < job->micro->phases; ++p) {
        struct mf_json *values = mf_json_object();

        find_surface(&pairs, p);
        mf_pairs_count(&pairs, MF_MEET_ALIKE);
        mf_json_put(values, "surface_surface", mf_pairs_json(job, pairs.count, 1, 1, 0));
        mf_pairs_count(&pairs, MF_MEET_UNLIKE);
        mf_json_put(values, "surface_void", mf_pairs_json(job, pairs.count, 1, 0.5, 0));
        mf_json_put(phase[p], "surface_correlation", values);
    }
    mf_pairs_close(&pairs);
    return MF_OK;
}

void mf_measure_surface_correlation_text(FILE *to, const struct mf_json *values)
{
    mf_pairs_text(to, "surface-surface correlation", mf_json_get(values, "surface_surface"));
    mf_pairs_text(to, "surface-void correlation", mf_json_get(values, "surface_void"));
}
