/* The convergence of runs, or the course of a training. It reads the lines that they write (metrics.jsonl), also while
 * they run. Rank 0. */
#ifndef MF_SHOW_VIEW_METRICS_H
#define MF_SHOW_VIEW_METRICS_H

#include "src/show/figure.h"

/** Is @p file a metrics file (by its ending), or a folder? */
int mf_view_is_metrics(const char *file);

/** A panel for every seed in @p file, or in metrics.jsonl of that folder; of a training those of training.h. Refuses
 * with MF_INPUT, MF_MEMORY. */
int mf_view_metrics(const char *file, struct mf_figure *figure, const char **title);

/** The same as a PNG, without a word. MF_INPUT, MF_MEMORY, MF_OUTPUT. */
int mf_show_metrics(const char *file, const char *picture);

#endif
