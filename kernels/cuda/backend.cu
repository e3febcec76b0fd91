/* The cuda back end: its table, its queue, its memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/pass.cuh"

namespace
{

/* -- is it here? -- */

/* Older drivers refuse the tables of S2 (slices/corr.cuh): kernels with more than 4096 bytes of arguments. */
constexpr int OLDEST_DRIVER = 12010;

int old_driver(int driver, int needed)
{
    return mf_fail(MF_DEVICE,
                   "--device: the NVIDIA driver here serves CUDA up to %d.%d, the cuda back end needs %d.%d; try: "
                   "a newer driver, or --device cpu",
                   driver / 1000, driver % 1000 / 10, needed / 1000, needed % 1000 / 10);
}

/* Why the runtime does not start. */
int no_runtime(cudaError_t error)
{
    int driver = 0, runtime = 0;

    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return mf_fail(MF_DEVICE, "--device: the cuda back end finds no NVIDIA driver on this machine; try: "
                                  "--device cpu");
    if (error == cudaErrorInsufficientDriver) return old_driver(driver, runtime);
    if (error == cudaErrorNoDevice)
        return mf_fail(MF_DEVICE, "--device: no CUDA device on this machine (or CUDA_VISIBLE_DEVICES hides it); try: "
                                  "--device auto");
    return mf_fail(MF_DEVICE, "--device: CUDA does not start here: %s; try: --device cpu", cudaGetErrorString(error));
}

int count_devices(int *count)
{
    cudaError_t error;
    int driver = 0;

    *count = 0;
    error = cudaGetDeviceCount(count);
    if (error == cudaSuccess && *count == 0) error = cudaErrorNoDevice;
    if (error == cudaSuccess) {
        MF_CUDA(cudaDriverGetVersion(&driver));
        return driver < OLDEST_DRIVER ? old_driver(driver, OLDEST_DRIVER) : MF_OK;
    }
    (void)cudaGetLastError();
    return no_runtime(error);
}

int attribute(cudaDeviceAttr name, int device)
{
    int value = 0;

    MF_CUDA(cudaDeviceGetAttribute(&value, name, device));
    return value;
}

int capability_of(int device)
{
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
           attribute(cudaDevAttrComputeCapabilityMinor, device);
}

size_t devices(size_t most, struct mf_device_id *id)
{
    int count;

    if (count_devices(&count) != MF_OK) return 0;
    for (int d = 0; d < count && size_t(d) < most; ++d) {
        cudaDeviceProp of;
        size_t at = 0;

        MF_CUDA(cudaGetDeviceProperties(&of, d));
        id[d].capability = capability_of(d);
        id[d].bytes = of.totalGlobalMem;
        snprintf(id[d].name, sizeof id[d].name, "%.*s", int(sizeof id[d].name) - 1, of.name);
        at += size_t(snprintf(id[d].text, sizeof id[d].text, "GPU-"));
        for (size_t i = 0; i < sizeof of.uuid.bytes; ++i)
            at += size_t(snprintf(id[d].text + at, sizeof id[d].text - at, "%02x", 0xffu & unsigned(of.uuid.bytes[i])));
    }
    return size_t(count);
}

/* Is there a device of this number, and can it run the kernels? */
int check_device(int device)
{
    int count, capability;

    MF_TRY(count_devices(&count));
    if (device < 0 || device >= count)
        return mf_fail(MF_DEVICE, "--device: there is no GPU %d here; GPUs are numbered 0 to %d", device, count - 1);
    capability = capability_of(device);
    if (capability < MF_GPU_OLDEST || !attribute(cudaDevAttrUnifiedAddressing, device))
        return mf_fail(MF_DEVICE,
                       "--device: GPU %d has compute capability %d.%d, the cuda back end needs %d.%d or newer; try: "
                       "--device cpu",
                       device, capability / 10, capability % 10, MF_GPU_OLDEST / 10, MF_GPU_OLDEST % 10);
    return MF_OK;
}

/* At least one device that can run the kernels; else what is wrong with the last. */
int here(void)
{
    int count, rc = MF_OK;

    MF_TRY(count_devices(&count));
    for (int d = 0; d < count; ++d) {
        rc = check_device(d);
        if (rc == MF_OK) break;
    }
    if (rc == MF_OK) mf_err_clear();
    return rc;
}

/* -- memory -- */

/* Bytes of this process's device in use, by anybody. */
struct {
    size_t before, most;
} in_use;

size_t now_in_use()
{
    size_t free_bytes = 0, total = 0;

    MF_CUDA(cudaMemGetInfo(&free_bytes, &total));
    return total - free_bytes;
}

