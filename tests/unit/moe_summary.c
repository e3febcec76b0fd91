/* The summary of a training has a line for each fact, and says what is not known. */
#include "src/moe/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "tests/check.h"
#include "tests/scratch.h"

static const char *const want = "mode                  multi_gpu\n"
                                "devices               ranks 0 to 1 on ant: NVIDIA H100\n"
                                "                      rank 2 on bee: NVIDIA A100\n"
                                "parallel_strategy     expert_parallel\n"
                                "precision             bf16\n"
                                "compiled              -\n"
                                "algorithms            8 operations tried in 0.2 s, 3 remembered\n"
                                "batch_size            32\n"
                                "accumulation_steps    2\n"
                                "effective_batch_size  192\n"
                                "experts_at_start      4\n"
                                "experts_at_end        6\n"
                                "births                3\n"
                                "merges                1\n"
                                "prunes                0\n"
                                "sleeps                7\n"
                                "steps                 900\n"
                                "epochs                4.5\n"
                                "time                  81 s\n"
                                "mean_epoch_time       18 s\n"
                                "samples_per_second    2133.33\n"
                                "accuracy              0.75 (test split)\n";

static const char *const want_r2 = "\nR2                    0.6 (test split, mean of 2 columns)\n"
                                   "                      volume_fraction: 0.9\n"
                                   "                      interface_density: -\n";

#define H100(node)                            \
    {                                         \
        node, "NVIDIA H100", (size_t)80 << 30 \
    }
#define A100(node)                            \
    {                                         \
        node, "NVIDIA A100", (size_t)40 << 30 \
    }

static void says(char *text, const char *wanted)
{
    CHECK_SAYS(text ? wanted && strcmp(text, wanted) == 0 : !wanted, "'%s', not '%s'", text ? text : "nothing",
               wanted ? wanted : "nothing");
    free(text);
}

/* Ranks are named where their devices differ; GPUs of one model may differ in memory. */
static void devices_of_ranks(void)
{
    const struct mf_rank_device alike[] = {H100("ant"), H100("ant"), H100("bee")};
    const struct mf_rank_device mixed[] = {H100("ant"), A100("ant"), A100("bee"), H100("bee"), H100("bee")};
    const struct mf_rank_device cut[] = {A100("ant"), {"ant", "NVIDIA A100", (size_t)79 << 30}};
    const struct mf_rank_device cores[] = {{"ant", "Xeon", 0}, {"bee", "EPYC", 0}};

    says(mf_devices_text(1, alike), "NVIDIA H100");
    says(mf_devices_text(2, alike), "NVIDIA H100, 2 ranks");
    says(mf_devices_text(3, alike), "NVIDIA H100, 3 ranks on 2 nodes");
    says(mf_devices_text(0, NULL), "-");
    says(mf_devices_text(5, mixed),
         "rank 0 on ant: NVIDIA H100\nrank 1 on ant: NVIDIA A100\nrank 2 on bee: NVIDIA A100\n"
         "ranks 3 to 4 on bee: NVIDIA H100");
    says(mf_devices_label(3, alike, 2), "2");
    says(mf_devices_label(2, mixed, 1), "1: NVIDIA A100");
    says(mf_devices_label(5, mixed, 3), "3, bee: NVIDIA H100");
    says(mf_devices_differ(3, alike), NULL);
    says(mf_devices_differ(5, mixed), "3 x NVIDIA H100 (80 GiB), 2 x NVIDIA A100 (40 GiB)");
    says(mf_devices_differ(2, cut), "1 x NVIDIA A100 (40 GiB), 1 x NVIDIA A100 (79 GiB)");
    says(mf_devices_differ(2, cores), NULL); /* how fast cores are is measured where experts are shared */
}

int main(void)
{
    static const struct mf_rank_device devices[] = {H100("ant"), H100("ant"), A100("bee")};
    struct mf_summary_column columns[] = {{"volume_fraction", 0.9}, {"interface_density", NAN}};
    struct mf_summary s = {.mode = "multi_gpu",
                           .strategy = "expert_parallel",
                           .precision = "bf16",
                           .tuned = "8 operations tried in 0.2 s, 3 remembered",
                           .devices = 3,
                           .device = devices,
                           .batch = 32,
                           .accumulation = 2,
                           .effective = 192,
                           .experts = {4, 6},
                           .changes = {3, 1, 0, 7},
                           .steps = 900,
                           .epochs = 4.5,
                           .seconds = 81,
                           .epoch_seconds = 18,
                           .samples_per_second = 6400. / 3,
                           .score = "accuracy",
                           .split = "test",
                           .value = 0.75};
    struct mf_comm c;
    size_t n;
    char *text;

    devices_of_ranks();
    mf_comm_self(&c);
    scratch_open(&c);
    CHECK(mf_summary_write(&s, scratch_file("performance_summary.txt")) == MF_OK && scratch_count(0) == 1);
    CHECK(mf_text_load(scratch_file("performance_summary.txt"), 4096, &text, &n) == MF_OK);
    CHECK_SAYS(strcmp(text, want) == 0, "%s\n", text);
    free(text);
    s.value = NAN;
    CHECK(mf_summary_write(&s, scratch_file("performance_summary.txt")) == MF_OK);
    CHECK(mf_text_load(scratch_file("performance_summary.txt"), 4096, &text, &n) == MF_OK);
    CHECK(mf_ends_with(text, "\naccuracy              -\n"));
    free(text);
    s.score = "R2";
    s.value = 0.6;
    s.columns = 2;
    s.column = columns;
    CHECK(mf_summary_write(&s, scratch_file("performance_summary.txt")) == MF_OK);
    CHECK(mf_text_load(scratch_file("performance_summary.txt"), 4096, &text, &n) == MF_OK);
    CHECK_SAYS(mf_ends_with(text, want_r2), "%s\n", text);
    free(text);
    CHECK(mf_summary_write(&s, "/nowhere/performance_summary.txt") == MF_OUTPUT);
    scratch_close(&c);
    return failures != 0;
}
