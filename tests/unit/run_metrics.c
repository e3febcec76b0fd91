/* Rows of metrics: one line of JSON each, cut behind a checkpoint. A file of its own is used where another run has this
 * one. Tables and events have the same rows.
 */
#include "src/run/metrics.h"

#include <fcntl.h>
#include <sys/file.h>

#include "src/base/crc.h"
#include "src/base/err.h"
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

/* ---- tables and events ---- */

static void train_row(long step, double loss, double rate)
{
    const struct mf_metric values[] = {{.key = "step", .kind = MF_METRIC_INT, .whole = (uint64_t)step},
                                       {.key = "loss", .kind = MF_METRIC_REAL, .real = loss},
                                       {.key = "rate", .kind = MF_METRIC_REAL, .real = rate}};

    mf_metrics_row(&metrics, 3, values);
}

static void epoch_row(long step, double accuracy)
{
    const struct mf_metric values[] = {{.key = "kind", .kind = MF_METRIC_TEXT, .text = "epoch"},
                                       {.key = "step", .kind = MF_METRIC_INT, .whole = (uint64_t)step},
                                       {.key = "accuracy", .kind = MF_METRIC_REAL, .real = accuracy}};

    mf_metrics_row(&metrics, 3, values);
}

static int holds(const char *path, const char *text)
{
    char bytes[512] = "";
    FILE *from = fopen(path, "r");
    const size_t n = from ? fread(bytes, 1, sizeof bytes - 1, from) : 0;

    if (from) fclose(from);
    return n == strlen(text) && strcmp(bytes, text) == 0;
}

/* A message of protocol buffers from byte to byte: fields of a number become text, as "step=3". */
struct reader {
    const unsigned char *at, *end;
    char *text;
};

static uint64_t varint(struct reader *r)
{
    uint64_t n = 0;

    for (int shift = 0; r->at < r->end; shift += 7) {
        n |= (uint64_t)(*r->at & 127) << shift;
        if (!(*r->at++ & 128)) break;
    }
    return n;
}

static void say(struct reader *r, const char *format, double value) { r->text += sprintf(r->text, format, value); }

static void read_message(struct reader *r, int depth)
{
    while (r->at < r->end) {
        const unsigned key = (unsigned)varint(r), field = key >> 3, as = key & 7;
        const uint64_t n = as == 2 || as == 0 ? varint(r) : as == 1 ? 8 : 4;
        float number;

        if (as == 0) say(r, depth == 0 ? " step=%.0f" : " status=%.0f", (double)n);
        CHECK(as == 0 || n <= (uint64_t)(r->end - r->at));
        if (as == 0) continue;
        if (as == 2 && ((depth == 0 && field == 3) || (depth == 2 && field == 1)))
            r->text += sprintf(r->text, " %.*s", (int)n, (const char *)r->at);
        else if (as == 2) {
            struct reader inner = {r->at, r->at + n, r->text};

            read_message(&inner, depth + 1);
            r->text = inner.text;
        }
        memcpy(&number, r->at, as == 5 ? 4 : 0);
        if (as == 5) say(r, "=%g", (double)number);
        r->at += n;
    }
}

