/* Variogram of a phase along the axes: half the mean of (x(v) - x(v + r e))^2, x its indicator. */
#include "src/base/err.h"
#include "src/desc/pairs.h"

int mf_measure_variogram(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    struct mf_pairs pairs;

    MF_TRY(mf_pairs_open(&pairs, job, 0));
    for (int p = 0; p < job->micro->phases; ++p) {
        mf_pairs_phase(&pairs, p);
        mf_pairs_count(&pairs, MF_MEET_UNLIKE);
        mf_json_put(phase[p], "variogram", mf_pairs_json(job, pairs.count, 1, 0.5, 0));
    }
    mf_pairs_close(&pairs);
    return MF_OK;
}

void mf_measure_variogram_text(FILE *to, const struct mf_json *values) { mf_pairs_text(to, "variogram", values); }
