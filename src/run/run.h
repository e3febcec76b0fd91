/* A long run with one output: names of its files, its lock, early refusals, and what remains at its end. It knows
 * whether an earlier run has finished it. A client does the work in callbacks.
 * Rule: no file of another run is touched before the lock is held. */
#ifndef MF_RUN_RUN_H
#define MF_RUN_RUN_H

#include "io/lock.h"
#include "src/base/json.h"
#include "src/run/keeper.h"

struct mf_run {
    const struct mf_comm *comm;
    const char *output; /* path of the file that the run makes */
    const char *again;  /* the command that continues this run; NULL: the same with --restart auto */
    const char *part;   /* the name of parts that save themselves separately: "candidate" */
    size_t parts;       /* number of parts; 1: the run saves itself as a whole */
    int aside;          /* name() found: the output that is there will get another name, and is not replaced */
    struct mf_keeper_opts keeper; /* when to save and to leave; the run adds its names */
    char problem[16];             /* hash of the problem, hexadecimal, after name() */
    /* the run's own */
    char *stem, *metrics, *stop_file, *save_file;
    char *last; /* NAME.last.h5: a client may leave there the state from which a longer run goes on */
    struct mf_lock lock;
};

/** The work. All callbacks but `results` are collective, and refuse alike on all ranks. */
struct mf_run_client {
    /** May the output be written, without replacing an input? */
    int (*may_write)(void *context, struct mf_run *run);
    /** Fills run->problem, without a plan: a run that is already complete needs none. */
    int (*name)(void *context, struct mf_run *run);
    /** Facts of the output about the run that wrote it, with the "problem"; NULL: there are none. The caller frees.
     * Rank 0. */
    struct mf_json *(*results)(const char *output);
    /** Plans, and works until the output is on disk. The run prints the object *results and stores it in the output,
     * with the problem. */
    int (*work)(void *context, struct mf_run *run, struct mf_json **results);
};

/**
 * Runs the client. With keeper.restart, if the output holds the results of the same problem, it does nothing. Then
 * *results is what that run reported, on rank 0. A successful run removes its checkpoints. From now on signals ask the
 * run to leave. Collective; refuses (agreed) as the client does, or with MF_OUTPUT. That is so if another run holds the
 * lock, or if no checkpoint could be written.
 */
int mf_run_do(struct mf_run *run, const struct mf_run_client *client, void *context, struct mf_json **results);

/** Refuses with MF_USAGE a run whose output has checkpoints of a run that has not ended. With --restart the user says
 * what becomes of them. Refuses with MF_OUTPUT checkpoints that would replace files of other programs. mf_run_do() does
 * so, too. Who makes several runs calls it before the first. Collective. */
int mf_run_spares(const struct mf_run *run);

/** The `results` of a client that writes HDF5 or VTKHDF. Other files of io/micro.h state nothing of their run. */
struct mf_json *mf_run_results_h5(const char *output);

/** Where part @p k saves itself (0: run->stem); the caller frees. */
char *mf_run_stem(const struct mf_run *run, size_t k);

#endif
