/* See log_view.h. */
#include "src/cmd/log_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/cmd/ceiling.h"
#include "src/plan/cgroup.h"
#include "src/plan/host.h"

enum { REST = MF_PHASES, ROWS };

const struct mf_opt mf_log_view_rows[] = {
    MF_OPT(mf_common, "log-view", log_view, MF_FLAG, NULL,
           "at the end a table of where the time went, and how near that came to what the cores can do (0.3 s)"),
    MF_ALIAS("profile", "log-view"), MF_OPT_END};

/* One rank's part. */
struct part {
    double seconds; /* of the whole run */
    struct mf_probe_rates rates;
    struct mf_phase_sum sum[MF_PHASES];
};

/* One row: all ranks together. */
struct row {
    const char *name;
    double count, most, mean, least, share; /* [s], of stages inclusive, of work without what is inside it */
    double other, cores;                    /* means over ranks: the other kind of time; seconds of cores */
    double bytes, operations, sent;         /* of all ranks */
    double memory_rate, flop_rate, ceiling_memory, ceiling_flop; /* per second; parts of the ceilings, 0: not known */
};

struct view {
    int ranks, threads;
    double seconds, memory_rate, flop_rate; /* longest; ceilings of all ranks, 0: not known */
    int busiest;                            /* the rank that others wait for longest */
    double busiest_seconds;                 /* of its work; what follows: the mean of all ranks' */
    double busy_seconds;
    double with_others, cores_with_others; /* parts of all ranks' stages: seconds, and seconds of cores */
    struct row row[ROWS];
};

static int is_stage(int phase) { return phase < MF_STAGES; }

static double seconds_of(const struct part *part, int phase)
{
    double rest = part->seconds;

    if (phase != REST) return is_stage(phase) ? part->sum[phase].total : part->sum[phase].self;
    for (int p = 0; p < MF_STAGES; ++p) rest -= part->sum[p].total;
    return rest > 0 ? rest : 0;
}

static void add_ceilings(const struct part *part, int ranks, struct view *view)
{
    for (int w = 0; w < MF_PROBE_WINDOWS; ++w) {
        double memory = 0, flops = 0;

        for (int r = 0; r < ranks; ++r) {
            memory += part[r].rates.memory[w];
            flops += part[r].rates.flops[w];
        }
        view->memory_rate = fmax(view->memory_rate, memory);
        view->flop_rate = fmax(view->flop_rate, flops);
    }
}

static void add_times(const struct part *part, int ranks, int phase, struct row *row)
{
    double all = 0, sum = 0;

    row->name = phase == REST ? "rest" : mf_phase_name((enum mf_phase)phase);
    row->least = INFINITY;
    for (int r = 0; r < ranks; ++r) {
        double s = seconds_of(&part[r], phase);

        sum += s;
        all += part[r].seconds;
        row->most = fmax(row->most, s);
        row->least = fmin(row->least, s);
    }
    row->mean = sum / ranks;
    row->share = all > 0 ? sum / all : 0;
}

static void add_work(const struct part *part, int ranks, int phase, struct row *row)
{
    int inclusive = is_stage(phase);

    for (int r = 0; r < ranks; ++r) {
        const struct mf_phase_sum *s = &part[r].sum[phase];

        row->count = fmax(row->count, s->count);
        row->other += (inclusive ? s->self : s->total) / ranks;
        row->cores += s->cores[inclusive] / ranks;
        row->bytes += s->bytes[inclusive];
        row->operations += s->operations[inclusive];
        row->sent += s->sent[inclusive];
    }
}

static void add_rates(const struct view *view, struct row *row)
{
    if (!(row->most > 0)) return;
    row->memory_rate = row->bytes / row->most;
    row->flop_rate = row->operations / row->most;
    if (view->memory_rate > 0) row->ceiling_memory = row->memory_rate / view->memory_rate;
    if (view->flop_rate > 0) row->ceiling_flop = row->flop_rate / view->flop_rate;
}

static const enum mf_phase with_others[] = {MF_PHASE_EXCHANGE, MF_PHASE_WAITING, MF_PHASE_REDUCTION, MF_PHASE_MESSAGES};

enum { WITH_OTHERS = sizeof with_others / sizeof with_others[0] };

/* Seconds in which a rank did not wait for others, or talk to them; in the start all wait for all. */
static double work_of(const struct part *part)
{
    double seconds = part->seconds - part->sum[MF_PHASE_START].self;

    for (int i = 0; i < WITH_OTHERS; ++i) seconds -= part->sum[with_others[i]].self;
    return seconds;
}

