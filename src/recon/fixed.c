/* See grid.h: voxels whose phases the result keeps. */
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/recon/grid.h"
#include "src/recon/start.h"

static const char *extents_of(const size_t n[3], char *text, size_t size)
{
    snprintf(text, size, "%zu x %zu x %zu", n[0], n[1], n[2]);
    return text;
}

/* What is fixed fits the result: its extents, its phases, how many voxels they may have. */
static int check_fixed(const struct mf_grid *r)
{
    const struct mf_micro *fixed = r->opts->fixed;
    uint64_t counts[MF_PHASES_MAX];
    char is[80], wants[80];

    if (memcmp(fixed->slab.dims, r->slab.dims, sizeof fixed->slab.dims) != 0)
        return mf_fail(MF_INPUT, "the fixed voxels are a field of %s, the result has %s (z y x)",
                       extents_of(fixed->slab.dims, is, sizeof is), extents_of(r->slab.dims, wants, sizeof wants));
    if (fixed->phases > r->result->phases)
        return mf_fail(MF_INPUT, "phase %d (label %ld) is among the fixed voxels, the result has phases 0 to %d",
                       fixed->phases - 1, fixed->label[fixed->phases - 1], r->result->phases - 1);
    mf_grid_counts(r, counts);
    for (int p = 0; p < r->result->phases; ++p)
        if (r->held[p] > counts[p])
            return mf_fail(MF_INPUT,
                           "%llu voxels are fixed at phase %d (label %ld), and the target's volume fraction gives it "
                           "%llu of the result",
                           (unsigned long long)r->held[p], p, fixed->label[p], (unsigned long long)counts[p]);
    return MF_OK;
}

int mf_grid_count_fixed(struct mf_grid *r)
{
    const struct mf_micro *fixed = r->opts->fixed;
    int64_t held[MF_PHASES_MAX] = {0};

    if (!r->fixed) return MF_OK;
    for (size_t i = 0; i < mf_slab_voxels(&fixed->slab); ++i)
        if (fixed->phase[i] != MF_PHASE_FREE) ++held[fixed->phase[i]];
    mf_comm_sum_int(r->comm, MF_PHASES_MAX, held);
    for (int p = 0; p < MF_PHASES_MAX; ++p) r->held[p] = (uint64_t)held[p];
    return check_fixed(r);
}

int mf_grid_fix(struct mf_grid *r)
{
    const struct mf_micro *fixed = r->opts->fixed;

    if (!r->fixed) return MF_OK;
    MF_TRY(mf_grid_count_fixed(r));
    r->backend->put(r->queue, r->fixed, fixed->phase, mf_slab_voxels(&r->slab));
    mf_start_fixed(&r->slab, r->fields, fixed->phase, &r->planes, r->optimiser.x);
    return MF_OK;
}
