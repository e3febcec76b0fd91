/* The gradient of the loss agrees with central differences, on any number of ranks. Cases are norms, one field and two,
 * periodic and not. The mean slice of the target's own field has no loss. So does the loss with respect to a number
 * that is added to S2_3D at lag 0. */
#include "src/recon/objective.h"

#include "tests/unit/recon_case.h"

enum { TRIES = 6 };

static const double STEP = 1.0 / 128;

static struct mf_objective *objective;
static struct mf_slab slab;
static size_t fields;

/* The loss where voxel @p i of the volume, field @p f, is moved by @p by. */
static double moved(float *x, size_t f, size_t i, double by)
{
    const size_t own = mf_slab_voxels(&slab), first = slab.first * EDGE * EDGE;
    const int here = i >= first && i < first + own;
    double loss;

    if (here) x[f * own + i - first] += (float)by;
    mf_objective_eval(objective, x, NULL, 1, &loss);
    if (here) x[f * own + i - first] -= (float)by;
    return loss;
}

static void check_gradient(const struct mf_comm *comm, struct device *d, float *x)
{
    const size_t own = mf_slab_voxels(&slab), first = slab.first * EDGE * EDGE;
    float *g = device_put(d, NULL, (fields * own + 1) * sizeof *g);
    double loss, again, largest = 0;

    d->be->field->fill(d->q, fields * own, 0, g);
    mf_objective_eval(objective, x, g, 1, &loss);
    mf_objective_eval(objective, x, NULL, 1, &again);
    CHECK(loss == again && loss > 0);
    for (size_t i = 0; i < fields * own; ++i) largest = fmax(largest, fabs((double)g[i]));
    mf_comm_max(comm, 1, &largest);
    for (size_t k = 0; k < TRIES; ++k) {
        const size_t i = (k * 211 + 17) % VOXELS, f = k % fields;
        const double wanted = (moved(x, f, i, STEP) - moved(x, f, i, -STEP)) / (2 * STEP);
        double is = i >= first && i < first + own ? (double)g[f * own + i - first] : -INFINITY;

        mf_comm_max(comm, 1, &is);
        CHECK_NEAR(is, wanted, 0.02 * largest);
    }
    device_get(d, NULL, g, 0);
}

static void check_case(const struct mf_comm *comm, struct device *d, enum mf_norm norm, int periodic, int multiphase)
{
    static const size_t dims[3] = {EDGE, EDGE, EDGE};
    struct mf_objective_opts opts = case_objective(norm, periodic, multiphase);
    struct mf_target target;
    float *x;
    double loss;
    size_t own;

    slab = mf_slab_of(comm, dims, comm->rank);
    own = mf_slab_voxels(&slab);
    fields = multiphase ? 2 : 1;
    case_target(comm, d, periodic, &target);
    opts.smooth = 0.1;
    CHECK(mf_objective_new(comm, d->q, &slab, fields, &target, &opts, &objective) == MF_OK);
    x = device_put(d, NULL, (fields * own + 1) * sizeof *x);
    for (size_t i = 0; i < own; ++i) {
        const double u = 0.1 + 0.8 * mf_random_uniform(3, 1, slab.first * EDGE * EDGE + i);

        x[i] = (float)(multiphase ? 1 - u : u);
        if (multiphase) x[own + i] = (float)u;
    }
    check_gradient(comm, d, x);
    mf_objective_free(objective);
    opts.smooth = 0;
    opts.mean = 1;
    CHECK(mf_objective_new(comm, d->q, &slab, fields, &target, &opts, &objective) == MF_OK);
    for (size_t i = 0; i < fields * own; ++i) {
        const size_t all = slab.first * EDGE * EDGE + i % own;
        const uint8_t label = case_label(all / (EDGE * EDGE), all / EDGE % EDGE, all % EDGE);

        x[i] = label == (multiphase ? i / own : 1);
    }
    mf_objective_eval(objective, x, NULL, 1, &loss);
    CHECK_NEAR(loss, 0, 1e-5);
    device_get(d, NULL, x, 0);
    mf_objective_free(objective);
    mf_target_free(&target);
}

static double centred(float *x, float *g, double centre)
{
    double loss;

    mf_objective_centre(objective, &centre);
    mf_objective_eval(objective, x, g, 1, &loss);
    return loss;
}

static void check_centre(const struct mf_comm *comm, struct device *d)
{
    static const size_t dims[3] = {EDGE, EDGE, EDGE};
    struct mf_objective_opts opts = case_objective(MF_MSE, 1, 0);
    struct mf_target target;
    double wanted;
    float *x, *g;
    size_t own;

    slab = mf_slab_of(comm, dims, comm->rank);
    own = mf_slab_voxels(&slab);
    case_target(comm, d, 1, &target);
    opts.term[1] = (struct mf_term){&mf_descriptors[MF_S2_3D], 2, 0};
    CHECK(mf_objective_new(comm, d->q, &slab, 1, &target, &opts, &objective) == MF_OK);
    x = device_put(d, NULL, (own + 1) * sizeof *x);
    g = device_put(d, NULL, (own + 1) * sizeof *g);
    for (size_t i = 0; i < own; ++i) x[i] = (float)(0.1 + 0.8 * mf_random_uniform(3, 1, slab.first * EDGE * EDGE + i));
    wanted = (centred(x, NULL, 0.3 + STEP) - centred(x, NULL, 0.3 - STEP)) / (2 * STEP);
    d->be->field->fill(d->q, own, 0, g);
    centred(x, g, 0.3);
    CHECK(wanted > 0);
    CHECK_NEAR(mf_objective_centre_slope(objective, 0), wanted, 1e-6 * wanted);
    device_get(d, NULL, g, 0);
    device_get(d, NULL, x, 0);
    mf_objective_free(objective);
    mf_target_free(&target);
}

int main(int argc, char **argv)
{
    struct mf_comm comm;
    struct device d;

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    d = device_open(1, 1, 0);
    for (int periodic = 0; periodic < 2; ++periodic)
        for (int multiphase = 0; multiphase < 2; ++multiphase) {
            check_case(&comm, &d, MF_MSE, periodic, multiphase);
            check_case(&comm, &d, MF_SSE, periodic, multiphase);
            check_case(&comm, &d, MF_RMS, periodic, multiphase);
        }
    check_centre(&comm, &d);
    device_close(&d);
    mf_comm_close(&comm);
    return failures != 0;
}
