/* Host access to device memory. A stage holds a few planes of an array that is processed once; a mirror holds all of
 * it. On cpu both are the device memory itself.
 * Rule: where device memory is the host's, nothing is allocated and nothing is copied. */
#ifndef MF_KERNELS_STAGE_H
#define MF_KERNELS_STAGE_H

#include <stdint.h>

#include "kernels/backend.h"

/** May the host not touch the queue's device memory? */
static inline int mf_apart(const struct mf_queue *queue) { return queue->backend->host_mem != NULL; }

/** The queue on which slices of fields of @p queue are compared. It is the queue itself, unless the fields are too
 * large for a device. */
static inline struct mf_queue *mf_slices_queue(struct mf_queue *queue)
{
    return queue->compute ? queue->compute : queue;
}

/** The arena of mirrors. Where the host can touch device memory, it is the arena of that memory. */
static inline struct mf_arena *mf_mirror_arena(const struct mf_queue *queue)
{
    return mf_apart(queue) ? queue->host : queue->arena;
}

/** Takes the mirror of @p device [bytes], not filled. NULL after mf_fail(MF_MEMORY). */
void *mf_mirror_take(struct mf_queue *queue, void *device, size_t bytes, const char *tag);
/** Frees the mirror, before @p device. NULLs are accepted. */
void mf_mirror_give(struct mf_queue *queue, const void *device, void *mirror);
/** Device to mirror, mirror to device. */
void mf_mirror_get(struct mf_queue *queue, void *mirror, const void *device, size_t bytes);
void mf_mirror_put(struct mf_queue *queue, void *device, const void *mirror, size_t bytes);
/** As mf_mirror_put(), but the host does not wait: the mirror must not change before the next sync(). */
void mf_mirror_send(struct mf_queue *queue, void *device, const void *mirror, size_t bytes);

/**
 * A stage moves the planes of a slab through a small buffer, a run of planes at a time:
 *
 *   for (size_t z = 0, n; z < count; z += n) {
 *       n = mf_stage_run(stage, count - z);
 *       float *at = mf_stage_at(stage, x + z * plane);     (n planes to fill)
 *       ...
 *       mf_stage_put(stage, x + z * plane, n * plane * sizeof *x);
 *   }
 *
 * Where @p stage is NULL, x is host memory.
 */
struct mf_stage {
    struct mf_queue *queue;
    size_t planes; /* of a run */
    void *buffer;  /* NULL: device memory is the host's */
};

/** For planes of at most @p plane bytes, at most @p planes at a time. MF_MEMORY. */
int mf_stage_open(struct mf_stage *stage, struct mf_queue *queue, size_t plane, size_t planes);
/** Closes a stage; does nothing for one that is all zero. */
void mf_stage_close(struct mf_stage *stage);

/** Planes of the next run when @p left are left. */
size_t mf_stage_run(const struct mf_stage *stage, size_t left);
/** Host memory for the planes of a run at @p device. */
void *mf_stage_at(const struct mf_stage *stage, void *device);
/** Copies so many bytes of filled planes to the device. */
void mf_stage_put(const struct mf_stage *stage, void *device, size_t bytes);
/** The other direction: copies bytes at @p device to host memory and returns that. */
const void *mf_stage_get(const struct mf_stage *stage, const void *device, size_t bytes);

#endif
