/* Changes of the experts of a mixture. */
#ifndef MF_MOE_CHANGE_H
#define MF_MOE_CHANGE_H

enum mf_change { MF_CHANGE_BIRTH, MF_CHANGE_MERGE, MF_CHANGE_PRUNE, MF_CHANGE_SLEEP, MF_CHANGES };

/** "birth", "merge", "prune", "sleep" */
extern const char *const mf_change_names[MF_CHANGES];

#endif
