/* Watches GPUs, or the host, while a run lasts. It gives rows of metrics, a text for the progress line, and a warning
 * where memory grows and grows. Rule: it looks between steps, so it needs no thread and disturbs none. Rank 0. */
#ifndef MF_RUN_MONITOR_H
#define MF_RUN_MONITOR_H

#include "src/run/metrics.h"

/** Memory that never falls. */
struct mf_growth {
    int looks, rises, said;
    unsigned quarters; /* of the looks, in which it rose */
    double first, last;
};

/** One more look at it. 1, and only once: in 20 looks in a row it never fell, and rose five times and in every quarter
 * of them. It rose by 1 % in all. So what a run takes at its start, as for its first picture, is no leak. */
int mf_growth_look(struct mf_growth *growth, double bytes);

struct mf_monitor;

/** Begins, and says in a line what it watches. @p seconds: between looks. */
struct mf_monitor *mf_monitor_open(double seconds);
void mf_monitor_close(struct mf_monitor *monitor); /* NULL is accepted */

/**
 * After @p step: looks if it is time to. The run itself has taken @p known bytes. Where they differ from those of the
 * last look, as after the birth of an expert, growth counts anew. Rows of the kinds "gpu0", "gpu1", ... have use [%],
 * memory [bytes], temperature [degrees C], power [W]. Rows of "host" have resident bytes of this process, and load.
 * NULL: nothing.
 */
void mf_monitor_step(struct mf_monitor *monitor, struct mf_metrics *metrics, size_t step, size_t known);

/** ", GPU 87 %, 12.3 GiB, 61 C, 243 W" of the last look: the mean use, the fullest, the hottest, the sum. NULL: "". */
const char *mf_monitor_text(const struct mf_monitor *monitor);

#endif
