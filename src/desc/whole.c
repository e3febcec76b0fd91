/* See job.h: S2_3D of a volume, one phase after the other. */
#include "src/base/err.h"
#include "src/desc/job.h"
#include "src/desc/registry.h"
#include "src/desc/space.h"

struct whole {
    const struct mf_job *job;
    struct mf_space *space;
    struct mf_stage stage; /* of planes */
    float *x;              /* indicator, device; NULL: a grey field can be taken as it is */
};

/* Local. */
static int take(struct whole *w)
{
    const struct mf_micro *m = w->job->micro;

    if (!m->grey || mf_apart(w->job->queue)) {
        w->x = mf_arena_take(w->job->queue->arena, mf_slab_voxels(&m->slab) * sizeof *w->x, "indicator");
        if (!w->x) return MF_MEMORY;
    }
    return mf_stage_open(&w->stage, w->job->queue, m->slab.dims[1] * m->slab.dims[2], m->slab.count);
}

static int one_phase(struct whole *w, int phase)
{
    const struct mf_job *job = w->job;
    const size_t *n = job->micro->slab.dims;
    const struct mf_slice_desc desc = {
        .nu = n[1], .nv = n[2], .lag = job->opts->lag, .levels = 1, .periodic = job->opts->periodic};
    MF_PHASE(MF_PHASE_S2);

    mf_phase_count(mf_cost_s2_3d(&desc, job->micro->slab.count, MF_COST_TOTAL));
    return mf_space_window(w->space, 0, mf_job_indicator(job, &w->stage, phase, w->x),
                           job->out->space + (size_t)phase * mf_space_entries(job->opts->lag));
}

int mf_whole(const struct mf_job *job)
{
    const struct mf_space_opts opts = {.lag = job->opts->lag, .fields = 1, .periodic = job->opts->periodic};
    struct whole w = {.job = job};
    int rc;

    MF_TRY(mf_space_new(job->comm, job->queue, &job->micro->slab, &opts, &w.space));
    rc = mf_agree(job->comm, take(&w));
    for (int p = 0; rc == MF_OK && !job->dry && p < job->out->phases; ++p) rc = one_phase(&w, p);
    mf_stage_close(&w.stage);
    mf_arena_give(job->queue->arena, w.x);
    mf_space_free(w.space);
    return rc;
}