static uint32_t masked(const void *bytes, size_t n)
{
    const uint32_t crc = mf_crc32c(0, bytes, n);

    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/* The records of an event file as text, one after the other. */
static const char *events_of(const char *path, char text[4096])
{
    static unsigned char bytes[4096];
    FILE *from = fopen(path, "rb");
    const size_t all = from ? fread(bytes, 1, sizeof bytes, from) : 0;
    struct reader r = {bytes, bytes, text};
    uint64_t n;
    uint32_t crc;

    if (from) fclose(from);
    *text = '\0';
    for (size_t at = 0; at + 16 <= all; at += 16 + n) {
        memcpy(&n, bytes + at, 8);
        memcpy(&crc, bytes + at + 8, 4);
        CHECK(crc == masked(bytes + at, 8) && n <= all - at - 16);
        memcpy(&crc, bytes + at + 12 + n, 4);
        CHECK(crc == masked(bytes + at + 12, n));
        r.at = bytes + at + 12;
        r.end = r.at + n;
        read_message(&r, 0);
        r.text += sprintf(r.text, ";");
    }
    return text;
}

static void check_forms(void)
{
    const char *lines = scratch_file("train.jsonl"), *table = scratch_file("train.csv");
    const char *epochs = scratch_file("train-epoch.csv");
    char *first, text[4096];
    FILE *torn;

    begin(lines, "m", 0);
    mf_metrics_also(&metrics, MF_METRICS_CSV | MF_METRICS_EVENTS);
    first = strdup(metrics.events.path);
    train_row(1, 2, 0.5);
    train_row(2, 1.5, NAN);
    epoch_row(2, 0.25);
    train_row(300, 1, 0.5);
    mf_metrics_close(&metrics);
    CHECK(holds(table, "step,loss,rate\n1,2,0.5\n2,1.5,\n300,1,0.5\n") && holds(epochs, "step,accuracy\n2,0.25\n"));
    CHECK(strcmp(events_of(first, text), " step=0 brain.Event:2; step=1 loss=2 rate=0.5; step=2 loss=1.5;"
                                         " step=2 epoch/accuracy=0.25; step=300 loss=1 rate=0.5;") == 0);
    torn = fopen(table, "a");
    CHECK(torn && fputs("301,", torn) > 0 && fclose(torn) == 0);
    begin(lines, "m", 1);
    mf_metrics_also(&metrics, MF_METRICS_CSV | MF_METRICS_EVENTS);
    mf_metrics_cut(&metrics, "seed", 0, (size_t)-1, 2);
    train_row(3, 0.5, 0.125);
    CHECK(holds(table, "step,loss,rate\n1,2,0.5\n2,1.5,\n3,0.5,0.125\n") && holds(epochs, "step,accuracy\n2,0.25\n"));
    CHECK(strcmp(metrics.events.path, first) > 0);
    CHECK(strcmp(events_of(metrics.events.path, text),
                 " step=0 brain.Event:2; step=3 status=1; step=3 loss=0.5 rate=0.125;") == 0);
    mf_metrics_cut(&metrics, "seed", 0, (size_t)-1, 1);
    epoch_row(2, 0.5);
    mf_metrics_close(&metrics);
    CHECK(holds(table, "step,loss,rate\n1,2,0.5\n") && holds(epochs, "step,accuracy\n2,0.5\n"));
    begin(lines, "m", 0);
    mf_metrics_also(&metrics, MF_METRICS_CSV);
    mf_metrics_cut(&metrics, "seed", 0, 0, -1);
    epoch_row(1, 1);
    mf_metrics_close(&metrics);
    CHECK(holds(epochs, "step,accuracy\n1,1\n"));
    free(first);
}

/* A file with other lines is of somebody else. A row may have been cut, and a file may be empty. */
static void check_owner(const char *path)
{
    static const struct {
        const char *text;
        int may, of_m;
    } cases[] = {{"", MF_OK, 0},
                 {"{\"output\":\"m\", \"step\": 1}\n", MF_OK, 1},
                 {"{\"outp", MF_OK, 0},
                 {"{\"output\":\"n\"}\n{}\n", MF_OK, 0},
                 {"{\"epoch\": 1}\n", MF_OUTPUT, 0},
                 {"step,loss\n", MF_OUTPUT, 0}};

    CHECK(mf_metrics_may(path) == MF_OK && !mf_metrics_are_of(path, "m"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        FILE *file = fopen(path, "w");

        CHECK(file && fputs(cases[i].text, file) >= 0 && fclose(file) == 0);
        CHECK(mf_metrics_may(path) == cases[i].may && mf_metrics_are_of(path, "m") == cases[i].of_m);
        mf_err_clear();
    }
}

int main(void)
{
    struct mf_comm self;

    mf_comm_self(&self);
    scratch_open(&self);
    check_rows(scratch_file("metrics.jsonl"));
    check_others(scratch_file("other.jsonl"));
    check_owner(scratch_file("owner.jsonl"));
    check_forms();
    scratch_close(&self);
    return failures != 0;
}
