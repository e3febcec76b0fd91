/* Ranks join what they see: one node, each GPU once. GPUs that nobody may use are hidden. All ranks have the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/plan/probe.h"
#include "tests/check.h"

static struct mf_comm comm;

static void each_its_own(void)
{
    struct mf_bind_options options = {0, NULL, 0};
    struct mf_probe probe;
    char number[16];
    int gpu[8];

    snprintf(number, sizeof number, "%d", comm.size - comm.rank); /* backwards, so that numbers and ranks differ */
    setenv("CUDA_VISIBLE_DEVICES", number, 1);
    CHECK(mf_probe_run(&comm, &probe) == MF_OK);
    CHECK(probe.hardware.hosts == 1 && probe.ranks == (size_t)comm.size && probe.hardware.host[0].gpus == 6);
    if (probe.hardware.host[0].gpus != 6) return;
    CHECK(probe.hardware.host[0].cores >= 1 && probe.hardware.host[0].ram_bytes > 1 << 26);
    CHECK(probe.hardware.host[0].gpu[0].hidden && probe.hardware.host[0].gpu[5].hidden);
    CHECK(!probe.hardware.host[0].gpu[1].hidden && probe.hardware.host[0].link[1].kind == MF_LINK_SWITCH);
    CHECK(mf_probe_bind(&probe, &options, gpu) == MF_OK);
    for (int r = 0; r < comm.size; ++r)
        CHECK(probe.rank[r].gpus == 1 && probe.rank[r].gpu[0] == (size_t)(comm.size - r) && gpu[r] == 0 &&
              probe.rank[r].local_rank == r && strcmp(probe.rank[r].driver, "570.86.15") == 0);
    mf_probe_free(&probe);
}

static void all_the_same(void)
{
    struct mf_bind_options options = {0, NULL, 0};
    struct mf_probe probe;
    int gpu[8], rc;

    setenv("CUDA_VISIBLE_DEVICES", "4", 1);
    CHECK(mf_probe_run(&comm, &probe) == MF_OK);
    rc = mf_probe_bind(&probe, &options, gpu);
    CHECK(rc == (comm.size > 1 ? MF_DEVICE : MF_OK));
    options.share = 1;
    CHECK(mf_probe_bind(&probe, &options, gpu) == MF_OK);
    mf_probe_free(&probe);
}

static void measured(void)
{
    struct mf_probe_rates own = {{1e9, 3e9, 2e9}, {1e12, 1e12, 2e12}};
    struct mf_probe probe;

    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    CHECK(mf_probe_run(&comm, &probe) == MF_OK && probe.rank[0].gpus == 0 && probe.hardware.host[0].gpu[4].hidden);
    CHECK(mf_probe_measured(&comm, &own, &probe) == MF_OK);
    CHECK_NEAR(probe.hardware.host[0].memory_rate, 3.0 * comm.size, 1e-9);
    CHECK_NEAR(probe.hardware.host[0].fp32_rate, 2.0 * comm.size, 1e-9);
    mf_probe_free(&probe);
}

int main(int argc, char **argv)
{
    setenv("FAKE_NVML_GPUS", "6", 1);
    setenv("FAKE_NVML_KIND", "l4", 1);
    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    each_its_own();
    all_the_same();
    measured();
    mf_comm_close(&comm);
    return failures != 0;
}
