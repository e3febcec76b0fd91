/* Planes by global index, for every shape, range and number of ranks. Plane k of the result is plane (first + k) mod nz
 * of the volume. Cases are halos thicker than a neighbour's slab, several wraps, ranks without planes. */
#include "mpi/slab.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/comm_priv.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"
#include "tests/check.h"
#include "tests/device.h"

static float value(size_t z, size_t i) { return (float)(1000 * z + i); }

static struct device device;

/* From host memory, and from the device's. */
static int fetch(const struct mf_comm *c, const struct mf_slab *slab, int from_device, const float *own,
                 ptrdiff_t first, size_t count, float *out)
{
    size_t plane = slab->dims[1] * slab->dims[2] * sizeof *own;
    void *there;
    int rc;

    if (!from_device) return mf_slab_fetch(c, slab, own, plane, first, count, out);
    there = device_put(&device, own, slab->count * plane);
    rc = mf_slab_fetch_device(c, device.q, slab, there, plane, first, count, out);
    device_get(&device, NULL, there, 0);
    return rc;
}

static void fetches(const struct mf_comm *c, const struct mf_slab *slab, int from_device, ptrdiff_t first, size_t count)
{
    size_t plane = slab->dims[1] * slab->dims[2], z;
    float *own = malloc(mf_slab_voxels(slab) * sizeof *own + 1), *out = malloc(count * plane * sizeof *out + 1);
    ptrdiff_t nz = (ptrdiff_t)slab->dims[0];

    for (size_t k = 0; k < slab->count; ++k)
        for (size_t i = 0; i < plane; ++i) own[k * plane + i] = value(slab->first + k, i);
    CHECK(fetch(c, slab, from_device, own, first, count, out) == MF_OK);
    for (size_t k = 0; k < count; ++k) {
        z = (size_t)(((first + (ptrdiff_t)k) % nz + nz) % nz);
        for (size_t i = 0; i < plane; ++i) CHECK(out[k * plane + i] == value(z, i));
    }
    free(own);
    free(out);
}

static void shape(const struct mf_comm *c, size_t nz, size_t ny, size_t nx)
{
    size_t dims[3] = {nz, ny, nx}, total = 0;
    struct mf_slab slab = mf_slab_of(c, dims, c->rank), other;

    for (int r = 0; r < c->size; ++r) {
        other = mf_slab_of(c, dims, r);
        CHECK(other.first == total && (other.first % 2 == 0 || other.first == nz));
        total += other.count;
    }
    CHECK(total == nz);
    for (int d = 0; d < 2; ++d) {
        for (ptrdiff_t halo = 0; halo <= 7; halo += 1 + halo / 2)
            fetches(c, &slab, d, (ptrdiff_t)slab.first - halo, slab.count + 2 * (size_t)halo);
        fetches(c, &slab, d, -3 * (ptrdiff_t)nz - 1, 5 * nz + 2);          /* several wraps */
        fetches(c, &slab, d, c->rank - 2, c->rank % 2 ? 0 : 3);            /* some ask for nothing */
        fetches(c, &slab, d, 17 * c->rank, (size_t)(c->size - c->rank));   /* each its own */
        fetches(c, &slab, d, c->rank == 0 ? 0 : 1, c->rank == 0 ? nz : 0); /* all to one */
    }
}

int main(int argc, char **argv)
{
    static const size_t shapes[][3] = {{1, 8, 8}, {2, 4, 6}, {8, 8, 8}, {7, 5, 3}, {16, 10, 12}, {5, 4, 6}, {33, 1, 1}};
    struct mf_comm c, self;
    const char *exchange = getenv("MF_TEST_EXCHANGE");

    mf_comm_self(&self);
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    device_number = exchange ? c.local_rank : 0;
    device = device_open(1, 1, 0);
    CHECK(mf_transport_open(&c, device.q, exchange ? mf_exchange_of(exchange) : MF_EXCHANGE_HOST) == MF_OK);
    CHECK((c.transport != NULL) == (exchange && strcmp(exchange, "nccl") == 0));
    for (int round = 0; round < 2; ++round, mf_comm_most = 13)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
            shape(&self, shapes[s][0], shapes[s][1], shapes[s][2]);
            shape(&c, shapes[s][0], shapes[s][1], shapes[s][2]);
        }
    mf_transport_close(&c);
    device_close(&device);
    mf_comm_close(&c);
    return failures != 0;
}
