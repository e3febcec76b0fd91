/* See job.h: what slices look like, kept as it is. */
#include "src/base/err.h"
#include "src/desc/job.h"

/* Pixels of @p n that an example shows. */
static struct mf_span middle(const struct mf_job *job, size_t n)
{
    const size_t most = job->opts->example_max ? job->opts->example_max : MF_EXAMPLE_MAX, count = n < most ? n : most;

    return (struct mf_span){(n - count) / 2, count};
}

/* The target's phase of a voxel; -1: none. */
static double phase_of(const struct mf_job *job, uint8_t phase)
{
    int p = (int)phase - job->first;

    return p >= 0 && p < job->out->phases ? p : -1;
}

/* This rank's pixels of the middle slice normal to @p normal; the others' stay 0. */
static void fill(const struct mf_job *job, int normal, struct mf_target_side *side)
{
    const struct mf_slab *slab = &job->micro->slab;
    const struct mf_span u = middle(job, side->nu), v = middle(job, side->nv);
    size_t at[3] = {0};

    at[normal] = slab->dims[normal] / 2;
    for (size_t i = 0; i < u.count; ++i)
        for (size_t j = 0; j < v.count; ++j) {
            at[mf_slice_u((size_t)normal)] = u.first + i;
            at[mf_slice_v((size_t)normal)] = v.first + j;
            if (at[0] < slab->first || at[0] >= slab->first + slab->count) continue;
            side->example[i * v.count + j] = phase_of(
                job, job->micro->phase[((at[0] - slab->first) * slab->dims[1] + at[1]) * slab->dims[2] + at[2]]);
        }
}

int mf_example(const struct mf_job *job)
{
    int rc = MF_OK;

    for (int k = 0; rc == MF_OK && k < job->out->sides; ++k) {
        struct mf_target_side *side = &job->out->side[k];

        rc = mf_agree(job->comm, mf_target_example_new(side, middle(job, side->nu).count, middle(job, side->nv).count));
        if (rc != MF_OK) break;
        fill(job, k, side);
        mf_comm_sum(job->comm, side->example_nu * side->example_nv, side->example);
    }
    return rc;
}
