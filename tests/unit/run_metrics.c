/* Rows of metrics: one line of JSON each, cut behind a checkpoint, and a file of its own where another run has this
 * one.
 */
#include "src/run/metrics.h"

#include <fcntl.h>
#include <sys/file.h>

#include "src/base/json.h"
#include "tests/check.h"
#include "tests/scratch.h"

static struct mf_metrics metrics;

static void row(uint64_t seed, long step)
{
    const struct mf_metric values[] = {{.key = "seed", .kind = MF_METRIC_INT, .whole = seed},
                                       {.key = "step", .kind = MF_METRIC_INT, .whole = (uint64_t)step},
                                       {.key = "time", .kind = MF_METRIC_SECONDS, .real = 0.5},
                                       {.key = "loss", .kind = MF_METRIC_REAL, .real = 1.0 / (double)step},
                                       {.key = "norm", .kind = MF_METRIC_REAL, .real = NAN},
                                       {.key = "stage", .kind = MF_METRIC_TEXT, .text = "descend"}};

    mf_metrics_row(&metrics, sizeof values / sizeof *values, values);
}

static void begin(const char *path, const char *output, int append)
{
    mf_metrics_open(&metrics, path, output, append, 1);
}

/* Lines of the file; the steps of @p seed in it as decimal digits of *steps. */
static int lines_of(const char *path, long long seed, long *steps)
{
    FILE *from = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int n = 0;

    for (*steps = 0; from && getline(&line, &room, from) > 0; ++n) {
        struct mf_json *json = mf_json_parse(line);

        CHECK(strchr(line, '\n') && mf_json_kind(mf_json_get(json, "loss")) == MF_JSON_REAL);
        CHECK(strcmp(mf_json_to_text(mf_json_get(json, "stage")), "descend") == 0);
        CHECK(strncmp(line, "{\"output\"", 9) == 0 && strstr(line, "\"time\": 0.500000, \"loss\": 0."));
        CHECK(mf_json_get(json, "norm") && mf_json_kind(mf_json_get(json, "norm")) == MF_JSON_NULL);
        if (mf_json_to_int(mf_json_get(json, "seed")) == seed)
            *steps = 10 * *steps + (long)mf_json_to_int(mf_json_get(json, "step"));
        mf_json_free(json);
    }
    free(line);
    if (from) fclose(from);
    return n;
}

static void check_rows(const char *path)
{
    FILE *torn;
    long steps;

    begin(path, "a.h5", 0);
    for (long s = 2; s <= 6; ++s) row(1, s);
    row(2, 3);
    mf_metrics_close(&metrics);
    CHECK(!metrics.lost && !metrics.own && lines_of(path, 1, &steps) == 6 && steps == 23456);
    torn = fopen(path, "a");
    CHECK(torn && fputs("{\"output\": \"a.h5\", \"se", torn) > 0 && fclose(torn) == 0);
    begin(path, "a.h5", 1);
    mf_metrics_cut(&metrics, "seed", 1, 3, 4);
    row(1, 7);
    mf_metrics_close(&metrics);
    CHECK(lines_of(path, 1, &steps) == 5 && steps == 2347);
    CHECK(lines_of(path, 2, &steps) == 5 && steps == 3);
    begin(path, "a.h5", 0);
    mf_metrics_close(&metrics);
    CHECK(lines_of(path, 1, &steps) == 0);
}

static void check_others(const char *path)
{
    const char *own = scratch_file("b.metrics.jsonl");
    int other;
    long steps;

    begin(path, "a.h5", 0);
    row(1, 2);
    mf_metrics_close(&metrics);
    begin(path, "b.h5", 0);
    row(1, 4);
    mf_metrics_close(&metrics);
    CHECK(metrics.own && lines_of(path, 1, &steps) == 1 && steps == 2);
    CHECK(lines_of(own, 1, &steps) == 1 && steps == 4);
    other = open(path, O_RDONLY);
    CHECK(other >= 0 && flock(other, LOCK_EX) == 0);
    begin(path, "a.h5", 0);
    mf_metrics_close(&metrics);
    CHECK(metrics.own && lines_of(path, 1, &steps) == 1);
    close(other);
    begin(scratch_file("none/metrics.jsonl"), "a.h5", 0);
    row(1, 2);
    CHECK(metrics.lost);
    mf_metrics_close(&metrics);
}

int main(void)
{
    struct mf_comm self;

    mf_comm_self(&self);
    scratch_open(&self);
    check_rows(scratch_file("metrics.jsonl"));
    check_others(scratch_file("other.jsonl"));
    scratch_close(&self);
    return failures != 0;
}
