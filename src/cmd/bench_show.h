/* Prints measurements as rows. */
#ifndef MF_CMD_BENCH_SHOW_H
#define MF_CMD_BENCH_SHOW_H

#include "src/base/json.h"
#include "src/bench/files.h"
#include "src/bench/net.h"
#include "src/bench/scaling.h"
#include "src/cmd/common.h"

/** On standard output; rank 0 calls them. */
void mf_bench_show_head(const struct mf_bench_net *net, int ranks);
void mf_bench_show_row(const struct mf_bench_net *net, const struct mf_bench_row *row);

struct mf_json *mf_bench_row_json(const struct mf_bench_row *row);

void mf_bench_show_files(int ranks, size_t n, const struct mf_bench_files *files);
struct mf_json *mf_bench_files_json(size_t n, const struct mf_bench_files *files);

/** Prints the speedups of more ranks, up to 4096, that the serial share of the last point leaves (Amdahl's law).
 * Nothing where it is not known. */
void mf_bench_show_more_ranks(const struct mf_bench_point *points, size_t n);

/** Points [n] of a scaling measurement of @p what, in seconds of one @p unit. */
void mf_bench_show_points(const char *what, const char *unit, long threads, int weak,
                          const struct mf_bench_point *points, size_t n);
struct mf_json *mf_bench_points_json(const char *what, long threads, int weak, const struct mf_bench_point *points,
                                     size_t n);

/** The work rows of a run's --log-view (docs/FILES.md): rates, and their share of the cores' peak rates. */
void mf_bench_show_kernels(const size_t dims[3], const struct mf_json *view);
struct mf_json *mf_bench_kernels_json(const size_t dims[3], const struct mf_json *view);

/** Says where it was measured: hosts, ranks, threads, device, build. Collective; refuses (agreed) with MF_MEMORY. */
int mf_bench_place(const struct mf_session *session, struct mf_json *json);

/** Rank 0 prints an object with --json, and writes it to --output. Collective; MF_OUTPUT (agreed). */
int mf_bench_write(const struct mf_session *session, const struct mf_json *json);

/** One line about the "speed" of generate --json. */
void mf_bench_show_speed(const struct mf_json *speed);

#endif
