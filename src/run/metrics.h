/* Metrics of a run: lines of JSON, one per row, each a list of keys and values that begins with the run's "output". The
 * result counts, not its history: what cannot be written is said once, and the run goes on. A file belongs to one run,
 * which locks it while it writes. Rule: a row has a "step"; where a run has several parts (seeds), each row names its
 * own. Not collective: rank 0 alone writes. */
#ifndef MF_RUN_METRICS_H
#define MF_RUN_METRICS_H

#include <stdint.h>
#include <stdio.h>

/** A value of a row. */
struct mf_metric {
    const char *key;
    enum { MF_METRIC_INT, MF_METRIC_REAL, MF_METRIC_SECONDS, MF_METRIC_TEXT } kind;
    uint64_t whole;
    double real;      /* or seconds, to the microsecond */
    const char *text; /* plain letters */
};

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
 * Removes what a run wrote after the checkpoint it goes on from, as it will write that again: of the rows whose @p key
 * is @p part, those behind the first @p rows and those beyond @p step, and half a row at the end. Others stay.
 */
void mf_metrics_cut(const struct mf_metrics *metrics, const char *key, uint64_t part, size_t rows, long step);

/** One row, as a line. Numbers that JSON has no words for are written as null. */
void mf_metrics_row(struct mf_metrics *metrics, size_t count, const struct mf_metric *values);
void mf_metrics_close(struct mf_metrics *metrics);

#endif
