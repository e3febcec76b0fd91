/* Asks the launcher through PMIx for node, local rank and cores.
 * Rule: it asks only the PMIx library that MPI has loaded. Without that library, or without a launcher, it asks
 * nothing. Every answer may be missing, and no answer numbers ranks. */
#ifndef MF_SLURM_PMIX_H
#define MF_SLURM_PMIX_H

#include "slurm/launcher.h"

struct mf_pmix {
    char version[80];                    /* of the library; "": nothing was asked */
    long local_rank, local_size;         /* on its node, of this job; -1: no answer */
    long node, nodes;                    /* the same for nodes */
    char host[128], list[512], set[256]; /* names of this node and of all nodes, cores it may use; "": no answer */
};

/** Call it after MPI has started. Without a launcher MPI is its own PMIx server, so @p launcher says whether there is
 * one. Not collective. */
struct mf_pmix mf_pmix_ask(const struct mf_launcher *launcher);

#endif
