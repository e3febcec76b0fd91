/* Devices, memory and streams of the stand-in. */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/emu/cuda_runtime.h"
#include "tests/emu/memory.h"
#include "tests/emu/nvtx3/nvToolsExt.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

typedef std::shared_ptr<const mf_emu_work> piece;
typedef std::vector<piece> list;
struct host_range {
    void *first;
    size_t bytes;
};

struct mf_emu_stream {
    std::deque<piece> work;
    size_t begun = 0; /* pieces of work, in all */
    bool captured = false, invalid = false;
    list recorded;                   /* what the graph is to put on a stream */
    std::vector<host_range> spoiled; /* host memory that turns to NaN at every launch */
};

struct mf_emu_graph {
    list work;
    std::vector<host_range> spoiled;
};
struct mf_emu_graph_exec {
    mf_emu_graph graph;
};

struct mf_emu_calls mf_emu_calls;

/* What a stream had to do when the event was recorded. */
struct mf_emu_event {
    mf_emu_stream *stream = nullptr;
    size_t end = 0;
    std::shared_ptr<float> at; /* when the stream was there, on the stand-in's clock; none: it is not timed */
};

namespace
{

std::map<uintptr_t, size_t> on_device, on_host; /* what is live */
std::map<const void *, size_t> kernel_shared;
std::vector<mf_emu_stream *> streams;
std::recursive_mutex lock;
size_t used;
int running; /* streams, one within another */
int device_now;
float clock_now; /* [ms] */
cudaError_t last = cudaSuccess;

long number(const char *name, long standard)
{
    const char *value = getenv(name);

    return value && *value ? strtol(value, nullptr, 10) : standard;
}

cudaError_t keep(cudaError_t error)
{
    if (error != cudaSuccess) last = error;
    return error;
}

cudaError_t driver()
{
    const long version = number("MF_EMU_DRIVER", 13000), runtime = number("MF_EMU_RUNTIME", 13000);

    if (version / 1000 < runtime / 1000) return keep(cudaErrorInsufficientDriver);
    return number("MF_EMU_DEVICES", 1) < 1 ? keep(cudaErrorNoDevice) : cudaSuccess;
}

/* Is [p, p + bytes) inside one block? */
bool inside(const std::map<uintptr_t, size_t> &blocks, const void *p, size_t bytes)
{
    auto at = blocks.upper_bound(reinterpret_cast<uintptr_t>(p));

    if (at == blocks.begin()) return false;
    --at;
    return reinterpret_cast<uintptr_t>(p) - at->first + bytes <= at->second;
}

/* The host may not touch device memory: the address sanitizer watches. */
void close_device(bool closed)
{
#if defined(__SANITIZE_ADDRESS__)
    for (const auto &b : on_device)
        if (closed)
            ASAN_POISON_MEMORY_REGION(reinterpret_cast<void *>(b.first), b.second);
        else
            ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void *>(b.first), b.second);
#else
    (void)closed;
#endif
}

/* The first @p end pieces of a stream's work; what of it waits for other streams runs those as far as it must. */
/* What a captured stream does not bear (nullptr: any of them): the capture is lost. */
bool forbidden(const mf_emu_stream *only)
{
    bool found = false;

    for (mf_emu_stream *s : streams)
        if (s->captured && (!only || s == only)) found = s->invalid = true;
    return found;
}

void run(mf_emu_stream *stream, size_t end = SIZE_MAX)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    if (stream->work.empty() || stream->begun >= end) return;
    if (running++ == 0) close_device(false);
    while (!stream->work.empty() && stream->begun < end) {
        const piece next = std::move(stream->work.front());

        stream->work.pop_front();
        ++stream->begun;
        next->run();
    }
    if (--running == 0) close_device(true);
}

/* A stream that is gone has done all. */
bool is_over(const mf_emu_event &event)
{
    for (const mf_emu_stream *s : streams)
        if (s == event.stream) return s->begun >= event.end;
    return true;
}

void run_to(const mf_emu_event &event)
{
    if (!is_over(event)) run(event.stream, event.end);
}

void run_all()
{
    for (mf_emu_stream *s : streams) run(s);
}

} // namespace

cudaError_t cudaGetDeviceCount(int *count)
{
    const cudaError_t error = driver();

    if (error == cudaSuccess) *count = int(number("MF_EMU_DEVICES", 1));
    return error;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = int(number("MF_EMU_DRIVER", 13000));
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = int(number("MF_EMU_RUNTIME", 13000));
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= number("MF_EMU_DEVICES", 1)) return keep(cudaErrorInvalidDevice);
    device_now = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = device_now;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    const long capability = number("MF_EMU_CAPABILITY", 90);

    if (device < 0 || device >= number("MF_EMU_DEVICES", 1)) return keep(cudaErrorInvalidDevice);
    switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 4; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(number("MF_EMU_SHARED", 232448)); break;
    case cudaDevAttrComputeCapabilityMajor: *value = int(capability / 10); break;
    case cudaDevAttrComputeCapabilityMinor: *value = int(capability % 10); break;
    case cudaDevAttrUnifiedAddressing: *value = 1; break;
    }
    return cudaSuccess;
}

