/* A microstructure is the same bytes on any number of ranks and threads, and exact fractions are exact. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"
#include "tests/unit/synth_case.h"

enum { CASES = 30 };

/** The table: one wish per index. */
static struct mf_synth case_of(int i)
{
    static const size_t dims[3][3] = {{1, 23, 31}, {13, 11, 17}, {12, 16, 10}};
    const size_t *d = dims[i % 3];
    struct mf_synth w;

    switch (i / 3) {
    case 0: w = wish(MF_SYNTH_GAUSSIAN, d[0], d[1], d[2], 2); break;
    case 1:
        w = wish(MF_SYNTH_GAUSSIAN, d[0], d[1], d[2], 3);
        w.exact = 1;
        w.length[0] = 5; /* the kernel wraps around the box */
        break;
    case 2:
        w = wish(MF_SYNTH_SPHERES, d[0], d[1], d[2], 2);
        w.exact = i % 2;
        break;
    case 3:
        w = wish(MF_SYNTH_HARD_SPHERES, d[0], d[1], d[2], 3);
        w.exact = 1;
        break;
    case 4:
        w = wish(MF_SYNTH_FIBRES, d[0], d[1], d[2], 2);
        w.exact = i % 3 == 0;
        w.lie = i % 3 == 2 ? MF_LIE_Y : i % 3 == 1 ? MF_LIE_PLANAR : MF_LIE_RANDOM;
        w.overlap = 1;
        break;
    case 5:
        w = wish(MF_SYNTH_VORONOI, d[0], d[1], d[2], 4);
        w.exact = 1;
        break;
    case 6: w = wish(MF_SYNTH_VORONOI, d[0], d[1], d[2], 3); break;
    case 7:
        w = wish(MF_SYNTH_LAMELLAE, d[0], d[1], d[2], 3);
        w.waviness = 1;
        w.exact = i % 2;
        break;
    case 8:
        w = wish(MF_SYNTH_CHECKERBOARD, d[0], d[1], d[2], 2);
        w.exact = i % 2;
        break;
    default:
        w = wish(MF_SYNTH_CRACKS, d[0], d[1], d[2], 2);
        w.radius = 0.7;
        w.stick = 40; /* longer than the box */
        w.exact = i % 2;
    }
    w.seed += (unsigned)i;
    return w;
}

static void check_exact(const struct mf_synth *w, const struct mf_synth_facts *f)
{
    double voxels = (double)(w->dims[0] * w->dims[1] * w->dims[2]);
    int64_t sum = 0;

    for (int p = 0; p < w->phases; ++p) {
        sum += f->voxels[p];
        if (w->exact) CHECK(fabs((double)f->voxels[p] - w->fraction[p] * voxels) < 1);
    }
    CHECK((double)sum == voxels);
}

static void check_case(const struct mf_comm *comm, struct mf_arena *arena, int i)
{
    struct mf_synth w = case_of(i);
    struct mf_synth_facts facts = {0}, alone_facts = {0};
    struct mf_micro micro = {0}, alone = {0};
    struct mf_comm self;
    size_t voxels = w.dims[0] * w.dims[1] * w.dims[2], *offset = calloc((size_t)comm->size + 1, sizeof *offset);
    void *all = NULL;
    int rc;

    mf_comm_self(&self);
    rc = mf_synth_make(comm, arena, 1, &w, &micro, &facts);
    if (rc != MF_OK) fprintf(stderr, "case %d: %s\n", i, mf_err_text());
    CHECK(rc == MF_OK);
    CHECK(mf_synth_make(&self, arena, 3, &w, &alone, &alone_facts) == rc);
    if (rc == MF_OK) {
        check_exact(&w, &facts);
        CHECK(mf_comm_gather(comm, micro.phase, mf_slab_voxels(&micro.slab), &all, offset) == MF_OK);
        CHECK(offset[comm->size] == voxels);
        CHECK(memcmp(all, alone.phase, voxels) == 0);
        CHECK(facts.objects == alone_facts.objects);
        for (int p = 0; p < w.phases; ++p) CHECK(facts.voxels[p] == alone_facts.voxels[p] && facts.voxels[p] > 0);
    }
    free(all);
    free(offset);
    mf_synth_facts_free(&facts);
    mf_synth_facts_free(&alone_facts);
    mf_arena_give(arena, micro.phase);
    mf_arena_give(arena, alone.phase);
}

int main(int argc, char **argv)
{
    struct mf_comm comm;
    struct mf_arena *arena;

    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK || mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    for (int i = 0; i < CASES; ++i) check_case(&comm, arena, i);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
