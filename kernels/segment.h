/* A segment: work on a queue that comes back unchanged again and again, and that a device can be given as one (a CUDA
 * graph).
 *
 *     if (mf_segment_begin(queue, &key, sizeof key)) {
 *         ... kernel calls ...
 *     }
 *     mf_segment_end(queue);
 *
 * Where a segment of this key is known, begin() returns 0, the calls are left out, and end() puts on the queue what
 * they were. So whatever bears on the calls themselves belongs in the key (addresses, what is read at the call), while
 * what stands in the memory they work on may change. Inside: kernel calls alone; no put, get or sync, nothing of the
 * host's that the caller relies on, no other segment. */
#ifndef MF_KERNELS_SEGMENT_H
#define MF_KERNELS_SEGMENT_H

#include "kernels/backend.h"
#include "src/base/phase.h"

enum { MF_SEGMENT_KEY = 96 };

/** A number that no other segment of this queue has had: keys of what lives and dies begin with one. */
static inline unsigned long mf_segment_name(struct mf_queue *queue) { return ++queue->segments; }

/** @p key: at most MF_SEGMENT_KEY bytes, without gaps that nothing has been written to. Calls are made, and timed, each
 * by itself while a run counts its phases. */
static inline int mf_segment_begin(struct mf_queue *queue, const void *key, size_t bytes)
{
    return mf_phases_timed() || !queue->backend->segment_begin || queue->backend->segment_begin(queue, key, bytes);
}

static inline void mf_segment_end(struct mf_queue *queue)
{
    if (queue->backend->segment_end) queue->backend->segment_end(queue);
}

#endif
