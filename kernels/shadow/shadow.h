/* Private to the shadow back end: a GPU for tests on machines without one. It runs cpu's kernels on memory that the
 * host cannot touch. It delivers results in host memory at sync() and not before.
 * Rule: a caller that forgets a copy, a wait or the right memory stops at that line. Results have the same bits as
 * cpu's. */
#ifndef MF_KERNELS_SHADOW_SHADOW_H
#define MF_KERNELS_SHADOW_SHADOW_H

#include "kernels/backend.h"
#include "kernels/field.h"
#include "kernels/flux.h"
#include "kernels/labels.h"
#include "kernels/meanfield.h"
#include "kernels/move.h"
#include "kernels/optim.h"
#include "kernels/select.h"
#include "kernels/slices/slices.h"
#include "kernels/slices/space.h"

/* -- memory.c: every block has whole pages, which only a running kernel can access -- */

extern const struct mf_mem mf_shadow_mem;

/** Opens all device memory; closes it. Calls nest. Only one thread of the process calls them. */
void mf_shadow_enter(void);
void mf_shadow_leave(void);

/** Is there device memory at @p address? */
int mf_shadow_is_device(const void *address);

/** From now on names of memory can be asked from a queue's arena; no longer. */
void mf_shadow_watch(const struct mf_arena *arena);
void mf_shadow_unwatch(const struct mf_arena *arena);

/* -- queue.c -- */

/** The queue of cpu that does the work. */
struct mf_queue *mf_shadow_inner(const struct mf_queue *queue);

/** Breaks unless every one of the @p n addresses is device memory (NULL passes). */
void mf_shadow_device(const char *kernel, size_t n, const void *const *address);

/**
 * Returns memory of the shadow back end, with the present content of @p host [bytes], for a kernel to write. A sync()
 * copies it to @p host, which holds NaN until then. Breaks unless @p host comes from queue->host. NULL stays NULL.
 */
void *mf_shadow_output(struct mf_queue *queue, const char *kernel, void *host, size_t bytes);

/** Breaks now unless @p host [bytes] comes from queue->host, and at sync() if it has changed since. */
void mf_shadow_input(struct mf_queue *queue, const char *kernel, const void *host, size_t bytes);

/** Runs a kernel: checks its device memory, opens it, and closes it again. */
#define MF_SHADOW_RUN(kernel, call, ...)                                                            \
    do {                                                                                            \
        const void *const mf_shadow_args[] = {__VA_ARGS__};                                         \
                                                                                                    \
        mf_shadow_device(kernel, sizeof mf_shadow_args / sizeof mf_shadow_args[0], mf_shadow_args); \
        mf_shadow_enter();                                                                          \
        call;                                                                                       \
        mf_shadow_leave();                                                                          \
    } while (0)

extern const struct mf_move_ops mf_move_shadow;
extern const struct mf_field_ops mf_field_shadow;
extern const struct mf_optim_ops mf_optim_shadow;
extern const struct mf_meanfield_ops mf_meanfield_shadow;
#define MF_FAMILY(ID, family, ...) extern const struct mf_slice_ops mf_##family##_shadow;
MF_LIST_SLICES(MF_FAMILY)
#undef MF_FAMILY
void mf_shadow_drain(struct mf_queue *queue, size_t n, int64_t *tally, double *sum);
extern const struct mf_space_ops mf_space_shadow;
extern const struct mf_select_ops mf_select_shadow;
extern const struct mf_label_ops mf_label_shadow;
extern const struct mf_op_table mf_net_shadow;
extern const struct mf_flux_ops mf_flux_shadow;

#endif
