/* See grid.h: the field of a run, now and then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/recon/grid.h"

static size_t bytes_of(const struct mf_grid *r) { return r->fields * mf_slab_voxels(&r->slab) * sizeof(float); }

int mf_grid_snapshot_room(struct mf_grid *r)
{
    void *mirror;

    if (!r->opts->snapshot_every || !mf_apart(r->queue)) return MF_OK;
    mirror = mf_arena_take(mf_mirror_arena(r->queue), bytes_of(r), "snapshot");
    mf_arena_give(mf_mirror_arena(r->queue), mirror);
    return mf_agree(r->comm, mirror ? MF_OK : MF_MEMORY);
}

/* "STEM_level_L_iteration_N.npy" */
static char *name_of(const struct mf_grid *r, long evaluations)
{
    const size_t size = strlen(r->opts->snapshot_stem) + 80;
    char *name = MF_MUST(malloc(size), "a file name");

    snprintf(name, size, "%s_level_%ld_iteration_%ld.npy", r->opts->snapshot_stem, r->level, evaluations);
    return name;
}

static int write_field(struct mf_grid *r, float *field, const char *name)
{
    float *x = mf_mirror_take(r->queue, field, bytes_of(r), "snapshot");
    int rc = mf_agree(r->comm, x ? MF_OK : MF_MEMORY);

    if (rc == MF_OK) {
        mf_mirror_get(r->queue, x, field, bytes_of(r));
        rc = mf_field_write(r->comm, name, &r->slab, r->slab.dims[0] > 1 ? 3 : 2, (int)r->fields, x);
    }
    mf_mirror_give(r->queue, field, x);
    return rc;
}

void mf_grid_snapshot(struct mf_grid *r, float *x)
{
    const long every = r->opts->snapshot_every, evaluations = r->before + r->optimiser.evaluations;
    char *name;

    if (every <= 0 || evaluations % every != 0) return;
    name = name_of(r, evaluations);
    if (write_field(r, x, name) != MF_OK) {
        mf_warn("no field at evaluation %ld: %s", evaluations, mf_err_text());
        mf_err_clear();
    }
    free(name);
}
