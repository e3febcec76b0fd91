/* See bench_predict.h. */
#include "src/cmd/bench_predict.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/bench/replay.h"

#define MOST_JSON ((size_t)64 << 20)

enum { MEASURED = 64, WORD = 4 };

static const double DOUBT = 0.25, BEYOND = 8; /* times the largest message measured */

/* A measured run on several ranks of a node. */
struct run {
    long ranks;
    size_t n;
    double seconds, exchange; /* of an evaluation; the part in exchanges and sums of the rank that waits least */
};

struct found {
    struct mf_replay machine;
    struct run run[MEASURED];
    size_t runs;
};

static const char *text(const struct mf_json *at, const char *key) { return mf_json_to_text(mf_json_get(at, key)); }
static double real(const struct mf_json *at, const char *key) { return mf_json_to_real(mf_json_get(at, key)); }

static double median(const struct mf_json *row) { return real(mf_json_get(row, "seconds"), "median"); }

static void take_turn(struct found *f, const struct mf_json *rows)
{
    struct mf_replay_curve *c = &f->machine.turn;

    c->count = 0;
    for (size_t i = 0; i < mf_json_count(rows) && c->count < MF_REPLAY_ROWS; ++i) {
        c->bytes[c->count] = real(mf_json_item(rows, i), "bytes");
        c->seconds[c->count] = median(mf_json_item(rows, i));
        if (c->bytes[c->count] > 0 && c->seconds[c->count] > 0 &&
            (c->count == 0 || c->bytes[c->count] > c->bytes[c->count - 1]))
            ++c->count;
    }
}

static void take_runs(struct found *f, const struct mf_json *rows)
{
    for (size_t i = 0; i < mf_json_count(rows) && f->runs < MEASURED; ++i) {
        const struct mf_json *row = mf_json_item(rows, i), *shape = mf_json_get(row, "shape");
        struct run run = {.ranks = (long)mf_json_to_int(mf_json_get(row, "ranks")),
                          .n = (size_t)mf_json_to_int(mf_json_item(shape, 1)),
                          .seconds = real(row, "seconds"),
                          .exchange = real(row, "least_exchange_seconds")};

        if (run.ranks > 0 && run.n > 1 && run.seconds > run.exchange && run.exchange >= 0) f->run[f->runs++] = run;
    }
}

static void take(struct found *f, const struct mf_json *file)
{
    const struct mf_json *list = mf_json_get(file, "measured");

    for (size_t i = 0; i < mf_json_count(list); ++i) {
        const struct mf_json *one = mf_json_item(list, i), *rows = mf_json_get(one, "rows");

        if (strcmp(text(one, "what"), "evaluation") == 0) take_turn(f, rows);
        if (strcmp(text(one, "what"), "allreduce") == 0 && mf_json_count(rows)) {
            f->machine.sum = median(mf_json_item(rows, 0));
            f->machine.sum_ranks = (long)mf_json_to_int(mf_json_get(file, "ranks"));
        }
        if (strcmp(text(one, "what"), "reconstruct") == 0 && strcmp(text(one, "scaling"), "strong") == 0)
            take_runs(f, rows);
    }
}

static int read_network(const char *path, struct mf_replay *m)
{
    static const char *const known[] = {"note", "gb_per_s", "latency_us", "ranks_per_node", NULL};
    struct mf_json *file;
    const char *stranger;
    int rc = MF_OK;

    MF_TRY(mf_json_load(path, MOST_JSON, &file));
    stranger = mf_json_stranger(file, known);
    m->bandwidth = 1e9 * real(file, "gb_per_s");
    m->latency = 1e-6 * real(file, "latency_us");
    m->ranks_per_node = (long)mf_json_to_int(mf_json_get(file, "ranks_per_node"));
    if (stranger)
        rc = mf_fail(MF_INPUT, "'%s': nothing is known of \"%.60s\"", path, stranger);
    else if (!(m->bandwidth > 0) || !(m->latency >= 0) || m->ranks_per_node < 1)
        rc = mf_fail(MF_INPUT, "'%s' must say \"gb_per_s\" above 0, \"latency_us\", and \"ranks_per_node\" from 1 on",
                     path);
    mf_json_free(file);
    return rc;
}

/* The run that fills a node best tells what a rank's work takes. */
static const struct run *fullest(const struct found *f)
{
    const struct run *best = &f->run[0];

    for (size_t i = 1; i < f->runs; ++i)
        if (f->run[i].ranks > best->ranks) best = &f->run[i];
    return best;
}

static int check(const struct found *f, const struct mf_longs *ranks, const char *network)
{
    long most = ranks->at[ranks->count - 1];

    if (f->runs == 0)
        return mf_fail(MF_USAGE,
                       "--measured holds no strong scaling of reconstruct; try: mesoforge bench reconstruct --scaling "
                       "1,2 --output run.json");
    if (most > 1 && (f->machine.turn.count < 2 || f->machine.sum_ranks < 2))
        return mf_fail(MF_USAGE, "--measured holds no exchanges; try: mpirun -n 2 mesoforge bench allreduce evaluation "
                                 "--output net.json");
    if (most > f->machine.ranks_per_node && !network)
        return mf_fail(MF_USAGE,
                       "%ld ranks are more than the %ld of the measured node: say the --network between nodes", most,
                       f->machine.ranks_per_node);
    return MF_OK;
}

