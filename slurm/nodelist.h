/* Expands Slurm's short lists of nodes and tasks.
 * Rule: a malformed list (MF_INPUT), or one longer than a machine can be, is refused before memory is taken. Local. */
#ifndef MF_SLURM_NODELIST_H
#define MF_SLURM_NODELIST_H

#include "slurm/words.h"

enum { MF_NODES_MOST = 1 << 16 };

/** "n[001-003,7],gpu-[1-2]-x[0-1]": names appended in Slurm's order; also after a refusal the caller frees. */
int mf_nodelist_names(const char *text, struct mf_words *names);

/** "2(x3),1" is 2 2 2 1: tasks of every node; the caller frees *tasks. */
int mf_nodelist_tasks(const char *text, long **tasks, size_t *count);

/** "a:4,b:4" or "a,b", as mpirun --host has it: names appended, and the ranks that each takes (1 where none is said);
 * also after a refusal (MF_USAGE) the caller frees both. */
int mf_nodelist_slots(const char *text, struct mf_words *names, long **slots);

#endif
