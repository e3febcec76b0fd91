/* Autocovariance of a phase along the axes. It is the mean of x(v) x(v + r e), minus the squared volume fraction. Here
 * x is the phase's indicator. */
#include "src/base/err.h"
#include "src/desc/pairs.h"

int mf_measure_autocovariance(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    struct mf_pairs pairs;

    MF_TRY(mf_pairs_open(&pairs, job, 0));
    for (int p = 0; p < job->micro->phases; ++p) {
        double fraction;

        mf_pairs_phase(&pairs, p);
        mf_pairs_count(&pairs, MF_MEET_ALIKE);
        fraction = mf_pairs_share(&pairs);
        mf_json_put(phase[p], "autocovariance", mf_pairs_json(job, pairs.count, 1, 1, fraction * fraction));
    }
    mf_pairs_close(&pairs);
    return MF_OK;
}

void mf_measure_autocovariance_text(FILE *to, const struct mf_json *values)
{
    mf_pairs_text(to, "autocovariance", values);
}
