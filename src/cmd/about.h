/* What the program says of itself: help, manual pages, versions. It is made from the rows of verbs and options alone:
 * neither MPI nor a machine is needed. */
#ifndef MF_CMD_ABOUT_H
#define MF_CMD_ABOUT_H

#include <stddef.h>

/** Do these words, which follow the program's name, ask to be told something: help, man, --version, VERB --help? */
int mf_about_asked(size_t n, const char *const *words);

/** Tells it, on standard output: MF_USAGE where it is of a verb that is not there. */
int mf_about(size_t n, const char *const *words);

/** One line that identifies this build: ranks of one run must agree on it. */
const char *mf_about_build(void);

#endif
