/* The parts of a gradient that are constant in planes, by least squares. Without them the mean over every plane of the
 * voxels that may move is zero. The same bits on any number of ranks and threads. */
#include "src/recon/plane_fit.h"

#include <math.h>

#include "kernels/labels.h"
#include "mpi/comm.h"
#include "src/base/rng.h"
#include "tests/device.h"

enum { NZ = 11, NY = 13, NX = 17, VOXELS = NZ * NY * NX, PHASES = 3, PARTS = NZ + NY + NX };

static const float LEVEL = 0.05F;

static float x[PHASES * VOXELS], g[PHASES * VOXELS];
static uint8_t fixed[VOXELS];

/* A gradient with strong planes; few voxels may move, so planes share them unevenly. */
static void fill(size_t phases)
{
    for (size_t i = 0; i < VOXELS; ++i) {
        const double u = mf_random_uniform(3, 1, i);
        const size_t most = i % phases;

        fixed[i] = mf_random_uniform(3, 6, i) < 0.2 ? u > 0.6 : MF_LABEL_OPEN;
        for (size_t p = 0; p < phases; ++p) {
            const uint32_t k = 10 * (uint32_t)p;
            float *at = x + p * VOXELS + i;

            if (phases == 1)
                *at = u < 0.4 ? 0 : u > 0.6 ? 1 : (float)u;
            else /* two phases meet, or one is alone */
                *at = u < 0.5 ? p == most : p == most ? 0.75F : p == (most + 1) % phases ? 0.25F : 0;
            g[p * VOXELS + i] =
                (float)(mf_random_normal(3, k + 2, i) + 3 * mf_random_normal(3, k + 3, i / (NX * NY)) +
                        2 * mf_random_normal(3, k + 4, i / NX % NY) - 4 * mf_random_normal(3, k + 5, i % NX));
            if (fixed[i] != MF_LABEL_OPEN) *at = phases == 1 ? (float)fixed[i] : (float)(p == fixed[i]);
        }
    }
}

/* Fits the parts to take off, of the planes of all ranks: off[phase][PARTS]. */
static void fit(const struct mf_comm *comm, int threads, size_t phases, double *off)
{
    struct device d = device_open(threads, 1, 0);
    const size_t dims[3] = {NZ, NY, NX};
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);
    const size_t first = slab.first * NY * NX, n = mf_slab_voxels(&slab), planes = slab.count;
    struct mf_probabilities at = {.phases = phases, .n = {planes, NY, NX}};
    float *dx = device_put(&d, NULL, phases * n * sizeof *x), *dg = device_put(&d, NULL, phases * n * sizeof *g);
    float got[PHASES * PARTS];
    uint8_t *df = device_put(&d, fixed + first, n);
    struct mf_plane_fit p;

    for (size_t k = 0; k < phases; ++k) {
        d.be->put(d.q, dx + k * n, x + k * VOXELS + first, n * sizeof *x);
        d.be->put(d.q, dg + k * n, g + k * VOXELS + first, n * sizeof *g);
        at.level[k] = LEVEL;
    }
    at.x = dx;
    at.g = dg;
    at.fixed = df;
    CHECK(mf_plane_fit_open(&p, comm, d.q, &slab, phases) == MF_OK);
    mf_plane_fit(&p, &at, 40, 1);
    d.be->get(d.q, got, p.off, phases * (planes + NY + NX) * sizeof *got);
    memset(off, 0, phases * PARTS * sizeof *off);
    for (size_t k = 0; k < phases; ++k) {
        const float *from = got + k * (planes + NY + NX);

        for (size_t z = 0; z < planes; ++z) off[k * PARTS + slab.first + z] = (double)from[z];
        mf_comm_sum(comm, NZ, off + k * PARTS);
        for (size_t i = 0; i < NY + NX; ++i) off[k * PARTS + NZ + i] = (double)from[planes + i];
    }
    mf_plane_fit_close(&p);
    device_get(&d, NULL, dx, 0);
    device_get(&d, NULL, dg, 0);
    device_get(&d, NULL, df, 0);
    device_close(&d);
}

/* May phase p of voxel i move, if the gradients of those that may have this mean? */
static int moves(size_t phases, size_t p, size_t i, double mean)
{
    const double at = (double)x[p * VOXELS + i], slope = (double)g[p * VOXELS + i] - (double)LEVEL - mean;

    return at > 0 ? phases > 1 || at < 1 || slope > 0 : slope <= 0;
}

/* Rest of the gradient of a voxel, in the phases that may move. The set of these shrinks until it fits. */
static void rest_of(size_t phases, const double *off, size_t i, double rest[PHASES], double keep[PHASES])
{
    const size_t at[3] = {i / (NX * NY), NZ + i / NX % NY, NZ + NY + i % NX};
    double mean = 0, left = 0, kept = 0;

    for (size_t p = 0; p < phases; ++p) keep[p] = 1;
    for (size_t round = 0; round < phases; ++round) {
        mean = kept = 0;
        for (size_t p = 0; p < phases; ++p) {
            mean += keep[p] * ((double)g[p * VOXELS + i] - (double)LEVEL);
            kept += keep[p];
        }
        mean = phases > 1 ? mean / kept : 0;
        for (size_t p = 0; p < phases; ++p) keep[p] = moves(phases, p, i, mean);
    }
    for (size_t p = 0; p < phases; ++p) {
        rest[p] = (double)g[p * VOXELS + i];
        for (int a = 0; a < 3; ++a) rest[p] -= off[p * PARTS + at[a]];
        left += keep[p] * rest[p];
    }
    for (size_t p = 0; p < phases; ++p) rest[p] = keep[p] * (rest[p] - (phases > 1 ? left / kept : 0));
}

static void check_fit(size_t phases, const double *off)
{
    double sum[PHASES][PARTS] = {{0}}, number[PHASES][PARTS] = {{0}};

    for (size_t i = 0; i < VOXELS; ++i) {
        const size_t at[3] = {i / (NX * NY), NZ + i / NX % NY, NZ + NY + i % NX};
        double rest[PHASES];
        double keep[PHASES];

        if (fixed[i] != MF_LABEL_OPEN) continue;
        rest_of(phases, off, i, rest, keep);
        for (size_t p = 0; p < phases; ++p)
            for (int a = 0; a < 3; ++a) {
                sum[p][at[a]] += rest[p];
                number[p][at[a]] += keep[p];
            }
    }
    for (size_t p = 0; p < phases; ++p)
        for (size_t k = 0; k < PARTS; ++k)
            CHECK_SAYS(fabs(sum[p][k]) < 0.02 * number[p][k] + 1e-3, "phase %zu of %zu, plane %zu: mean %g", p, phases,
                       k, sum[p][k] / number[p][k]);
}

int main(int argc, char **argv)
{
    double off[PHASES * PARTS], alone[PHASES * PARTS];
    struct mf_comm comm, self;

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    mf_comm_self(&self);
    for (size_t phases = 1; phases <= PHASES; ++phases) {
        fill(phases);
        fit(&self, 1, phases, alone);
        check_fit(phases, alone);
        fit(&comm, 3, phases, off);
        CHECK(memcmp(off, alone, phases * PARTS * sizeof *off) == 0);
    }
    mf_comm_close(&comm);
    return failures != 0;
}
