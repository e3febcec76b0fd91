/* Interface of a phase per volume (images: per area). Faces of voxels overestimate it because of their steps (by 3/2
 * for an isotropic field, 4/pi in two dimensions). Crossings of lines along the axes do not (Cauchy-Crofton: 2 N_L,
 * pi/2 N_L). */
#include "src/base/err.h"
#include "src/desc/job.h"
#include "src/desc/measure.h"

static void put(const struct mf_measure_job *job, const struct mf_jumps *jumps, struct mf_json *phase)
{
    const struct mf_micro *m = job->micro;
    const size_t *n = m->slab.dims;
    struct mf_json *values = mf_json_object();
    double voxels = (double)n[0] * (double)n[1] * (double)n[2], faces = 0, crossings = 0;
    int first = mf_axis_first(m);

    for (int a = first; a < 3; ++a) {
        double jump = (double)jumps->all[a],
               pairs = job->periodic ? voxels : voxels / (double)n[a] * (double)(n[a] - 1);

        faces += jump / voxels / m->spacing[a];
        if (pairs > 0) crossings += jump / pairs / m->spacing[a] / (3 - first);
    }
    MF_JSON(values, "faces", faces, "crofton", (m->ndim == 2 ? 1.5707963267948966 : 2) * crossings);
    mf_json_put(phase, "surface", values);
}

int mf_measure_surface(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    struct mf_jumps jumps[MF_PHASES_MAX];
    int phases = job->micro->phases;

    MF_TRY(mf_jumps_count(job->comm, job->arena, job->micro, job->periodic, 0, phases, jumps));
    for (int p = 0; p < phases; ++p) put(job, &jumps[p], phase[p]);
    return MF_OK;
}

void mf_measure_surface_text(FILE *to, const struct mf_json *values)
{
    fprintf(to, "  surface: %.6g by faces, %.6g by crossings\n", mf_json_get_real(values, "faces"),
            mf_json_get_real(values, "crofton"));
}
