/* Operations on numbers of 16 bits, by those on f32. A few samples at a time become f32 in work memory, while they are
 * in the caches.
 * Rule: results do not depend on the number of threads, since the pieces follow from the shapes. */
#ifndef MF_KERNELS_CPU_NET_HALF_H
#define MF_KERNELS_CPU_NET_HALF_H

#include "kernels/net/ops.h"
#include "kernels/op.h"

/** At least so many numbers of an output become f32 at a time. Tests make it small. */
extern size_t mf_half_piece;

/** As the functions of struct mf_op_calls, for an operation whose f32 calls are @p calls. Calls without numbers of 16
 * bits go straight there. */
int mf_half_plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work,
                 enum mf_op_id op, const struct mf_op_calls *calls);
void mf_half_release(void *made, const struct mf_op_calls *calls);
void mf_half_run(struct mf_queue *queue, const struct mf_call *call, int back, enum mf_op_id op,
                 const struct mf_op_calls *calls);

#endif
