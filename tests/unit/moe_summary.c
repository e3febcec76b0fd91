/* The summary of a training has a line for each fact, and says what is not known. */
#include "src/moe/summary.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "tests/check.h"
#include "tests/scratch.h"

static const char *const want = "mode                  multi_gpu\n"
                                "devices               2 x NVIDIA H100\n"
                                "                      cpu\n"
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

int main(void)
{
    static const char *const devices[] = {"NVIDIA H100", "NVIDIA H100", "cpu"};
    struct mf_summary s = {
        "multi_gpu", "expert_parallel", "bf16",     NULL,   "8 operations tried in 0.2 s, 3 remembered",
        3,           devices,           32,         2,      192,
        {4, 6},      {3, 1, 0, 7},      900,        4.5,    81,
        18.,         6400. / 3,         "accuracy", "test", .75};
    struct mf_comm c;
    size_t n;
    char *text;

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
    CHECK(mf_summary_write(&s, "/nowhere/performance_summary.txt") == MF_OUTPUT);
    scratch_close(&c);
    return failures != 0;
}
