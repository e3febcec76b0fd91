/* See accepted.h. */
#include "src/cmd/accepted.h"

#include "src/base/log.h"

void mf_accepted_say(const struct mf_session *session, const struct mf_accepted *accepted)
{
    if (mf_given(session, "memory_growth") && accepted->memory_growth)
        mf_info("--memory_growth: memory is taken when it is needed, up to --memory-limit");
    if (accepted->mixed_precision)
        mf_info("--enable_mixed_precision has no effect: S2 needs more digits than 16 bits hold; the %s back end "
                "computes in 32 bits and adds in 64",
                session->backend->name);
    if (accepted->distributed_loss)
        mf_info("--use_distributed_loss: the loss is always shared by all ranks (%d here)", session->comm->size);
    if (mf_given(session, "auto_gpu_config"))
        mf_info("--%sauto_gpu_config: reconstruct and match are %splanned", accepted->auto_gpu ? "" : "no_",
                accepted->auto_gpu ? "" : "not ");
}
