/* See phases.h. */
#include "mpi/phases.h"

struct mf_phase mf_phase_exchange = {.name = "exchange", .kind = MF_TALK};
struct mf_phase mf_phase_waiting = {.name = "waiting", .kind = MF_TALK};
struct mf_phase mf_phase_reduction = {.name = "reduction", .kind = MF_TALK};
struct mf_phase mf_phase_messages = {.name = "messages", .kind = MF_TALK};
