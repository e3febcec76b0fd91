/* A run of a few evaluations is deterministic, and has the target's volume fractions. It ends in the same bits when it
 * was stopped, saved and gone on with. */
#include "src/recon/solve.h"

#include <unistd.h>

#include "tests/scratch.h"
#include "tests/unit/recon_case.h"

static const size_t dims[3] = {EDGE, EDGE, EDGE};

static int solve(const struct mf_comm *comm, struct device *d, const struct mf_target *target,
                 const struct mf_keeper_opts *keeper, struct mf_solve_result *result)
{
    struct mf_solve_opts opts = {.objective = case_objective(MF_MSE, 1, 0),
                                 .method = {.history = 4, .tolerance = 0},
                                 .evaluations = 12,
                                 .polish = 1,
                                 .polish_rounds = 3,
                                 .seed = 5,
                                 .report_every = 1,
                                 .keeper = keeper};

    opts.method.method = mf_method_of(MF_METHOD_LBFGSB);
    return mf_solve(comm, d->be, d->q, dims, target, &opts, result);
}

static void check_whole(const struct mf_comm *comm, const struct mf_target *target, const struct mf_solve_result *r)
{
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);
    int64_t ones = 0;

    for (size_t i = 0; i < mf_slab_voxels(&slab); ++i) ones += r->label[i];
    mf_comm_sum_int(comm, 1, &ones);
    CHECK(ones == (int64_t)(target->side[0].fraction[target->side[0].levels] * VOXELS + 0.5));
    CHECK(r->phases == 2 && r->evaluations >= 10 && r->rows > 2 && r->loss_final <= r->loss_cut);
    CHECK(isfinite(r->loss_final) && r->loss_final < r->convergence[2]);
}

static int same(const struct mf_comm *comm, const struct mf_solve_result *a, const struct mf_solve_result *b)
{
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);

    CHECK(a->evaluations == b->evaluations && a->rows == b->rows && a->swaps == b->swaps);
    for (size_t i = 0; i < a->rows && i < b->rows; ++i) CHECK(a->convergence[3 * i + 2] == b->convergence[3 * i + 2]);
    return a->loss_final == b->loss_final && memcmp(a->label, b->label, mf_slab_voxels(&slab)) == 0;
}

/* Stopped at every third question, until it is over. */
static void check_stopped(const struct mf_comm *comm, struct device *d, const struct mf_target *target,
                          const struct mf_solve_result *want)
{
    struct mf_keeper_opts keeper = {.stem = scratch_file("run"), .every_seconds = -1, .begin = 0};
    struct mf_solve_result got;
    int rc = MF_STOPPED, legs = 0;

    for (; rc == MF_STOPPED && legs < 40; ++legs) {
        mf_fault_set("run.leave:visit=3");
        rc = solve(comm, d, target, &keeper, &got);
        mf_fault_set(NULL);
        CHECK(rc == MF_OK || rc == MF_STOPPED);
        keeper.restart = 1;
    }
    CHECK(rc == MF_OK && legs > 2);
    if (rc == MF_OK) CHECK(same(comm, want, &got));
    if (rc == MF_OK) mf_solve_free(&got);
}

int main(int argc, char **argv)
{
    struct mf_solve_result first, second;
    struct mf_target target;
    struct mf_comm comm;
    struct device d;

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    scratch_open(&comm);
    d = device_open(1, 1, 0);
    case_target(&comm, &d, 1, &target);
    CHECK(solve(&comm, &d, &target, NULL, &first) == MF_OK);
    CHECK(solve(&comm, &d, &target, NULL, &second) == MF_OK);
    check_whole(&comm, &target, &first);
    CHECK(same(&comm, &first, &second));
    check_stopped(&comm, &d, &target, &first);
    mf_solve_free(&first);
    mf_solve_free(&second);
    mf_target_free(&target);
    scratch_close(&comm);
    device_close(&d);
    mf_comm_close(&comm);
    return failures != 0;
}
