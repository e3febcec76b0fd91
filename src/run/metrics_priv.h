/* Parts of metrics.c: what its forms share. */
#ifndef MF_RUN_METRICS_PRIV_H
#define MF_RUN_METRICS_PRIV_H

#include "src/run/metrics.h"

/** Removes the lines of a file that are @p late, and an incomplete last one. */
void mf_metrics_sift(const char *path, int (*late)(const char *line, void *context), void *context);

/** Flushes a file; if that fails, reports it and closes the file. */
void mf_metrics_flush(struct mf_metrics_file *file);

/** Is a value a finite number? Then the second function prints it. */
int mf_metrics_has_number(const struct mf_metric *value);
void mf_metrics_number(FILE *to, const struct mf_metric *value);

/** The text "kind" of a row, or "". */
const char *mf_metrics_kind(size_t count, const struct mf_metric *values);

/** Each does nothing if its form is not open. */
void mf_tables_row(struct mf_metrics *metrics, size_t count, const struct mf_metric *values);
void mf_tables_cut(const struct mf_metrics *metrics);
void mf_events_open(struct mf_metrics *metrics);
void mf_events_row(struct mf_metrics *metrics, size_t count, const struct mf_metric *values);
void mf_events_cut(struct mf_metrics *metrics, long step);

#endif
