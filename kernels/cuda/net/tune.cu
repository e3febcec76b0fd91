/* See tune.cuh. */
#include "kernels/cuda/net/tune.cuh"

#include <stdio.h>

extern "C" {
#include "src/base/log.h"
}

namespace
{

constexpr int RUNS = 3;                             /* that are timed together, behind one that is not */
constexpr double MOST_OF_ONE = 1, MOST_OF_ALL = 60; /* [s] of an operation, of a run */
constexpr float BETTER = 0.98f;                     /* by so much another algorithm must be faster */
constexpr int PATTERN = 0x3c;                       /* bytes of small numbers, in every type */
constexpr int VERSION_PARTS = 3;                    /* major, minor, patch */

/* Two events around work on the queue's stream. */
struct watch {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    explicit watch(struct mf_queue *q) : stream(mf_cuda_of(q)->stream)
    {
        MF_CUDA(cudaEventCreateWithFlags(&begin, 0));
        MF_CUDA(cudaEventCreateWithFlags(&end, 0));
    }
    ~watch()
    {
        MF_CUDA(cudaEventDestroy(begin));
        MF_CUDA(cudaEventDestroy(end));
    }
    watch(const watch &) = delete;
    watch &operator=(const watch &) = delete;
    void start() { MF_CUDA(cudaEventRecord(begin, stream)); }
    float stop() /* [ms] */
    {
        float ms;

        MF_CUDA(cudaEventRecord(end, stream));
        MF_CUDA(cudaEventSynchronize(end));
        MF_CUDA(cudaEventElapsedTime(&ms, begin, end));
        return ms;
    }
};

/* Asking takes milliseconds, and a list has many operations. */
const char *name_of(int device)
{
    static cudaDeviceProp known;
    static int whose = -1;

    if (whose != device) MF_CUDA(cudaGetDeviceProperties(&known, device));
    whose = device;
    return known.name;
}

/* Infinite: the algorithm does not run. */
float time_of(struct mf_queue *q, const struct mf_tries *t, size_t algorithm, char *memory, watch *w)
{
    if (t->run(q, t->context, algorithm, memory) != 0) return INFINITY;
    w->start();
    for (int k = 0; k < RUNS; ++k)
        if (t->run(q, t->context, algorithm, memory) != 0) return INFINITY;
    return w->stop();
}

char *memory_of(struct mf_queue *q, size_t bytes)
{
    void *memory = mf_arena_take(q->arena, bytes, "arrays of trials");

    if (memory)
        MF_CUDA(cudaMemsetAsync(memory, PATTERN, bytes, mf_cuda_of(q)->stream));
    else
        mf_err_clear();
    return static_cast<char *>(memory);
}

size_t fastest(struct mf_queue *q, const struct mf_tries *t, char *memory, double began)
{
    size_t best = t->count;
    float least = INFINITY;
    watch w(q);

    for (size_t i = 0; i < t->count && (i == 0 || mf_now() - began < MOST_OF_ONE); ++i) {
        const float ms = time_of(q, t, i, memory, &w);

        if (ms >= (best < t->count ? BETTER * least : least)) continue;
        least = ms;
        best = i;
    }
    q->backend->sync(q);
    return best;
}

} // namespace

void mf_tune_key(const struct mf_queue *q, const char *library, int (*property)(int part, int *value),
                 const char *words, char key[MF_TUNE_TEXT])
{
    int driver = 0, version[VERSION_PARTS] = {};

    MF_CUDA(cudaDriverGetVersion(&driver));
    for (int part = 0; part < VERSION_PARTS; ++part) (void)property(part, &version[part]);
    snprintf(key, MF_TUNE_TEXT, "%s, driver %d, %s %d.%d.%d, %s", name_of(mf_cuda_of(q)->device), driver, library,
             version[0], version[1], version[2], words);
}

size_t mf_tune_fastest(struct mf_queue *q, const struct mf_tries *t)
{
    const double began = mf_now();
    char *memory = q->tuning->seconds < MOST_OF_ALL ? memory_of(q, t->bytes) : nullptr;
    size_t best = t->count;

    if (!memory) {
        ++q->tuning->left;
        return best;
    }
    best = fastest(q, t, memory, began);
    mf_arena_give(q->arena, memory);
    ++q->tuning->tried;
    q->tuning->seconds += mf_now() - began;
    return best;
}
