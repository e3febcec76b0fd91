/* The parts of a gradient that are constant in planes, by least squares: without them the mean over every plane of the
 * voxels that may move is zero. The same bits on any number of ranks and threads. */
#include "src/recon/plane_fit.h"

#include <math.h>

#include "kernels/form/meanfield.h"
#include "kernels/labels.h"
#include "mpi/comm.h"
#include "src/base/rng.h"
#include "tests/device.h"

enum { NZ = 11, NY = 13, NX = 17, VOXELS = NZ * NY * NX };

static const float LEVEL = 0.05F;

static float x[VOXELS], g[VOXELS];
static uint8_t fixed[VOXELS];

/* A gradient with strong planes; few voxels may move, so planes share them unevenly. */
static void fill(void)
{
    for (size_t i = 0; i < VOXELS; ++i) {
        const double u = mf_random_uniform(3, 1, i);

        x[i] = u < 0.4 ? 0 : u > 0.6 ? 1 : (float)u;
        g[i] = (float)(mf_random_normal(3, 2, i) + 3 * mf_random_normal(3, 3, i / (NX * NY)) +
                       2 * mf_random_normal(3, 4, i / NX % NY) - 4 * mf_random_normal(3, 5, i % NX));
        fixed[i] = mf_random_uniform(3, 6, i) < 0.2 ? u > 0.6 : MF_LABEL_OPEN;
        if (fixed[i] != MF_LABEL_OPEN) x[i] = (float)fixed[i];
    }
}

/* What is taken off, of the planes of all ranks. */
static void fit(const struct mf_comm *comm, int threads, double off[NZ + NY + NX])
{
    struct device d = device_open(threads, 1, 0);
    const size_t dims[3] = {NZ, NY, NX};
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);
    const size_t first = slab.first * NY * NX, n = mf_slab_voxels(&slab), planes = slab.count;
    float *dx = device_put(&d, x + first, n * sizeof *x), *dg = device_put(&d, g + first, n * sizeof *g);
    float got[NZ + NY + NX];
    uint8_t *df = device_put(&d, fixed + first, n);
    struct mf_plane_fit p;

    CHECK(mf_plane_fit_open(&p, comm, d.q, &slab) == MF_OK);
    mf_plane_fit(&p, dx, dg, df, LEVEL, 20, 1);
    d.be->get(d.q, got, p.off, (planes + NY + NX) * sizeof *got);
    for (size_t z = 0; z < NZ; ++z) off[z] = 0;
    for (size_t z = 0; z < planes; ++z) off[slab.first + z] = (double)got[z];
    for (size_t k = 0; k < NY + NX; ++k) off[NZ + k] = (double)got[planes + k];
    mf_comm_sum(comm, NZ, off);
    mf_plane_fit_close(&p);
    device_get(&d, NULL, dx, 0);
    device_get(&d, NULL, dg, 0);
    device_get(&d, NULL, df, 0);
    device_close(&d);
}

static void check_fit(const double off[NZ + NY + NX])
{
    double sum[NZ + NY + NX] = {0}, number[NZ + NY + NX] = {0};

    for (size_t i = 0; i < VOXELS; ++i) {
        const size_t at[3] = {i / (NX * NY), NZ + i / NX % NY, NZ + NY + i % NX};

        if (fixed[i] != MF_LABEL_OPEN || !mf_may_move(x[i], g[i], LEVEL)) continue;
        for (int a = 0; a < 3; ++a) {
            sum[at[a]] += (double)g[i] - off[at[0]] - off[at[1]] - off[at[2]];
            ++number[at[a]];
        }
    }
    for (size_t k = 0; k < NZ + NY + NX; ++k)
        CHECK_SAYS(fabs(sum[k]) < 0.02 * number[k] + 1e-3, "plane %zu: mean %g", k, sum[k] / number[k]);
}

int main(int argc, char **argv)
{
    double off[NZ + NY + NX], alone[NZ + NY + NX];
    struct mf_comm comm, self;

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    mf_comm_self(&self);
    fill();
    fit(&self, 1, alone);
    check_fit(alone);
    fit(&comm, 3, off);
    CHECK(memcmp(off, alone, sizeof off) == 0);
    mf_comm_close(&comm);
    return failures != 0;
}