/* Where ranks are more than cores they wait for a core while others compute, and that is time but no work of cores. */
static void add_shares(struct view *view)
{
    double seconds = 0, cores = 0, all = 0, all_cores = 0;

    for (int i = 0; i < WITH_OTHERS; ++i) {
        seconds += view->row[with_others[i]].mean;
        cores += view->row[with_others[i]].cores;
    }
    for (int p = MF_PHASE_START + 1; p < MF_STAGES; ++p) {
        all += view->row[p].mean;
        all_cores += view->row[p].cores;
    }
    view->with_others = all > 0 ? seconds / all : 0;
    view->cores_with_others = all_cores > 0 ? cores / all_cores : 0;
}

static void add_balance(const struct part *part, struct view *view)
{
    for (int r = 0; r < view->ranks; ++r) {
        double seconds = work_of(&part[r]);

        view->busy_seconds += seconds / view->ranks;
        if (r > 0 && seconds <= view->busiest_seconds) continue;
        view->busiest = r;
        view->busiest_seconds = seconds;
    }
}

static void view_of(const struct mf_session *session, const struct part *part, struct view *view)
{
    int ranks = session->comm->size;

    *view = (struct view){.ranks = ranks, .threads = session->threads};
    for (int r = 0; r < ranks; ++r) view->seconds = fmax(view->seconds, part[r].seconds);
    add_ceilings(part, ranks, view);
    add_balance(part, view);
    for (int p = 0; p < ROWS; ++p) {
        add_times(part, ranks, p, &view->row[p]);
        if (p == REST) continue;
        add_work(part, ranks, p, &view->row[p]);
        add_rates(view, &view->row[p]);
    }
    add_shares(view);
}

/* Without the ceilings the table lacks a column, and that is said. */
static void measure(const struct mf_session *session, struct mf_probe_rates *rates)
{
    struct mf_limits limits;
    struct mf_host host;

    mf_cgroup_limits("", &limits);
    mf_host_look("", &limits, &host);
    if (mf_ceiling_run(session, &host, rates) == MF_OK) return;
    mf_warn("--log-view: %s: parts of the ceiling are left out", mf_err_text());
    mf_err_clear();
    memset(rates, 0, sizeof *rates);
}

/* All ranks' parts brought together, the same on every rank. */
static int gather(const struct mf_session *session, struct view *view)
{
    struct part *mine = calloc(1, sizeof *mine);
    size_t *offset = calloc((size_t)session->comm->size + 1, sizeof *offset);
    void *all = NULL;
    int rc;

    if (!mine || !offset) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d phases", MF_PHASES);
    mine->seconds = mf_now() - session->start;
    memcpy(mine->sum, mf_phases_sums(), sizeof mine->sum);
    measure(session, &mine->rates);
    rc = mf_comm_gather(session->comm, mine, sizeof *mine, &all, offset);
    if (rc == MF_OK) view_of(session, all, view);
    free(all);
    free(offset);
    free(mine);
    return rc;
}

/* -- the table -- */

/* "1.25 MB"; "-" for none. */
static const char *bytes_text(double bytes, char text[32])
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t u = 0;

    for (; bytes >= 1000 && u < 5; ++u) bytes /= 1000;
    if (bytes > 0)
        snprintf(text, 32, "%.3g %s", bytes, unit[u]);
    else
        snprintf(text, 32, "-");
    return text;
}

static const char *rate_text(double rate, char text[32])
{
    if (rate > 0)
        snprintf(text, 32, rate < 99.95e9 ? "%.2f" : "%.0f", 1e-9 * rate);
    else
        snprintf(text, 32, "-");
    return text;
}

/* The ceiling that a row is nearer to: the one that binds it. What lay in caches can pass that of the memory. */
static const char *ceiling_text(const struct row *row, char text[32])
{
    double part = fmax(row->ceiling_memory, row->ceiling_flop);

    if (part > 0)
        snprintf(text, 32, "%s%.*f %% %s", part > 1 ? ">" : "", part < 0.0995, 100 * fmin(part, 1),
                 row->ceiling_memory >= row->ceiling_flop ? "mem" : "flop");
    else
        snprintf(text, 32, "-");
    return text;
}

static void print_row(const struct row *row, double unit)
{
    char text[4][32], count[32] = "";

    if (row->count > 0) snprintf(count, sizeof count, "%.0f", row->count);
    printf("  %-16s %7s %9.2f %9.2f %9.2f %5.1f %% %8s %8s %11s %9s\n", row->name, count, row->most * unit,
           row->mean * unit, row->least * unit, 100 * row->share, rate_text(row->memory_rate, text[0]),
           rate_text(row->flop_rate, text[1]), ceiling_text(row, text[2]), bytes_text(row->sent, text[3]));
}

