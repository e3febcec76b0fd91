/* See bench_show.h. */
#include "src/cmd/bench_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/about.h"

/* The columns of nccl-tests, then MPI's bare call and how many times as long it takes. */
void mf_bench_show_head(const struct mf_bench_net *net, int ranks)
{
    printf("# %s: %s; %d rank%s\n", net->name, net->summary, ranks, MF_S(ranks));
    printf("# %10s %12s %7s %7s %10s %8s %8s %7s %10s %9s\n", "size", "count", "type", "redop", "time", "algbw",
           "busbw", "#wrong", "bare", "bare/time");
    printf("# %10s %12s %7s %7s %10s %8s %8s %7s %10s\n", "(B)", "(elements)", "", "", "(us)", "(GB/s)", "(GB/s)", "",
           "(us)");
    fflush(stdout);
}

void mf_bench_show_row(const struct mf_bench_net *net, const struct mf_bench_row *row)
{
    printf("  %10zu %12zu %7s %7s %10.2f %8.3f %8.3f %7zu", row->bytes, row->count, "float", net->redop,
           1e6 * row->own.median, 1e-9 * row->algorithm, 1e-9 * row->bus, row->wrong);
    if (row->has_own)
        printf(" %10.2f %9.2f\n", 1e6 * row->bare.median, row->bare.median / row->own.median);
    else
        printf(" %10s %9s\n", "-", "-");
    fflush(stdout);
}

static struct mf_json *time_json(const struct mf_bench_time *time)
{
    struct mf_json *json = mf_json_object();

    MF_JSON(json, "min", time->least, "median", time->median, "max", time->most, "samples", time->samples, "calls",
            time->calls);
    return json;
}

struct mf_json *mf_bench_row_json(const struct mf_bench_row *row)
{
    struct mf_json *json = mf_json_object();

    MF_JSON(json, "bytes", row->bytes, "count", row->count, "seconds", time_json(&row->own));
    if (row->has_own) mf_json_put(json, "bare_seconds", time_json(&row->bare));
    MF_JSON(json, "algorithm_bandwidth", row->algorithm, "bus_bandwidth", row->bus, "wrong", row->wrong);
    return json;
}

static struct mf_json *dims_json(const size_t dims[3])
{
    struct mf_json *json = mf_json_array();

    for (int a = 0; a < 3; ++a) mf_json_int(json, NULL, (long long)dims[a]);
    return json;
}

/* HDF5's share: how near our files come to what HDF5 alone does with the same bytes. */
static void show_method(const char *what, size_t bytes, double own, double h5, double raw)
{
    printf("  %-12s %12zu %10.5f %8.3f %8.3f", what, bytes, own, 1e-9 * (double)bytes / own, 1e-9 * (double)bytes / h5);
    if (raw > 0)
        printf(" %8.3f", 1e-9 * (double)bytes / raw);
    else
        printf(" %8s", "-");
    printf(" %9.1f%%\n", 100 * h5 / own);
}

void mf_bench_show_files(int ranks, size_t n, const struct mf_bench_files *files)
{
    const struct mf_bench_time *write = files->write, *read = files->read;

    printf(
        "# io: labels of %zu x %zu x %zu voxels, %d rank%s; write: all to the disk (fsync, rename, fsync of the "
        "folder)\n# unflushed: HDF5 alone leaves that out, ours does not; read: from the system's cache, seal checked, "
        "labels counted; + SHA-256: and that of the whole file, for which a run waits at its end\n",
        n, n, n, ranks, MF_S(ranks));
    printf("# %-12s %12s %10s %8s %8s %8s %10s\n", "way", "bytes", "seconds", "ours", "HDF5", "raw", "ours/HDF5");
    printf("# %-12s %12s %10s %8s %8s %8s\n", "", "", "", "(GB/s)", "(GB/s)", "(GB/s)");
    show_method("write", files->bytes, write[MF_BENCH_OWN].median, write[MF_BENCH_H5].median,
                write[MF_BENCH_RAW].median);
    show_method("unflushed", files->bytes, write[MF_BENCH_OWN].median, write[MF_BENCH_OTHER].median, 0);
    show_method("read", files->bytes, read[MF_BENCH_OWN].median, read[MF_BENCH_H5].median, read[MF_BENCH_RAW].median);
    show_method("+ SHA-256", files->bytes, read[MF_BENCH_OTHER].median, read[MF_BENCH_H5].median, 0);
    fflush(stdout);
}

