/* Expands Slurm's short lists of nodes and tasks.
 * Rule: a malformed list (MF_INPUT), or one longer than a machine can be, is refused before memory is taken. Local. */
#ifndef MF_SLURM_NODELIST_H
#define MF_SLURM_NODELIST_H

#include "slurm/words.h"

enum { MF_NODES_MOST = 1 << 16 };

/** "n[001-003,7],gpu-[1-2]-x[0-1]": appends the names in Slurm's order. The caller frees them, after a refusal too. */
int mf_nodelist_names(const char *text, struct mf_words *names);

/** "2(x3),1" becomes 2 2 2 1: tasks of every node; the caller frees *tasks. */
int mf_nodelist_tasks(const char *text, long **tasks, size_t *count);

/** "a:4,b:4" or "a,b", as mpirun --host takes it: appends the names, and the ranks of each (default 1). The caller
 * frees both, after a refusal (MF_USAGE) too. */
int mf_nodelist_slots(const char *text, struct mf_words *names, long **slots);

#endif