void notice()
{
    const size_t now = now_in_use();

    if (now > in_use.most) in_use.most = now;
}

size_t peak(struct mf_queue *queue)
{
    (void)queue;
    notice();
    return in_use.most > in_use.before ? in_use.most - in_use.before : 0;
}

void *take(void *context, size_t bytes)
{
    void *memory = nullptr;

    (void)context;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) {
        notice();
        return memory;
    }
    (void)cudaGetLastError();
    return nullptr;
}

void release(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    MF_CUDA(cudaFree(memory));
}

void *take_host(void *context, size_t bytes)
{
    void *memory = nullptr;

    (void)context;
    if (cudaMallocHost(&memory, bytes) == cudaSuccess) return memory;
    (void)cudaGetLastError();
    return nullptr;
}

void release_host(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    MF_CUDA(cudaFreeHost(memory));
}

const struct mf_mem memory = {.alloc = take, .release = release, .context = nullptr, .cleared = 0};
const struct mf_mem host_memory = {.alloc = take_host, .release = release_host, .context = nullptr, .cleared = 0};

/* -- queues -- */

void close_ways(struct mf_cuda_queue *own)
{
    for (int w = 0; w < MF_CUDA_WAYS; ++w) {
        if (own->way[w]) MF_CUDA(cudaStreamSynchronize(own->way[w]));
        for (cudaEvent_t event : own->done[w])
            if (event) MF_CUDA(cudaEventDestroy(event));
        if (own->way[w]) MF_CUDA(cudaStreamDestroy(own->way[w]));
    }
    for (cudaEvent_t event : own->passed)
        if (event) MF_CUDA(cudaEventDestroy(event));
    if (own->here) MF_CUDA(cudaEventDestroy(own->here));
}

void queue_close(struct mf_queue *queue)
{
    struct mf_cuda_queue *own = queue ? mf_cuda_of(queue) : nullptr;

    if (own) {
        if (own->stream) MF_CUDA(cudaStreamSynchronize(own->stream));
        close_ways(own);
        mf_cuda_segments_close(own);
        mf_cuda_products_close(own);
        mf_cuda_convolutions_close(own);
        if (own->part) MF_CUDA(cudaFree(own->part));
        if (queue->numbers) MF_CUDA(cudaFree(queue->numbers));
        if (own->word) MF_CUDA(cudaFreeHost(own->word));
        if (own->stage) MF_CUDA(cudaFreeHost(own->stage));
        if (own->small) MF_CUDA(cudaFreeHost(own->small));
        if (own->stream) MF_CUDA(cudaStreamDestroy(own->stream));
    }
    if (own) free(own->batch);
    free(own);
    free(queue);
}

void open_port(struct mf_cuda_queue *own)
{
    cudaDeviceProp of;

    MF_CUDA(cudaGetDeviceProperties(&of, own->device));
    own->port.stream = own->stream;
    own->port.side = own->way[MF_CUDA_SIDE];
    own->port.is_part = strstr(of.name, " MIG ") != nullptr;
    MF_CUDA(cudaDeviceGetPCIBusId(own->port.board.text, int(sizeof own->port.board.text), own->device));
}

size_t least(size_t a, int b) { return size_t(b) < a ? size_t(b) : a; }

/* Shared memory by its compute capability; a part of a GPU may have less. */
size_t shared_of(int device)
{
    return least(mf_gpu_shared(capability_of(device)), attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
}

cudaError_t open_ways(struct mf_cuda_queue *own)
{
    cudaError_t error = cudaEventCreateWithFlags(&own->here, cudaEventDisableTiming);

    for (int i = 0; i < MF_CUDA_PIECES && error == cudaSuccess; ++i)
        error = cudaEventCreateWithFlags(&own->passed[i], cudaEventDisableTiming);
    for (int w = 0; w < MF_CUDA_WAYS; ++w) {
        if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&own->way[w], cudaStreamNonBlocking);
        for (int i = 0; i < MF_CUDA_COPIES && error == cudaSuccess; ++i)
            error = cudaEventCreateWithFlags(&own->done[w][i], cudaEventDisableTiming);
    }
    return error;
}

