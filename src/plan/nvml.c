/* See nvml.h. */
#include "src/plan/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/plan/nvml_abi.h"

/* Calls that may be missing in a driver: not there is like "not supported". */
#define ASK(api, function, ...) ((api)->function ? (api)->function(__VA_ARGS__) : NVML_NOT_SUPPORTED)

static void say_init(const struct nvml *api, int rc, char *remark)
{
    if (rc == NVML_DRIVER_NOT_LOADED)
        snprintf(remark, MF_NVML_TEXT,
                 "the NVIDIA library is here but its kernel module is not loaded (nvidia-smi says more)");
    else if (rc == NVML_LIB_RM_VERSION_MISMATCH)
        snprintf(remark, MF_NVML_TEXT,
                 "the NVIDIA library and its kernel module are of different versions: reload the module or reboot "
                 "after a driver update, or mount the host's libraries into the container");
    else if (rc == NVML_NO_PERMISSION || rc == NVML_OPERATING_SYSTEM)
        snprintf(remark, MF_NVML_TEXT, "no permission to use the NVIDIA driver here (%s)", api->error(rc));
    else
        snprintf(remark, MF_NVML_TEXT, "the NVIDIA driver does not start: %.180s", api->error(rc));
}

/* FP32 units per multiprocessor; 0: an architecture newer than this table. */
static int64_t units_of(int major, int minor)
{
    switch (10 * major + minor) {
    case 60:
    case 70:
    case 72:
    case 75:
    case 80: return 64;
    case 50:
    case 52:
    case 53:
    case 61:
    case 62:
    case 86:
    case 87:
    case 88:
    case 89:
    case 90:
    case 100:
    case 103:
    case 110:
    case 120:
    case 121: return 128;
    default: return 0;
    }
}

/* Rates from widths and clocks: memory moves twice per clock, a unit does a multiplication and an addition. */
static void look_at_rates(const struct nvml *api, nvml_device device, struct mf_gpu *gpu)
{
    static const double lane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563}; /* GB/s of a PCIe lane */
    unsigned bits = 0, mhz = 0, cores = 0, generation = 0, lanes = 0;
    int64_t units = units_of((int)gpu->major, (int)gpu->minor);

    if (ASK(api, bus_width, device, &bits) == NVML_OK && ASK(api, clock, device, NVML_CLOCK_MEM, &mhz) == NVML_OK)
        gpu->memory_rate = 2e-3 * mhz * bits / 8;
    if (ASK(api, cores, device, &cores) == NVML_OK) {
        if (units > 0) gpu->sms = (int64_t)cores / units;
        if (ASK(api, clock, device, NVML_CLOCK_SM, &mhz) == NVML_OK) gpu->fp32_rate = 2e-6 * cores * mhz;
    }
    if (ASK(api, pcie_generation, device, &generation) == NVML_OK && ASK(api, pcie_width, device, &lanes) == NVML_OK &&
        generation < sizeof lane / sizeof *lane)
        gpu->host_rate = lane[generation] * lanes;
}

/* The NUMA node of a PCI address; -1: the kernel does not know. */
static int64_t numa_of(const char *pci)
{
    char path[160], lower[MF_HARDWARE_TEXT];
    size_t skip = strlen(pci) > 12 ? strlen(pci) - 12 : 0; /* NVML's domain has 8 digits, the kernel's 4 */
    FILE *file;
    int node = -1;

    snprintf(lower, sizeof lower, "%s", pci + skip);
    for (char *c = lower; *c; ++c)
        if (*c >= 'A' && *c <= 'F') *c = (char)(*c - 'A' + 'a');
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", lower);
    file = fopen(path, "r");
    if (!file) return -1;
    if (fscanf(file, "%d", &node) != 1) node = -1; /* NOLINT(cert-err34-c): the kernel writes a small number */
    (void)fclose(file);
    return node;
}

static int look_at_gpu(const struct nvml *api, nvml_device device, struct mf_gpu *gpu)
{
    struct nvml_memory memory = {0};
    struct nvml_pci pci = {.bus_id = ""};
    int major = 0, minor = 0, rc;

    gpu->numa_node = -1;
    rc = api->name(device, gpu->name, sizeof gpu->name);
    if (rc == NVML_OK) rc = api->uuid(device, gpu->uuid, sizeof gpu->uuid);
    if (rc == NVML_OK) rc = api->memory(device, &memory);
    if (rc == NVML_OK) rc = api->capability(device, &major, &minor);
    if (rc != NVML_OK) return rc;
    gpu->memory_bytes = (int64_t)memory.total;
    gpu->memory_free_bytes = (int64_t)(memory.free < memory.total ? memory.free : memory.total);
    gpu->major = major;
    gpu->minor = minor;
    if (ASK(api, pci, device, &pci) == NVML_OK) snprintf(gpu->pci, sizeof gpu->pci, "%.31s", pci.bus_id);
    if (*gpu->pci) gpu->numa_node = numa_of(gpu->pci);
    look_at_rates(api, device, gpu);
    return NVML_OK;
}

