/* Present use of the GPUs of this machine and of this process, for runs that watch them. Rule: nothing is refused; a
 * value that nobody tells is NAN. */
#ifndef MF_PLAN_GAUGE_H
#define MF_PLAN_GAUGE_H

#include <stddef.h>

struct mf_gauge;

/** A GPU now. */
struct mf_gauge_gpu {
    double use;            /* share of the last second or less in which it computed [%] */
    double memory;         /* that all programs hold [bytes] */
    double celsius, watts; /* temperature, power */
};

/** Opens the driver's library (NVML) for the GPUs that CUDA shows to this process. Not collective. */
struct mf_gauge *mf_gauge_open(void);
void mf_gauge_close(struct mf_gauge *gauge); /* NULL is accepted */

/** Number of these GPUs; why there are none, or which of them does not answer, "". */
size_t mf_gauge_gpus(const struct mf_gauge *gauge);
const char *mf_gauge_remark(const struct mf_gauge *gauge);

/** Looks at GPU @p i, in CUDA's order. */
struct mf_gauge_gpu mf_gauge_look(const struct mf_gauge *gauge, size_t i);

/** Memory of this process that is in RAM [bytes]. */
double mf_gauge_resident(void);

/** Mean number of threads of this machine that ran or waited for a core, over a minute. */
double mf_gauge_load(void);

#endif
