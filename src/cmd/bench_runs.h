/* Measures whole verbs on several numbers of ranks, each in a separate run (bench.c). */
#ifndef MF_CMD_BENCH_RUNS_H
#define MF_CMD_BENCH_RUNS_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"

enum { MF_BENCH_LAG = 16 }; /* lags of the runs */

/** Options of these measurements. */
struct mf_bench_runs {
    struct mf_longs scaling; /* numbers of ranks */
    int weak;                /* the volume's height grows with the number of ranks */
    long extent, turns;
    const char *launcher; /* words before "-n RANKS" */
    const char *image;    /* the target; NULL: it is generated */
};

/** "reconstruct", "characterize", "train", "generate" or "kernels"? */
int mf_bench_runs_has(const char *what);

/** Refuses (MF_USAGE) options that contradict each other. Local. */
int mf_bench_runs_check(const struct mf_session *session, const struct mf_bench_runs *options);

/** Runs, prints rows (unless --json) and appends an object to @p to. Only one rank calls it. MF_DEVICE when a run
 * fails, MF_OUTPUT. */
int mf_bench_runs_measure(const struct mf_session *session, const struct mf_bench_runs *options, const char *what,
                          struct mf_json *to);

#endif
