/* See probe_watch.h. */
#include "src/cmd/host/probe_watch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/cmd/keep.h"
#include "src/cmd/output.h"
#include "src/plan/gauge.h"
#include "src/plan/host.h"

enum { CORES = -1, PROGRAMS = 32 /* of a GPU */, TIME = 32 };

static const double LEAST = 0.1, MOST = 3600; /* seconds between looks */

/* Cores and memory of a node, a GPU, or a program on it. */
struct row {
    int node, device; /* device: CORES, or the GPU of the node that probe gives this number */
    long pid;         /* 0: all programs */
    char program[MF_GAUGE_NAME];
    double use, memory, total, celsius, watts; /* %, bytes, bytes; NAN: not known, or not of this row */
};

struct watch {
    const struct mf_session *session;
    const struct mf_probe *probe;
    struct mf_gauge *gauge;
    struct mf_gauge_time before;
    struct row *row; /* of this rank */
    size_t rows;
};

int mf_probe_period(const char *text, double *seconds)
{
    if (mf_keep_seconds(text, seconds) && *seconds >= LEAST && *seconds <= MOST) return MF_OK;
    return mf_fail(MF_USAGE, "--watch '%.60s': write it as 1s, 10min or 0.5h, from 0.1s to 1h", text);
}

/* ---- looks, on every rank ---- */

static const struct mf_probe_rank *own(const struct watch *w) { return &w->probe->rank[w->session->comm->rank]; }

static void add_cores(struct watch *w)
{
    const struct mf_gauge_time now = mf_gauge_cores();
    const double all = now.all - w->before.all;
    struct mf_limits limits;
    struct mf_host host = {0};

    mf_cgroup_limits("", &limits);
    mf_host_look("", &limits, &host);
    w->row[w->rows++] = (struct row){.node = own(w)->node,
                                     .device = CORES,
                                     .use = all > 0 ? 100 * (now.busy - w->before.busy) / all : NAN,
                                     .memory = (double)(host.ram_bytes - host.ram_available_bytes),
                                     .total = (double)host.ram_bytes,
                                     .celsius = NAN,
                                     .watts = NAN};
    w->before = now;
}

/* The number of a GPU in the list of its node. */
static int number_of(const struct watch *w, const char *id)
{
    const struct mf_host *host = &w->probe->hardware.host[own(w)->node];
    size_t g = 0;

    while (g < host->gpus && strcmp(host->gpu[g].uuid, id) != 0) ++g;
    return (int)g;
}

static void add_gpu(struct watch *w, size_t i)
{
    const struct mf_gauge_gpu is = mf_gauge_look(w->gauge, i);
    struct mf_gauge_program program[PROGRAMS];
    const size_t programs = mf_gauge_programs(w->gauge, i, PROGRAMS, program);
    struct row row = {
        own(w)->node, number_of(w, mf_gauge_id(w->gauge, i)), 0, "", is.use, is.memory, is.total, is.celsius, is.watts};

    w->row[w->rows++] = row;
    row.use = row.total = row.celsius = row.watts = NAN;
    for (size_t k = 0; k < programs; ++k) {
        row.pid = program[k].pid;
        row.memory = program[k].memory;
        mf_gauge_name(row.pid, row.program);
        w->row[w->rows++] = row;
    }
}

/* A node's first rank looks at its cores, and each rank at the GPUs that it sees. */
static void look(struct watch *w)
{
    w->rows = 0;
    if (own(w)->local_rank == 0) add_cores(w);
    for (size_t i = 0; i < mf_gauge_gpus(w->gauge); ++i) add_gpu(w, i);
}

/* ---- rows of all, on rank 0 ---- */

