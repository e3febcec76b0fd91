/* Starts another program and waits for it.
 * Rule: a stop signal reaches the child and its group, and no child starts after it. */
#ifndef MF_BASE_CHILD_H
#define MF_BASE_CHILD_H

#include <stddef.h>

struct mf_child {
    char *const *words;       /* program, looked for in PATH, and its arguments; NULL-terminated */
    const char *const *drops; /* begins of variables that its environment goes without; NULL-terminated */
    const char *more;         /* one variable more, "NAME=VALUE"; NULL: none */
    double seconds;           /* then it is killed, and all it has started; 0: it may take as long as it likes */
    int quiet;                /* its sentences go nowhere; else where ours go */
    const char *errors;       /* or into this file; NULL: not */
};

/**
 * Runs it: its exit status (128 + n after signal n), -1: it did not end in time, -2: it could not be started, or its
 * end is lost, as ends are where SIGCHLD is ignored (errno says why). *output [heap; NULL: it goes nowhere]: what it
 * printed, ended by a zero. Its standard input is empty. It is the head of a process group of its own: a terminal's
 * signals come to this process alone, which passes them on while it holds them.
 */
int mf_child_run(const struct mf_child *child, char **output);

/** Until mf_child_let() SIGINT, SIGQUIT, SIGTERM and SIGHUP end nothing here: they are noted, go on to the child that
 * runs and its group, once, and no other starts. What is ignored stays so (nohup). */
void mf_child_hold(void);
void mf_child_let(void);

/** The signal that was noted, 0: none. main() ends the process by it. */
int mf_child_heard(void);

/** MF_OK, or the refusal (MF_DEVICE) of a verb that a signal was noted in. */
int mf_child_stopped(void);

/** What launchers of ranks (mpirun, PMIx) leave in the environment of the ranks that they start; the same and Slurm's
 * job. */
extern const char *const *const mf_child_ranks;
extern const char *const mf_child_job[];

/** Its own program's path, "" where the system does not say it; @p path [room]. */
void mf_child_self(char *path, size_t room);

#endif
