/* Assigns one GPU to each rank, from the map of nodes and the GPUs that each rank sees.
 * Rule: pure, so every rank computes the same assignment. */
#ifndef MF_PLAN_BIND_H
#define MF_PLAN_BIND_H

#include <stddef.h>

struct mf_bind_rank {
    const char *host;       /* name of its node */
    int node, local_rank;   /* number of the node; of the rank on it, by MPI and never by a launcher's variables */
    size_t gpus;            /* number of GPUs that it may see */
    const char *const *gpu; /* [gpus] their ids, in CUDA's order */
};

struct mf_bind_options {
    size_t count;
    const long *gpu_ids; /* [count] --gpu_ids, in CUDA's numbering */
    int share;           /* --share-gpu */
};

/**
 * gpu [ranks]: index of the GPU that each rank takes; -1: it sees none. Local rank k takes the k-th GPU that it sees,
 * or the k-th of --gpu_ids, starting again at the end. A launcher may give it only one; it takes that.
 *
 * Refuses with MF_DEVICE:
 * - an id that does not exist
 * - --gpu_ids where a rank sees no GPU
 * - two ranks on one GPU, unless they may share; gpu is set nevertheless, so that it can be shown
 *
 * Not collective: the same arguments give the same answer.
 */
int mf_bind(const struct mf_bind_rank *rank, size_t ranks, const struct mf_bind_options *options, int *gpu);

/** Logs a table of warnings: the ranks of every node on which two ranks took one GPU. */
void mf_bind_say(const struct mf_bind_rank *rank, size_t ranks, const int *gpu);

#endif
