/* What a plan prices: soft two-point correlations are less work on cores, which take a few fields, than on a device,
 * which makes a pass for every lag; of few lags and of steep thresholds they are the same on both. */
#include "src/recon/task.h"

#include "src/base/err.h"
#include "tests/check.h"

static struct mf_recon_work work_of(size_t lag, double steepness)
{
    static const size_t dims[3] = {1, 64, 64};
    struct mf_solve_opts opts = {.objective = {.terms = 1, .periodic = 1}};
    struct mf_target target;
    struct mf_recon_work work = {.dims = dims, .target = &target, .opts = &opts};

    CHECK(mf_descriptor_find(&opts.objective.term[0].row, "TwoPointCorrelations") == MF_OK);
    CHECK(mf_method_find(&opts.method.method, "SPG") == MF_OK);
    CHECK(mf_recon_nominal_target(dims, 2, lag, 1, mf_descriptor_wants(opts.objective.term[0].row), &target) == MF_OK);
    if (steepness > 0) target.steepness = steepness;
    mf_recon_work_look(&work);
    mf_target_free(&target);
    return work;
}

int main(void)
{
    const struct mf_recon_work many = work_of(16, 0), few = work_of(4, 0), steep = work_of(16, 30);

    CHECK(many.further_flops[0] < many.further_flops[1] / 3);
    CHECK(few.further_flops[0] == few.further_flops[1]);
    CHECK(steep.further_flops[0] == steep.further_flops[1] && steep.further_flops[1] == many.further_flops[1]);
    return failures != 0;
}
