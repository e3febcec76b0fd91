/* GPUs and the host while a run lasts: rows of both, and the text of the progress line. It notes memory that grows. */
#include "src/run/monitor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/log.h"
#include "tests/check.h"

/* In 20 looks. @p fall: the look before which it has fallen; 0: none. */
static int grows(double each, int every, int fall)
{
    struct mf_growth growth = {0};
    double bytes = 1e9;
    int said = 0;

    for (int look = 0; look < 20; ++look) {
        if (look % every == 0) bytes += each;
        if (fall && look == fall) bytes -= 5 * each;
        said += mf_growth_look(&growth, bytes);
    }
    return said;
}

static void growth(void)
{
    struct mf_growth growth = {0};
    int said = 0;

    CHECK(grows(1e7, 1, 0) == 1 && grows(1e7, 4, 0) == 0 && grows(1e7, 3, 0) == 1);
    CHECK(grows(1e7, 1, 12) == 0 && grows(1e5, 1, 0) == 0 && grows(0, 1, 0) == 0);
    for (int look = 0; look < 200; ++look) said += mf_growth_look(&growth, 1e9 + 1e8 * look);
    CHECK(said == 1);
    growth = (struct mf_growth){0};
    for (int look = 0; look < 20; ++look) said += mf_growth_look(&growth, 1e9 + 1e8 * (look < 10 ? look : 10));
    CHECK(said == 1); /* what a run takes at its start */
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)) != NULL; ++text) ++n;
    return n;
}

static void load(const char *path, char *text, size_t most)
{
    FILE *file = fopen(path, "r");

    text[file ? fread(text, 1, most - 1, file) : 0] = '\0';
    if (file) fclose(file);
}

/* 22 steps with a look after each, and what was said meanwhile. @p births: the run takes memory in every step. */
static void watch(int births, char *rows, char *said, size_t most, char *line)
{
    struct mf_monitor *monitor;
    struct mf_metrics metrics;
    const int out = dup(STDERR_FILENO);

    CHECK(freopen("said", "w", stderr) != NULL);
    monitor = mf_monitor_open(0);
    mf_metrics_open(&metrics, "metrics.jsonl", "model", 0, 0);
    CHECK(!*mf_monitor_text(monitor));
    for (size_t step = 1; step <= 22; ++step) mf_monitor_step(monitor, &metrics, step, births ? step : 0);
    strcpy(line, mf_monitor_text(monitor));
    mf_metrics_close(&metrics);
    mf_monitor_close(monitor);
    fflush(stderr);
    dup2(out, STDERR_FILENO);
    close(out);
    load("said", said, most);
    load("metrics.jsonl", rows, most);
}

/* A value that the driver does not say is not there, and not 0. */
static void lost(void)
{
    struct mf_monitor *monitor;
    struct mf_metrics metrics;

    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    monitor = mf_monitor_open(0);
    mf_metrics_open(&metrics, "metrics.jsonl", "model", 0, 0);
    setenv("FAKE_NVML_GPU", "0:15", 1);
    mf_monitor_step(monitor, &metrics, 1, 0);
    CHECK_SAYS(strcmp(mf_monitor_text(monitor), ", GPU") == 0, "%s", mf_monitor_text(monitor));
    mf_metrics_close(&metrics);
    mf_monitor_close(monitor);
    unsetenv("FAKE_NVML_GPU");
}

int main(void)
{
    static char rows[1 << 16], said[1 << 16];
    char folder[] = "/tmp/mf_monitor_XXXXXX", line[256];

    growth();
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    mf_log_open(0, 1, MF_INFO);
    setenv("FAKE_NVML_GPUS", "3", 1);
    setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
    setenv("FAKE_NVML_LEAK", "10", 1);
    watch(0, rows, said, sizeof rows, line);
    CHECK(count(rows, "\"kind\": \"gpu0\"") == 22 && count(rows, "\"kind\": \"gpu1\"") == 22);
    CHECK(count(rows, "\"kind\": \"host\"") == 22 && strstr(rows, "\"use\": 87") && strstr(rows, "\"power\": 243.4"));
    CHECK_SAYS(strstr(rows, "\"temperature\": 62") && !strstr(rows, "\"temperature\": 61"), "%.600s", rows);
    CHECK_SAYS(strncmp(line, ", GPUs 87 %, 0.", 15) == 0 && strstr(line, " GiB, 62 C, 487 W"), "%s", line);
    CHECK_SAYS(strstr(said, "--monitor-gpu: 2 GPUs of this node, every 0 s"), "%s", said);
    CHECK_SAYS(count(said, "warning: the memory of GPU 0 has grown from ") == 1, "%s", said);
    CHECK_SAYS(SANITIZED || count(said, "it may leak") == 2, "%s", said); /* a sanitizer's own memory grows */
    watch(1, rows, said, sizeof rows, line);
    CHECK_SAYS(!strstr(said, "may leak"), "%s", said);
    lost();
    setenv("FAKE_NVML_INIT", "9", 1);
    watch(0, rows, said, sizeof rows, line);
    CHECK(count(rows, "\"kind\": \"host\"") == 22 && !strstr(rows, "gpu0"));
    CHECK_SAYS(SANITIZED || !strstr(said, "may leak"), "%s", said);
    CHECK_SAYS(strstr(said, "figures of the host alone, every 0 s: the NVIDIA driver does not start"), "%s", said);
    CHECK_SAYS(strstr(line, " GiB resident, load "), "%s", line);
    unlink("said");
    unlink("metrics.jsonl");
    rmdir(folder);
    return failures != 0;
}
