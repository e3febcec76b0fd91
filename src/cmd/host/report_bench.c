/* See report_bench.h. */
#include "src/cmd/host/report_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/plot.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/bench/net.h"

enum { CURVES = 24, PATH = 1200, CELL = 80, CELLS = 8 };

/* A kind of measurement: where its points stand in the picture, and its columns. */
struct kind {
    const char *title; /* of the picture */
    const char *xlabel, *ylabel;
    size_t columns;
    const char *column[CELLS];
    double (*x)(const struct mf_json *row);
    double (*y)(const struct mf_json *row);
    void (*cells)(const struct mf_json *row, char cell[CELLS][CELL]);
    int log_y;
    int ideal; /* a line of what would be best: y = x */
};

static double median(const struct mf_json *row, const char *key)
{
    return mf_json_get_real(mf_json_get(row, key), "median");
}

static double log_bytes(const struct mf_json *row) { return log2(mf_json_get_real(row, "bytes")); }
static double bus(const struct mf_json *row) { return 1e-9 * mf_json_get_real(row, "bus_bandwidth"); }
static double ranks(const struct mf_json *row) { return mf_json_get_real(row, "ranks"); }
static double speedup(const struct mf_json *row) { return mf_json_get_real(row, "speedup"); }
static double efficiency(const struct mf_json *row) { return mf_json_get_real(row, "efficiency"); }

static void net_cells(const struct mf_json *row, char cell[CELLS][CELL])
{
    const struct mf_json *bare = mf_json_get(row, "bare_seconds");

    snprintf(cell[0], CELL, "%.0f", mf_json_get_real(row, "bytes"));
    snprintf(cell[1], CELL, "%.2f", 1e6 * median(row, "seconds"));
    snprintf(cell[2], CELL, "%.3f", 1e-9 * mf_json_get_real(row, "algorithm_bandwidth"));
    snprintf(cell[3], CELL, "%.3f", 1e-9 * mf_json_get_real(row, "bus_bandwidth"));
    snprintf(cell[4], CELL, "%.0f", mf_json_get_real(row, "wrong"));
    snprintf(cell[5], CELL, bare ? "%.2f" : "-", 1e6 * median(row, "bare_seconds"));
}

static void scaling_cells(const struct mf_json *row, char cell[CELLS][CELL])
{
    const struct mf_json *shape = mf_json_get(row, "shape");

    snprintf(cell[0], CELL, "%.0f", ranks(row));
    snprintf(cell[1], CELL, "%lld x %lld x %lld", mf_json_to_int(mf_json_item(shape, 0)),
             mf_json_to_int(mf_json_item(shape, 1)), mf_json_to_int(mf_json_item(shape, 2)));
    snprintf(cell[2], CELL, "%.6f", mf_json_get_real(row, "seconds"));
    snprintf(cell[3], CELL, "%.3f", speedup(row));
    snprintf(cell[4], CELL, "%.3f", efficiency(row));
    snprintf(cell[5], CELL, mf_json_get(row, "serial_share") ? "%.4f" : "-", mf_json_get_real(row, "serial_share"));
}

static void kernel_cells(const struct mf_json *row, char cell[CELLS][CELL])
{
    snprintf(cell[0], CELL, "%s", mf_json_get_text(row, "kernel"));
    snprintf(cell[1], CELL, "%.0f", mf_json_get_real(row, "calls"));
    snprintf(cell[2], CELL, "%.2f", 1e6 * mf_json_get_real(row, "seconds") / mf_json_get_real(row, "calls"));
    snprintf(cell[3], CELL, "%.2f", 1e-9 * mf_json_get_real(row, "bandwidth"));
    snprintf(cell[4], CELL, "%.1f %%", 100 * mf_json_get_real(row, "share_of_memory"));
    snprintf(cell[5], CELL, "%.2f", 1e-9 * mf_json_get_real(row, "rate"));
    snprintf(cell[6], CELL, "%.1f %%", 100 * mf_json_get_real(row, "share_of_fp32"));
}

static double requests(const struct mf_json *row) { return mf_json_get_real(row, "requests"); }
static double tokens(const struct mf_json *row) { return mf_json_get_real(row, "tokens_per_second"); }

