/* Phases of a walk, for --log-view (src/base/phase.h): one for every operation forward, and one backward. */
#ifndef MF_NET_PHASES_H
#define MF_NET_PHASES_H

#include "kernels/net/ops.h"
#include "src/base/phase.h"

struct mf_phase *mf_phase_of_op(enum mf_op_id op, int back);

#endif
