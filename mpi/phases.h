/* Phases of messages, for --log-view (src/base/phase.h). */
#ifndef MF_MPI_PHASES_H
#define MF_MPI_PHASES_H

#include "src/base/phase.h"

extern struct mf_phase mf_phase_exchange, mf_phase_waiting, mf_phase_reduction, mf_phase_messages;

#endif
