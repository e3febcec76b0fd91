/* Facts from the driver's library arrive: GPUs, parts, links; and each way in which it fails has its sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/plan/nvml.h"
#include "tests/check.h"

static struct mf_nvml seen;

static void look(const char *gpus, const char *kind, const char *extra, const char *value)
{
    static const char *const names[] = {"FAKE_NVML_INIT", "FAKE_NVML_GPU", "FAKE_NVML_MIG"};

    mf_nvml_free(&seen);
    setenv("FAKE_NVML_GPUS", gpus, 1);
    setenv("FAKE_NVML_KIND", kind, 1);
    for (size_t i = 0; i < 3; ++i) unsetenv(names[i]);
    if (extra) setenv(extra, value, 1);
    mf_nvml_look(&seen);
}

static void eight(void)
{
    const struct mf_gpu *gpu;

    look("8", "h100", NULL, NULL);
    CHECK(seen.gpus == 8 && !*seen.remark && strcmp(seen.driver, "570.86.15") == 0 && seen.cuda == 12080);
    if (seen.gpus != 8) return;
    gpu = &seen.gpu[3].gpu;
    CHECK(strcmp(gpu->name, "NVIDIA H100 80GB HBM3") == 0 && strncmp(gpu->uuid, "GPU-3", 5) == 0);
    CHECK(strcmp(gpu->pci, "00000000:13:00.0") == 0 && gpu->major == 9 && gpu->minor == 0 && gpu->sms == 132);
    CHECK(gpu->memory_bytes == 81559LL << 20 && gpu->memory_free_bytes == 80959LL << 20);
    CHECK_NEAR(gpu->memory_rate, 3352, 1);
    CHECK_NEAR(gpu->fp32_rate, 66.9, 0.1);
    CHECK_NEAR(gpu->host_rate, 63, 0.1);
    CHECK(seen.link[1].kind == MF_LINK_NVLINK && seen.link[0].kind == MF_LINK_NONE);
    CHECK_NEAR(seen.link[8 * 7].rate, 478.1, 0.1);
}

static void without_nvlink(void)
{
    look("6", "l4", NULL, NULL);
    CHECK(seen.gpus == 6);
    if (seen.gpus != 6) return;
    CHECK(seen.link[1].kind == MF_LINK_SWITCH && seen.link[2].kind == MF_LINK_HOST &&
          seen.link[4].kind == MF_LINK_SYSTEM);
    CHECK(seen.gpu[0].gpu.sms == 58 && seen.gpu[0].gpu.minor == 9);
    CHECK_NEAR(seen.link[1].rate, 31.5, 0.1);
    look("2", "mixed", NULL, NULL);
    CHECK(seen.gpus == 2 && seen.gpu[0].gpu.major == 9 && seen.gpu[1].gpu.major == 8);
}

static void parts(void)
{
    look("2", "h100", "FAKE_NVML_MIG", "1:3");
    CHECK(seen.gpus == 5);
    if (seen.gpus != 5) return;
    CHECK(seen.gpu[1].has_parts && seen.gpu[2].is_part && seen.gpu[4].is_part && seen.gpu[4].index == 1);
    CHECK(strncmp(seen.gpu[3].gpu.uuid, "MIG-11", 6) == 0 && seen.gpu[3].gpu.memory_bytes == 9856LL << 20);
    CHECK(seen.gpu[3].gpu.sms == 16 && seen.gpu[3].gpu_instance == 8 && seen.gpu[3].compute_instance == 0);
    CHECK_NEAR(seen.gpu[3].gpu.fp32_rate, 66.9 * 16 / 132, 0.1);
    CHECK(seen.link[1].kind == MF_LINK_NONE);
    look("1", "h100", "FAKE_NVML_MIG", "0:0");
    CHECK(seen.gpus == 1 && seen.gpu[0].has_parts); /* in MIG mode, without parts */
}

static void fails(void)
{
    look("4", "h100", "FAKE_NVML_INIT", "18");
    CHECK(seen.gpus == 0 && strstr(seen.remark, "different versions") && !*seen.driver);
    look("4", "h100", "FAKE_NVML_INIT", "9");
    CHECK(seen.gpus == 0 && strstr(seen.remark, "kernel module is not loaded"));
    look("4", "h100", "FAKE_NVML_INIT", "4");
    CHECK(seen.gpus == 0 && strstr(seen.remark, "no permission"));
    look("4", "h100", "FAKE_NVML_INIT", "999");
    CHECK(seen.gpus == 0 && strstr(seen.remark, "does not start: Unknown Error"));
    look("4", "h100", "FAKE_NVML_GPU", "2:15");
    CHECK(seen.gpus == 4 && seen.gpu[2].lost && !seen.gpu[3].lost &&
          strstr(seen.remark, "GPU 2 (as nvidia-smi counts) is lost"));
    CHECK(seen.gpus == 4 && seen.link[2].kind == MF_LINK_NONE && seen.link[3].kind == MF_LINK_NVLINK);
    look("4", "h100", "FAKE_NVML_GPU", "2:999");
    CHECK(seen.gpus == 4 && strstr(seen.remark, "GPU 2 (as nvidia-smi counts) does not answer"));
    look("4", "h100", "FAKE_NVML_GPU", "0:4"); /* another job's: as if it were not there */
    CHECK(seen.gpus == 3 && seen.gpu[0].index == 0 && strncmp(seen.gpu[0].gpu.uuid, "GPU-1", 5) == 0 && !*seen.remark);
    look("1", "h100", "FAKE_NVML_GPU", "0:4");
    CHECK(seen.gpus == 0 && strstr(seen.remark, "closed to this process"));
    look("0", "h100", NULL, NULL);
    CHECK(seen.gpus == 0 && strstr(seen.remark, "finds no GPU"));
}

int main(void)
{
    eight();
    without_nvlink();
    parts();
    fails();
    mf_nvml_free(&seen);
    return failures != 0;
}
