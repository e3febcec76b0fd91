/* See synth.h: makes one microstructure, from its parameters to labels and counts. */
#include "src/synth/synth.h"

#include <stdio.h>
#include <string.h>

#include "src/base/pulse.h"
#include "src/synth/synth_priv.h"

int mf_synth_goes_on(const struct mf_synth_job *job)
{
    if (mf_pulse("structure") != MF_OK) atomic_store(job->stop, 1);
    return !atomic_load(job->stop);
}

int mf_synth_heed(const struct mf_synth_job *job) { return mf_agree(job->comm, mf_pulse("structure")); }

static int make_kind(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    switch (job->what->kind) {
    case MF_SYNTH_GAUSSIAN: return mf_synth_gauss(job);
    case MF_SYNTH_VORONOI: return mf_synth_voronoi(job, facts);
    case MF_SYNTH_LAMELLAE: return mf_synth_lamellae(job, facts);
    case MF_SYNTH_CHECKERBOARD: return mf_synth_board(job, facts);
    default: return mf_synth_objects(job, facts);
    }
}

static void count(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    const size_t *dims = job->slab.dims;
    size_t n = mf_slab_voxels(&job->slab);

    MF_ASSERT(job->phase);
    for (size_t i = 0; i < n; ++i) ++facts->voxels[job->phase[i]];
    mf_comm_sum_int(job->comm, (size_t)job->what->phases, facts->voxels);
    for (int p = 0; p < job->what->phases; ++p)
        facts->fraction[p] = (double)facts->voxels[p] / ((double)dims[0] * (double)dims[1] * (double)dims[2]);
}

static void describe(const struct mf_synth_job *job, struct mf_micro *micro)
{
    memset(micro, 0, sizeof *micro);
    micro->ndim = job->what->ndim;
    micro->slab = job->slab;
    micro->phases = job->what->phases;
    for (int p = 0; p < micro->phases; ++p) micro->label[p] = p;
    for (int a = 0; a < 3; ++a) micro->spacing[a] = 1;
    micro->phase = job->phase;
    micro->arena = job->arena;
}

int mf_synth_make(const struct mf_comm *comm, struct mf_arena *arena, int threads, const struct mf_synth *what,
                  struct mf_micro *micro, struct mf_synth_facts *facts)
{
    struct mf_synth_job job = {comm, arena, threads < 1 ? 1 : threads, what, {{0}, 0, 0}, NULL, NULL};
    struct mf_synth_facts found = {.arena = arena};
    atomic_int stop = 0;
    int rc;

    MF_TRY(mf_agree(comm, mf_synth_check(what)));
    job.slab = mf_slab_of(comm, what->dims, comm->rank);
    job.phase = mf_arena_take(arena, mf_slab_voxels(&job.slab), "synth phases");
    rc = mf_agree(comm, job.phase ? MF_OK : MF_MEMORY);
    job.stop = &stop;
    if (rc == MF_OK) rc = make_kind(&job, &found);
    if (rc == MF_OK) rc = mf_synth_heed(&job);
    if (rc != MF_OK) {
        mf_arena_give(arena, job.phase);
        mf_synth_facts_free(&found);
        return rc;
    }
    count(&job, &found);
    describe(&job, micro);
    *facts = found;
    return MF_OK;
}

void mf_synth_facts_free(struct mf_synth_facts *facts)
{
    if (!facts || !facts->object) return;
    mf_arena_give(facts->arena, facts->object);
    facts->object = NULL;
    facts->objects = 0;
}