/* ---- parts ---- */

static int look_at_part(const struct nvml *api, nvml_device device, const struct mf_seen_gpu *whole,
                        struct mf_seen_gpu *part)
{
    struct nvml_attributes has = {0};
    struct nvml_memory memory = {0};
    unsigned gpu_instance = 0, compute_instance = 0;

    *part = *whole;
    part->is_part = 1;
    part->has_parts = 0;
    memset(part->gpu.uuid, 0, sizeof part->gpu.uuid);
    if (api->uuid(device, part->gpu.uuid, sizeof part->gpu.uuid) != NVML_OK) return 0;
    if (api->name(device, part->gpu.name, sizeof part->gpu.name) != NVML_OK) part->gpu = whole->gpu;
    if (api->memory(device, &memory) == NVML_OK) {
        part->gpu.memory_bytes = (int64_t)memory.total;
        part->gpu.memory_free_bytes = (int64_t)memory.free;
    }
    if (ASK(api, mig_attributes, device, &has) == NVML_OK) part->gpu.sms = (int64_t)has.sms;
    if (whole->gpu.sms > 0) part->gpu.fp32_rate *= (double)part->gpu.sms / (double)whole->gpu.sms;
    part->gpu.memory_rate *= (double)part->gpu.memory_bytes / (double)whole->gpu.memory_bytes;
    if (ASK(api, mig_gpu_instance, device, &gpu_instance) == NVML_OK) part->gpu_instance = gpu_instance;
    if (ASK(api, mig_compute_instance, device, &compute_instance) == NVML_OK) part->compute_instance = compute_instance;
    return 1;
}

/* Handles that are found beside the records. */
struct look {
    const struct nvml *api;
    struct mf_nvml *seen;
    nvml_device device[MF_HARDWARE_GPUS];
};

static struct mf_seen_gpu *next(struct look *look, nvml_device device)
{
    struct mf_nvml *seen = look->seen;

    if (seen->gpus == MF_HARDWARE_GPUS) return NULL;
    look->device[seen->gpus] = device;
    memset(&seen->gpu[seen->gpus], 0, sizeof *seen->gpu);
    return &seen->gpu[seen->gpus++];
}

static void look_at_parts(struct look *look, nvml_device device, struct mf_seen_gpu *whole)
{
    unsigned now = 0, pending = 0, most = 0;

    if (ASK(look->api, mig_mode, device, &now, &pending) != NVML_OK || now == 0) return;
    whole->has_parts = 1;
    if (ASK(look->api, mig_most, device, &most) != NVML_OK) return;
    for (unsigned i = 0; i < most; ++i) {
        struct mf_seen_gpu *part;
        nvml_device handle = NULL;

        if (ASK(look->api, mig_handle, device, i, &handle) != NVML_OK) continue;
        part = next(look, handle);
        if (part && !look_at_part(look->api, handle, whole, part)) --look->seen->gpus;
    }
}

/* ---- links ---- */

/* Counts the NVLinks of @p a that are on. Some end at @p b, and others at something else (a switch). */
static void count_nvlinks(const struct look *look, size_t a, size_t b, unsigned *straight, unsigned *all)
{
    const char *peer = look->seen->gpu[b].gpu.pci;

    *straight = *all = 0;
    for (unsigned i = 0; i < NVML_NVLINK_MOST; ++i) {
        struct nvml_pci end = {.bus_id = ""};
        unsigned on = 0;

        if (ASK(look->api, nvlink_state, look->device[a], i, &on) != NVML_OK || !on) continue;
        ++*all;
        if (ASK(look->api, nvlink_peer, look->device[a], i, &end) == NVML_OK && strncmp(end.bus_id, peer, 32) == 0)
            ++*straight;
    }
}

/* Through a switch all links of a GPU serve any peer; without one, those that lead there. */
static double nvlink_rate(const struct look *look, size_t a, size_t b)
{
    struct nvml_field speed = {.id = NVML_FIELD_NVLINK_MBPS};
    unsigned straight, all;

    count_nvlinks(look, a, b, &straight, &all);
    if (ASK(look->api, fields, look->device[a], 1, &speed) != NVML_OK || speed.rc != NVML_OK ||
        speed.type != NVML_VALUE_UINT)
        return 0;
    return 1e-3 * speed.value.number * (straight > 0 ? straight : all);
}

