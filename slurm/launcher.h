/* Finds what started this program, from its environment variables.
 * Rule: numbers of ranks come from MPI and never from here. */
#ifndef MF_SLURM_LAUNCHER_H
#define MF_SLURM_LAUNCHER_H

#include <stddef.h>

/** "" and 0: not known. */
struct mf_launcher {
    const char *kind;             /* "mpirun" (Open MPI's), "srun", "pmix", "pmi", "none" */
    char job[64];                 /* number of the Slurm job that this process is in */
    int is_inside;                /* it runs on the job's nodes; in a container it may know only the number */
    char array[64], task[32];     /* of a job array: its number, and this job's task number */
    long restarts;                /* how often Slurm has restarted this job */
    char nodes[1024], tasks[256]; /* "n[1-2]", "2(x2)": of the step, else of the job */
    int too_long;                 /* these lists are too long, and left out */
    long job_nodes;               /* number of nodes of the job, whatever a step of it uses */
    long cores;                   /* per task, as the job asked for them; 0: it did not */
    int end_unread;               /* a variable states the end of the job, but is no time */
    double end;                   /* when Slurm ends the job [s since 1970]; 0: not known */
};

/** Not collective. */
struct mf_launcher mf_launcher_find(void);

/** The same from @p bytes of "NAME=VALUE\0...". */
struct mf_launcher mf_launcher_of(const char *environment, size_t bytes);

/**
 * Hours from now until the job ends. Where the environment does not state the end (in a step of Slurm 22.05), squeue is
 * asked once. INFINITY: the job has no limit. Refuses with MF_USAGE where the end is not known, or has passed. Not
 * collective.
 */
int mf_launcher_hours(const struct mf_launcher *launcher, double *hours);

#endif
