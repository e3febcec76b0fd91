/* Segments as CUDA graphs: see kernels/segment.h. The first time, the calls of a key are made normally, which loads
 * kernels that have not run yet. The second time they are captured. From then on the graph is launched. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/queue.cuh"
#include "kernels/segment.h"

namespace
{

/* Segments that are kept. One that has been idle for so many others gives way to a new one. Where more than KEPT come
 * back again and again, the first ones stay. The calls of the rest are made one by one. */
constexpr size_t KEPT = 512, IDLE = 16 * KEPT;

struct segment {
    unsigned char key[MF_SEGMENT_KEY];
    size_t bytes;          /* of the key; 0: this place is free */
    cudaGraphExec_t graph; /* nullptr: the calls have been made once */
    unsigned long used;
};

} // namespace

struct mf_cuda_segments {
    struct segment kept[KEPT];
    struct segment *now; /* between begin and end */
    bool recording, crowded;
    unsigned long clock;
};

namespace
{

struct segment *find(struct mf_cuda_segments *s, const void *key, size_t bytes)
{
    for (struct segment &k : s->kept)
        if (k.bytes == bytes && memcmp(k.key, key, bytes) == 0) return &k;
    return nullptr;
}

void forget(struct segment *k)
{
    if (k->graph) MF_CUDA(cudaGraphExecDestroy(k->graph));
    *k = {};
}

/* nullptr: there is no place for it. */
struct segment *make(struct mf_cuda_segments *s, const void *key, size_t bytes)
{
    struct segment *oldest = s->kept;

    for (struct segment &k : s->kept)
        if (k.used < oldest->used) oldest = &k;
    if (oldest->used && s->clock - oldest->used < IDLE) {
        if (!s->crowded) mf_info("GPU: more than %zu sequences of calls repeat; those beyond are not replayed", KEPT);
        s->crowded = true;
        return nullptr;
    }
    forget(oldest);
    memcpy(oldest->key, key, bytes);
    oldest->bytes = bytes;
    return oldest;
}

} // namespace

int mf_cuda_segments_open(struct mf_cuda_queue *own)
{
    own->segments = static_cast<struct mf_cuda_segments *>(calloc(1, sizeof *own->segments));
    return own->segments ? MF_OK : mf_fail(MF_MEMORY, "no memory for a queue of the cuda back end");
}

void mf_cuda_segments_close(struct mf_cuda_queue *own)
{
    if (!own->segments) return;
    for (struct segment &k : own->segments->kept) forget(&k);
    free(own->segments);
}

bool mf_cuda_records(const struct mf_cuda_queue *own) { return own->segments->now && own->segments->recording; }

int mf_cuda_segment_begin(struct mf_queue *q, const void *key, size_t bytes)
{
    struct mf_cuda_segments *s = mf_cuda_of(q)->segments;
    struct segment *known = find(s, key, bytes);

    MF_ASSERT(bytes > 0 && bytes <= MF_SEGMENT_KEY && !s->now);
    s->now = known;
    s->recording = known && !known->graph;
    if (!known) known = make(s, key, bytes);
    ++s->clock;
    if (known) known->used = s->clock;
    if (s->recording) MF_CUDA(cudaStreamBeginCapture(mf_cuda_of(q)->stream, cudaStreamCaptureModeThreadLocal));
    return !s->now || s->recording;
}

void mf_cuda_segment_end(struct mf_queue *q)
{
    struct mf_cuda_segments *s = mf_cuda_of(q)->segments;
    cudaStream_t stream = mf_cuda_of(q)->stream;
    cudaGraph_t recorded;

    if (!s->now) return; /* the calls were made as they are */
    if (s->recording) {
        MF_CUDA(cudaStreamEndCapture(stream, &recorded));
        MF_CUDA(cudaGraphInstantiate(&s->now->graph, recorded, 0));
        MF_CUDA(cudaGraphDestroy(recorded));
    }
    MF_CUDA(cudaGraphLaunch(s->now->graph, stream));
    s->now = nullptr;
}
