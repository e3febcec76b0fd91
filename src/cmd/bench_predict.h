/* bench predict: times on more ranks than there are, from files of bench and of a network. */
#ifndef MF_CMD_BENCH_PREDICT_H
#define MF_CMD_BENCH_PREDICT_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"

struct mf_bench_predict {
    struct mf_texts measured; /* files of bench */
    const char *network;      /* {"gb_per_s", "latency_us", "ranks_per_node"}; NULL: one node */
};

/**
 * Predicts an evaluation of a cube of @p extent on each of @p ranks, beside what was measured; prints rows (unless
 * --json), appends to @p to. Rank 0's work; not collective. MF_INPUT, MF_USAGE.
 */
int mf_bench_predict_run(const struct mf_session *session, const struct mf_bench_predict *options,
                         const struct mf_longs *ranks, long extent, struct mf_json *to);

#endif
