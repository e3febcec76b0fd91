/* Phases of input and output, for --log-view (src/base/phase.h). */
#ifndef MF_IO_PHASES_H
#define MF_IO_PHASES_H

#include "src/base/phase.h"

extern struct mf_phase mf_phase_read, mf_phase_write;

#endif
