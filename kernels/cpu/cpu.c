/* The cpu back end: its table, its queue, its memory. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "kernels/cpu/cpu.h"
#include "src/base/err.h"

enum { ALIGN = 64, HUGE_PAGE = 2 << 20 };

void mf_team_threads(int threads) { omp_set_num_threads(threads); }

static int here(void) { return MF_OK; }

/* Numbers below 1e-38 count as zero, in these threads and those that they start. A core takes a hundred times as long
 * for them. Second moments of small gradients are such numbers. */
void mf_cpu_flush_tiny(int threads)
{
#ifdef __SSE2__
#pragma omp parallel num_threads(threads)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* results and operands */
#else
    (void)threads;
#endif
}

static int queue_open(struct mf_queue **queue, int device, int threads, int deterministic, struct mf_arena *arena,
                      struct mf_arena *host)
{
    struct mf_queue *q = calloc(1, sizeof *q);

    (void)device;
    if (q) q->impl = malloc(sizeof(double[MF_CPU_CHUNKS][MF_CPU_SUMS]));
    if (!q || !q->impl) {
        free(q);
        return mf_fail(MF_MEMORY, "no memory for a queue of the cpu back end");
    }
    q->backend = &mf_backend_cpu;
    q->arena = arena;
    q->host = host;
    q->threads = threads > 0 ? threads : 1;
    q->deterministic = deterministic;
    mf_cpu_flush_tiny(q->threads);
    *queue = q;
    return MF_OK;
}

static void queue_close(struct mf_queue *queue)
{
    if (!queue) return;
    free(queue->impl);
    free(queue);
}

/* Large blocks lie on huge pages where the system has them: strided walks then miss the address cache less. */
static void *take(void *context, size_t bytes)
{
    const size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGN;
    void *memory;

    (void)context;
    if (bytes > SIZE_MAX - align) return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (posix_memalign(&memory, align, bytes) != 0) return NULL;
    if (align == HUGE_PAGE) (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return memory;
}

static void release(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static void copy(struct mf_queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    memcpy(to, from, bytes);
}

static void sync(struct mf_queue *queue) { (void)queue; }

static const struct mf_mem memory = {.alloc = take, .release = release};

#define MF_FAMILY(ID, family, ...) .family = &mf_##family##_cpu,

static const struct mf_slices slices = {MF_LIST_SLICES(MF_FAMILY).drain = mf_cpu_drain, .space = &mf_space_cpu,
                                        .strips = &mf_strip_cpu};

const struct mf_backend mf_backend_cpu = {
    .name = "cpu",
    .abi = MF_BACKEND_ABI,
    .build = MF_VERSION,
    .here = here,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .mem = &memory,
    .put = copy,
    .get = copy,
    .sync = sync,
    .move = &mf_move_cpu,
    .field = &mf_field_cpu,
    .optim = &mf_optim_cpu,
    .meanfield = &mf_meanfield_cpu,
    .select = &mf_select_cpu,
    .label = &mf_label_cpu,
    .slices = &slices,
    .net = &mf_net_cpu,
    .flux = &mf_flux_cpu,
};