static void infer_cells(const struct mf_json *row, char cell[CELLS][CELL])
{
    const double share = mf_json_get_real(row, "share_of_read_rate");

    snprintf(cell[0], CELL, "%.0f", requests(row));
    snprintf(cell[1], CELL, "%.1f", mf_json_get_real(row, "prompt_tokens_per_second"));
    snprintf(cell[2], CELL, "%.2f", tokens(row));
    snprintf(cell[3], CELL, "%.4f", mf_json_get_real(row, "first_token_seconds"));
    snprintf(cell[4], CELL, "%.3f", 1e3 * mf_json_get_real(row, "step_seconds"));
    snprintf(cell[5], CELL, "%.3f", 1e3 * mf_json_get_real(row, "step_seconds_95"));
    snprintf(cell[6], CELL, "%.3f", 1e-6 * mf_json_get_real(row, "bytes_per_token"));
    snprintf(cell[7], CELL, share > 0 ? "%.1f %%" : "-", 100 * share);
}

#define SCALING "ranks", "extents", "seconds", "speedup", "efficiency", "serial share"

static const struct kind net = {"Bus bandwidth",
                                "message [log2 bytes]",
                                "GB/s",
                                6,
                                {"bytes", "us", "algbw GB/s", "busbw GB/s", "#wrong", "MPI alone us"},
                                log_bytes,
                                bus,
                                net_cells,
                                1,
                                0};
static const struct kind strong = {"Speedup", "ranks", "speedup", 6, {SCALING}, ranks, speedup, scaling_cells, 0, 1};
static const struct kind weak = {"Efficiency", "ranks",    "efficiency",  6, {SCALING},
                                 ranks,        efficiency, scaling_cells, 0, 0};
static const struct kind kernels = {
    NULL, NULL, NULL,         7, {"kernel", "calls", "us per call", "GB/s", "of memory", "GFLOP/s", "of arithmetic"},
    NULL, NULL, kernel_cells, 0, 0};

static const struct kind infer = {
    "Tokens per second",
    "requests",
    "tokens/s",
    8,
    {"requests", "prompt tokens/s", "tokens/s", "first token s", "step ms", "95 % ms", "MB of a token", "of read rate"},
    requests,
    tokens,
    infer_cells,
    0,
    0};

static const struct kind *kind_of(const struct mf_json *one)
{
    if (strcmp(mf_json_get_text(one, "what"), "infer") == 0) return &infer;
    if (strcmp(mf_json_get_text(one, "what"), "kernels") == 0) return &kernels;
    if (strcmp(mf_json_get_text(one, "scaling"), "strong") == 0) return &strong;
    if (strcmp(mf_json_get_text(one, "scaling"), "weak") == 0) return &weak;
    return mf_bench_net_find(mf_json_get_text(one, "what")) ? &net : NULL;
}

static int same(const struct mf_json *a, const struct mf_json *b)
{
    return strcmp(mf_json_get_text(a, "what"), mf_json_get_text(b, "what")) == 0 &&
           strcmp(mf_json_get_text(a, "scaling"), mf_json_get_text(b, "scaling")) == 0;
}

/* Finds the same measurement as @p one in a file; NULL: there is none. */
static const struct mf_json *of_file(const struct mf_report_bench *file, const struct mf_json *one)
{
    const struct mf_json *list = mf_json_get(file->said, "measured");

    for (size_t i = 0; i < mf_json_count(list); ++i)
        if (same(mf_json_item(list, i), one)) return mf_json_item(list, i);
    return NULL;
}

static void table(const struct mf_page *page, const struct kind *kind, const struct mf_json *rows)
{
    char cell[CELLS][CELL];
    const char *cells[CELLS];

    mf_page_table(page, kind->columns, kind->column);
    for (size_t c = 0; c < CELLS; ++c) cells[c] = cell[c];
    for (size_t i = 0; i < mf_json_count(rows); ++i) {
        kind->cells(mf_json_item(rows, i), cell);
        mf_page_row(page, kind->columns, cells);
    }
    mf_page_table_end(page);
}

/* Points of one file; x and y are the caller's to free. */
static struct mf_curve curve_of(const struct kind *kind, const char *name, const struct mf_json *rows)
{
    size_t n = mf_json_count(rows);
    double *x = MF_MUST(calloc(2 * n + 1, sizeof *x), "points of a curve"), *y = x + n;