static void print(const struct view *view)
{
    double unit = view->seconds < 100 ? 1e3 : 1;
    const char *name = unit > 1 ? "ms" : " s";
    char text[2][32];

    printf("where the time went: %.3f s, ranks %d, threads %d each; the cores move %s GB/s, compute %s GFLOP/s\n",
           view->seconds, view->ranks, view->threads, rate_text(view->memory_rate, text[0]),
           rate_text(view->flop_rate, text[1]));
    printf("  %-16s %7s %6s %s %6s %s %6s %s %7s %8s %8s %11s %9s\n", "stage", "count", "max", name, "avg", name, "min",
           name, "share", "GB/s", "GFLOP/s", "of ceiling", "sent");
    for (int p = 0; p < MF_STAGES; ++p)
        if (view->row[p].count > 0) print_row(&view->row[p], unit);
    print_row(&view->row[REST], unit);
    printf("  work inside the stages\n");
    for (int p = MF_STAGES; p < MF_PHASES; ++p)
        if (view->row[p].count > 0) print_row(&view->row[p], unit);
    if (view->ranks > 1)
        printf("  With other ranks (exchange to messages): %.1f %% of the stages' time, %.1f %% of the cores' in them\n"
               "  Longest without start and these: rank %d, %.3f s (mean %.3f s)\n",
               100 * view->with_others, 100 * view->cores_with_others, view->busiest, view->busiest_seconds,
               view->busy_seconds);
    printf("  Stages with all inside them, work without what is inside it; waiting for another rank counts as work.\n"
           "  GB/s, GFLOP/s: by formula, all ranks; of the nearer ceiling; more than 100 %% mem: it lay in caches.\n");
}

static int shows(const struct mf_session *session, int json)
{
    return session->common->log_view && !session->common->dry_run && !session->common->json == !json;
}

int mf_log_view_print(const struct mf_session *session)
{
    struct view *view;
    int rc;

    if (!shows(session, 0)) return MF_OK;
    view = calloc(1, sizeof *view);
    if (!view) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a table");
    rc = gather(session, view);
    if (rc == MF_OK && session->comm->rank == 0) print(view);
    free(view);
    return rc;
}

/* -- the object -- */

static struct mf_json *row_json(const struct row *row, int phase)
{
    struct mf_json *j = mf_json_object(), *seconds = mf_json_object(), *ceiling = mf_json_object();

    mf_json_text(j, "name", row->name);
    mf_json_text(j, "kind", phase == REST ? "rest" : is_stage(phase) ? "stage" : "work");
    mf_json_int(j, "count", (long long)row->count);
    mf_json_real(seconds, "max", row->most);
    mf_json_real(seconds, "avg", row->mean);
    mf_json_real(seconds, "min", row->least);
    mf_json_put(j, "seconds", seconds);
    if (phase != REST) mf_json_real(j, is_stage(phase) ? "seconds_self" : "seconds_inclusive", row->other);
    if (phase != REST) mf_json_real(j, "seconds_of_cores", row->cores);
    mf_json_real(j, "share", row->share);
    mf_json_real(j, "bytes", row->bytes);
    mf_json_real(j, "operations", row->operations);
    mf_json_real(j, "bytes_sent", row->sent);
    mf_json_real(ceiling, "memory", row->ceiling_memory);
    mf_json_real(ceiling, "fp32", row->ceiling_flop);
    mf_json_put(j, "of_ceiling", ceiling);
    return j;
}

static struct mf_json *view_json(const struct view *view)
{
    struct mf_json *j = mf_json_object(), *rows = mf_json_array(), *balance = mf_json_object();

    mf_json_real(j, "seconds", view->seconds);
    mf_json_real(j, "memory_rate", 1e-9 * view->memory_rate);
    mf_json_real(j, "fp32_rate", 1e-12 * view->flop_rate);
    mf_json_int(balance, "busiest_rank", view->busiest);
    mf_json_real(balance, "busiest_seconds", view->busiest_seconds);
    mf_json_real(balance, "mean_seconds", view->busy_seconds);
    mf_json_put(j, "balance", balance);
    mf_json_real(j, "share_with_others", view->with_others);
    mf_json_real(j, "share_of_cores_with_others", view->cores_with_others);
    for (int p = 0; p < ROWS; ++p)
        if (view->row[p].count > 0 || p == REST) mf_json_put(rows, NULL, row_json(&view->row[p], p));
    mf_json_put(j, "rows", rows);
    return j;
}

int mf_log_view_json(const struct mf_session *session, struct mf_json *at)
{
    struct view *view;
    int rc;

    if (!shows(session, 1)) return MF_OK;
    view = calloc(1, sizeof *view);
    if (!view) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a table");
    rc = gather(session, view);
    if (rc == MF_OK && session->comm->rank == 0 && at) mf_json_put(at, "log_view", view_json(view));
    free(view);
    return rc;
}