/* The queue's own: streams and room for sums that are not finished. */
int open_own(struct mf_cuda_queue *own, int device)
{
    cudaError_t error = cudaSetDevice(device); /* makes the context: a full GPU, or one that is another's, refuses */

    own->device = device;
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) error = open_ways(own);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return mf_fail(error == cudaErrorMemoryAllocation ? MF_MEMORY : MF_DEVICE,
                       "--device: GPU %d cannot be used: %s; try: --gpu_ids, or --device cpu", device,
                       cudaGetErrorString(error));
    }
    open_port(own);
    in_use.before = in_use.most = now_in_use();
    own->shared = shared_of(device);
    own->processors = attribute(cudaDevAttrMultiProcessorCount, device);
    MF_TRY(mf_cuda_segments_open(own));
    own->part = static_cast<double *>(take(nullptr, MF_PASS_PARTS * sizeof(double)));
    own->word = static_cast<double *>(take_host(nullptr, sizeof(double)));
    own->stage = static_cast<float *>(take_host(nullptr, MF_CUDA_STAGE * sizeof(float)));
    own->small = static_cast<char *>(take_host(nullptr, size_t(MF_CUDA_PIECES) * MF_CUDA_SMALL));
    if (own->part && own->word && own->stage && own->small) return MF_OK;
    return mf_fail(MF_MEMORY, "GPU %d has no memory for a queue (%zu bytes)", device, MF_PASS_PARTS * sizeof(double));
}

int open_numbers(struct mf_queue *q)
{
    q->numbers = static_cast<double *>(take(nullptr, MF_NUMBERS * sizeof(double)));
    return q->numbers ? MF_OK : mf_fail(MF_MEMORY, "no memory for a queue of the cuda back end");
}

int queue_open(struct mf_queue **queue, int device, int threads, int deterministic, struct mf_arena *arena,
               struct mf_arena *host)
{
    struct mf_queue *q;
    int rc;

    MF_TRY(check_device(device));
    q = static_cast<struct mf_queue *>(calloc(1, sizeof *q));
    if (q) q->impl = calloc(1, sizeof(struct mf_cuda_queue));
    if (!q || !q->impl) {
        free(q);
        return mf_fail(MF_MEMORY, "no memory for a queue of the cuda back end");
    }
    q->backend = &mf_backend_cuda;
    q->arena = arena;
    q->host = host;
    q->threads = threads > 0 ? threads : 1;
    q->deterministic = deterministic;
    q->port = &mf_cuda_of(q)->port;
    rc = open_own(mf_cuda_of(q), device);
    if (rc == MF_OK) rc = open_numbers(q);
    if (rc == MF_OK)
        *queue = q;
    else
        queue_close(q);
    return rc;
}

/* -- transfers -- */

void sync(struct mf_queue *queue) { MF_CUDA(cudaStreamSynchronize(mf_cuda_of(queue)->stream)); }

/* Room for a small array on its way. Copies from a piece of the ring are long complete when its turn comes again. */
char *small_room(struct mf_cuda_queue *own, size_t bytes)
{
    if (own->used + bytes > MF_CUDA_SMALL) {
        MF_CUDA(cudaEventRecord(own->passed[own->piece], own->stream));
        own->piece = (own->piece + 1) % MF_CUDA_PIECES;
        own->used = 0;
        MF_CUDA(cudaEventSynchronize(own->passed[own->piece]));
    }
    own->used += bytes;
    return own->small + own->piece * MF_CUDA_SMALL + own->used - bytes;
}

/* The host does not wait for kernels before a small array. */
void put(struct mf_queue *queue, void *device, const void *host, size_t bytes)
{
    struct mf_cuda_queue *own = mf_cuda_of(queue);
    const bool waits = bytes > MF_CUDA_SMALL || mf_cuda_records(own);

    if (!waits && bytes) host = memcpy(small_room(own, bytes), host, bytes);
    MF_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, own->stream));
    if (waits) sync(queue);
}

void get(struct mf_queue *queue, void *host, const void *device, size_t bytes)
{
    MF_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, mf_cuda_of(queue)->stream));
    sync(queue);
}

/* -- work beside the kernels: number WAYS n + way is the n-th of its way -- */

/* It starts behind the kernels enqueued before. */
void begin(struct mf_queue *queue, int way)
{
    struct mf_cuda_queue *own = mf_cuda_of(queue);

    MF_CUDA(cudaEventRecord(own->here, own->stream));
    MF_CUDA(cudaStreamWaitEvent(own->way[way], own->here, 0));
}

size_t end(struct mf_queue *queue, int way)
{
    struct mf_cuda_queue *own = mf_cuda_of(queue);
    const size_t n = ++own->copies[way];

    MF_CUDA(cudaEventRecord(own->done[way][n % MF_CUDA_COPIES], own->way[way]));
    return MF_CUDA_WAYS * n + size_t(way);
}

size_t start(struct mf_queue *queue, int way, void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    if (bytes == 0) return 0;
    begin(queue, way);
    MF_CUDA(cudaMemcpyAsync(to, from, bytes, kind, mf_cuda_of(queue)->way[way]));
    return end(queue, way);
}