    for (size_t i = 0; i < n; ++i) {
        x[i] = kind->x(mf_json_item(rows, i));
        y[i] = kind->y(mf_json_item(rows, i));
    }
    return (struct mf_curve){.name = name, .count = n, .x = x, .y = y};
}

/* The curve of MPI's plain call with the same bytes, if the file has it; else no points. */
static struct mf_curve bare_of(const struct mf_curve *own, const char *name, const struct mf_json *rows)
{
    size_t n = mf_json_count(rows), count = 0;
    double *x = MF_MUST(calloc(2 * n + 1, sizeof *x), "points of a curve"), *y = x + n;

    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *row = mf_json_item(rows, i);

        if (!mf_json_get(row, "bare_seconds")) continue;
        x[count] = own->x[i];
        y[count++] = own->y[i] * median(row, "seconds") / median(row, "bare_seconds");
    }
    return (struct mf_curve){.name = name, .count = count, .x = x, .y = y, .dashed = 1};
}

/* Its last 60 bytes, from a whole character on. */
static const char *end_of(const char *name)
{
    const size_t n = strlen(name);

    if (n <= 60) return name;
    for (name += n - 60; ((unsigned char)*name & 0xC0) == 0x80;) ++name;
    return name;
}

/* For a legend: without their folders, where that tells them apart. */
static void shorten(size_t files, const char *const *name, const char **to)
{
    int apart = 1;

    for (size_t i = 0; i < files; ++i)
        for (size_t k = 0; k < i; ++k) apart = apart && strcmp(mf_name_base(name[i]), mf_name_base(name[k])) != 0;
    for (size_t i = 0; i < files; ++i) to[i] = apart ? mf_name_base(name[i]) : name[i];
}

/* The curves of files, @p curves [2 CURVES + 1], behind each that of MPI alone; returns how many. */
static size_t curves_of(const struct kind *kind, size_t files, const char *const *name,
                        const struct mf_json *const *rows, char (*bare)[CELL], struct mf_curve *curves)
{
    const char *label[CURVES];
    size_t n = 0;

    shorten(files, name, label);
    for (size_t i = 0; i < files; ++i) {
        struct mf_curve *own = &curves[n++];

        *own = curve_of(kind, label[i], rows[i]);
        own->colour = (int)i + 1;
        if (kind != &net) continue;
        snprintf(bare[i], CELL, "%s, MPI alone", end_of(label[i]));
        curves[n] = bare_of(own, bare[i], rows[i]);
        curves[n].colour = own->colour;
        if (curves[n].count > 0)
            ++n;
        else
            free((void *)(uintptr_t)curves[n].x);
    }
    return n;
}

static int picture(const struct mf_page *page, const char *folder, const char *title, const struct kind *kind, size_t n,
                   struct mf_curve *curves)
{
    static int number;
    double most = 1, ends[2] = {1, 1};
    struct mf_panel panel = {.kind = MF_PANEL_CURVES,
                             .title = kind->title,
                             .xlabel = kind->xlabel,
                             .ylabel = kind->ylabel,
                             .curve_count = n,
                             .curves = curves,
                             .log_y = kind->log_y,
                             .whole_x = 1};
    char path[PATH];

    for (size_t c = 0; kind->ideal && c < n; ++c)
        for (size_t i = 0; i < curves[c].count; ++i) most = fmax(most, curves[c].x[i]);
    ends[1] = most;
    if (kind->ideal)
        curves[panel.curve_count++] =
            (struct mf_curve){.name = "ideal", .count = 2, .x = ends, .y = ends, .dashed = 1, .colour = -1};
    snprintf(path, sizeof path, "%.1100s/curves-%d.png", folder, number++);
    MF_TRY(mf_plot_write(path, title, &panel, 1, 1));
    return mf_page_picture(page, path, title);
}

