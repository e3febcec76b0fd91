/* See stage.h. */
#include "kernels/stage.h"

#include "src/base/err.h"

static const size_t STAGE_BYTES = (size_t)4 << 20; /* of a run, if it holds more than a plane */

void *mf_mirror_take(struct mf_queue *queue, void *device, size_t bytes, const char *tag)
{
    return mf_apart(queue) ? mf_arena_take(queue->host, bytes, tag) : device;
}

void mf_mirror_give(struct mf_queue *queue, const void *device, void *mirror)
{
    if (mirror && mirror != device) mf_arena_give(queue->host, mirror);
}

void mf_mirror_get(struct mf_queue *queue, void *mirror, const void *device, size_t bytes)
{
    if (mirror != device) queue->backend->get(queue, mirror, device, bytes);
}

void mf_mirror_put(struct mf_queue *queue, void *device, const void *mirror, size_t bytes)
{
    if (mirror != device) queue->backend->put(queue, device, mirror, bytes);
}

void mf_mirror_send(struct mf_queue *queue, void *device, const void *mirror, size_t bytes)
{
    if (mirror != device) queue->backend->follow(queue, queue->backend->put_start(queue, device, mirror, bytes));
}

int mf_stage_open(struct mf_stage *stage, struct mf_queue *queue, size_t plane, size_t planes)
{
    const size_t most = plane ? STAGE_BYTES / plane : 0;

    *stage = (struct mf_stage){.queue = queue, .planes = planes};
    if (!mf_apart(queue)) return MF_OK;
    if (stage->planes > most) stage->planes = most;
    if (stage->planes == 0) stage->planes = 1;
    stage->buffer = mf_arena_take(queue->host, stage->planes * plane, "stage");
    return stage->buffer ? MF_OK : MF_MEMORY;
}

void mf_stage_close(struct mf_stage *stage)
{
    if (stage->queue) mf_arena_give(stage->queue->host, stage->buffer);
    *stage = (struct mf_stage){.queue = NULL};
}

static int passes(const struct mf_stage *stage) { return stage && stage->buffer; }

size_t mf_stage_run(const struct mf_stage *stage, size_t left)
{
    return passes(stage) && stage->planes < left ? stage->planes : left;
}

void *mf_stage_at(const struct mf_stage *stage, void *device) { return passes(stage) ? stage->buffer : device; }

void mf_stage_put(const struct mf_stage *stage, void *device, size_t bytes)
{
    if (passes(stage)) stage->queue->backend->put(stage->queue, device, stage->buffer, bytes);
}

const void *mf_stage_get(const struct mf_stage *stage, const void *device, size_t bytes)
{
    if (!passes(stage)) return device;
    stage->queue->backend->get(stage->queue, stage->buffer, device, bytes);
    return stage->buffer;
}
