/* Decides from the environment whether a launcher started this process as one of several. */
#ifndef MF_MPI_LAUNCHED_H
#define MF_MPI_LAUNCHED_H

/**
 * *launched: by a launcher of ranks, as far as the environment says (mpirun, srun, PMIx, PMI and their like), or where
 * MESOFORGE_MPI=1 (true, yes, on) says that it was. Not a batch script's own shell. Refuses with MF_USAGE another word
 * in MESOFORGE_MPI than those and 0, false, no, off, which leave it to the environment. Local.
 */
int mf_launched(int *launched);

/**
 * Tasks that a launcher started this process as one of, and in *says the variable that says it; 1 outside of steps, and
 * where any variable says 1: then *says stays. Local.
 */
long mf_launched_tasks(const char **says);

/**
 * Refuses with MF_DEVICE one of several tasks of srun that has nothing by which Open MPI finds the others (PMIx, PMI,
 * an mpirun around it): that would end it in words of its own. Not where MESOFORGE_MPI=1 knows better, as with
 * libraries for Slurm's first PMI, which needs no variables of its own. Local.
 */
int mf_launched_apart(void);

/** The rank that a launcher says this process has, before MPI is there to ask; NULL: it says none. Local. */
const char *mf_launched_rank(void);

#endif