static struct mf_link look_at_link(const struct look *look, size_t a, size_t b)
{
    const struct mf_gpu *x = &look->seen->gpu[a].gpu, *y = &look->seen->gpu[b].gpu;
    struct mf_link link = {.kind = MF_LINK_SYSTEM, .rate = x->host_rate < y->host_rate ? x->host_rate : y->host_rate};
    int status = 1, level = 0;

    if (ASK(look->api, p2p, look->device[a], look->device[b], NVML_P2P_CAPS_NVLINK, &status) == NVML_OK && status == 0)
        return (struct mf_link){.kind = MF_LINK_NVLINK, .rate = nvlink_rate(look, a, b)};
    if (ASK(look->api, ancestor, look->device[a], look->device[b], &level) != NVML_OK) return link;
    if (level <= NVML_TOPOLOGY_NODE) link.kind = MF_LINK_HOST;
    if (level <= NVML_TOPOLOGY_MULTIPLE) link.kind = MF_LINK_SWITCH;
    return link;
}

static int is_linked(const struct mf_seen_gpu *gpu) { return !gpu->is_part && !gpu->has_parts && !gpu->lost; }

static void look_at_links(const struct look *look)
{
    struct mf_nvml *seen = look->seen;
    size_t n = seen->gpus;

    seen->link = MF_MUST(calloc(n * n + 1, sizeof *seen->link), "links");
    for (size_t a = 0; a < n; ++a)
        for (size_t b = a + 1; b < n; ++b)
            if (is_linked(&seen->gpu[a]) && is_linked(&seen->gpu[b]))
                seen->link[a * n + b] = seen->link[b * n + a] = look_at_link(look, a, b);
}

/* ---- all ---- */

/* A GPU that does not answer keeps its place, so that the numbers of the others stay what they are. */
static void look_at_whole(struct look *look, unsigned number, int64_t index, nvml_device device, int rc)
{
    struct mf_seen_gpu *whole = next(look, device);

    if (!whole) return;
    whole->index = index;
    if (rc == NVML_OK) rc = look_at_gpu(look->api, device, &whole->gpu);
    if (rc == NVML_OK) {
        look_at_parts(look, device, whole);
        return;
    }
    whole->lost = 1;
    whole->gpu.numa_node = -1;
    if (rc == NVML_GPU_IS_LOST)
        snprintf(look->seen->remark, MF_NVML_TEXT,
                 "GPU %u (as nvidia-smi counts) is lost: it has fallen off the bus (the kernel's log has its Xid); "
                 "reset it or reboot",
                 number);
    else
        snprintf(look->seen->remark, MF_NVML_TEXT, "GPU %u (as nvidia-smi counts) does not answer: %.160s", number,
                 look->api->error(rc));
}

static void look_at_all(struct look *look)
{
    unsigned n = 0;
    int64_t index = 0;
    int rc = look->api->count(&n);

    if (rc != NVML_OK) {
        snprintf(look->seen->remark, MF_NVML_TEXT, "the NVIDIA driver cannot count its GPUs: %.160s",
                 look->api->error(rc));
        return;
    }
    look->seen->gpu = calloc(MF_HARDWARE_GPUS, sizeof *look->seen->gpu);
    if (!look->seen->gpu) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for GPUs");
    for (unsigned i = 0; i < n; ++i) {
        nvml_device device = NULL;

        rc = look->api->handle(i, &device);
        if (rc == NVML_NO_PERMISSION || rc == NVML_OPERATING_SYSTEM)
            continue; /* another job's: CUDA skips it as well */
        look_at_whole(look, i, index++, device, rc);
    }
    if (index == 0)
        snprintf(look->seen->remark, MF_NVML_TEXT,
                 n > 0 ? "the NVIDIA driver has %u GPUs, all closed to this process (ask the launcher for a GPU)"
                       : "the NVIDIA driver is here but finds no GPU",
                 n);
    look_at_links(look);
}

void mf_nvml_look(struct mf_nvml *seen)
{
    struct nvml api;
    struct look look = {.api = &api, .seen = seen};
    int rc, cuda = 0;

    memset(seen, 0, sizeof *seen);
    if (!mf_nvml_open(&api, seen->remark, MF_NVML_TEXT)) return;
    rc = api.init();
    if (rc != NVML_OK) {
        say_init(&api, rc, seen->remark);
    } else {
        if (ASK(&api, driver, seen->driver, MF_NVML_TEXT) != NVML_OK) *seen->driver = '\0';
        if (ASK(&api, cuda, &cuda) == NVML_OK) seen->cuda = cuda;
        look_at_all(&look);
        (void)api.shutdown();
    }
    (void)dlclose(api.library);
}

void mf_nvml_free(struct mf_nvml *seen)
{
    free(seen->gpu);
    free(seen->link);
    memset(seen, 0, sizeof *seen);
}
