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

int mf_stage_open(struct mf_stage *stage, struct mf_queue *queue, size_t plane, size_t planes)
{
    const size_t bytes = plane * sizeof(float), most = bytes ? STAGE_BYTES / bytes : 0;

    *stage = (struct mf_stage){.queue = queue, .plane = plane, .planes = planes};
    if (!mf_apart(queue)) return MF_OK;
    if (stage->planes > most) stage->planes = most;
    if (stage->planes == 0) stage->planes = 1;
    stage->buffer = mf_arena_take(queue->host, stage->planes * bytes, "stage");
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

static void put(const struct mf_stage *stage, void *device, size_t bytes)
{
    stage->queue->backend->put(stage->queue, device, stage->buffer, bytes);
}

static const void *get(const struct mf_stage *stage, const void *device, size_t bytes)
{
    stage->queue->backend->get(stage->queue, stage->buffer, device, bytes);
    return stage->buffer;
}

float *mf_stage_at(const struct mf_stage *stage, float *device) { return passes(stage) ? stage->buffer : device; }

void mf_stage_put(const struct mf_stage *stage, float *device, size_t planes)
{
    if (passes(stage)) put(stage, device, planes * stage->plane * sizeof *device);
}

const float *mf_stage_get(const struct mf_stage *stage, const float *device, size_t planes)
{
    return passes(stage) ? get(stage, device, planes * stage->plane * sizeof *device) : device;
}

uint8_t *mf_stage_labels_at(const struct mf_stage *stage, uint8_t *device)
{
    return passes(stage) ? (uint8_t *)stage->buffer : device;
}

void mf_stage_labels_put(const struct mf_stage *stage, uint8_t *device, size_t planes)
{
    if (passes(stage)) put(stage, device, planes * stage->plane);
}

const uint8_t *mf_stage_labels_get(const struct mf_stage *stage, const uint8_t *device, size_t planes)
{
    return passes(stage) ? get(stage, device, planes * stage->plane) : device;
}
