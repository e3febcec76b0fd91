/* See job.h: S2_3D of a volume, one phase after the other, and CrossS2_3D, each phase with the later ones. */
#include <string.h>

#include "mpi/pulse.h"
#include "src/base/err.h"
#include "src/desc/clusters.h"
#include "src/desc/job.h"
#include "src/desc/phases.h"
#include "src/desc/registry.h"
#include "src/desc/space.h"

struct whole {
    const struct mf_job *job;
    struct mf_space *space;
    struct mf_stage stage; /* of planes */
    float *x;              /* indicator, device; NULL: a grey field can be taken as it is */
    struct mf_slice_desc desc;
    size_t pair; /* the next one */
};

/* Local. */
static int take(struct whole *w)
{
    const struct mf_micro *m = w->job->micro;

    if (!m->grey || mf_apart(w->job->queue)) {
        w->x = mf_arena_take(w->job->queue->arena, mf_slab_voxels(&m->slab) * sizeof *w->x, "indicator");
        if (!w->x) return MF_MEMORY;
    }
    return mf_stage_open(&w->stage, w->job->queue, m->slab.dims[1] * m->slab.dims[2] * sizeof *w->x, m->slab.count);
}

/* Its place in one of them; NULL: that one is not wanted. */
static double *place(const struct whole *w, enum mf_whole which, size_t part)
{
    double *values = w->job->out->whole[which];

    return values ? values + part * mf_whole_entries(which, w->job->opts->lag) : NULL;
}

static int hold(struct whole *w, size_t field, int phase)
{
    return mf_space_hold(w->space, field, mf_job_indicator(w->job, &w->stage, phase, w->x));
}

static int one_phase(struct whole *w, int phase)
{
    const size_t planes = w->job->micro->slab.count;
    double *window = place(w, MF_WHOLE_S2, (size_t)phase), *pair;
    MF_PHASE(&mf_phase_s2);

    MF_TRY(hold(w, 0, phase));
    if (window) {
        mf_phase_count(mf_cost_s2_3d(&w->desc, planes, MF_COST_TOTAL));
        mf_space_window(w->space, 0, window);
    }
    for (int other = phase + 1; other < w->job->out->phases; ++other) {
        pair = place(w, MF_WHOLE_CROSS, w->pair);
        if (!pair) continue;
        mf_phase_count(mf_cost_cross_s2_3d(&w->desc, planes, MF_COST_TOTAL));
        MF_TRY(hold(w, 1, other));
        mf_space_cross(w->space, 0, 1, pair);
        ++w->pair;
    }
    return MF_OK;
}

/* Finds the phases that span; periodic borders do not count. */
static int spans(const struct mf_job *job)
{
    const struct mf_measure_job counted = {.comm = job->comm, .arena = job->arena, .micro = job->micro};
    double share[MF_PHASES_MAX][3];
    MF_PHASE(&mf_phase_counting);

    MF_TRY(mf_agree(job->comm, mf_clusters_room(job->comm, job->arena, &job->micro->slab, 0)));
    if (job->dry) return MF_OK;
    MF_TRY(mf_clusters_share(&counted, share));
    MF_TRY(mf_pulse_all(job->comm, "clusters"));
    memcpy(job->out->whole[MF_WHOLE_SPANS], share[job->first], (size_t)job->out->phases * sizeof share[0]);
    return MF_OK;
}

int mf_whole(const struct mf_job *job)
{
    const int pairs = job->out->whole[MF_WHOLE_CROSS] != NULL;
    const struct mf_space_opts opts = {.lag = job->opts->lag,
                                       .fields = pairs ? 2 : 1,
                                       .periodic = job->opts->periodic,
                                       .pairs = pairs,
                                       .name = job->out->whole[MF_WHOLE_S2] ? "S2_3D" : "CrossS2_3D"};
    const size_t *n = job->micro->slab.dims;
    struct whole w = {.job = job,
                      .desc = {.nu = n[1], .nv = n[2], .lag = opts.lag, .levels = 1, .periodic = opts.periodic}};
    int rc;

    MF_TRY(mf_space_new(job->comm, job->queue, &job->micro->slab, &opts, &w.space));
    rc = mf_agree(job->comm, take(&w));
    for (int p = 0; rc == MF_OK && !job->dry && p < job->out->phases; ++p) {
        mf_pulse_open();
        rc = one_phase(&w, p);
        mf_pulse_close();
        if (rc == MF_OK) rc = mf_pulse_all(job->comm, "measuring");
    }
    mf_stage_close(&w.stage);
    mf_arena_give(job->queue->arena, w.x);
    mf_space_free(w.space);
    return rc == MF_OK && job->out->whole[MF_WHOLE_SPANS] ? spans(job) : rc;
}
