/* A training from its first step to its result: epochs, metrics, checkpoints, the best weights, early end.
 * Decisions rest on numbers that are the same on all ranks. */
#ifndef MF_TRAIN_LOOP_H
#define MF_TRAIN_LOOP_H

#include "src/run/monitor.h"
#include "src/run/problem.h"
#include "src/run/run.h"
#include "src/train/saved.h"

struct mf_loop {
    struct mf_trainer *trainer;
    struct mf_run *run;
    const char *problem;        /* what a checkpoint must share: lines "key: value" */
    size_t patience;            /* epochs without a better validation before the end; 0: never */
    size_t keep;                /* files of the last epochs' weights: model_epochN.safetensors */
    unsigned forms;             /* of metrics, MF_METRICS_... */
    struct mf_monitor *monitor; /* NULL: none */
    const char *start;          /* file of the weights at the start; NULL: none */
    /* called on rank 0 after every epoch that has a best one, with the metrics on disk; NULL: nothing */
    void (*drawn)(void *context, const struct mf_loop *loop);
    void *context;
    /* of a network that changes while it learns; NULL: it does not. stepped: after every step, on all ranks; refuses as
     * mf_trainer_rebuild(). listed: lists its state in a checkpoint, or takes it from one. */
    int (*stepped)(void *grown, struct mf_loop *loop, const struct mf_step *step);
    void (*listed)(void *grown, struct mf_checkpoint *checkpoint);
    /* after the scores of every epoch, on all ranks; refuses (agreed): changes the merit by which epochs are compared
     */
    int (*judged)(void *grown, struct mf_loop *loop, double *merit);
    int (*epoch_done)(void *grown, struct mf_loop *loop); /* after every epoch, on all ranks; refuses (agreed) */
    void *grown;
    /* how far it is: saved in checkpoints */
    long epoch, best_epoch, since; /* epochs done; the best of them, from 1; epochs since then */
    double best, best_loss;        /* its merit (struct mf_learn) and validation loss */
    double sum, rows;              /* losses of this epoch, weighted by rows, and rows */
    double seconds;                /* before this start */
    long ended;                    /* early */
    /* of this start */
    struct mf_keeper keeper;
    struct mf_metrics metrics;
    double began;
    size_t seen; /* samples */
    struct {
        double stepping;
        size_t seen;
    } mark[2];            /* the same some seconds ago, and fewer seconds ago */
    double sent, dropped; /* rows of this epoch, as in struct mf_step */
    size_t steps;         /* made */
    double stepping;      /* seconds in steps, without scores and checkpoints */
};

/** Runs until the last step or an early end. The weights are then the best ones, and the file of the run holds them
 * with their results: *results. Refuses (agreed) with MF_STOPPED when it leaves early and has saved itself, MF_INPUT,
 * MF_OUTPUT; MF_NUMERIC where gradients stay not finite, or no
 * epoch has a finite loss. Collective. */
int mf_loop_run(struct mf_loop *loop, struct mf_json **results);

/** "FOLDER/PICTURE" beside "FOLDER/model.safetensors", "FOLDER/NAME.PICTURE" beside "FOLDER/NAME.safetensors". The
 * caller frees. */
char *mf_loop_picture(const char *output, const char *picture);

/** Refuses (MF_OUTPUT) a training that would replace files of others: weights of epochs, tables, the last state. Local.
 */
int mf_loop_spares_others(const struct mf_loop *loop);

/** Removes what an earlier run of this output left: files of epochs, pictures, tables and, if its metrics were there,
 * event files. Files of others stay. Its model stays until this run writes its own. The metrics of the new run are
 * open. Rank 0. */
void mf_loop_clear(const struct mf_loop *loop, int had_metrics);

/** Refuses (MF_USAGE, MF_INPUT, MF_OUTPUT) a training that would replace a model of another one, or files of another
 * program. A finished one of the same problem @p problem, but for its steps, goes on with --restart auto, from
 * run->keeper.last. Before mf_loop_run(), in the run's name(). Collective. */
int mf_loop_spares(struct mf_run *run, const char *problem, const struct mf_dataset *set,
                   const struct mf_train_opts *opts);

/** Gives the model that is there another name, if mf_loop_spares() found that it stays: "model_earlier1.safetensors".
 * MF_OUTPUT. Rank 0. */
int mf_loop_put_aside(const struct mf_run *run);

/** Refuses (MF_OUTPUT) a model beside the checkpoint of the problem @p problem that is of another training.
 * Collective. */
int mf_loop_owns_model(const struct mf_run *run, const char *problem);

/** Is a finished training of the problem @p saved, made longer, this one? If not, the lines that differ. Local. */
int mf_loop_is_longer(const char *saved, const char *problem, char differs[MF_PROBLEM_TEXT]);

/** Samples of a step of the run that left a checkpoint or a model as @p output; 0: nothing says it. Collective. */
size_t mf_loop_step_of(const struct mf_comm *comm, const char *output);

/** Has an earlier training of this output left its model, a checkpoint or metrics? Collective. */
int mf_loop_was_here(const struct mf_run *run);

/** Does a model file say in its metadata that it is of this program? Local. */
int mf_loop_has_card(const char *path);

/** What a model file says of its results, with its "problem"; NULL: it is not the end of a run. The caller frees. */
struct mf_json *mf_loop_results(const char *path);

#endif
