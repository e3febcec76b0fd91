/* Help, manual pages and versions of the program. They are made only from the rows of verbs and options, and need
 * neither MPI nor a machine. */
#ifndef MF_CMD_ABOUT_H
#define MF_CMD_ABOUT_H

#include <stddef.h>

/** Do these words, which follow the program's name, ask for help, man, --version or VERB --help? */
int mf_about_asked(size_t n, const char *const *words);

/** Prints what they ask for on standard output. MF_USAGE: an unknown verb. */
int mf_about(size_t n, const char *const *words);

/** One line that identifies this build; it must be equal on all ranks of a run. */
const char *mf_about_build(void);

#endif
