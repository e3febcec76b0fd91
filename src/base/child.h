/* Starts another program and waits for it.
 * Rule: a stop signal reaches the child and its group, and no child starts after it. */
#ifndef MF_BASE_CHILD_H
#define MF_BASE_CHILD_H

#include <stddef.h>

struct mf_child {
    char *const *words;       /* program, searched in PATH, and its arguments; NULL-terminated */
    const char *const *drops; /* prefixes of variables to remove from its environment; NULL-terminated */
    const char *more;         /* one additional variable, "NAME=VALUE"; NULL: none */
    double seconds;           /* time limit, after which it and its children are killed; 0: none */
    int quiet;                /* its messages are discarded; else they go where ours go */
    const char *errors;       /* or they go to this file; NULL: not */
};

/**
 * Runs a program. Returns its exit status (128 + n after signal n). -1: it exceeded the time limit. -2: it could not be
 * started, or its status is lost because SIGCHLD is ignored (errno says why). The text *output [heap; NULL: discarded]
 * is its output, with a terminating zero. Its standard input is empty. It leads a process group of its own, so a
 * terminal's signals reach only this process. They are passed on while mf_child_hold() is in force.
 */
int mf_child_run(const struct mf_child *child, char **output);

/** Until mf_child_let(), SIGINT, SIGQUIT, SIGTERM and SIGHUP do not end this process. They are recorded and passed on
 * once to the running child and its group, and no other child starts. Ignored signals stay ignored (nohup). */
void mf_child_hold(void);
void mf_child_let(void);

/** The recorded signal; 0: none. main() ends the process by it. */
int mf_child_heard(void);

/** MF_OK, or the refusal (MF_DEVICE) of a verb during which a signal was recorded. */
int mf_child_stopped(void);

/** Variables that launchers of ranks (mpirun, PMIx) set in their ranks' environment; the same with those of Slurm's
 * job. */
extern const char *const *const mf_child_ranks;
extern const char *const mf_child_job[];

/** Path of this program; "" if the system does not tell. @p path [room]. */
void mf_child_self(char *path, size_t room);

#endif
