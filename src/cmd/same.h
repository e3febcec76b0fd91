/* Do all ranks have the same options? */
#ifndef MF_CMD_SAME_H
#define MF_CMD_SAME_H

#include "mpi/comm.h"
#include "src/base/opt.h"

/** What another rank would do differently with its options is found here and not in a result: MF_USAGE. Collective. */
int mf_same_options(const struct mf_comm *comm, const struct mf_options *options);

#endif
