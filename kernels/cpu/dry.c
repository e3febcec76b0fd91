/* See dry.h. The width of a machine's vectors changes the work areas of transforms. */
#include "kernels/dry.h"

#include <string.h>
#include <sys/mman.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/slices/corr.h"
#include "kernels/cpu/slices/lanes.h"
#include "kernels/cpu/slices/strips.h"
#include "src/base/err.h"

static const struct mf_corr_engine *lanes_of(const char *simd)
{
#ifdef __x86_64__
    if (strcmp(simd, "avx512") == 0) return &mf_corr_lanes16;
    if (strcmp(simd, "avx2") == 0) return &mf_corr_lanes8;
#endif
    (void)simd;
    return &mf_corr_lanes4;
}

/* Copies of a dry run are there at once. */
static size_t put_start(struct mf_queue *queue, void *device, const void *host, size_t bytes)
{
    queue->backend->put(queue, device, host, bytes);
    return 0;
}

static size_t get_start(struct mf_queue *queue, void *host, const void *device, size_t bytes)
{
    queue->backend->get(queue, host, device, bytes);
    return 0;
}

static void no_wait(struct mf_queue *queue, size_t copy)
{
    (void)queue;
    (void)copy;
}

static int is_done(struct mf_queue *queue, size_t copy)
{
    (void)queue;
    (void)copy;
    return 1;
}

void mf_backend_dry(const struct mf_dry_kind *kind, struct mf_backend_dry *dry)
{
    *dry = (struct mf_backend_dry){.backend = mf_backend_cpu,
                                   .slices = *mf_backend_cpu.slices,
                                   .corr = mf_corr_cpu,
                                   .strips = mf_strip_cpu,
                                   .capability = kind->capability};
    dry->backend.slices = &dry->slices;
    if (*kind->simd) dry->corr.family = lanes_of(kind->simd);
    if (*kind->simd) dry->strips.text = mf_strip_text_for(lanes_of(kind->simd));
    dry->slices.corr = &dry->corr;
    dry->slices.strips = &dry->strips;
    if (kind->capability > 0) mf_dry_gpu(dry);
    if (!kind->apart) return;
    dry->slices.strips = NULL;
    dry->backend.host_mem = &mf_mem_dry;
    dry->backend.put_start = put_start;
    dry->backend.get_start = get_start;
    dry->backend.finish = dry->backend.follow = no_wait;
    dry->backend.done = is_done;
}

int mf_queue_dry(struct mf_queue **queue, const struct mf_backend_dry *dry, int threads, int deterministic,
                 struct mf_arena *arena, struct mf_arena *host)
{
    MF_TRY(dry->backend.queue_open(queue, 0, threads, deterministic, arena, host));
    (*queue)->backend = &dry->backend;
    return MF_OK;
}

/* No machine has so many bytes: a page that may not be touched stands for them. */
static const size_t BEYOND = (size_t)1 << 40;
enum { PAGE = 4096 };

static void *promise(void *context, size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = bytes < BEYOND ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0)
                                  : mmap(NULL, PAGE, PROT_NONE, flags, -1, 0);

    (void)context;
    return memory == MAP_FAILED ? NULL : memory;
}

static void forget(void *context, void *memory, size_t bytes)
{
    (void)context;
    munmap(memory, bytes < BEYOND ? bytes : PAGE);
}

const struct mf_mem mf_mem_dry = {.alloc = promise, .release = forget, .cleared = 1};
