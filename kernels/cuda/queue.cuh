/* Shared by all files of the cuda back end: launches, error checks, the queue.
 * Rule: nvcc compiles these sources. So does g++ with the stand-in for the toolkit in tests/emu, which runs them on
 * machines without a GPU. */
#ifndef MF_KERNELS_CUDA_QUEUE_CUH
#define MF_KERNELS_CUDA_QUEUE_CUH

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

extern "C" {
#include "kernels/backend.h"
#include "kernels/field.h"
#include "kernels/labels.h"
#include "kernels/move.h"
#include "kernels/optim.h"
#include "kernels/select.h"
#include "kernels/slices/areas.h"
#include "kernels/slices/slices.h"
#include "kernels/slices/space.h"
#include "src/base/err.h"
#include "src/base/log.h"
}

#ifdef __CUDACC__
#define MF_LAUNCH(kernel, grid, block, shared, stream, ...) (kernel)<<<grid, block, shared, stream>>>(__VA_ARGS__)
/* Shared memory of a block; the launch sets its size. */
#define MF_SHARED(type, name)                              \
    extern __shared__ __align__(16) unsigned char block[]; \
    type *name = reinterpret_cast<type *>(block)
/* The emulator fills host memory with NaN that a kernel will write, until the kernel has run. */
#define MF_SPOIL(host, bytes) ((void)0)
#define MF_UNROLL             _Pragma("unroll")
#define MF_UNROLL_FOUR        _Pragma("unroll 4")
#define MF_NO_UNROLL          _Pragma("unroll 1")
#else
#define MF_UNROLL
#define MF_UNROLL_FOUR
#define MF_NO_UNROLL
#endif

/** A failure of the runtime after the start is a breakage. */
#define MF_CUDA(call) mf_cuda_check(call, __FILE__, __LINE__)
void mf_cuda_check(cudaError_t error, const char *file, int line);

/** A launch, and the check that it was accepted. */
#define MF_RUN(kernel, grid, block, shared, q, ...)                                 \
    do {                                                                            \
        MF_LAUNCH(kernel, grid, block, shared, mf_cuda_of(q)->stream, __VA_ARGS__); \
        MF_CUDA(cudaGetLastError());                                                \
    } while (0)

enum { MF_CUDA_WARP = 32, MF_CUDA_THREADS = 256, MF_CUDA_STAGE = 1 << 20 };

/** Arrays of at most MF_CUDA_SMALL bytes go to the device through a ring of so many pieces of page-locked memory. */
enum { MF_CUDA_SMALL = 1 << 15, MF_CUDA_PIECES = 16 };

/** Work beside the kernels: copies to and from the device, and that of a communication library. So many pieces of a
 * kind are tracked individually. */
enum { MF_CUDA_UP, MF_CUDA_DOWN, MF_CUDA_SIDE, MF_CUDA_WAYS, MF_CUDA_COPIES = 64 };

/** queue->impl */
struct mf_cuda_queue {
    cudaStream_t stream;
    cudaStream_t way[MF_CUDA_WAYS];
    cudaEvent_t here;                               /* all work that the stream had when a copy was started */
    cudaEvent_t done[MF_CUDA_WAYS][MF_CUDA_COPIES]; /* the n-th copy of a kind, or a later one, is complete */
    size_t copies[MF_CUDA_WAYS];
    int device, processors; /* multiprocessors of it */
    struct mf_port port;
    size_t shared;      /* bytes of shared memory that a block may have */
    double *part;       /* [MF_PASS_PARTS] device: partial sums of planes */
    double *word;       /* page-locked: one number from a kernel */
    float *stage;       /* [MF_CUDA_STAGE] page-locked: data between slabs and other host memory */
    char *small;        /* [MF_CUDA_PIECES][MF_CUDA_SMALL] page-locked: small arrays on their way to the device */
    size_t piece, used; /* where the next one goes: bytes of a piece */
    cudaEvent_t passed[MF_CUDA_PIECES]; /* copies from a piece are complete */
    struct mf_cuda_segments *segments;
    void *batch; /* passes that will share a launch (flux.cu); NULL: there were none */
    bool batches;
    void *lt, *dnn; /* handles of cuBLASLt and cuDNN; NULL: no plan has wanted them */
};

static inline struct mf_cuda_queue *mf_cuda_of(const struct mf_queue *q)
{
    return static_cast<struct mf_cuda_queue *>(q->impl);
}

/* -- segment.cu: CUDA graphs of repeated work -- */

/** Refuses with MF_MEMORY. */
int mf_cuda_segments_open(struct mf_cuda_queue *own);
void mf_cuda_segments_close(struct mf_cuda_queue *own);
int mf_cuda_segment_begin(struct mf_queue *q, const void *key, size_t bytes);
void mf_cuda_segment_end(struct mf_queue *q);
/** Are calls being recorded? */
bool mf_cuda_records(const struct mf_cuda_queue *own);

/* -- net: handles of libraries -- */

void mf_cuda_products_close(struct mf_cuda_queue *own);
void mf_cuda_convolutions_close(struct mf_cuda_queue *own);

/* -- ranges.cu -- */

const struct mf_ranges *mf_cuda_ranges(void);

extern const struct mf_move_ops mf_move_cuda;
extern const struct mf_field_ops mf_field_cuda;
extern const struct mf_optim_ops mf_optim_cuda;
extern const struct mf_meanfield_ops mf_meanfield_cuda;
#define MF_ON_GPU(family)                 extern const struct mf_slice_ops mf_##family##_cuda;
#define MF_ON_CORES(family)               /* none */
#define MF_FAMILY(ID, family, where, ...) MF_ON_##where(family)
MF_LIST_SLICES(MF_FAMILY)
#undef MF_FAMILY
#undef MF_ON_CORES
#undef MF_ON_GPU
void mf_slices_all(struct mf_queue *q, const struct mf_slice_call *call, size_t calls);
void mf_slices_drain(struct mf_queue *q, size_t n, int64_t *tally, double *sum);
extern const struct mf_space_ops mf_space_cuda;
extern const struct mf_select_ops mf_select_cuda;
extern const struct mf_label_ops mf_label_cuda;
extern const struct mf_op_table mf_net_cuda;
extern const struct mf_flux_ops mf_flux_cuda;

extern "C" {
__attribute__((visibility("default"))) extern const struct mf_backend mf_backend_cuda;
}

#endif
