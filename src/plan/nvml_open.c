/* See nvml_abi.h: opening the library. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/plan/nvml_abi.h"

/* A function and where its address goes. */
struct symbol {
    const char *name;
    size_t offset;
    int required;
};

static const struct symbol symbols[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init), 1},
    {"nvmlShutdown", offsetof(struct nvml, shutdown), 1},
    {"nvmlErrorString", offsetof(struct nvml, error), 1},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml, count), 1},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, handle), 1},
    {"nvmlDeviceGetName", offsetof(struct nvml, name), 1},
    {"nvmlDeviceGetUUID", offsetof(struct nvml, uuid), 1},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory), 1},
    {"nvmlDeviceGetCudaComputeCapability", offsetof(struct nvml, capability), 1},
    {"nvmlSystemGetDriverVersion", offsetof(struct nvml, driver), 0},
    {"nvmlSystemGetCudaDriverVersion_v2", offsetof(struct nvml, cuda), 0},
    {"nvmlDeviceGetPciInfo_v3", offsetof(struct nvml, pci), 0},
    {"nvmlDeviceGetNumGpuCores", offsetof(struct nvml, cores), 0},
    {"nvmlDeviceGetMemoryBusWidth", offsetof(struct nvml, bus_width), 0},
    {"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml, clock), 0},
    {"nvmlDeviceGetMaxPcieLinkGeneration", offsetof(struct nvml, pcie_generation), 0},
    {"nvmlDeviceGetMaxPcieLinkWidth", offsetof(struct nvml, pcie_width), 0},
    {"nvmlDeviceGetTopologyCommonAncestor", offsetof(struct nvml, ancestor), 0},
    {"nvmlDeviceGetP2PStatus", offsetof(struct nvml, p2p), 0},
    {"nvmlDeviceGetNvLinkState", offsetof(struct nvml, nvlink_state), 0},
    {"nvmlDeviceGetNvLinkRemotePciInfo_v2", offsetof(struct nvml, nvlink_peer), 0},
    {"nvmlDeviceGetFieldValues", offsetof(struct nvml, fields), 0},
    {"nvmlDeviceGetMigMode", offsetof(struct nvml, mig_mode), 0},
    {"nvmlDeviceGetMaxMigDeviceCount", offsetof(struct nvml, mig_most), 0},
    {"nvmlDeviceGetMigDeviceHandleByIndex", offsetof(struct nvml, mig_handle), 0},
    {"nvmlDeviceGetGpuInstanceId", offsetof(struct nvml, mig_gpu_instance), 0},
    {"nvmlDeviceGetComputeInstanceId", offsetof(struct nvml, mig_compute_instance), 0},
    {"nvmlDeviceGetAttributes_v2", offsetof(struct nvml, mig_attributes), 0},
    {"nvmlDeviceGetHandleByUUID", offsetof(struct nvml, by_uuid), 0},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, use), 0},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml, temperature), 0},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml, power), 0},
    {"nvmlDeviceGetComputeRunningProcesses_v2", offsetof(struct nvml, processes), 0},
};

int mf_nvml_open(struct nvml *api, char *why, unsigned n)
{
    memset(api, 0, sizeof *api);
    api->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!api->library) {
        const char *reason = dlerror();

        snprintf(why, n, "no NVIDIA driver on this machine (%.160s)", reason ? reason : "libnvidia-ml.so.1");
        return 0;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
        void *found = dlsym(api->library, symbols[i].name);

        memcpy((char *)api + symbols[i].offset, &found, sizeof found); /* a pointer to a function, as POSIX has it */
        if (found || !symbols[i].required) continue;
        snprintf(why, n, "the NVIDIA driver is too old: libnvidia-ml.so.1 has no %s; update the driver",
                 symbols[i].name);
        (void)dlclose(api->library);
        return 0;
    }
    return 1;
}
