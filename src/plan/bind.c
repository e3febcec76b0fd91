/* See bind.h. */
#include "src/plan/bind.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"

static int no_such(size_t r, const struct mf_bind_rank *rank, long id)
{
    if (rank->gpus == 0) return mf_fail(MF_DEVICE, "--gpu_ids %ld: rank %zu on '%.80s' sees no GPU", id, r, rank->host);
    if (rank->gpus == 1)
        return mf_fail(MF_DEVICE, "--gpu_ids %ld: rank %zu on '%.80s' sees one GPU, number 0; leave --gpu_ids out", id,
                       r, rank->host);
    return mf_fail(MF_DEVICE, "--gpu_ids %ld: rank %zu on '%.80s' sees %zu GPUs, 0 to %zu", id, r, rank->host,
                   rank->gpus, rank->gpus - 1);
}

/* Refuses ids that no rank sees, even if no rank would use them. The sentence is about the rank that sees most GPUs. */
static int check_ids(const struct mf_bind_rank *rank, size_t ranks, const struct mf_bind_options *options)
{
    size_t best = 0;

    for (size_t r = 1; r < ranks; ++r)
        if (rank[r].gpus > rank[best].gpus) best = r;
    for (size_t i = 0; ranks > 0 && i < options->count; ++i)
        if (options->gpu_ids[i] < 0 || (size_t)options->gpu_ids[i] >= rank[best].gpus)
            return no_such(best, &rank[best], options->gpu_ids[i]);
    return MF_OK;
}

static int choose(size_t r, const struct mf_bind_rank *rank, const struct mf_bind_options *options, int *gpu)
{
    size_t local = (size_t)rank->local_rank;
    long id;

    *gpu = rank->gpus > 0 ? (int)(local % rank->gpus) : -1;
    if (options->count == 0) return MF_OK;
    id = options->gpu_ids[local % options->count];
    if (id < 0 || (size_t)id >= rank->gpus) return no_such(r, rank, id);
    *gpu = (int)id;
    return MF_OK;
}

static int is_same(const struct mf_bind_rank *a, int gpu_a, const struct mf_bind_rank *b, int gpu_b)
{
    return a->node == b->node && gpu_a >= 0 && gpu_b >= 0 && strcmp(a->gpu[gpu_a], b->gpu[gpu_b]) == 0;
}

/* How many ranks took what rank @p r took, itself included. */
static size_t takers(const struct mf_bind_rank *rank, size_t ranks, const int *gpu, size_t r)
{
    size_t n = 0;

    for (size_t k = 0; k < ranks; ++k) n += (size_t)is_same(&rank[k], gpu[k], &rank[r], gpu[r]);
    return n;
}

static int too_many(const struct mf_bind_rank *rank, size_t ranks, const int *gpu, size_t r)
{
    char list[96] = "";
    size_t at = 0, n = takers(rank, ranks, gpu, r);

    for (size_t k = 0; k < ranks; ++k)
        if (is_same(&rank[k], gpu[k], &rank[r], gpu[r]) && at + 24 < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%zu", at ? ", " : "", k);
    return mf_fail(MF_DEVICE,
                   "%zu ranks (%s%s) would take one GPU, %.80s of '%.80s'; try: one rank per GPU (srun "
                   "--gpus-per-task=1, mpirun --map-by ppr:N:node), or --share-gpu",
                   n, list, at + 24 < sizeof list ? "" : ", ...", rank[r].gpu[gpu[r]], rank[r].host);
}

int mf_bind(const struct mf_bind_rank *rank, size_t ranks, const struct mf_bind_options *options, int *gpu)
{
    for (size_t r = 0; r < ranks; ++r) gpu[r] = -1;
    MF_TRY(check_ids(rank, ranks, options));
    for (size_t r = 0; r < ranks; ++r) MF_TRY(choose(r, &rank[r], options, &gpu[r]));
    for (size_t r = 0; !options->share && r < ranks; ++r)
        if (gpu[r] >= 0 && takers(rank, ranks, gpu, r) > 1) return too_many(rank, ranks, gpu, r);
    return MF_OK;
}

static int is_crowded(const struct mf_bind_rank *rank, size_t ranks, const int *gpu, int node)
{
    for (size_t r = 0; r < ranks; ++r)
        if (rank[r].node == node && gpu[r] >= 0 && takers(rank, ranks, gpu, r) > 1) return 1;
    return 0;
}

void mf_bind_say(const struct mf_bind_rank *rank, size_t ranks, const int *gpu)
{
    mf_warn("  rank  local  sees  takes  id");
    for (size_t r = 0; r < ranks; ++r) {
        int has = gpu[r] >= 0;

        if (!is_crowded(rank, ranks, gpu, rank[r].node)) continue;
        mf_warn("%6zu %6d %5zu %6d  %s on %s%s", r, rank[r].local_rank, rank[r].gpus, gpu[r],
                has ? rank[r].gpu[gpu[r]] : "none", rank[r].host,
                has && takers(rank, ranks, gpu, r) > 1 ? "  <- shared" : "");
    }
}
