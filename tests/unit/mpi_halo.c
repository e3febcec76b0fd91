/* Planes beside slabs, of fields of several grains at once. Row u is plane (first + u - reach) mod nz of the volume, or
 * there is none. Cases are deeper than neighbours' slabs, ranks without planes, twice in a row with other numbers. */
#include "mpi/halo.h"

#include <stdlib.h>

#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "tests/check.h"

enum { FIELDS = 3 };

static float value(size_t turn, size_t f, size_t z, size_t i)
{
    return (float)(100000 * turn + 10000 * f + 100 * z + i);
}

/* The planes that rank @p c has of field @p f. */
static void fill(const struct mf_slab *slab, const struct mf_halo_field *field, size_t turn, size_t f, float *own)
{
    for (size_t k = 0; k < slab->count / field[f].grain; ++k)
        for (size_t i = 0; i < field[f].plane; ++i)
            own[k * field[f].plane + i] = value(turn, f, slab->first / field[f].grain + k, i);
}

static void look(const struct mf_halo *halo, const struct mf_slab *slab, const struct mf_halo_field *field,
                 size_t reach, int periodic, size_t turn, size_t f, const float *own)
{
    const ptrdiff_t nz = (ptrdiff_t)(slab->dims[0] / field[f].grain);
    const size_t rows = slab->count / field[f].grain + 2 * reach;
    const float **row = calloc(rows, sizeof *row);

    mf_halo_rows(halo, f, own, row);
    for (size_t u = 0; u < rows; ++u) {
        const ptrdiff_t z = (ptrdiff_t)(slab->first / field[f].grain + u) - (ptrdiff_t)reach;

        CHECK((row[u] != NULL) == (periodic || (z >= 0 && z < nz)));
        for (size_t i = 0; row[u] && i < field[f].plane; ++i)
            CHECK(row[u][i] == value(turn, f, (size_t)((z % nz + nz) % nz), i));
    }
    free(row);
}

static void shape(const struct mf_comm *c, size_t nz, size_t plane, size_t reach, int periodic)
{
    const size_t dims[3] = {nz, 1, plane};
    const struct mf_halo_field field[FIELDS] = {{1, plane}, {1, plane + 1}, {2, plane / 2 + 1}};
    const struct mf_slab slab = mf_slab_of(c, dims, c->rank);
    const size_t n = mf_halo_fits(c, dims, 2) ? 3 : 2;
    struct mf_arena *arena;
    struct mf_halo *halo;
    float *own[FIELDS];
    const float *in[FIELDS];

    CHECK(mf_halo_fits(c, dims, 1) && (nz % 2 == 1) == !mf_halo_fits(c, dims, 2));
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    CHECK(mf_halo_new(c, &slab, reach, periodic, n, field, arena, &halo) == MF_OK);
    for (size_t f = 0; f < n; ++f) in[f] = own[f] = malloc(slab.count * (plane + 1) * sizeof(float) + 1);
    for (size_t turn = 0; turn < 2; ++turn) {
        for (size_t f = 0; f < n; ++f) fill(&slab, field, turn, f, own[f]);
        mf_halo_start(halo, in);
        mf_halo_finish(halo);
        for (size_t f = 0; slab.count && f < n; ++f) look(halo, &slab, field, reach, periodic, turn, f, in[f]);
    }
    for (size_t f = 0; f < n; ++f) free(own[f]);
    mf_halo_free(halo);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
}

int main(int argc, char **argv)
{
    struct mf_comm c, self;

    mf_comm_self(&self);
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    for (int round = 0; round < 2; ++round, mf_comm_most = 13)
        for (int periodic = 0; periodic < 2; ++periodic)
            for (size_t reach = 1; reach < 8; reach += 2) {
                shape(&self, 8, 5, reach, periodic);
                shape(&c, 16, 12, reach, periodic);
                shape(&c, 7, 3, reach, periodic);
                shape(&c, 4, 1, reach, periodic);
                shape(&c, 34, 6, reach, periodic);
            }
    mf_comm_close(&c);
    return failures != 0;
}
