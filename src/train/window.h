/* Which samples a step takes. A window is the effective batch of one step: a run of positions in the order of an epoch.
 * Its samples do not depend on ranks, batches or readers. The last window of an epoch may be smaller. */
#ifndef MF_TRAIN_WINDOW_H
#define MF_TRAIN_WINDOW_H

#include "io/dataset.h"
#include "src/base/cut.h"
#include "src/train/learn.h"

struct mf_window {
    size_t epoch, first, count; /* positions [first, first + count) of the epoch's order */
};

/** Steps of an epoch of @p samples. */
size_t mf_window_steps(size_t samples, size_t effective);

/** The window of step @p step, from 0 on. */
struct mf_window mf_window_of(size_t samples, size_t effective, size_t step);

/** The positions that a rank takes in one of its micro-batches, at most @p batch; it may be none. Slot k of a window
 * (slots.h) is micro-batch k of one rank. */
struct mf_span mf_window_part(const struct mf_window *window, size_t ranks, size_t rank, size_t batch, size_t micro);

/** Micro-batches that every rank needs for the largest window. */
size_t mf_window_micro(size_t effective, size_t ranks, size_t batch);

/** Rows of a window of the train split that count in the mean of head @p head. */
size_t mf_window_rows(const struct mf_task *task, const struct mf_dataset *set, uint64_t seed,
                      const struct mf_window *window, size_t head);

/** The samples at these positions of an epoch of a split. @p id [span->count]. */
void mf_window_ids(const struct mf_dataset *set, enum mf_split split, uint64_t seed, size_t epoch,
                   const struct mf_span *span, size_t *id);

#endif
