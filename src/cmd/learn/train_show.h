/* The pictures of a training beside its model: training.png after epochs, confusion.png or predicted.png at its end.
 * Rule: a failed drawing is said once, and never ends a training. */
#ifndef MF_CMD_LEARN_TRAIN_SHOW_H
#define MF_CMD_LEARN_TRAIN_SHOW_H

#include "src/cmd/common.h"
#include "src/train/loop.h"

/** All zero: no pictures; every function then does nothing. */
struct mf_train_show {
    char *course, *scores; /* names of the pictures */
    char *metrics;         /* what the first is drawn from */
    char *model;           /* name of the model's file */
    double next;           /* the course is not drawn again before this time [s] */
    int is_old;            /* it lacks the last epochs */
    int failed;
};

/** Names the pictures of the run's model: @p course (training.png) and @p scores beside model.safetensors,
 * NAME.training.png beside NAME.safetensors. Refuses (agreed) with MF_OUTPUT a picture that cannot be written, or that
 * no earlier training of this output has left. Collective. */
int mf_train_show_open(const struct mf_session *session, const struct mf_run *run, const char *course,
                       const char *scores, struct mf_train_show *show);
void mf_train_show_close(struct mf_train_show *show);

/** For mf_loop.drawn, whose context is the show. Drawing takes at most a twentieth of the time. */
void mf_train_show_epoch(void *context, const struct mf_loop *loop);

/** At the end of the training: draws its course, and its scores on the test split, or else on validation. Collective.
 */
void mf_train_show_end(struct mf_train_show *show, struct mf_trainer *trainer);

#endif
