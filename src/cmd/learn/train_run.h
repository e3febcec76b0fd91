/* A training as a verb: from the dataset to the model, its plan, files and last words. */
#ifndef MF_CMD_LEARN_TRAIN_RUN_H
#define MF_CMD_LEARN_TRAIN_RUN_H

#include "src/cmd/learn/train_opts.h"

/** Additions to a training by a network that changes while it learns. Functions may be NULL; all are called on all
 * ranks, and refuse (agreed). */
struct mf_train_more {
    void *context;
    const char *course;                                      /* name of the picture of the course */
    int (*check)(void *context, struct mf_train_opts *opts); /* completes them, too */
    int (*may_write)(void *context, const struct mf_run *run);
    int (*begin)(void *context, struct mf_loop *loop); /* the trainer is open, and its weights are at their start */
    int (*end)(void *context, struct mf_loop *loop, struct mf_json *results); /* results: NULL, but on rank 0 */
    void (*close)(void *context);
    char *(*problem)(void *context); /* further lines "key: value"; the caller frees */
};

/** Trains. @p more: NULL: the network does not change. A run that goes on has its step in @p o. Collective. */
int mf_train_run(struct mf_session *session, struct mf_train_cmd *o, const struct mf_train_kind *kind,
                 const struct mf_train_more *more);

/** Refuses options; for a row's check. */
int mf_train_checked(const struct mf_session *session, void *options);

#endif
