/* Stands in for libnvidia-ml.so.1 in tests: as many GPUs as FAKE_NVML says, of a kind, in any state.
 *   FAKE_NVML_GPUS=N         0 to 16 (default 2)
 *   FAKE_NVML_KIND=h100|l4|mixed   h100: NVLink through switches; l4: PCIe; mixed: both by turns, no NVLink
 *   FAKE_NVML_MEMORY=MIB     what every GPU has of memory, 600 of them in use
 *   FAKE_NVML_INIT=CODE      what nvmlInit_v2 answers (9: no module, 18: other version)
 *   FAKE_NVML_GPU=I:CODE     what everything about GPU I answers (15: lost, 4: no permission)
 *   FAKE_NVML_MIG=I:PARTS    GPU I is in MIG mode and has so many parts
 *   FAKE_NVML_LEAK=MIB       memory in use that every look at it adds
 * Layouts are written here anew and not taken from the program: a test that shares a mistake finds none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOST = 16, PARTS = 7 };

/* A handle is the address of one of these. */
static struct unit {
    int gpu, part;
} whole[MOST], part[MOST][PARTS];

static int number(const char *name, int standard)
{
    const char *text = getenv(name);

    return text ? atoi(text) : standard;
}

/* Gets the value of "I:VALUE" if I is @p gpu, else 0. */
static int of_gpu(const char *name, int gpu)
{
    const char *text = getenv(name);
    int i = -1, value = 0;

    return text && sscanf(text, "%d:%d", &i, &value) == 2 && i == gpu ? value : 0;
}

static int is_h100(int gpu)
{
    const char *kind = getenv("FAKE_NVML_KIND");

    if (kind && strcmp(kind, "l4") == 0) return 0;
    return kind && strcmp(kind, "mixed") == 0 ? gpu % 2 == 0 : 1;
}

static int has_nvlink(void)
{
    const char *kind = getenv("FAKE_NVML_KIND");

    return !kind || strcmp(kind, "h100") == 0;
}

static int state(const struct unit *unit) { return of_gpu("FAKE_NVML_GPU", unit->gpu); }

#define UNIT(device)                    \
    const struct unit *unit = (device); \
    if (state(unit) != 0) return state(unit)

EXPORT int nvmlInit_v2(void) { return number("FAKE_NVML_INIT", 0); }
EXPORT int nvmlShutdown(void) { return 0; }
EXPORT const char *nvmlErrorString(int rc)
{
    return rc == 4 ? "Insufficient Permissions" : rc == 15 ? "GPU is lost" : rc == 999 ? "Unknown Error" : "An Error";
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned n) { return snprintf(text, n, "570.86.15") < 0; }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 12080;
    return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = (unsigned)number("FAKE_NVML_GPUS", 2);
    return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    whole[i] = (struct unit){(int)i, -1};
    *device = &whole[i];
    return of_gpu("FAKE_NVML_GPU", (int)i) == 4 ? 4 : 0;
}

EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned n)
{
    UNIT(device);
    if (unit->part >= 0) return snprintf(text, n, "NVIDIA H100 80GB HBM3 MIG 1g.10gb") < 0;
    return snprintf(text, n, "%s", is_h100(unit->gpu) ? "NVIDIA H100 80GB HBM3" : "NVIDIA L4") < 0;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned n)
{
    UNIT(device);
    if (unit->part >= 0)
        return snprintf(text, n, "MIG-%d%d00abcd-0000-4000-8000-00000000000%d", unit->gpu, unit->part, unit->part) < 0;
    return snprintf(text, n, "GPU-%x0c0ffee-0000-4000-8000-00000000000%x", (unsigned)unit->gpu, (unsigned)unit->gpu) <
           0;
}

static unsigned long long leaked(int gpu)
{
    static int looks[MOST];

    return (unsigned long long)(looks[gpu]++ * number("FAKE_NVML_LEAK", 0));
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, void *memory)
{
    unsigned long long *field = memory; /* total, free, used */
    UNIT(device);
    field[0] = (unit->part >= 0 ? 9856ULL : is_h100(unit->gpu) ? 81559ULL : 23034ULL) << 20;
    if (number("FAKE_NVML_MEMORY", 0) > 0) field[0] = (unsigned long long)number("FAKE_NVML_MEMORY", 0) << 20;
    field[2] = (600ULL + leaked(unit->gpu)) << 20;
    field[1] = field[0] - field[2];
    return 0;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    UNIT(device);
    *major = is_h100(unit->gpu) ? 9 : 8;
    *minor = is_h100(unit->gpu) ? 0 : 9;
    return 0;
}

static void put_pci(int gpu, void *pci)
{
    char *at = pci;

    memset(at, 0, 68);
    snprintf(at, 16, "%04X:%02X:00.0", 0, 16 + gpu);
    snprintf(at + 36, 32, "%08X:%02X:00.0", 0, 16 + gpu);
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, void *pci)
{
    UNIT(device);
    put_pci(unit->gpu, pci);
    return 0;
}

