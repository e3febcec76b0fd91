/* Words that kinds of servers share. Private to server.c and server_kinds.c. */
#ifndef MF_SLURM_SERVER_KINDS_H
#define MF_SLURM_SERVER_KINDS_H

#include "slurm/server.h"

/** Says a variable of the container, unless the user has given one of this name. */
void mf_server_say_default(struct mf_words *to, const struct mf_server *server, const char *name, const char *value);

#endif