/* One kind of measurement, of all files that have it. */
static int section(const struct mf_page *page, const char *folder, size_t n, const struct mf_report_bench *files,
                   const struct mf_json *one)
{
    const struct kind *kind = kind_of(one);
    struct mf_curve curves[2 * CURVES + 1];
    char bare[CURVES][CELL];
    const struct mf_json *rows[CURVES];
    const char *name[CURVES];
    size_t found = 0;
    char title[200];
    int rc = MF_OK;

    snprintf(title, sizeof title, "%s%s%s%s", mf_json_get_text(one, "what"),
             *mf_json_get_text(one, "scaling") ? ", " : "", mf_json_get_text(one, "scaling"),
             *mf_json_get_text(one, "scaling") ? " scaling" : "");
    mf_page_heading(page, title);
    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *mine = of_file(&files[i], one);

        if (!mine) continue;
        if (found == CURVES) {
            mf_page_text(page, "Only the first %d files are shown.", CURVES);
            break;
        }
        rows[found] = mf_json_get(mine, "rows");
        name[found++] = files[i].name;
    }
    if (kind->x) {
        const size_t drawn = curves_of(kind, found, name, rows, bare, curves);

        rc = picture(page, folder, title, kind, drawn, curves);
        for (size_t i = 0; i < drawn; ++i) free((void *)(uintptr_t)curves[i].x);
    }
    for (size_t i = 0; i < found; ++i) {
        mf_page_text(page, "%s", name[i]);
        table(page, kind, rows[i]);
    }
    return rc;
}

/* Files of a volume have no rows: two lines for each. */
static void io_section(const struct mf_page *page, size_t n, const struct mf_report_bench *files,
                       const struct mf_json *one)
{
    static const char *const column[] = {"file", "way", "bytes", "ours GB/s", "HDF5 GB/s", "raw GB/s"};
    static const char *const way[] = {"write", "read"};

    mf_page_heading(page, "io");
    mf_page_table(page, 6, column);
    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *mine = of_file(&files[i], one);
        double bytes = mf_json_get_real(mine, "bytes");

        for (int w = 0; mine && w < 2; ++w) {
            const struct mf_json *at = mf_json_get(mine, way[w]);
            char cell[4][CELL];

            snprintf(cell[0], CELL, "%.0f", bytes);
            snprintf(cell[1], CELL, "%.3f", 1e-9 * bytes / median(at, "seconds"));
            snprintf(cell[2], CELL, "%.3f", 1e-9 * bytes / median(at, "hdf5_seconds"));
            snprintf(cell[3], CELL, "%.3f", 1e-9 * bytes / median(at, "raw_seconds"));
            mf_page_row(page, 6, (const char *const[]){files[i].name, way[w], cell[0], cell[1], cell[2], cell[3]});
        }
    }
    mf_page_table_end(page);
}

static void machines(const struct mf_page *page, size_t n, const struct mf_report_bench *files)
{
    static const char *const column[] = {"file", "ranks", "threads", "first host", "device", "MPI", "build"};

    mf_page_heading(page, "Where");
    mf_page_table(page, 7, column);
    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *said = files[i].said;
        char number[2][CELL];

        snprintf(number[0], CELL, "%lld", mf_json_get_int(said, "ranks"));
        snprintf(number[1], CELL, "%lld", mf_json_get_int(said, "threads"));
        mf_page_row(page, 7,
                    (const char *const[]){files[i].name, number[0], number[1],
                                          mf_json_to_text(mf_json_item(mf_json_get(said, "hosts"), 0)),
                                          mf_json_get_text(said, "device"), mf_json_get_text(said, "mpi"),
                                          mf_json_get_text(said, "build")});
    }
    mf_page_table_end(page);
}

/* Was the measurement seen in a file before file @p i, or earlier in it? */
static int is_seen(const struct mf_report_bench *files, size_t i, const struct mf_json *one)
{
    for (size_t k = 0; k < i; ++k)
        if (of_file(&files[k], one)) return 1;
    return of_file(&files[i], one) != one; /* a second one of the same kind in one file says nothing new */
}

int mf_report_bench(const struct mf_page *page, const char *folder, size_t n, const struct mf_report_bench *files)
{
    machines(page, n, files);
    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *list = mf_json_get(files[i].said, "measured");

        for (size_t k = 0; k < mf_json_count(list); ++k) {
            const struct mf_json *one = mf_json_item(list, k);

            if (is_seen(files, i, one)) continue;
            if (strcmp(mf_json_get_text(one, "what"), "io") != 0 && !kind_of(one))
                return mf_fail(MF_INPUT, "'%s' holds the measurement '%.60s', which this version does not know",
                               files[i].name, mf_json_get_text(one, "what"));
            if (strcmp(mf_json_get_text(one, "what"), "io") == 0)
                io_section(page, n, files, one);
            else
                MF_TRY(section(page, folder, n, files, one));
        }
    }
    return MF_OK;
}