EXPORT int nvmlDeviceGetNumGpuCores(void *device, unsigned *n)
{
    UNIT(device);
    *n = is_h100(unit->gpu) ? 132 * 128 : 58 * 128;
    return 0;
}

EXPORT int nvmlDeviceGetMemoryBusWidth(void *device, unsigned *bits)
{
    UNIT(device);
    *bits = is_h100(unit->gpu) ? 5120 : 192;
    return 0;
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *mhz)
{
    UNIT(device);
    if (which != 1 && which != 2) return 2;
    *mhz = which == 1 ? (is_h100(unit->gpu) ? 1980 : 2040) : is_h100(unit->gpu) ? 2619 : 6251;
    return 0;
}

EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation)
{
    UNIT(device);
    *generation = is_h100(unit->gpu) ? 5 : 4;
    return 0;
}

EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *lanes)
{
    UNIT(device);
    *lanes = 16;
    return 0;
}

/* Pairs 0-1, 2-3, ... share a switch; the first four GPUs one NUMA node. */
EXPORT int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, int *level)
{
    const struct unit *x = a, *y = b;

    *level = x->gpu / 2 == y->gpu / 2 ? 20 : x->gpu / 4 == y->gpu / 4 ? 40 : 50;
    return 0;
}

EXPORT int nvmlDeviceGetP2PStatus(void *a, void *b, int which, int *status)
{
    (void)a;
    (void)b;
    *status = which == 2 && has_nvlink() ? 0 : 5;
    return 0;
}

EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *on)
{
    UNIT(device);
    if (!has_nvlink()) return 3;
    *on = link < 18;
    return 0;
}

/* All links end at switches, whose addresses are no GPU's. */
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *pci)
{
    UNIT(device);
    put_pci(100 + (int)link / 5, pci);
    return 0;
}

EXPORT int nvmlDeviceGetFieldValues(void *device, int n, void *values)
{
    unsigned char *at = values;
    uint32_t id, type = 1, speed = 26562;
    int32_t rc = 0;
    UNIT(device);

    memcpy(&id, at, 4);
    if (n != 1 || id != 90) return 2;
    memcpy(at + 24, &type, 4);
    memcpy(at + 28, &rc, 4);
    memcpy(at + 32, &speed, 4);
    return 0;
}

/* GPU-I... of nvmlDeviceGetUUID. */
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    unsigned gpu = 0, i = 0;

    if (sscanf(uuid, "GPU-%1x", &gpu) == 1) return nvmlDeviceGetHandleByIndex_v2(gpu, device);
    if (sscanf(uuid, "MIG-%1x%1x", &gpu, &i) != 2) return 2;
    *device = &part[gpu][i];
    return 0;
}

/* Parts do not tell what they use. */
EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned *use)
{
    UNIT(device);
    use[0] = 87;
    use[1] = 40;
    return unit->part >= 0 ? 3 : 0;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    UNIT(device);
    *celsius = 60 + (unsigned)unit->gpu;
    return sensor == 0 ? 0 : 2;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    UNIT(device);
    *milliwatts = 243400;
    return unit->part >= 0 ? 3 : 0;
}

/* Each GPU has two programs: the caller, and one that does not say its memory. */
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *n, void *processes)
{
    const uint64_t memory[2] = {500ULL << 20, UINT64_MAX};
    const uint32_t pid[2] = {(uint32_t)getpid(), 4000000u};
    unsigned char *at = processes;
    UNIT(device);

    if (*n < 2) return 7;
    *n = 2;
    memset(at, 0, 48);
    for (int k = 0; k < 2; ++k) {
        memcpy(at + 24 * k, &pid[k], 4);
        memcpy(at + 24 * k + 8, &memory[k], 8);
    }
    return 0;
}

/* ---- parts ---- */

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
    const char *text = getenv("FAKE_NVML_MIG");
    UNIT(device);
    if (!is_h100(unit->gpu)) return 3;
    *now = *pending = text && atoi(text) == unit->gpu;
    return 0;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *n)
{
    UNIT(device);
    *n = PARTS;
    return 0;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned i, void **handle)
{
    UNIT(device);
    if ((int)i >= of_gpu("FAKE_NVML_MIG", unit->gpu)) return 6;
    part[unit->gpu][i] = (struct unit){unit->gpu, (int)i};
    *handle = &part[unit->gpu][i];
    return 0;
}

EXPORT int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id)
{
    UNIT(device);
    *id = 7 + (unsigned)unit->part;
    return 0;
}

EXPORT int nvmlDeviceGetComputeInstanceId(void *device, unsigned *id)
{
    UNIT(device);
    *id = 0;
    return 0;
}

EXPORT int nvmlDeviceGetAttributes_v2(void *device, void *attributes)
{
    uint32_t sms = 16;
    UNIT(device);

    if (unit->part < 0) return 3;
    memset(attributes, 0, 40);
    memcpy(attributes, &sms, 4);
    return 0;
}