static int by_place(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* In order, each once: several ranks may see a GPU. */
static size_t sort(size_t n, struct row *row)
{
    size_t kept = 0;

    qsort(row, n, sizeof *row, by_place);
    for (size_t i = 0; i < n; ++i)
        if (kept == 0 || by_place(&row[kept - 1], &row[i]) != 0) row[kept++] = row[i];
    return kept;
}

static const char *node_of(const struct watch *w, const struct row *row)
{
    return w->probe->hardware.host[row->node].name;
}

static void name_device(const struct row *row, char text[TIME])
{
    if (row->device == CORES)
        snprintf(text, TIME, "cores");
    else
        snprintf(text, TIME, "gpu%d", row->device);
}

/* ---- lines ---- */

static void put_cell(double value, const char *format)
{
    putchar(',');
    if (isfinite(value)) printf(format, value); /* NOLINT(clang-diagnostic-format-nonliteral) */
}

static void print_line(const struct watch *w, const struct row *row, double time)
{
    char device[TIME];

    name_device(row, device);
    printf("%.3f,%s,%s,", time, node_of(w, row), device);
    if (row->pid) printf("%ld", row->pid);
    putchar(',');
    mf_table_put(stdout, row->program);
    put_cell(row->use, "%.1f");
    put_cell(row->memory, "%.0f");
    put_cell(row->total, "%.0f");
    put_cell(row->celsius, "%.0f");
    put_cell(row->watts, "%.1f");
    putchar('\n');
}

static int print_json(const struct watch *w, const struct row *row, double time)
{
    struct mf_json *j = mf_json_object();
    char device[TIME];
    int rc;

    name_device(row, device);
    MF_JSON(j, "time", time, "node", node_of(w, row), "device", (const char *)device);
    if (row->pid)
        mf_json_int(j, "pid", row->pid);
    else
        mf_json_null(j, "pid");
    mf_json_some(j, "program", row->program);
    mf_json_finite(j, "use", row->use);
    mf_json_finite(j, "memory", row->memory);
    mf_json_finite(j, "total", row->total);
    mf_json_finite(j, "celsius", row->celsius);
    mf_json_finite(j, "watts", row->watts);
    rc = mf_json_write(j, stdout);
    mf_json_free(j);
    return rc;
}

/* ---- table ---- */

static void put_column(double value, double unit, int width, int decimals)
{
    if (isfinite(value))
        printf(" %*.*f", width, decimals, value / unit);
    else
        printf(" %*s", width, "-");
}

static void print_table(const struct watch *w, size_t n, const struct row *row, double period)
{
    static const char clear[] = "\033[H\033[J";
    const time_t now = time(NULL);
    const double gib = 1 << 30;
    char text[TIME] = "";
    struct tm local;

    if (localtime_r(&now, &local)) strftime(text, sizeof text, "%H:%M:%S", &local);
    printf("%s%s, every %g s%s%s\n%-20s %-7s %9s %6s %9s %9s %4s %6s  program\n", clear, text, period,
           mf_gauge_gpus(w->gauge) ? "" : "; ", mf_gauge_gpus(w->gauge) ? "" : mf_gauge_remark(w->gauge), "node",
           "device", "process", "use %", "GiB", "of GiB", "C", "W");
    for (size_t i = 0; i < n; ++i) {
        name_device(&row[i], text);
        printf("%-20.20s %-7s", node_of(w, &row[i]), text);
        put_column(row[i].pid ? (double)row[i].pid : NAN, 1, 9, 0);
        put_column(row[i].use, 1, 6, 1);
        put_column(row[i].memory, gib, 9, 2);
        put_column(row[i].total, gib, 9, 2);
        put_column(row[i].celsius, 1, 4, 0);
        put_column(row[i].watts, 1, 6, 0);
        printf("  %s\n", row[i].program);
    }
}

static int print(const struct watch *w, size_t n, const struct row *row, double period)
{
    struct timespec now;
    double seconds;
    int rc = MF_OK;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (!mf_common_of(w->session)->json && mf_output_terminal()) {
        print_table(w, n, row, period);
    } else {
        for (size_t i = 0; i < n && rc == MF_OK; ++i)
            if (mf_common_of(w->session)->json)
                rc = print_json(w, &row[i], seconds);
            else
                print_line(w, &row[i], seconds);
    }
    if (rc == MF_OK && fflush(stdout) != 0) rc = mf_fail(MF_OUTPUT, "cannot write: %s", strerror(errno));
    return rc;
}

/* ---- the loop ---- */

static void rest(double until)
{
    const double left = until - mf_now();
    struct timespec pause = {(time_t)left, (long)(1e9 * (left - floor(left)))};

    if (left > 0) (void)nanosleep(&pause, NULL);
}

static int turn(struct watch *w, double period)
{
    const struct mf_comm *comm = w->session->comm;
    void *all = NULL;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "rows");
    int rc;

    look(w);
    rc = mf_comm_gather(comm, w->row, w->rows * sizeof *w->row, &all, offset);
    if (rc == MF_OK && comm->rank == 0) rc = print(w, sort(offset[comm->size] / sizeof *w->row, all), all, period);
    free(all);
    free(offset);
    return mf_agree(comm, rc);
}

int mf_probe_watch(const struct mf_session *s, const struct mf_probe *probe, double period, double limit)
{
    struct watch w = {.session = s, .probe = probe, .gauge = mf_gauge_open()};
    const double begin = mf_now();
    double next = begin;
    int64_t over = 0;
    int rc = MF_OK;

    w.row = MF_MUST(calloc(1 + mf_gauge_gpus(w.gauge) * (1 + PROGRAMS), sizeof *w.row), "rows");
    w.before = mf_gauge_cores();
    if (s->comm->rank == 0 && !mf_common_of(s)->json && !mf_output_terminal())
        printf("time,node,device,pid,program,use,memory,total,celsius,watts\n");
    while (rc == MF_OK && !over) {
        rest(next);
        rc = turn(&w, period);
        next = fmax(next + period, mf_now() - period); /* who was stopped makes up for one look, and not for all */
        over = limit > 0 && mf_now() - begin + period > limit;
        mf_comm_max_int(s->comm, 1, &over);
    }
    free(w.row);
    mf_gauge_close(w.gauge);
    return rc;
}
