/* What the launcher says by PMIx. The library that MPI has loaded is asked, of no other version and by no other way;
 * where MPI has none, or nobody launched this program, nothing is asked. A launcher leaves out what it likes: every
 * answer may be missing, and none of them numbers ranks. */
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
