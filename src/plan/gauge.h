/* Present use of the GPUs and cores of this machine and of this process, for runs that watch them. Rule: nothing is
 * refused; a value that nobody tells is NAN. */
#ifndef MF_PLAN_GAUGE_H
#define MF_PLAN_GAUGE_H

#include <stddef.h>

struct mf_gauge;

/** A GPU now. */
struct mf_gauge_gpu {
    double use;            /* share of the last second or less in which it computed [%] */
    double memory;         /* that all programs hold [bytes] */
    double total;          /* that it has [bytes] */
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

/** Its uuid, borrowed. */
const char *mf_gauge_id(const struct mf_gauge *gauge, size_t i);

/** A program that computes on a GPU. In a container the driver may hide programs, or count in other numbers. */
struct mf_gauge_program {
    long pid;
    double memory; /* that it holds there [bytes] */
};

/** Programs on GPU @p i, at most @p most; returns how many. */
size_t mf_gauge_programs(const struct mf_gauge *gauge, size_t i, size_t most, struct mf_gauge_program *program);

/** The command name of a process, into @p name; "" if the system does not tell. */
enum { MF_GAUGE_NAME = 32 };
void mf_gauge_name(long pid, char name[MF_GAUGE_NAME]);

/** Time in which cores of this machine computed, and all their time, since it started [units of the kernel]. */
struct mf_gauge_time {
    double busy, all;
};
struct mf_gauge_time mf_gauge_cores(void);

/** Memory of this process that is in RAM [bytes]. */
double mf_gauge_resident(void);

/** Mean number of threads of this machine that ran or waited for a core, over a minute. */
double mf_gauge_load(void);

#endif
