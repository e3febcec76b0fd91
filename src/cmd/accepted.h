/* Options of MCRpy's fork for several GPUs that scripts give to characterize, reconstruct and match. Rule: each is
 * accepted, and what becomes of it is said once. */
#ifndef MF_CMD_ACCEPTED_H
#define MF_CMD_ACCEPTED_H

#include "src/cmd/common.h"

struct mf_accepted {
    int memory_growth, mixed_precision, distributed_loss, auto_gpu;
};

/** The rows, in the options of a verb that has a struct mf_accepted called accepted. */
#define MF_ACCEPTED_ROWS(type)                                                                               \
    MF_OPT(type, "memory_growth", accepted.memory_growth, MF_FLAG, "1", "take memory when it is needed"),    \
        MF_OPT(type, "no_memory_growth", accepted.memory_growth, MF_UNFLAG, NULL,                            \
               "reconstruct, match: take all planned memory (without a plan: --memory-limit) at the start"), \
        MF_OPT(type, "enable_mixed_precision", accepted.mixed_precision, MF_FLAG, NULL,                      \
               "has no effect: S2 needs more digits than 16 bits hold (accepted for old scripts)"),          \
        MF_OPT(type, "use_distributed_loss", accepted.distributed_loss, MF_FLAG, NULL,                       \
               "share the loss between ranks (always so; accepted for old scripts)"),                        \
        MF_OPT(type, "auto_gpu_config", accepted.auto_gpu, MF_FLAG, "1",                                     \
               "plan what is left open (reconstruct, match: --plan auto)"),                                  \
        MF_OPT(type, "no_auto_gpu_config", accepted.auto_gpu, MF_UNFLAG, NULL,                               \
               "options and defaults alone (reconstruct, match: --plan off)")

/** Says what becomes of those that were given. Not collective. */
void mf_accepted_say(const struct mf_session *session, const struct mf_accepted *accepted);

#endif
