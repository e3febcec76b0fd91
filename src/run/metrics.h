/* metrics.jsonl: a line of JSON for every row of convergence. The field counts, not its history: what cannot be written
 * is said once, and the run goes on. A file is one run's: it is locked while that run writes, and its first line names
 * the output. Not collective: rank 0 alone has one. */
#ifndef MF_RUN_METRICS_H
#define MF_RUN_METRICS_H

#include <stdint.h>
#include <stdio.h>

/** All zero: none; then every function does nothing. */
struct mf_metrics {
    FILE *file;
    char *path;
    char *output; /* the run's, as a member of a JSON object */
    int lost;     /* it could not be opened or written to the end */
    int own;      /* beside the path, which is another output's */
};

/**
 * Opens @p path, or "NAME.metrics.jsonl" beside it (NAME: @p output less its ending) where @p path is the file of a run
 * of another output, which is said unless it was (@p said); emptied unless @p append. Lines go to its end, also when it
 * has been cut since.
 */
void mf_metrics_open(struct mf_metrics *metrics, const char *path, const char *output, int append, int said);

/**
 * Lines of @p seed behind its first @p rows ones, those beyond @p step, and half a line at the end go: a run that was
 * killed wrote them after the checkpoint that is gone on from, and will write them again. Others stay. What cannot be
 * cut stays too.
 */
void mf_metrics_cut(const struct mf_metrics *metrics, uint64_t seed, size_t rows, long step);

/** One line: evaluations and seconds so far, the loss, the stage ("start", "descend", ...). */
void mf_metrics_row(struct mf_metrics *metrics, uint64_t seed, long step, double seconds, double loss,
                    const char *stage);
void mf_metrics_close(struct mf_metrics *metrics);

#endif
