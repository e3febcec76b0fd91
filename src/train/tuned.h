/* Algorithms of libraries that earlier runs found the fastest (kernels/tuning.h), in a file of the user's cache:
 * $XDG_CACHE_HOME/mesoforge/algorithms.txt, or that below ~/.cache. It appears whole or not at all. A damaged one
 * counts as empty. */
#ifndef MF_TRAIN_TUNED_H
#define MF_TRAIN_TUNED_H

#include "kernels/tuning.h"
#include "mpi/comm.h"

/** Reads the file. mf_algorithms_free() closes. Local. */
void mf_tuned_open(struct mf_algorithms *tuning);

/** All ranks take what rank 0 found. Collective. */
void mf_tuned_share(const struct mf_comm *comm, struct mf_algorithms *tuning);

/** Writes what has been found since, beside what other runs have written. A warning says where it cannot. Local. */
void mf_tuned_save(struct mf_algorithms *tuning);

/** "8 operations tried in 0.2 s, 3 remembered", or "nothing to try". The caller frees it. */
char *mf_tuned_text(const struct mf_algorithms *tuning);

#endif