namespace
{
size_t device_bytes()
{
    const size_t limit = size_t(number("MF_EMU_MEMORY", 0));

    return limit ? limit : size_t(80) << 30;
}
} // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    if (device < 0 || device >= number("MF_EMU_DEVICES", 1)) return keep(cudaErrorInvalidDevice);
    *properties = cudaDeviceProp();
    snprintf(properties->name, sizeof properties->name, "%s%s",
             number("MF_EMU_MIG", 0) ? "emulated GPU MIG 1g" : "emulated GPU",
             number("MF_EMU_MIXED", 0) && device % 2 ? " of another model" : "");
    properties->uuid.bytes[15] = char(device);
    properties->totalGlobalMem = device_bytes();
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int room, int device)
{
    if (device < 0 || device >= number("MF_EMU_DEVICES", 1)) return keep(cudaErrorInvalidDevice);
    snprintf(text, size_t(room), "0000:%02x:00.0", number("MF_EMU_MIG", 0) ? 1u : 1u + unsigned(device));
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    *total = device_bytes();
    *free = *total - used;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    const size_t limit = size_t(number("MF_EMU_MEMORY", 0));

    if (forbidden(nullptr)) return keep(cudaErrorStreamCaptureUnsupported);
    if (limit && used + bytes > limit) return keep(cudaErrorMemoryAllocation);
    *memory = mf_emu_take(bytes);
    if (!*memory) return keep(cudaErrorMemoryAllocation);
    on_device[reinterpret_cast<uintptr_t>(*memory)] = bytes;
    used += bytes;
    close_device(true);
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    const auto at = on_device.find(reinterpret_cast<uintptr_t>(memory));

    if (!memory) return cudaSuccess;
    if (forbidden(nullptr)) return keep(cudaErrorStreamCaptureUnsupported);
    if (at == on_device.end()) return keep(cudaErrorInvalidValue);
    run_all();
    close_device(false);
    used -= at->second;
    mf_emu_give(memory, at->second);
    on_device.erase(at);
    close_device(true);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    if (forbidden(nullptr)) return keep(cudaErrorStreamCaptureUnsupported);
    *memory = mf_emu_take(bytes);
    if (!*memory) return keep(cudaErrorMemoryAllocation);
    on_host[reinterpret_cast<uintptr_t>(*memory)] = bytes;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    const auto at = on_host.find(reinterpret_cast<uintptr_t>(memory));

    if (!memory) return cudaSuccess;
    if (forbidden(nullptr)) return keep(cudaErrorStreamCaptureUnsupported);
    if (at == on_host.end()) return keep(cudaErrorInvalidValue);
    run_all();
    mf_emu_give(memory, at->second);
    on_host.erase(at);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    (void)flags;
    if (!memory || !bytes || inside(on_host, memory, 1)) return keep(cudaErrorInvalidValue);
    on_host[reinterpret_cast<uintptr_t>(memory)] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    return on_host.erase(reinterpret_cast<uintptr_t>(memory)) ? cudaSuccess : keep(cudaErrorInvalidValue);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = new mf_emu_event();
    if (!(flags & cudaEventDisableTiming)) (*event)->at = std::make_shared<float>(-1.0f);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    if (auto at = event->at) mf_emu_enqueue(stream, [=]() { *at = clock_now; });
    *event = mf_emu_event{stream, stream->begun + stream->work.size(), event->at};
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    if (!begin->at || !end->at || *begin->at < 0 || *end->at < 0) return keep(cudaErrorInvalidValue);
    *ms = *end->at - *begin->at;
    return cudaSuccess;
}

void mf_emu_takes(cudaStream_t stream, float ms)
{
    mf_emu_enqueue(stream, [=]() { clock_now += ms; });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    mf_emu_calls.ends += !is_over(*event);
    run_to(*event);
    return cudaSuccess;
}

