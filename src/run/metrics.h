/* Metrics of a run: lines of JSON, one per row. A row is a list of keys and values that begins with the run's "output".
 * Beside them there may be tables (CSV) and event files of TensorBoard. One call writes a row to all of them. The
 * result matters more than its history: a failed write is reported once, and the run continues. A file belongs to one
 * run, which locks it while it writes.
 * Rule: a row has a "step"; if a run has several parts (seeds), each row names its part. Not collective: only rank 0
 * writes. */
#ifndef MF_RUN_METRICS_H
#define MF_RUN_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "src/base/json.h"

/** A value of a row. */
struct mf_metric {
    const char *key;
    enum { MF_METRIC_INT, MF_METRIC_REAL, MF_METRIC_SECONDS, MF_METRIC_TEXT } kind;
    uint64_t whole;
    double real;      /* or seconds, to the microsecond */
    const char *text; /* plain letters */
};

/** Forms beside the lines of JSON. */
enum { MF_METRICS_CSV = 1, MF_METRICS_EVENTS = 2 };

/** A file of one form. */
struct mf_metrics_file {
    FILE *to; /* NULL: closed, or lost */
    char *path;
    char *kind;   /* tables: of the rows in it; "": they have none */
    char *header; /* tables: names of the columns */
};

/** Rows that a continued run writes again: rows of this part beyond this step. */
struct mf_metrics_cut {
    int wanted;      /* 0: nothing */
    const char *key; /* NULL: the run has no parts */
    uint64_t part;
    long step;
};

/** All zero: no metrics; every function then does nothing. */
struct mf_metrics {
    FILE *file;
    char *path;
    char *output; /* the run's output, as a member of a JSON object */
    int lost;     /* it could not be opened or written */
    int own;      /* a file beside the path, because that file belongs to another output */
    int append;
    unsigned forms;
    struct mf_metrics_file *table, events;
    size_t tables;
    struct mf_metrics_cut cut; /* for tables that are opened later */
};

/** Refuses (MF_OUTPUT) a file at @p path that has something else than rows of this program. Local. */
int mf_metrics_may(const char *path);

/** Refuses (MF_OUTPUT) a file at @p path that is no table of such rows. Local. */
int mf_metrics_table_may(const char *path);

/** Is it there, with rows of @p output? Local. */
int mf_metrics_are_of(const char *path, const char *output);

/**
 * Opens @p path. If that file belongs to a run of another output, opens "NAME.metrics.jsonl" beside it. NAME is @p
 * output without its ending. A line says so, unless @p said. Empties the file unless @p append. Lines go to its end,
 * even after somebody has truncated it.
 */
void mf_metrics_open(struct mf_metrics *metrics, const char *path, const char *output, int append, int said);

/**
 * Opens further @p forms beside an open file "metrics.jsonl"; with its name, if that is another one:
 * - MF_METRICS_CSV: "metrics.csv" has the columns of the first row, and leaves out other keys of later rows. Rows with
 * a text "kind" are in "metrics-KIND.csv", which has columns of its own.
 * - MF_METRICS_EVENTS: a new file "events.out.tfevents.TIME.HOST.PID.N" in its folder, with the numbers of each row.
 * The tag of a number is its key, or "KIND/KEY". Tables continue, or begin anew, as @p append of mf_metrics_open()
 * says.
 */
void mf_metrics_also(struct mf_metrics *metrics, unsigned forms);

/**
 * Removes what a run wrote after its checkpoint, because it will write that again. Rows whose @p key is @p part lose
 * those after the first @p rows, those beyond @p step, and an incomplete last row. Others stay. Tables lose the rows
 * beyond @p step, and TensorBoard forgets its events beyond it. The caller keeps the text @p key. NULL: the run has no
 * parts, and @p rows does not count.
 */
void mf_metrics_cut(struct mf_metrics *metrics, const char *key, uint64_t part, size_t rows, long step);

/** Writes one row to all forms. A number that is not finite is null in JSON, empty in a table, and no event. */
void mf_metrics_row(struct mf_metrics *metrics, size_t count, const struct mf_metric *values);

/** The same in the lines of JSON alone: figures of the whole run. */
void mf_metrics_line(struct mf_metrics *metrics, size_t count, const struct mf_metric *values);

/** The last row of this text "kind" that a run of @p output wrote to @p path, or to the file beside it; NULL: there is
 * none. The caller frees. */
struct mf_json *mf_metrics_last(const char *path, const char *output, const char *kind);

void mf_metrics_close(struct mf_metrics *metrics);

#endif
