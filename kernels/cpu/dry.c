/* See dry.h. What a machine's vectors change is the transforms' work areas. */
#include "kernels/dry.h"

#include <string.h>
#include <sys/mman.h>

#include "kernels/cpu/corr.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/lanes.h"
#include "src/base/err.h"

static int plan_4(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_corr_plan(queue, desc, mf_corr_choose(desc, &mf_corr_lanes4), plan);
}

#ifdef __x86_64__
static int plan_8(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_corr_plan(queue, desc, mf_corr_choose(desc, &mf_corr_lanes8), plan);
}

static int plan_16(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_corr_plan(queue, desc, mf_corr_choose(desc, &mf_corr_lanes16), plan);
}
#endif

typedef int plan_maker(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan);

static plan_maker *maker_of(const char *simd)
{
#ifdef __x86_64__
    if (strcmp(simd, "avx512") == 0) return plan_16;
    if (strcmp(simd, "avx2") == 0) return plan_8;
#endif
    (void)simd;
    return plan_4;
}

void mf_backend_dry(const char *simd, int apart, struct mf_backend_dry *dry)
{
    *dry = (struct mf_backend_dry){mf_backend_cpu, mf_corr_cpu};
    if (*simd) dry->corr.plan = maker_of(simd);
    dry->backend.corr = &dry->corr;
    if (apart) dry->backend.host_mem = &mf_mem_dry;
}

int mf_queue_dry(struct mf_queue **queue, const struct mf_backend_dry *dry, int threads, int deterministic,
                 struct mf_arena *arena, struct mf_arena *host)
{
    MF_TRY(dry->backend.queue_open(queue, 0, threads, deterministic, arena, host));
    (*queue)->backend = &dry->backend;
    return MF_OK;
}

static void *promise(void *context, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)context;
    return memory == MAP_FAILED ? NULL : memory;
}

static void forget(void *context, void *memory, size_t bytes)
{
    (void)context;
    munmap(memory, bytes);
}

const struct mf_mem mf_mem_dry = {.alloc = promise, .release = forget, .cleared = 1};
