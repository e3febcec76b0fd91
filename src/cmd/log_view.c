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

enum { NAME = 32, REST = MF_TALK + 1 };

const struct mf_opt mf_log_view_rows[] = {
    MF_OPT(mf_common, "log-view", log_view, MF_FLAG, NULL,
           "at the end a table of where the time went; it says how near that came to what the cores can do (0.3 s)"),
    MF_ALIAS("profile", "log-view"), MF_OPT_END};

/* A phase of one rank, as it travels. */
struct timed {
    char name[NAME];
    int kind;
    struct mf_phase_sum sum;
};

/* One rank's part. */
struct part {
    double seconds; /* of the whole run */
    struct mf_probe_rates rates;
    size_t count;
    struct timed phase[];
};

/* One row: all ranks together. */
struct row {
    char name[NAME];
    int kind;                               /* enum mf_phase_kind, or REST: of the run outside its stages */
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
    struct row *row;                       /* stages, the rest, work, work with other ranks */
    size_t rows;
};

/* The parts of all ranks, in memory of mf_comm_gather(). */
struct parts {
    char *all;
    const size_t *offset;
    int ranks;
};

static const struct part *part_of(const struct parts *parts, int rank)
{
    return (const struct part *)(const void *)(parts->all + parts->offset[rank]);
}

static int is_stage(int kind) { return kind == MF_STAGE; }

/* Sum of a rank for a row; zeros where it never opened the phase. */
static struct mf_phase_sum sum_of(const struct part *part, const char *name)
{
    for (size_t p = 0; p < part->count; ++p)
        if (strcmp(part->phase[p].name, name) == 0) return part->phase[p].sum;
    return (struct mf_phase_sum){0};
}

static double seconds_of(const struct part *part, const struct row *row)
{
    double rest = part->seconds;

    if (is_stage(row->kind)) return sum_of(part, row->name).total;
    if (row->kind != REST) return sum_of(part, row->name).self;
    for (size_t p = 0; p < part->count; ++p)
        if (is_stage(part->phase[p].kind)) rest -= part->phase[p].sum.total;
    return rest > 0 ? rest : 0;
}

static void add_ceilings(const struct parts *parts, struct view *view)
{
    for (int w = 0; w < MF_PROBE_WINDOWS; ++w) {
        double memory = 0, flops = 0;

        for (int r = 0; r < parts->ranks; ++r) {
            memory += part_of(parts, r)->rates.memory[w];
            flops += part_of(parts, r)->rates.flops[w];
        }
        view->memory_rate = fmax(view->memory_rate, memory);
        view->flop_rate = fmax(view->flop_rate, flops);
    }
}

static void add_times(const struct parts *parts, struct row *row)
{
    double all = 0, sum = 0;

    row->least = INFINITY;
    for (int r = 0; r < parts->ranks; ++r) {
        double s = seconds_of(part_of(parts, r), row);

        sum += s;
        all += part_of(parts, r)->seconds;
        row->most = fmax(row->most, s);
        row->least = fmin(row->least, s);
    }
    row->mean = sum / parts->ranks;
    row->share = all > 0 ? sum / all : 0;
}

