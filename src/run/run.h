/* A long run around one output: the names of its files, its lock, what is refused before any work, whether an earlier
 * run has finished it, and what stays at its end. A client brings the work as callbacks. The rule: no file of another
 * run is touched before the lock is held. */
#ifndef MF_RUN_RUN_H
#define MF_RUN_RUN_H

#include "io/lock.h"
#include "src/base/json.h"
#include "src/run/keeper.h"

struct mf_run {
    const struct mf_comm *comm;
    const char *output;           /* path of the file that the run makes */
    const char *again;            /* the command that goes on with this run; NULL: the same with --restart auto */
    const char *part;             /* what parts are called that save themselves on their own: "candidate" */
    size_t parts;                 /* how many; 1: the run saves itself as a whole */
    struct mf_keeper_opts keeper; /* when to save and to leave; the run adds its names */
    char problem[16];             /* its number, hexadecimal, once the client has named it */
    /* the run's own */
    char *stem, *metrics, *stop_file, *save_file;
    struct mf_lock lock;
};

/** The work. All are collective and refuse alike on all ranks, but `results`. */
struct mf_run_client {
    /** May the output be written, and does it spare the inputs? */
    int (*may_write)(void *context, struct mf_run *run);
    /** Fills run->problem. It knows no plan: a run that has ended already needs none. */
    int (*name)(void *context, struct mf_run *run);
    /** What the output says of the run that wrote it, with the "problem"; NULL: nothing. The caller frees. Rank 0. */
    struct mf_json *(*results)(const char *output);
    /** Plans and works, to the output on disk. *results: the object that the run prints and that the output holds, with
     * the problem. */
    int (*work)(void *context, struct mf_run *run, struct mf_json **results);
};

/**
 * Runs the client, unless keeper.restart is set and the output holds the results of the same problem: then *results is
 * what that run said, on rank 0. Checkpoints are removed at a good end. From now on signals ask the run to leave.
 * Collective; refuses (agreed) with MF_OUTPUT (another run holds the lock, no checkpoint could be written) or as the
 * client does.
 */
int mf_run_do(struct mf_run *run, const struct mf_run_client *client, void *context, struct mf_json **results);

/** The `results` of a client that writes HDF5 or VTKHDF (the other files of io/micro.h say nothing of their run). */
struct mf_json *mf_run_results_h5(const char *output);

/** Where part @p k saves itself (0: run->stem); the caller frees. */
char *mf_run_stem(const struct mf_run *run, size_t k);

#endif
