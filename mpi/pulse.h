/* The pulse (src/base/pulse.h) of work that all ranks share. */
#ifndef MF_MPI_PULSE_H
#define MF_MPI_PULSE_H

#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/pulse.h"

/** Refuses with MF_STOPPED, agreed, where a host asks for the end. Collective; a program's ranks exchange nothing. */
static inline int mf_pulse_all(const struct mf_comm *comm, const char *what)
{
    return mf_is_guest() ? mf_agree(comm, mf_pulse(what)) : MF_OK;
}

#endif
