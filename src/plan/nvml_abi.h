/* The part of NVML's binary interface that this program uses. It has function names with their version suffix, argument
 * types, layouts, constants. Source: "NVML API Reference Guide".
 * Rule: everything here is fixed for a given suffix. */
#ifndef MF_PLAN_NVML_ABI_H
#define MF_PLAN_NVML_ABI_H

typedef void *nvml_device; /* nvmlDevice_t, a pointer to an opaque struct */

enum { /* nvmlReturn_t */
       NVML_OK = 0,
       NVML_NOT_SUPPORTED = 3,
       NVML_NO_PERMISSION = 4,
       NVML_DRIVER_NOT_LOADED = 9,
       NVML_GPU_IS_LOST = 15,
       NVML_OPERATING_SYSTEM = 17, /* the device file is closed to this control group */
       NVML_LIB_RM_VERSION_MISMATCH = 18
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 }; /* nvmlClockType_t */
enum { NVML_SENSOR_GPU = 0 };                   /* nvmlTemperatureSensors_t */
enum { NVML_P2P_CAPS_NVLINK = 2 };              /* nvmlGpuP2PCapsIndex_t; nvmlGpuP2PStatus_t: 0 is "can" */
enum { NVML_NVLINK_MOST = 18 };                 /* links of a GPU */
enum { NVML_FIELD_NVLINK_MBPS = 90 };           /* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, MB/s of one link */
enum { NVML_VALUE_UINT = 1 };                   /* nvmlValueType_t */
enum { NVML_TOPOLOGY_MULTIPLE = 20, NVML_TOPOLOGY_NODE = 40 }; /* nvmlGpuTopologyLevel_t: switches; one NUMA node */

struct nvml_memory { /* nvmlMemory_t, 24 bytes */
    unsigned long long total, free, used;
};

struct nvml_pci { /* nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3, 68 bytes */
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

struct nvml_attributes { /* nvmlDeviceAttributes_t of nvmlDeviceGetAttributes_v2, 40 bytes; of a MIG device only */
    unsigned sms, copy_engines, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mib;
};

struct nvml_use { /* nvmlUtilization_t: shares of the last second or less [%] */
    unsigned gpu, memory;
};

#define NVML_NOT_AVAILABLE (~0ULL) /* NVML_VALUE_NOT_AVAILABLE */

struct nvml_process { /* nvmlProcessInfo_v2_t, 24 bytes */
    unsigned pid;
    unsigned long long memory; /* bytes, or NVML_NOT_AVAILABLE */
    unsigned gpu_instance, compute_instance;
};

struct nvml_field { /* nvmlFieldValue_t, 40 bytes */
    unsigned id, scope;
    long long time, latency;
    unsigned type;
    int rc;
    union {
        double real;
        unsigned number;
        unsigned long long large;
    } value;
};

_Static_assert(sizeof(struct nvml_memory) == 24, "NVML's layout");
_Static_assert(sizeof(struct nvml_pci) == 68, "NVML's layout");
_Static_assert(sizeof(struct nvml_attributes) == 40, "NVML's layout");
_Static_assert(sizeof(struct nvml_use) == 8, "NVML's layout");
_Static_assert(sizeof(struct nvml_process) == 24, "NVML's layout");
_Static_assert(sizeof(struct nvml_field) == 40, "NVML's layout");

/** The functions. Functions after `required` are NULL if the driver lacks them. */
struct nvml {
    int (*init)(void);                                          /* nvmlInit_v2 */
    int (*shutdown)(void);                                      /* nvmlShutdown */
    const char *(*error)(int rc);                               /* nvmlErrorString */
    int (*count)(unsigned *n);                                  /* nvmlDeviceGetCount_v2: also those it may not open */
    int (*handle)(unsigned i, nvml_device *gpu);                /* nvmlDeviceGetHandleByIndex_v2 */
    int (*name)(nvml_device gpu, char *text, unsigned n);       /* nvmlDeviceGetName */
    int (*uuid)(nvml_device gpu, char *text, unsigned n);       /* nvmlDeviceGetUUID */
    int (*memory)(nvml_device gpu, struct nvml_memory *of);     /* nvmlDeviceGetMemoryInfo */
    int (*capability)(nvml_device gpu, int *major, int *minor); /* nvmlDeviceGetCudaComputeCapability */
    int (*driver)(char *text, unsigned n);                      /* nvmlSystemGetDriverVersion */
    int (*cuda)(int *version);                                  /* nvmlSystemGetCudaDriverVersion_v2 */
    int (*pci)(nvml_device gpu, struct nvml_pci *of);           /* nvmlDeviceGetPciInfo_v3 */
    int (*cores)(nvml_device gpu, unsigned *n);                 /* nvmlDeviceGetNumGpuCores */
    int (*bus_width)(nvml_device gpu, unsigned *bits);          /* nvmlDeviceGetMemoryBusWidth */
    int (*clock)(nvml_device gpu, int which, unsigned *mhz);    /* nvmlDeviceGetMaxClockInfo */
    int (*pcie_generation)(nvml_device gpu, unsigned *generation);           /* nvmlDeviceGetMaxPcieLinkGeneration */
    int (*pcie_width)(nvml_device gpu, unsigned *lanes);                     /* nvmlDeviceGetMaxPcieLinkWidth */
    int (*ancestor)(nvml_device a, nvml_device b, int *level);               /* nvmlDeviceGetTopologyCommonAncestor */
    int (*p2p)(nvml_device a, nvml_device b, int which, int *status);        /* nvmlDeviceGetP2PStatus */
    int (*nvlink_state)(nvml_device gpu, unsigned link, unsigned *is_on);    /* nvmlDeviceGetNvLinkState */
    int (*nvlink_peer)(nvml_device gpu, unsigned link, struct nvml_pci *of); /* nvmlDeviceGetNvLinkRemotePciInfo_v2 */
    int (*fields)(nvml_device gpu, int n, struct nvml_field *of);            /* nvmlDeviceGetFieldValues */
    int (*mig_mode)(nvml_device gpu, unsigned *now, unsigned *pending);      /* nvmlDeviceGetMigMode */
    int (*mig_most)(nvml_device gpu, unsigned *n);                           /* nvmlDeviceGetMaxMigDeviceCount */
    int (*mig_handle)(nvml_device gpu, unsigned i, nvml_device *part);       /* nvmlDeviceGetMigDeviceHandleByIndex */
    int (*mig_gpu_instance)(nvml_device part, unsigned *id);                 /* nvmlDeviceGetGpuInstanceId */
    int (*mig_compute_instance)(nvml_device part, unsigned *id);             /* nvmlDeviceGetComputeInstanceId */
    int (*mig_attributes)(nvml_device part, struct nvml_attributes *of);     /* nvmlDeviceGetAttributes_v2 */
    int (*by_uuid)(const char *uuid, nvml_device *gpu);                      /* nvmlDeviceGetHandleByUUID */
    int (*use)(nvml_device gpu, struct nvml_use *of);                        /* nvmlDeviceGetUtilizationRates */
    int (*temperature)(nvml_device gpu, int sensor, unsigned *celsius);      /* nvmlDeviceGetTemperature */
    int (*power)(nvml_device gpu, unsigned *milliwatts);                     /* nvmlDeviceGetPowerUsage */
    int (*processes)(nvml_device gpu, unsigned *n,
                     struct nvml_process *of); /* nvmlDeviceGetComputeRunningProcesses_v2 */
    void *library;
};

/** Opens the library and finds the functions. Returns 0, and the reason in @p why [n], if it fails. */
int mf_nvml_open(struct nvml *api, char *why, unsigned n);

#endif
