/* What started this program, from the environment. Numbers of ranks never come from here, but from MPI. */
#ifndef MF_SLURM_LAUNCHER_H
#define MF_SLURM_LAUNCHER_H

struct mf_launcher {
    const char *kind; /* "mpirun" (Open MPI's), "srun", "pmix", "pmi", "none" */
    char job[64];     /* Slurm's number of the job around it; "": none */
    long restarts;    /* how often Slurm has started this job again */
};

/** Not collective. */
struct mf_launcher mf_launcher_find(void);

#endif
