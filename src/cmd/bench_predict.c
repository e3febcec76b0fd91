/* See bench_predict.h. */
#include "src/cmd/bench_predict.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/bench/replay.h"
#include "src/cmd/bench_runs.h"
#include "src/recon/task.h"

#define MOST_JSON ((size_t)64 << 20)

enum { MEASURED = 64, WORD = 4 };

static const double DOUBT = 0.10, BEYOND = 8; /* times the largest message measured */

/* A measured run on several ranks of a node. */
struct run {
    long ranks, threads; /* threads of a rank */
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

static void take_runs(struct found *f, const struct mf_json *one)
{
    const struct mf_json *rows = mf_json_get(one, "rows");

    for (size_t i = 0; i < mf_json_count(rows) && f->runs < MEASURED; ++i) {
        const struct mf_json *row = mf_json_item(rows, i), *shape = mf_json_get(row, "shape");
        struct run run = {.ranks = (long)mf_json_to_int(mf_json_get(row, "ranks")),
                          .threads = (long)mf_json_to_int(mf_json_get(one, "threads")),
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
            take_runs(f, one);
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

/* What ranks do with each other and was not measured; NULL: all was. */
static const char *missing(const struct found *f)
{
    const int has_turn = f->machine.turn.count >= 2, has_sum = f->machine.sum_ranks >= 2;

    if (has_turn && has_sum) return NULL;
    return has_sum ? "evaluation" : has_turn ? "allreduce" : "allreduce and no evaluation";
}

static int check(const struct found *f, const struct mf_longs *ranks, const char *network)
{
    long most = ranks->at[ranks->count - 1];

    if (f->runs == 0)
        return mf_fail(MF_USAGE,
                       "--measured holds no strong scaling of reconstruct; try: mesoforge bench reconstruct --scaling "
                       "1,2 --output run.json");
    if (most > 1 && missing(f))
        return mf_fail(MF_USAGE,
                       "--measured holds no %s of two ranks; try: mpirun -n 2 mesoforge bench allreduce evaluation "
                       "--output net.json",
                       missing(f));
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

/* What the runs of `bench reconstruct` aim at, of a micrograph of two phases. */
static int aim(const size_t dims[3], struct mf_target *target, struct mf_solve_opts *opts)
{
    static const char *const name[] = {"FFTCorrelations", "Variation"};
    const size_t levels = mf_levels(MF_BENCH_IMAGE, MF_BENCH_IMAGE, MF_BENCH_LAG);
    struct mf_objective_opts *o = &opts->objective;

    *opts = (struct mf_solve_opts){.method = {.history = 1}, .objective = {.terms = 2, .periodic = 1}};
    for (size_t l = 0; l < MF_LEVELS_MAX; ++l) o->level_weight[l] = 1;
    for (size_t t = 0; t < o->terms; ++t) {
        o->term[t].weight = 1;
        MF_TRY(mf_descriptor_find(&o->term[t].row, name[t]));
    }
    MF_TRY(mf_method_find(&opts->method.method, "SPG"));
    return mf_recon_nominal_target(dims, 2, MF_BENCH_LAG, levels, mf_descriptor_wants(o->term[1].row), target);
}

/* What travels between nodes, as a run's own objective says: the plan of that run has the same. */
static int strips_of(const struct found *f, size_t n, long ranks, struct mf_replay_strips *strips)
{
    const long here = f->machine.ranks_per_node, threads = fullest(f)->threads;
    const size_t dims[3] = {n, n, n};
    const struct mf_plan_rank rank = {
        .ranks = (size_t)ranks, .local_size = (size_t)here, .threads = threads > 0 ? (size_t)threads : 1, .simd = ""};
    const struct mf_plan_numbers settings = {.count = 0};
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_target target = {0};
    struct mf_solve_opts opts;
    struct mf_recon_work work = {.dims = dims, .target = &target, .opts = &opts};
    int rc;

    *strips = (struct mf_replay_strips){0, 0};
    if (ranks <= here || n < 2 * MF_BENCH_LAG) return MF_OK;
    rc = aim(dims, &target, &opts);
    if (rc == MF_OK) rc = mf_recon_bytes(&work, &rank, &settings, bytes);
    if (rc == MF_OK) {
        const struct mf_recon_moved moved = mf_recon_strips(bytes[MF_PLAN_STATE].fact);

        *strips = (struct mf_replay_strips){WORD * moved.memory / MF_RECON_COPIED, moved.network};
    }
    mf_target_free(&target);
    return rc;
}

/* The same cube on one rank; NULL: that was not measured. */
static const struct run *on_one(const struct found *f, size_t n)
{
    for (size_t i = 0; i < f->runs; ++i)
        if (f->run[i].ranks == 1 && f->run[i].n == n) return &f->run[i];
    return NULL;
}

/* The cube of a run on its ranks, from the work that @p source tells. From its own: so what is tried is what ranks do
 * with each other. From that of one rank: all of it, and whether a rank works as fast beside others. */
static int predict_again(const struct found *f, const struct run *run, const struct run *source,
                         struct mf_replay_time *again)
{
    struct mf_replay m = f->machine;
    struct mf_replay_strips strips;

    m.work = work_of(source);
    MF_TRY(strips_of(f, run->n, run->ranks, &strips));
    *again = mf_replay(&m, run->n, run->ranks, &strips);
    return MF_OK;
}

/* Said now, and by whoever shows the file. */
static void doubt(struct mf_json *doubts, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void doubt(struct mf_json *doubts, const char *format, ...)
{
    char text[MF_ERR_TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mf_warn("%s", text);
    mf_json_text(doubts, NULL, text);
}

static int add_checks(const struct found *f, int shows, struct mf_json *to, struct mf_json *doubts)
{
    const int is_tried = fullest(f)->ranks > 1 && !missing(f);

    if (shows && is_tried)
        printf("# measured  %8s %12s %12s %12s %9s %12s %12s %12s %9s\n", "ranks", "extent", "measured", "predicted",
               "error", "exchange", "pred. exch.", "from one", "off by");
    else if (shows)
        printf("# measured: nothing to hold against what is predicted: no %s of two ranks\n",
               missing(f) ? missing(f) : "reconstruct");
    for (size_t i = 0; i < f->runs && is_tried; ++i) {
        const struct run *run = &f->run[i], *single = on_one(f, run->n);
        struct mf_json *one;
        struct mf_replay_time again, blind = {.total = 0};

        if (run->ranks < 2) continue;
        MF_TRY(predict_again(f, run, run, &again));
        if (single) MF_TRY(predict_again(f, run, single, &blind));
        if (fabs(again.total / run->seconds - 1) > DOUBT)
            doubt(doubts,
                  "what was measured on %ld ranks is not what the same formula says of it: do not believe what is "
                  "predicted",
                  run->ranks);
        if (shows)
            printf("            %8ld %12zu %12.6f %12.6f %8.1f%% %12.6f %12.6f", run->ranks, run->n, run->seconds,
                   again.total, 100 * (again.total / run->seconds - 1), run->exchange,
                   again.exchange + again.reduction);
        if (shows && single)
            printf(" %12.6f %8.1f%%\n", blind.total, 100 * (blind.total / run->seconds - 1));
        else if (shows)
            printf(" %12s %9s\n", "-", "-");
        one = mf_json_object();
        mf_json_int(one, "ranks", run->ranks);
        mf_json_int(one, "extent", (long long)run->n);
        mf_json_real(one, "measured", run->seconds);
        mf_json_real(one, "predicted", again.total);
        if (single)
            mf_json_real(one, "predicted_from_one", blind.total);
        else
            mf_json_null(one, "predicted_from_one");
        mf_json_real(one, "measured_exchange", run->exchange);
        mf_json_real(one, "predicted_exchange", again.exchange + again.reduction);
        mf_json_put(to, NULL, one);
    }
    return MF_OK;
}

/* What goes from node to node. */
static const char *way_of(const struct mf_replay_strips *strips, const struct mf_replay_time *t)
{
    return strips->slab > 0 ? "strips" : t->sent > 0 ? "slices" : "nothing";
}

static int add_rows(const struct found *f, const struct mf_longs *ranks, size_t n, int shows, struct mf_json *to)
{
    if (shows)
        printf("# predict   %8s %12s %12s %12s %12s %12s %11s %11s %7s\n", "ranks", "extent", "seconds", "work",
               "exchange", "reduction", "efficiency", "MB/node", "travel");
    for (size_t i = 0; i < ranks->count; ++i) {
        struct mf_replay_strips strips;
        struct mf_replay_time t;
        struct mf_json *one;
        double efficiency;

        MF_TRY(strips_of(f, n, ranks->at[i], &strips));
        t = mf_replay(&f->machine, n, ranks->at[i], &strips);
        efficiency = f->machine.work * pow((double)n, 3) / (double)ranks->at[i] / t.total;
        one = mf_json_object();
        if (shows)
            printf("            %8ld %12zu %12.6f %12.6f %12.6f %12.6f %11.3f %11.3f %7s\n", ranks->at[i], n, t.total,
                   t.work, t.exchange, t.reduction, efficiency, 1e-6 * t.sent, way_of(&strips, &t));
        mf_json_int(one, "ranks", ranks->at[i]);
        mf_json_real(one, "seconds", t.total);
        mf_json_real(one, "work", t.work);
        mf_json_real(one, "exchange", t.exchange);
        mf_json_real(one, "reduction", t.reduction);
        mf_json_real(one, "efficiency", efficiency);
        mf_json_real(one, "bytes_sent", t.sent);
        mf_json_text(one, "travel", way_of(&strips, &t));
        mf_json_put(to, NULL, one);
    }
    return MF_OK;
}

int mf_bench_predict_run(const struct mf_session *s, const struct mf_bench_predict *o, const struct mf_longs *ranks,
                         long extent, struct mf_json *to)
{
    const int shows = s->comm->rank == 0 && !s->common->json;
    struct found f = {.runs = 0};
    const struct run *full;
    struct mf_json *json, *checks, *table, *doubts;
    int rc;

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
    doubts = mf_json_array();
    rc = add_checks(&f, shows, checks, doubts);
    if (rc == MF_OK) rc = add_rows(&f, ranks, (size_t)extent, shows, table);
    if (ranks->at[ranks->count - 1] > (extent + 1) / 2)
        doubt(doubts, "ranks beyond %ld have nothing to do: a volume is cut into pairs of planes", (extent + 1) / 2);
    if (f.machine.turn.count && WORD * pow((double)extent, 3) / (double)ranks->at[ranks->count - 1] >
                                    BEYOND * f.machine.turn.bytes[f.machine.turn.count - 1])
        doubt(doubts, "slabs are larger than any message that was measured; try: bench evaluation --max_bytes 256M");
    mf_json_text(json, "what", "predict");
    mf_json_int(json, "extent", extent);
    mf_json_put(json, "checks", checks);
    mf_json_put(json, "rows", table);
    mf_json_put(json, "doubts", doubts);
    mf_json_put(to, NULL, json);
    return rc;
}