/* Seconds of a rank per voxel of its own, of the one that waits least for others: it sets the time. */
static double work_of(const struct run *run)
{
    return (run->seconds - run->exchange) * (double)run->ranks / pow((double)run->n, 3);
}

/* The same cube on as many ranks as were measured, from that run's own work: so what is tried is what ranks do with
 * each other. */
static struct mf_replay_time predicted_again(const struct found *f, const struct run *run)
{
    struct mf_replay m = f->machine;

    m.work = work_of(run);
    return mf_replay(&m, run->n, run->ranks);
}

static void add_checks(const struct found *f, int shows, struct mf_json *to)
{
    if (shows)
        printf("# measured  %8s %12s %12s %12s %9s %12s %12s\n", "ranks", "extent", "measured", "predicted", "error",
               "exchange", "pred. exch.");
    for (size_t i = 0; i < f->runs; ++i) {
        const struct run *run = &f->run[i];
        struct mf_json *one;
        struct mf_replay_time again;

        if (run->ranks < 2 || f->machine.turn.count < 2 || f->machine.sum_ranks < 2) continue;
        again = predicted_again(f, run);
        if (fabs(again.total / run->seconds - 1) > DOUBT)
            mf_warn(
                "what was measured on %ld ranks is not what the same formula says of it: do not believe the rows below",
                run->ranks);
        if (shows)
            printf("            %8ld %12zu %12.6f %12.6f %8.1f%% %12.6f %12.6f\n", run->ranks, run->n, run->seconds,
                   again.total, 100 * (again.total / run->seconds - 1), run->exchange,
                   again.exchange + again.reduction);
        one = mf_json_object();
        mf_json_int(one, "ranks", run->ranks);
        mf_json_int(one, "extent", (long long)run->n);
        mf_json_real(one, "measured", run->seconds);
        mf_json_real(one, "predicted", again.total);
        mf_json_real(one, "measured_exchange", run->exchange);
        mf_json_real(one, "predicted_exchange", again.exchange + again.reduction);
        mf_json_put(to, NULL, one);
    }
}

static void add_rows(const struct found *f, const struct mf_longs *ranks, size_t n, int shows, struct mf_json *to)
{
    if (shows)
        printf("# predict   %8s %12s %12s %12s %12s %12s %11s\n", "ranks", "extent", "seconds", "work", "exchange",
               "reduction", "efficiency");
    for (size_t i = 0; i < ranks->count; ++i) {
        struct mf_replay_time t = mf_replay(&f->machine, n, ranks->at[i]);
        double efficiency = f->machine.work * pow((double)n, 3) / (double)ranks->at[i] / t.total;
        struct mf_json *one = mf_json_object();

        if (shows)
            printf("            %8ld %12zu %12.6f %12.6f %12.6f %12.6f %11.3f\n", ranks->at[i], n, t.total, t.work,
                   t.exchange, t.reduction, efficiency);
        mf_json_int(one, "ranks", ranks->at[i]);
        mf_json_real(one, "seconds", t.total);
        mf_json_real(one, "work", t.work);
        mf_json_real(one, "exchange", t.exchange);
        mf_json_real(one, "reduction", t.reduction);
        mf_json_real(one, "efficiency", efficiency);
        mf_json_put(to, NULL, one);
    }
}

int mf_bench_predict_run(const struct mf_session *s, const struct mf_bench_predict *o, const struct mf_longs *ranks,
                         long extent, struct mf_json *to)
{
    const int shows = s->comm->rank == 0 && !s->common->json;
    struct found f = {.runs = 0};
    const struct run *full;
    struct mf_json *json, *checks, *table;

    if (o->measured.count == 0)
        return mf_fail(MF_USAGE, "bench predict wants files of bench: --measured run.json net.json");
    for (size_t i = 0; i < o->measured.count; ++i) {
        MF_TRY(mf_json_load(o->measured.at[i], MOST_JSON, &json));
        take(&f, json);
        mf_json_free(json);
    }
    full = fullest(&f);
    f.machine.ranks_per_node = f.runs ? full->ranks : 1;
    if (o->network) MF_TRY(read_network(o->network, &f.machine));
    MF_TRY(check(&f, ranks, o->network));
    f.machine.work = work_of(full);
    json = mf_json_object();
    checks = mf_json_array();
    table = mf_json_array();
    add_checks(&f, shows, checks);
    add_rows(&f, ranks, (size_t)extent, shows, table);
    if (ranks->at[ranks->count - 1] > (extent + 1) / 2)
        mf_warn("ranks beyond %ld have nothing to do: a volume is cut into pairs of planes", (extent + 1) / 2);
    if (f.machine.turn.count && WORD * pow((double)extent, 3) / (double)ranks->at[ranks->count - 1] >
                                    BEYOND * f.machine.turn.bytes[f.machine.turn.count - 1])
        mf_warn("slabs are larger than any message that was measured; try: bench evaluation --max_bytes 256M");
    mf_json_text(json, "what", "predict");
    mf_json_int(json, "extent", extent);
    mf_json_put(json, "checks", checks);
    mf_json_put(json, "rows", table);
    mf_json_put(to, NULL, json);
    return MF_OK;
}
