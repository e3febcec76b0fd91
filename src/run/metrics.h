/* Metrics of a run: lines of JSON, one per row. A row is a list of keys and values that begins with the run's "output".
 * The result matters more than its history: a failed write is reported once, and the run continues. A file belongs to
 * one run, which locks it while it writes.
 * Rule: a row has a "step"; if a run has several parts (seeds), each row names its part. Not collective: only rank 0
 * writes. */
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

/** All zero: no metrics; every function then does nothing. */
struct mf_metrics {
    FILE *file;
    char *path;
    char *output; /* the run's output, as a member of a JSON object */
    int lost;     /* it could not be opened or written */
    int own;      /* a file beside the path, because that file belongs to another output */
};

/**
 * Opens @p path. If that file belongs to a run of another output, opens "NAME.metrics.jsonl" beside it (NAME: @p output
 * without its ending) and reports that, unless @p said. Empties the file unless @p append. Lines go to its end, even
 * after somebody has truncated it.
 */
void mf_metrics_open(struct mf_metrics *metrics, const char *path, const char *output, int append, int said);

/**
 * Removes what a run wrote after its checkpoint, because it will write that again. Of the rows whose @p key is @p part,
 * it removes those after the first @p rows, those beyond @p step, and an incomplete last row. Others stay.
 */
void mf_metrics_cut(const struct mf_metrics *metrics, const char *key, uint64_t part, size_t rows, long step);

/** Writes one row as a line. Numbers that JSON cannot represent are written as null. */
void mf_metrics_row(struct mf_metrics *metrics, size_t count, const struct mf_metric *values);
void mf_metrics_close(struct mf_metrics *metrics);

#endif
