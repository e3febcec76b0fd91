/* See gauge.h. */
#include "src/plan/gauge.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/plan/nvml_abi.h"
#include "src/plan/visible.h"

struct mf_gauge {
    struct nvml api;
    int is_open;
    size_t gpus;
    nvml_device gpu[MF_HARDWARE_GPUS];
    char remark[MF_NVML_TEXT];
};

/* Handles of the GPUs that CUDA shows: the ids of the look are good for this library, too. */
static void find_gpus(struct mf_gauge *g)
{
    struct mf_nvml seen;
    size_t *place, n;

    mf_nvml_look(&seen);
    place = MF_MUST(calloc(seen.gpus + 1, sizeof *place), "GPUs");
    n = mf_visible(getenv("CUDA_VISIBLE_DEVICES"), &seen, place, g->remark);
    if (*seen.remark) snprintf(g->remark, sizeof g->remark, "%s", seen.remark);
    for (size_t i = 0; i < n && g->api.by_uuid; ++i) {
        const struct mf_seen_gpu *gpu = &seen.gpu[place[i]];

        if (!gpu->lost && g->api.by_uuid(gpu->gpu.uuid, &g->gpu[g->gpus]) == NVML_OK) ++g->gpus;
    }
    if (g->gpus == 0 && !*g->remark) snprintf(g->remark, sizeof g->remark, "the driver shows no GPU");
    free(place);
    mf_nvml_free(&seen);
}

struct mf_gauge *mf_gauge_open(void)
{
    struct mf_gauge *g = MF_MUST(calloc(1, sizeof *g), "a gauge");
    int rc;

    if (!mf_nvml_open(&g->api, g->remark, sizeof g->remark)) return g;
    rc = g->api.init();
    if (rc == NVML_OK) {
        g->is_open = 1;
        find_gpus(g);
    } else {
        snprintf(g->remark, sizeof g->remark, "the NVIDIA driver does not start: %.180s", g->api.error(rc));
        (void)dlclose(g->api.library);
    }
    return g;
}

void mf_gauge_close(struct mf_gauge *gauge)
{
    if (gauge && gauge->is_open) {
        (void)gauge->api.shutdown();
        (void)dlclose(gauge->api.library);
    }
    free(gauge);
}

size_t mf_gauge_gpus(const struct mf_gauge *gauge) { return gauge->gpus; }
const char *mf_gauge_remark(const struct mf_gauge *gauge) { return gauge->remark; }

struct mf_gauge_gpu mf_gauge_look(const struct mf_gauge *gauge, size_t i)
{
    const struct nvml *api = &gauge->api;
    struct mf_gauge_gpu is = {NAN, NAN, NAN, NAN};
    struct nvml_memory memory;
    struct nvml_use use;
    unsigned number;

    if (api->use && api->use(gauge->gpu[i], &use) == NVML_OK) is.use = use.gpu;
    if (api->memory(gauge->gpu[i], &memory) == NVML_OK) is.memory = (double)memory.used;
    if (api->temperature && api->temperature(gauge->gpu[i], NVML_SENSOR_GPU, &number) == NVML_OK) is.celsius = number;
    if (api->power && api->power(gauge->gpu[i], &number) == NVML_OK) is.watts = 1e-3 * number;
    return is;
}

/* The number at place @p skip of a line of the kernel. */
static double number_in(const char *path, int skip)
{
    char line[128] = "", *at = line, *end;
    FILE *file = fopen(path, "r");
    double value = NAN;

    if (!file) return NAN;
    if (fgets(line, sizeof line, file))
        for (int i = 0; i <= skip; ++i, at = end) {
            value = strtod(at, &end);
            if (end == at) value = NAN;
        }
    (void)fclose(file);
    return value;
}

double mf_gauge_resident(void) { return number_in("/proc/self/statm", 1) * (double)sysconf(_SC_PAGESIZE); }
double mf_gauge_load(void) { return number_in("/proc/loadavg", 0); }
