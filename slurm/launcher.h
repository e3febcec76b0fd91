/* What started this program, by its environment variables.
 * Rule: numbers of ranks come from MPI and never from here. */
#ifndef MF_SLURM_LAUNCHER_H
#define MF_SLURM_LAUNCHER_H

#include <stddef.h>

/** "" and 0 where nobody says it. */
struct mf_launcher {
    const char *kind;         /* "mpirun" (Open MPI's), "srun", "pmix", "pmi", "none" */
    char job[64];             /* Slurm's number of the job around it */
    int is_inside;            /* on its nodes: a container may know the number alone, and has neither srun nor them */
    char array[64], task[32]; /* of an array of jobs: its number, and this job's in it */
    long restarts;            /* how often Slurm has started this job again */
    char nodes[1024], tasks[256]; /* "n[1-2]", "2(x2)": of the step, else of the job */
    int too_long;                 /* these lists are, and left out */
    long job_nodes;               /* how many nodes the job has, whatever a step of it takes */
    long cores;                   /* of a task, as the job asked for them; 0: it did not */
    int end_unread;               /* somebody says when the job ends, and it is no time */
    double end;                   /* when Slurm ends the job [s since 1970]; 0: nobody says it */
};

/** Not collective. */
struct mf_launcher mf_launcher_find(void);

/** The same from @p bytes of "NAME=VALUE\0...". */
struct mf_launcher mf_launcher_of(const char *environment, size_t bytes);

/**
 * Hours from now until the job ends: where its environment does not say when that is (that of a step of Slurm 22.05),
 * squeue is asked, once; INFINITY where it says that the job has no limit. Refuses with MF_USAGE where nobody says it,
 * and when it is over. Not collective.
 */
int mf_launcher_hours(const struct mf_launcher *launcher, double *hours);

#endif
