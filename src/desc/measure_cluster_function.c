/* Two-point cluster function along the axes. It is the probability that two voxels at a distance are in one cluster of
 * the phase. */
#include "src/base/err.h"
#include "src/desc/clusters.h"
#include "src/desc/pairs.h"

struct pairs {
    const uint8_t *phase;
    const uint32_t *id; /* own planes and those that lags reach */
    size_t phases;
    int64_t *count; /* [3][lag][phases] */
};

static void add(void *context, size_t slot, size_t a, size_t b, size_t n)
{
    const struct pairs *p = context;
    int64_t *count = p->count + slot * p->phases;

    for (size_t i = 0; i < n; ++i) count[p->phase[a + i]] += p->id[a + i] == p->id[b + i];
}

/** The planes that lags reach behind the slab. */
static size_t ahead_of(const struct mf_measure_job *job)
{
    const struct mf_slab *slab = &job->micro->slab;
    const size_t left = slab->dims[0] - slab->first - slab->count;

    if (job->micro->ndim == 2 || slab->count == 0) return 0;
    return job->periodic || left > job->lag - 1 ? job->lag - 1 : left;
}

static int count_pairs(const struct mf_measure_job *job, struct pairs *p, uint32_t *id)
{
    const struct mf_slab *slab = &job->micro->slab;
    const size_t plane = slab->dims[1] * slab->dims[2], ahead = ahead_of(job);

    MF_TRY(mf_clusters_name(job, id));
    MF_TRY(mf_slab_fetch(job->comm, slab, id, plane * sizeof *id, (ptrdiff_t)(slab->first + slab->count), ahead,
                         id + slab->count * plane));
    mf_pairs_walk(job, slab->count + ahead, add, p);
    mf_comm_sum_int(job->comm, 3 * job->lag * p->phases, p->count);
    return MF_OK;
}

int mf_measure_cluster_function(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    const struct mf_slab *slab = &job->micro->slab;
    const size_t planes = slab->count + ahead_of(job), phases = (size_t)job->micro->phases;
    uint32_t *id = mf_arena_take(job->arena, planes * slab->dims[1] * slab->dims[2] * sizeof *id, "clusters");
    struct pairs p = {job->micro->phase, id, phases,
                      mf_arena_zeros(job->arena, 3 * job->lag * phases, sizeof *p.count, "pairs")};
    int rc = mf_agree(job->comm, id && p.count ? MF_OK : MF_MEMORY);

    if (rc == MF_OK) rc = count_pairs(job, &p, id);
    for (size_t k = 0; rc == MF_OK && k < phases; ++k)
        mf_json_put(phase[k], "cluster_function", mf_pairs_json(job, p.count + k, phases, 1, 0));
    mf_arena_give(job->arena, p.count);
    mf_arena_give(job->arena, id);
    return rc;
}

void mf_measure_cluster_function_text(FILE *to, const struct mf_json *values)
{
    mf_pairs_text(to, "two-point cluster function", values);
}
