/* What the program says about itself: help, man pages, versions. */
#ifndef MF_CMD_ABOUT_H
#define MF_CMD_ABOUT_H

#include "src/cmd/cmd.h"

/** Overview of the verbs (NULL-terminated). */
void mf_about_program(const struct mf_cmd *const *verbs);
void mf_about_verb(const struct mf_cmd *verb);

/** The same as roff: mesoforge(1), mesoforge-VERB(1). */
void mf_about_program_man(const struct mf_cmd *const *verbs);
void mf_about_verb_man(const struct mf_cmd *verb);

/** Version of the program and of everything it stands on. */
void mf_about_version(void);

/** One line that identifies this build: ranks of one run must agree on it. */
const char *mf_about_build(void);

#endif
