/* Measurements as rows for people and for programs. */
#ifndef MF_CMD_BENCH_SHOW_H
#define MF_CMD_BENCH_SHOW_H

#include "src/base/json.h"
#include "src/bench/net.h"

/** Standard output; rank 0 calls them. */
void mf_bench_show_head(const struct mf_bench_net *net, int ranks);
void mf_bench_show_row(const struct mf_bench_net *net, const struct mf_bench_row *row);

struct mf_json *mf_bench_row_json(const struct mf_bench_row *row);

#endif
