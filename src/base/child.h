/* Another program, started and waited for. */
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
 * printed, ended by a zero. Its standard input is empty. Without a time limit a terminal's SIGINT and SIGQUIT are the
 * child's affair meanwhile, SIGTERM and SIGHUP are passed on to it, and mf_child_heard() says which one came.
 */
int mf_child_run(const struct mf_child *child, char **output);

/** The signal that came to this process while the last one without a time limit ran; 0: none. */
int mf_child_heard(void);

/** What launchers of ranks (mpirun, PMIx) leave in the environment of the ranks that they start; the same and Slurm's
 * job. */
extern const char *const *const mf_child_ranks;
extern const char *const mf_child_job[];

/** Its own program's path, "" where the system does not say it; @p path [room]. */
void mf_child_self(char *path, size_t room);

#endif