/* Who asks lets the work run, and learns of its end when asking again. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    if (is_over(*event)) return cudaSuccess;
    run_to(*event);
    return keep(cudaErrorNotReady);
}

/* As it was recorded last: recorded anew, it is another one. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    const mf_emu_event now = *event;

    (void)flags;
    mf_emu_enqueue(stream, [=]() { run_to(now); });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = new mf_emu_stream();
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    run(stream);
    for (size_t i = 0; i < streams.size(); ++i)
        if (streams[i] == stream) streams.erase(streams.begin() + long(i));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (forbidden(stream)) return keep(cudaErrorStreamCaptureUnsupported);
    ++mf_emu_calls.waits;
    run(stream);
    return cudaSuccess;
}

/* Who asks lets the work run, and learns of its end when asking again. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (stream->work.empty()) return cudaSuccess;
    run(stream);
    return keep(cudaErrorNotReady);
}

namespace
{
void put(cudaStream_t stream, piece work)
{
    std::lock_guard<std::recursive_mutex> hold(lock);

    if (stream->captured)
        stream->recorded.push_back(std::move(work));
    else
        stream->work.push_back(std::move(work));
}
} // namespace

void mf_emu_put(cudaStream_t stream, const mf_emu_work *work) { put(stream, piece(work)); }

/* -- graphs -- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    (void)mode;
    if (stream->captured) return keep(cudaErrorInvalidValue);
    stream->captured = true;
    stream->invalid = false;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (!stream->captured) return keep(cudaErrorInvalidValue);
    stream->captured = false;
    *graph = stream->invalid ? nullptr : new mf_emu_graph{stream->recorded, stream->spoiled};
    stream->recorded.clear();
    stream->spoiled.clear();
    return stream->invalid ? keep(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    if (flags) return keep(cudaErrorInvalidValue);
    *exec = new mf_emu_graph_exec{*graph};
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    ++mf_emu_calls.graphs;
    for (const auto &spoil : exec->graph.spoiled) memset(spoil.first, 0xff, spoil.bytes);
    for (const auto &work : exec->graph.work) put(stream, work);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return cudaSuccess;
}

/* Pageable memory of the host is read at once, and written before the call returns, as the runtime does. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    const bool in = inside(on_device, from, bytes), out = inside(on_device, to, bytes);
    const bool want_in = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool want_out = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;

    if (!bytes) return cudaSuccess;
    ++mf_emu_calls.copies;
    if (stream->captured && ((!in && !inside(on_host, from, bytes)) || (!out && !inside(on_host, to, bytes)))) {
        stream->invalid = true; /* its host memory has another content when the graph runs */
        return keep(cudaErrorStreamCaptureUnsupported);
    }
    if (kind != cudaMemcpyDefault && (in != want_in || out != want_out)) return keep(cudaErrorInvalidValue);
    if (!in && !inside(on_host, from, bytes)) {
        const char *first = static_cast<const char *>(from);
        std::vector<char> staged(first, first + bytes);

        mf_emu_enqueue(stream, [=]() { memcpy(to, staged.data(), bytes); });
    } else {
        mf_emu_enqueue(stream, [=]() { memmove(to, from, bytes); });
    }
    if (!out && !inside(on_host, to, bytes)) {
        ++mf_emu_calls.ends;
        run(stream);
    }
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    if (bytes && !inside(on_device, to, bytes)) return keep(cudaErrorInvalidValue);
    mf_emu_enqueue(stream, [=]() { memset(to, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaGetLastError()
{
    const cudaError_t error = last;

    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    default: return "an error that the emulator has no words for";
    }
}

cudaError_t mf_emu_kernel_shared(const void *kernel, size_t bytes)
{
    if (bytes > size_t(number("MF_EMU_SHARED", 232448))) return keep(cudaErrorInvalidValue);
    kernel_shared[kernel] = bytes;
    return cudaSuccess;
}

bool mf_emu_may_launch(const void *kernel, dim3 grid, dim3 block, size_t shared, size_t argument_bytes)
{
    const auto at = kernel_shared.find(kernel);
    const size_t most = at == kernel_shared.end() ? size_t(48) << 10 : at->second;
    const bool good = grid.x && grid.y && grid.z && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 &&
                      block.x && block.y && block.z && block.x * block.y * block.z <= 1024 && shared <= most &&
                      argument_bytes <= 32764;

    if (!good) keep(cudaErrorInvalidConfiguration);
    return good;
}

void mf_emu_spoil(void *host, size_t bytes)
{
    bool captured = false;

    if (!host) return;
    for (mf_emu_stream *s : streams)
        if (s->captured) {
            s->spoiled.push_back({host, bytes});
            captured = true;
        }
    if (!captured) memset(host, 0xff, bytes);
}

/* -- ranges of a profiler, and the report at the end -- */

namespace
{

/* How often it was open, and what was asked of the runtime meanwhile. */
struct range {
    long times, launches, waits;
};

std::map<std::string, range> &ranges = *new std::map<std::string, range>;
std::vector<std::pair<range *, struct mf_emu_calls>> &open_ranges =
    *new std::vector<std::pair<range *, struct mf_emu_calls>>;

void report()
{
    const char *path = getenv("MF_EMU_REPORT");
    FILE *to = path && *path ? fopen(path, "a") : nullptr;

    if (!to) return;
    fprintf(to, "launches %ld copies %ld graphs %ld waits %ld open %d\n", mf_emu_calls.launches, mf_emu_calls.copies,
            mf_emu_calls.graphs, mf_emu_calls.waits, int(open_ranges.size()));
    for (const auto &r : ranges)
        fprintf(to, "range %ld %ld %ld %s\n", r.second.times, r.second.launches, r.second.waits, r.first.c_str());
    fclose(to);
}

const int registered = atexit(report);

} // namespace

int nvtxRangePushA(const char *name)
{
    range &r = ranges[name];

    ++r.times;
    open_ranges.emplace_back(&r, mf_emu_calls);
    return int(open_ranges.size()) - 1;
}

int nvtxRangePop()
{
    if (open_ranges.empty()) abort(); /* more ends than beginnings */
    const auto [r, before] = open_ranges.back();

    r->launches += mf_emu_calls.launches - before.launches;
    r->waits += mf_emu_calls.waits - before.waits;
    open_ranges.pop_back();
    return int(open_ranges.size()) - 1;
}