void side_begin(struct mf_queue *queue) { begin(queue, MF_CUDA_SIDE); }

size_t side_end(struct mf_queue *queue) { return end(queue, MF_CUDA_SIDE); }

size_t put_start(struct mf_queue *queue, void *device, const void *host, size_t bytes)
{
    return start(queue, MF_CUDA_UP, device, host, bytes, cudaMemcpyHostToDevice);
}

size_t get_start(struct mf_queue *queue, void *host, const void *device, size_t bytes)
{
    MF_SPOIL(host, bytes);
    return start(queue, MF_CUDA_DOWN, host, device, bytes, cudaMemcpyDeviceToHost);
}

cudaEvent_t end_of(const struct mf_queue *queue, size_t copy)
{
    return mf_cuda_of(queue)->done[copy % MF_CUDA_WAYS][copy / MF_CUDA_WAYS % MF_CUDA_COPIES];
}

void finish(struct mf_queue *queue, size_t copy)
{
    if (copy) MF_CUDA(cudaEventSynchronize(end_of(queue, copy)));
}

void follow(struct mf_queue *queue, size_t copy)
{
    if (copy) MF_CUDA(cudaStreamWaitEvent(mf_cuda_of(queue)->stream, end_of(queue, copy), 0));
}

/* Is this the answer of a question that does not wait? */
int is_ready(cudaError_t error)
{
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return 0;
    }
    MF_CUDA(error);
    return 1;
}

int done(struct mf_queue *queue, size_t copy) { return !copy || is_ready(cudaEventQuery(end_of(queue, copy))); }

/* Copies of memory that the system will not pin are right all the same, only not beside the kernels. */
void pin(struct mf_queue *queue, void *address, size_t bytes)
{
    (void)queue;
    if (bytes && cudaHostRegister(address, bytes, cudaHostRegisterPortable) != cudaSuccess) (void)cudaGetLastError();
}

void unpin(struct mf_queue *queue, void *address)
{
    (void)queue;
    if (cudaHostUnregister(address) != cudaSuccess) (void)cudaGetLastError();
}

int idle(struct mf_queue *queue) { return is_ready(cudaStreamQuery(mf_cuda_of(queue)->stream)); }

/* Faults of our own kernels; everything else is the machine's. */
bool own_fault(cudaError_t error)
{
    return error == cudaErrorIllegalAddress || error == cudaErrorMisalignedAddress ||
           error == cudaErrorInvalidAddressSpace || error == cudaErrorIllegalInstruction ||
           error == cudaErrorInvalidPc || error == cudaErrorAssert || error == cudaErrorLaunchFailure ||
           error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration;
}

} // namespace

void mf_cuda_check(cudaError_t error, const char *file, int line)
{
    if (error == cudaSuccess) return;
    mf_die(own_fault(error) ? MF_BROKEN : MF_DEVICE, file, line, "CUDA: %s (error %d)", cudaGetErrorString(error),
           int(error));
}

/* The cores count where counts are made on labels. */
#define MF_ON_GPU(family)                 &mf_##family##_cuda
#define MF_ON_CORES(family)               nullptr
#define MF_FAMILY(ID, family, where, ...) .family = MF_ON_##where(family),

static const struct mf_slices slices = {MF_LIST_SLICES(MF_FAMILY).all = mf_slices_all, .drain = mf_slices_drain,
                                        .space = &mf_space_cuda, .strips = nullptr};

const struct mf_backend mf_backend_cuda = {
    .name = "cuda",
    .abi = MF_BACKEND_ABI,
    .build = MF_VERSION,
    .here = here,
    .devices = devices,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .mem = &memory,
    .host_mem = &host_memory,
    .put = put,
    .get = get,
    .put_start = put_start,
    .get_start = get_start,
    .finish = finish,
    .follow = follow,
    .done = done,
    .side_begin = side_begin,
    .side_end = side_end,
    .pin = pin,
    .unpin = unpin,
    .sync = sync,
    .idle = idle,
    .peak = peak,
    .segment_begin = mf_cuda_segment_begin,
    .segment_end = mf_cuda_segment_end,
    .ranges = mf_cuda_ranges,
    .move = &mf_move_cuda,
    .field = &mf_field_cuda,
    .optim = &mf_optim_cuda,
    .meanfield = &mf_meanfield_cuda,
    .select = &mf_select_cuda,
    .label = &mf_label_cuda,
    .slices = &slices,
    .net = &mf_net_cuda,
    .flux = &mf_flux_cuda,
};
