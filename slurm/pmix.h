/* What the launcher says through PMIx: node, local rank, cores.
 * Rule: it asks the PMIx library that MPI has loaded and no other. Without one, or without a launcher, it asks nothing.
 * Every answer may be missing, and no answer numbers ranks. */
#ifndef MF_SLURM_PMIX_H
#define MF_SLURM_PMIX_H

#include "slurm/launcher.h"

struct mf_pmix {
    char version[80];                    /* of the library; "": nothing was asked */
    long local_rank, local_size;         /* on its node, of this job; -1: no answer */
    long node, nodes;                    /* the same */
    char host[128], list[512], set[256]; /* name of the node, of all nodes, cores that it is bound to; "": no answer */
};

/** After MPI has started, which makes itself a server where there is no launcher: @p launcher says so. Not collective.
 */
struct mf_pmix mf_pmix_ask(const struct mf_launcher *launcher);

#endif