static void add_work(const struct parts *parts, struct row *row)
{
    int inclusive = is_stage(row->kind);

    for (int r = 0; r < parts->ranks; ++r) {
        const struct mf_phase_sum s = sum_of(part_of(parts, r), row->name);

        row->count = fmax(row->count, s.count);
        row->other += (inclusive ? s.self : s.total) / parts->ranks;
        row->cores += s.cores[inclusive] / parts->ranks;
        row->bytes += s.bytes[inclusive];
        row->operations += s.operations[inclusive];
        row->sent += s.sent[inclusive];
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

/* Seconds in which a rank neither waits for others nor communicates; at the start all ranks wait. */
static double work_of(const struct part *part)
{
    double seconds = part->seconds - sum_of(part, mf_phase_start.name).self;

    for (size_t p = 0; p < part->count; ++p)
        if (part->phase[p].kind == MF_TALK) seconds -= part->phase[p].sum.self;
    return seconds;
}

/* With more ranks than cores, ranks wait for a core while others compute. This counts as time, but not as work of
 * cores. */
static void add_shares(struct view *view)
{
    double seconds = 0, cores = 0, all = 0, all_cores = 0;

    for (size_t i = 0; i < view->rows; ++i) {
        const struct row *row = &view->row[i];

        if (row->kind == MF_TALK) {
            seconds += row->mean;
            cores += row->cores;
        } else if (is_stage(row->kind) && strcmp(row->name, mf_phase_start.name) != 0) {
            all += row->mean;
            all_cores += row->cores;
        }
    }
    view->with_others = all > 0 ? seconds / all : 0;
    view->cores_with_others = all_cores > 0 ? cores / all_cores : 0;
}

static void add_balance(const struct parts *parts, struct view *view)
{
    for (int r = 0; r < view->ranks; ++r) {
        double seconds = work_of(part_of(parts, r));

        view->busy_seconds += seconds / view->ranks;
        if (r > 0 && seconds <= view->busiest_seconds) continue;
        view->busiest = r;
        view->busiest_seconds = seconds;
    }
}

static void add_row(struct view *view, const char *name, int kind)
{
    for (size_t i = 0; i < view->rows; ++i)
        if (strcmp(view->row[i].name, name) == 0) return;
    view->row = MF_MUST(realloc(view->row, (view->rows + 1) * sizeof *view->row), "a table");
    view->row[view->rows] = (struct row){.kind = kind};
    snprintf(view->row[view->rows++].name, NAME, "%s", name);
}

/* The phases that any rank has opened, kind by kind. */
static void add_rows(const struct parts *parts, struct view *view)
{
    for (int kind = MF_STAGE; kind <= MF_TALK; ++kind) {
        for (int r = 0; r < parts->ranks; ++r)
            for (size_t p = 0; p < part_of(parts, r)->count; ++p)
                if (part_of(parts, r)->phase[p].kind == kind) add_row(view, part_of(parts, r)->phase[p].name, kind);
        if (kind == MF_STAGE) add_row(view, "rest", REST);
    }
}

static void view_of(const struct mf_session *session, const struct parts *parts, struct view *view)
{
    *view = (struct view){.ranks = parts->ranks, .threads = session->threads};
    for (int r = 0; r < parts->ranks; ++r) view->seconds = fmax(view->seconds, part_of(parts, r)->seconds);
    add_ceilings(parts, view);
    add_balance(parts, view);
    add_rows(parts, view);
    for (size_t i = 0; i < view->rows; ++i) {
        add_times(parts, &view->row[i]);
        if (view->row[i].kind == REST) continue;
        add_work(parts, &view->row[i]);
        add_rates(view, &view->row[i]);
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

/* This rank's part; heap. */
static struct part *own_part(const struct mf_session *session, size_t *bytes)
{
    struct part *mine;
    size_t n = 0;

    for (const struct mf_phase *p = mf_phases(); p; p = p->next) ++n;
    *bytes = sizeof *mine + n * sizeof *mine->phase;
    mine = MF_MUST(calloc(1, *bytes), "a table");
    mine->seconds = mf_now() - session->start;
    for (const struct mf_phase *p = mf_phases(); p; p = p->next) {
        struct timed *to = &mine->phase[mine->count++];

        snprintf(to->name, NAME, "%s", p->name);
        to->kind = (int)p->kind;
        to->sum = p->sum;
    }
    return mine;
}

/* All ranks' parts brought together, the same on every rank; the caller frees view->row. */
static int gather(const struct mf_session *session, struct view *view)
{
    size_t bytes = 0, *offset = MF_MUST(calloc((size_t)session->comm->size + 1, sizeof *offset), "a table");
    struct part *mine = own_part(session, &bytes);
    void *all = NULL;
    int rc;

    measure(session, &mine->rates);
    rc = mf_comm_gather(session->comm, mine, bytes, &all, offset);
    if (rc == MF_OK) view_of(session, &(struct parts){all, offset, session->comm->size}, view);
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

/* The ceiling that a row is nearer to: the one that binds it. Data in caches can exceed the ceiling of the memory. */
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
    for (size_t i = 0; i < view->rows; ++i) {
        print_row(&view->row[i], unit);
        if (view->row[i].kind == REST) printf("  work inside the stages\n");
    }
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
    return mf_common_of(session)->log_view && !session->settings.dry_run && !mf_common_of(session)->json == !json;
}

int mf_log_view_print(const struct mf_session *session)
{
    struct view view;

    if (!shows(session, 0)) return MF_OK;
    MF_TRY(gather(session, &view));
    if (session->comm->rank == 0) print(&view);
    free(view.row);
    return MF_OK;
}

/* -- the object -- */

static struct mf_json *row_json(const struct row *row)
{
    struct mf_json *j = mf_json_object(), *seconds = mf_json_object(), *ceiling = mf_json_object();

    MF_JSON(j, "name", row->name, "kind",
            row->kind == REST     ? "rest"
            : is_stage(row->kind) ? "stage"
                                  : "work",
            "count", (long long)row->count);
    MF_JSON(seconds, "max", row->most, "avg", row->mean, "min", row->least);
    mf_json_put(j, "seconds", seconds);
    if (row->kind != REST) mf_json_real(j, is_stage(row->kind) ? "seconds_self" : "seconds_inclusive", row->other);
    if (row->kind != REST) mf_json_real(j, "seconds_of_cores", row->cores);
    MF_JSON(j, "share", row->share, "bytes", row->bytes, "operations", row->operations, "bytes_sent", row->sent);
    MF_JSON(ceiling, "memory", row->ceiling_memory, "fp32", row->ceiling_flop);
    mf_json_put(j, "of_ceiling", ceiling);
    return j;
}

static struct mf_json *view_json(const struct view *view)
{
    struct mf_json *j = mf_json_object(), *rows = mf_json_array(), *balance = mf_json_object();

    MF_JSON(j, "seconds", view->seconds, "memory_rate", 1e-9 * view->memory_rate, "fp32_rate", 1e-12 * view->flop_rate);
    MF_JSON(balance, "busiest_rank", view->busiest, "busiest_seconds", view->busiest_seconds, "mean_seconds",
            view->busy_seconds);
    MF_JSON(j, "balance", balance, "share_with_others", view->with_others, "share_of_cores_with_others",
            view->cores_with_others);
    for (size_t i = 0; i < view->rows; ++i) mf_json_put(rows, NULL, row_json(&view->row[i]));
    mf_json_put(j, "rows", rows);
    return j;
}

int mf_log_view_json(const struct mf_session *session, struct mf_json *at)
{
    struct view view;

    if (!shows(session, 1)) return MF_OK;
    MF_TRY(gather(session, &view));
    if (session->comm->rank == 0 && at) mf_json_put(at, "log_view", view_json(&view));
    free(view.row);
    return MF_OK;
}
