/* A stand-in for the CUDA toolkit on a machine without a GPU. With it g++ compiles the very sources of kernels/cuda,
 * and their kernels run. Blocks run one after another, and the threads of a block take turns. So barriers, shuffles and
 * shared memory do what they do on a GPU. Only their order is another, and can be turned round (MF_EMU_ORDER).
 *
 * It is strict about these things. Work on a stream runs when somebody waits for it, never earlier, and no more of it
 * than is waited for (an event). Memory comes filled with NaN. Device and host memory are told apart. A barrier that
 * some thread never reaches ends the program. A stream that is captured runs nothing, and its graph has the arguments
 * of that moment. Waiting or allocating meanwhile is an error.
 *
 * Environment: MF_EMU_DEVICES (1), MF_EMU_MIG (1: the devices are parts of one GPU), MF_EMU_MIXED (1: models
 * take turns), MF_EMU_DRIVER (13000),
 * MF_EMU_RUNTIME (13000: drivers of an older main version are refused), MF_EMU_CAPABILITY (90), MF_EMU_SHARED (232448
 * bytes), MF_EMU_MEMORY (bytes; 0: no limit), MF_EMU_ORDER (forward, reverse, mixed), MF_EMU_REPORT (a file: at the end
 * it gets a line of what was asked of the runtime, and one of every range of a profiler). */
#ifndef MF_EMU_CUDA_RUNTIME_H
#define MF_EMU_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct float2 {
    float x, y;
};
static inline float2 make_float2(float x, float y) { return float2{x, y}; }
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }

/* -- what a kernel sees -- */

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

void __syncthreads();
void __syncwarp(unsigned mask = 0xffffffffu);
void *mf_emu_shared();
/** Every lane of @p mask gives up to MF_EMU_BOX bytes. It sees those of all until its next exchange but one. */
enum { MF_EMU_BOX = 48 };
typedef unsigned char mf_emu_box[MF_EMU_BOX];
const mf_emu_box *mf_emu_all(unsigned mask, const void *value, size_t bytes);
/** Every lane of @p mask gives @p bytes (at most 8) and gets those of lane @p from. Out of the warp it gets its own. */
void mf_emu_exchange(unsigned mask, int from, void *value, size_t bytes);
int mf_emu_lane();

template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta)
{
    mf_emu_exchange(mask, mf_emu_lane() + (int)delta, &value, sizeof value);
    return value;
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int with)
{
    mf_emu_exchange(mask, mf_emu_lane() ^ with, &value, sizeof value);
    return value;
}
template <class T> T __shfl_sync(unsigned mask, T value, int from)
{
    mf_emu_exchange(mask, from, &value, sizeof value);
    return value;
}
/** ldmatrix.m8n8.x4, and mma.m16n8k16 with sums in f32; @p type: "bf16", "f16". See tensor.cc. */
void mf_emu_ldmatrix(uint32_t (&r)[4], const void *row, bool turned);
void mf_emu_mma(float (&c)[4], const uint32_t *a, const uint32_t *b, const char *type);

/** cp.async: a copy of @p bytes, with zeros up to @p room. It happens when its thread waits for its group; until then
 * the place has NaN. */
void mf_emu_copy_begin(void *to, const void *from, size_t bytes, size_t room);
void mf_emu_copy_group();
/** For all groups but the last @p left. */
void mf_emu_copy_wait(unsigned left);

/* Threads take turns only at barriers, so these are whole. */
template <class T> static inline T atomicAdd(T *to, T value)
{
    const T before = *to;

    *to += value;
    return before;
}
template <class T> static inline T __ldg(const T *p) { return *p; }

/* -- the runtime -- */

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorAssert = 710,
    cudaErrorMisalignedAddress = 716,
    cudaErrorInvalidAddressSpace = 717,
    cudaErrorIllegalInstruction = 715,
    cudaErrorInvalidPc = 718,
    cudaErrorStubLibrary = 34,
    cudaErrorSystemDriverMismatch = 803,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorLaunchFailure = 719
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
    cudaDevAttrComputeCapabilityMajor,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrUnifiedAddressing
};

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostRegisterPortable = 1 };

enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal };

typedef struct mf_emu_stream *cudaStream_t;
typedef struct mf_emu_graph *cudaGraph_t;
typedef struct mf_emu_graph_exec *cudaGraphExec_t;
typedef struct mf_emu_event *cudaEvent_t;

struct cudaDeviceProp {
    char name[256];
    struct {
        char bytes[16];
    } uuid;
    size_t totalGlobalMem;
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetPCIBusId(char *text, int room, int device);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t error);
cudaError_t mf_emu_kernel_shared(const void *kernel, size_t bytes);

template <class K> cudaError_t cudaFuncSetAttribute(K *kernel, cudaFuncAttribute, int value)
{
    return mf_emu_kernel_shared((const void *)(uintptr_t)kernel, (size_t)value);
}

/** A piece of work. No std::function: it would take a third of the time that small kernels take to compile. */
struct mf_emu_work {
    virtual ~mf_emu_work() = default;
    virtual void run() const = 0;
};
template <class F> struct mf_emu_work_of final : mf_emu_work {
    const F call;
    explicit mf_emu_work_of(F &&f) : call(static_cast<F &&>(f)) {}
    void run() const override { call(); }
};

/** Puts work on a stream, which owns it: run when somebody waits, or recorded. */
void mf_emu_put(cudaStream_t stream, const mf_emu_work *work);
template <class F> void mf_emu_enqueue(cudaStream_t stream, F work)
{
    mf_emu_put(stream, new mf_emu_work_of<F>(static_cast<F &&>(work)));
}

/* The stand-in's clock, which timed events read, goes on by this when the stream is there. */
void mf_emu_takes(cudaStream_t stream, float ms);

/** Calls of the runtime, and how often. A host that waits for a stream counts in waits. It counts in ends where it
 * waits for an event that is not over, or for a copy to pageable memory. */
struct mf_emu_calls {
    long launches, copies, graphs, waits, ends;
};
extern struct mf_emu_calls mf_emu_calls;
/** Checks the shape of a launch as the runtime does; false: the error is kept for cudaGetLastError(). */
bool mf_emu_may_launch(const void *kernel, dim3 grid, dim3 block, size_t shared, size_t argument_bytes);
/** Every thread is @p thread(@p closure). */
void mf_emu_run_grid(dim3 grid, dim3 block, size_t shared, void (*thread)(const void *), const void *closure);

/** The arguments are copied at the launch, as on a GPU. */
template <class... P, class... A>
void mf_emu_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, A... args)
{
    if (!mf_emu_may_launch((const void *)(uintptr_t)kernel, grid, block, shared, (sizeof(P) + ... + 0))) return;
    ++mf_emu_calls.launches;
    const auto thread = [=]() { kernel(P(args)...); };
    const auto call = [](const void *closure) { (*static_cast<decltype(&thread)>(closure))(); };
    mf_emu_enqueue(stream, [=]() { mf_emu_run_grid(grid, block, shared, call, &thread); });
}

/** Host memory that queued work will fill reads as NaN until then. */
void mf_emu_spoil(void *host, size_t bytes);

#define MF_LAUNCH(kernel, grid, block, shared, stream, ...) \
    mf_emu_launch(kernel, dim3(grid), dim3(block), shared, stream, __VA_ARGS__)
#define MF_SHARED(type, name) type *name = (type *)mf_emu_shared()
#define MF_SPOIL(host, bytes) mf_emu_spoil(host, bytes)

#endif
