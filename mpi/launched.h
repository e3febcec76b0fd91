/* Decides from the environment whether this process is one of several that a launcher started. */
#ifndef MF_MPI_LAUNCHED_H
#define MF_MPI_LAUNCHED_H

/**
 * *launched: shall this process start MPI? MESOFORGE_MPI=1 (true, yes, on) and MESOFORGE_MPI=0 (false, no, off) in the
 * environment decide; another value is refused with MF_USAGE. Without it: did a launcher of ranks start this process?
 * The environment says so (mpirun, srun, PMIx, PMI and the like). A batch script's own shell does not count. Local.
 */
int mf_launched(int *launched);

/**
 * Number of tasks in the launch that this process belongs to; *says names the variable that states it. Returns 1
 * outside of a launch, with MESOFORGE_MPI=0, and where any variable states 1; *says is not set then. Local.
 */
long mf_launched_tasks(const char **says);

/**
 * Refuses with MF_DEVICE one of several tasks of srun that cannot find the others. PMIx, PMI or an mpirun around it
 * would help. Open MPI itself would end it with a less clear message. Does not refuse with MESOFORGE_MPI=1: libraries
 * for Slurm's first PMI need no variables of their own. Local.
 */
int mf_launched_apart(void);

/** The rank that a launcher gave this process, known before MPI starts; NULL: not known, or MESOFORGE_MPI=0. Local. */
const char *mf_launched_rank(void);

#endif