struct mf_json *mf_bench_files_json(size_t n, const struct mf_bench_files *files)
{
    static const char *const key[2][MF_BENCH_METHODS] = {
        {"seconds", "hdf5_seconds", "raw_seconds", "hdf5_unflushed_seconds"},
        {"seconds", "hdf5_seconds", "raw_seconds", "sha256_seconds"}};
    static const char *const what[] = {"write", "read"};
    struct mf_json *json = mf_json_object();

    MF_JSON(json, "what", "io", "shape", dims_json((size_t[3]){n, n, n}), "bytes", files->bytes);
    for (int i = 0; i < 2; ++i) {
        struct mf_json *one = mf_json_object();

        for (int k = 0; k < MF_BENCH_METHODS; ++k)
            mf_json_put(one, key[i][k], time_json(&(i ? files->read : files->write)[k]));
        mf_json_put(json, what[i], one);
    }
    mf_json_int(json, "wrong", (long long)files->wrong);
    return json;
}

void mf_bench_show_points(const char *what, const char *unit, long threads, int weak,
                          const struct mf_bench_point *points, size_t n)
{
    printf("# %s, %s scaling: seconds of %s, median of %zu; %ld thread%s a rank\n", what, weak ? "weak" : "strong",
           unit, points->samples, threads, MF_S(threads));
    if (points[0].ranks > 1)
        printf("# speedups as if that of %ld ranks were %ld: none was measured on one\n", points[0].ranks,
               points[0].ranks);
    printf("# %5s %18s %12s %8s %10s %12s\n", "ranks", "extents", "seconds", "speedup", "efficiency", "serial share");
    for (size_t i = 0; i < n; ++i) {
        const struct mf_bench_point *p = &points[i];
        char extents[64], serial[16] = "-";

        snprintf(extents, sizeof extents, "%zu x %zu x %zu", p->dims[0], p->dims[1], p->dims[2]);
        if (!weak && p->ranks > 1) snprintf(serial, sizeof serial, "%.4f", p->serial);
        printf("  %5ld %18s %12.6f %8.3f %10.3f %12s\n", p->ranks, extents, p->seconds, p->speedup, p->efficiency,
               serial);
    }
    fflush(stdout);
}

void mf_bench_show_more_ranks(const struct mf_bench_point *points, size_t n)
{
    const struct mf_bench_point *last = &points[n - 1];
    const char *comma = "";

    if (last->ranks < 2 || !(last->serial > 0)) return;
    printf("# more ranks, with the serial share of %ld (Amdahl):", last->ranks);
    for (long ranks = 16; ranks <= 4096; ranks *= 4) {
        if (ranks <= last->ranks) continue;
        printf("%s %ld ranks %.3g", comma, ranks, 1 / (last->serial + (1 - last->serial) / (double)ranks));
        comma = ",";
    }
    printf("\n");
    fflush(stdout);
}

static struct mf_json *point_json(const struct mf_bench_point *p, int weak)
{
    struct mf_json *json = mf_json_object();

    MF_JSON(json, "ranks", p->ranks, "shape", dims_json(p->dims), "seconds", p->seconds);
    mf_json_reals(json, "samples", p->sample, p->samples);
    MF_JSON(json, "speedup", p->speedup, "efficiency", p->efficiency);
    if (!weak && p->ranks > 1) mf_json_real(json, "serial_share", p->serial);
    return json;
}

struct mf_json *mf_bench_points_json(const char *what, long threads, int weak, const struct mf_bench_point *points,
                                     size_t n)
{
    struct mf_json *json = mf_json_object(), *rows = mf_json_array();

    for (size_t i = 0; i < n; ++i) mf_json_put(rows, NULL, point_json(&points[i], weak));
    MF_JSON(json, "what", what, "scaling", weak ? "weak" : "strong", "threads", threads, "rows", rows);
    return json;
}

/* One row of --log-view. */
struct work {
    const char *name;
    long long count;
    double seconds, bytes, operations, memory, fp32; /* of all its calls; the last two are shares of the ceilings */
};

