/* Was this process started as one of several? */
#ifndef MF_MPI_LAUNCHED_H
#define MF_MPI_LAUNCHED_H

/**
 * By a launcher of ranks, as far as the environment says (mpirun, srun, PMIx, PMI and their like), or where
 * MESOFORGE_MPI=1 says that it was. Not a batch script's own shell. Local.
 */
int mf_launched(void);

/** The rank that a launcher says this process has, before MPI is there to ask; NULL: it says none. Local. */
const char *mf_launched_rank(void);

#endif
