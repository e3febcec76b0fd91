/* A segment: a sequence of kernel calls that repeats unchanged. A device may record it once and replay it (a CUDA
 * graph).
 *
 *     if (mf_segment_begin(queue, &key, sizeof key)) {
 *         ... kernel calls ...
 *     }
 *     mf_segment_end(queue);
 *
 * For a known key begin() returns 0, the calls are skipped, and end() replays them.
 * Rule: the key holds everything that the calls depend on, such as addresses and arguments read at the call. The
 * contents of memory may change. A segment holds kernel calls alone. It has no put, get or sync, no other segment, and
 * no work of the host that the caller relies on. */
#ifndef MF_KERNELS_SEGMENT_H
#define MF_KERNELS_SEGMENT_H

#include "kernels/backend.h"
#include "src/base/phase.h"

enum { MF_SEGMENT_KEY = 96 };

/** A number that no other segment of this queue has had. Begin the keys of short-lived objects with one. */
static inline unsigned long mf_segment_name(struct mf_queue *queue) { return ++queue->segments; }

/** @p key: at most MF_SEGMENT_KEY bytes, all initialised. While a run times its phases, every call runs and is timed on
 * its own. */
static inline int mf_segment_begin(struct mf_queue *queue, const void *key, size_t bytes)
{
    return mf_phases_timed() || !queue->backend->segment_begin || queue->backend->segment_begin(queue, key, bytes);
}

static inline void mf_segment_end(struct mf_queue *queue)
{
    if (queue->backend->segment_end) queue->backend->segment_end(queue);
}

#endif