/* The @p i-th work row that took any time; 0: there is none. */
static int work_of(const struct mf_json *view, size_t i, struct work *w)
{
    const struct mf_json *row = mf_json_item(mf_json_get(view, "rows"), i), *ceiling = mf_json_get(row, "of_ceiling");

    *w = (struct work){.name = mf_json_get_text(row, "name"),
                       .count = mf_json_get_int(row, "count"),
                       .seconds = mf_json_get_real(mf_json_get(row, "seconds"), "max"),
                       .bytes = mf_json_get_real(row, "bytes"),
                       .operations = mf_json_get_real(row, "operations"),
                       .memory = mf_json_get_real(ceiling, "memory"),
                       .fp32 = mf_json_get_real(ceiling, "fp32")};
    return strcmp(mf_json_get_text(row, "kind"), "work") == 0 && w->count > 0 && w->seconds > 0;
}

void mf_bench_show_kernels(const size_t dims[3], const struct mf_json *view)
{
    struct work w;

    printf("# kernels, one rank, %zu x %zu x %zu; shares of what these cores and their memory can do\n"
           "# (probe --measure); above 100 %%: from caches\n",
           dims[0], dims[1], dims[2]);
    printf("# %-18s %8s %12s %9s %9s %9s %9s\n", "kernel", "calls", "us per call", "GB/s", "share", "GFLOP/s", "share");
    for (size_t i = 0; i < mf_json_count(mf_json_get(view, "rows")); ++i)
        if (work_of(view, i, &w))
            printf("  %-18s %8lld %12.2f %9.2f %8.1f%% %9.2f %8.1f%%\n", w.name, w.count,
                   1e6 * w.seconds / (double)w.count, 1e-9 * w.bytes / w.seconds, 100 * w.memory,
                   1e-9 * w.operations / w.seconds, 100 * w.fp32);
    fflush(stdout);
}

struct mf_json *mf_bench_kernels_json(const size_t dims[3], const struct mf_json *view)
{
    struct mf_json *json = mf_json_object(), *rows = mf_json_array();
    struct work w;

    for (size_t i = 0; i < mf_json_count(mf_json_get(view, "rows")); ++i)
        if (work_of(view, i, &w)) {
            struct mf_json *one = mf_json_object();

            MF_JSON(one, "kernel", w.name, "calls", w.count, "seconds", w.seconds, "bandwidth", w.bytes / w.seconds,
                    "rate", w.operations / w.seconds, "share_of_memory", w.memory, "share_of_fp32", w.fp32);
            mf_json_put(rows, NULL, one);
        }
    MF_JSON(json, "what", "kernels", "shape", dims_json(dims), "rows", rows);
    return json;
}

void mf_bench_show_speed(const struct mf_json *speed)
{
    const double all = mf_json_get_real(speed, "seconds");

    printf("# the last run: %.4g samples/s, the network alone %.4g (%.1f %%); %.3g GMAC/s; writing %.1f %%\n",
           mf_json_get_real(speed, "samples_per_second"), mf_json_get_real(speed, "network_alone"),
           100 * mf_json_get_real(speed, "network_seconds") / all, mf_json_get_real(speed, "gmac_per_second"),
           100 * mf_json_get_real(speed, "writing_seconds") / all);
}

int mf_bench_place(const struct mf_session *s, struct mf_json *json)
{
    struct mf_json *hosts = mf_json_array();
    char name[256] = "";
    void *all = NULL;
    int rc;

    if (gethostname(name, sizeof name - 1) != 0) strcpy(name, "?");
    rc = mf_comm_gather(s->comm, name, sizeof name, &all, NULL);
    for (int r = 0; rc == MF_OK && r < s->comm->size; ++r)
        mf_json_text(hosts, NULL, (char *)all + (size_t)r * sizeof name);
    MF_JSON(json, "hosts", hosts, "ranks", s->comm->size, "threads", s->threads, "device", s->backend->name, "mpi",
            mf_comm_version(), "build", mf_about_build());
    free(all);
    return rc;
}

int mf_bench_write(const struct mf_session *s, const struct mf_json *json)
{
    const int first = s->comm->rank == 0;
    struct mf_atomic file;

    MF_TRY(mf_agree(s->comm, first && mf_common_of(s)->json ? mf_json_write(json, stdout) : MF_OK));
    if (!mf_common_of(s)->output) return MF_OK;
    MF_TRY(mf_atomic_open(s->comm, mf_common_of(s)->output, 0, &file));
    return mf_atomic_close(s->comm, &file, first ? mf_json_save(json, file.temporary, mf_common_of(s)->output) : MF_OK);
}
