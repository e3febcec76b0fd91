/* See gauge.h. */
#include "src/plan/gauge.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/plan/nvml_abi.h"
#include "src/plan/visible.h"

struct mf_gauge {
    struct nvml api;
    int is_open;
    size_t gpus;
    nvml_device gpu[MF_HARDWARE_GPUS];
    char id[MF_HARDWARE_GPUS][MF_HARDWARE_TEXT];
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

        if (gpu->lost || g->api.by_uuid(gpu->gpu.uuid, &g->gpu[g->gpus]) != NVML_OK) continue;
        snprintf(g->id[g->gpus++], sizeof *g->id, "%s", gpu->gpu.uuid);
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
    struct mf_gauge_gpu is = {NAN, NAN, NAN, NAN, NAN};
    struct nvml_memory memory;
    struct nvml_use use;
    unsigned number;

    if (api->use && api->use(gauge->gpu[i], &use) == NVML_OK) is.use = use.gpu;
    if (api->memory(gauge->gpu[i], &memory) == NVML_OK) {
        is.memory = (double)memory.used;
        is.total = (double)memory.total;
    }
    if (api->temperature && api->temperature(gauge->gpu[i], NVML_SENSOR_GPU, &number) == NVML_OK) is.celsius = number;
    if (api->power && api->power(gauge->gpu[i], &number) == NVML_OK) is.watts = 1e-3 * number;
    return is;
}

const char *mf_gauge_id(const struct mf_gauge *gauge, size_t i) { return gauge->id[i]; }

size_t mf_gauge_programs(const struct mf_gauge *gauge, size_t i, size_t most, struct mf_gauge_program *program)
{
    enum { MOST = 64 };
    struct nvml_process seen[MOST];
    unsigned n = MOST;

    if (!gauge->api.processes || gauge->api.processes(gauge->gpu[i], &n, seen) != NVML_OK) return 0;
    if (n > most) n = (unsigned)most;
    for (unsigned k = 0; k < n; ++k)
        program[k] =
            (struct mf_gauge_program){seen[k].pid, seen[k].memory == NVML_NOT_AVAILABLE ? NAN : (double)seen[k].memory};
    return n;
}

void mf_gauge_name(long pid, char name[MF_GAUGE_NAME])
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    file = fopen(path, "r");
    if (!file || !fgets(name, MF_GAUGE_NAME, file)) *name = '\0';
    if (file) (void)fclose(file);
    name[strcspn(name, "\n")] = '\0';
}

/* Idle time is at places 3 (idle) and 4 (waiting for files). Places 8 and 9 are counted in the first ones already. */
struct mf_gauge_time mf_gauge_cores(void)
{
    enum { IDLE = 3, WAIT = 4, COUNTED = 8 };
    FILE *file = fopen("/proc/stat", "r");
    struct mf_gauge_time is = {0, 0};
    double value;

    if (!file || fscanf(file, "cpu") != 0) is.all = NAN;
    for (int k = 0; file && k < COUNTED && fscanf(file, "%lf", &value) == 1; ++k) { /* NOLINT(cert-err34-c) */
        is.all += value;
        if (k != IDLE && k != WAIT) is.busy += value;
    }
    if (file) (void)fclose(file);
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
