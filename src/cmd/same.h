/* Checks that all ranks have the same options. */
#ifndef MF_CMD_SAME_H
#define MF_CMD_SAME_H

#include "mpi/comm.h"
#include "src/base/opt.h"

/** Refuses with MF_USAGE options that differ between ranks, before they lead to different results. Collective. */
int mf_same_options(const struct mf_comm *comm, const struct mf_options *options);

#endif
