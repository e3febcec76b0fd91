/* Two trainings that take turns and borrow each other's weights. They are those of a generator and of its score
 * network, which makes several steps after each of the generator. Both start with the weights of the teacher. */
#ifndef MF_TRAIN_DISTIL_H
#define MF_TRAIN_DISTIL_H

#include "src/train/loop.h"

struct mf_distil {
    struct mf_trainer *generator;
    struct mf_trainer score;
    size_t bad;       /* its last steps whose gradients were not finite */
    double sum, rows; /* its losses since the last mf_distil_loss(), weighted by rows, and rows */
};

/** Opens the score network beside a generator, whose options have `beside` and whose weights are those of its teacher.
 * Refuses (agreed) as mf_trainer_open(). mf_distil_close() closes in every case; all zero is accepted. Collective. */
int mf_distil_open(struct mf_trainer *generator, struct mf_distil *distil);
void mf_distil_close(struct mf_distil *distil);

/** Makes the steps of the score network that follow one of the generator. Refuses (agreed) with MF_INPUT; MF_NUMERIC
 * where its gradients stay not finite. Collective. */
int mf_distil_stepped(struct mf_distil *distil);

/** Lists the state of the score network in a checkpoint, or fills it from one. As mf_trainer_keep(). */
void mf_distil_listed(struct mf_distil *distil, struct mf_checkpoint *checkpoint);

/** Mean loss of the score network since the last call; NAN: it has made no step. */
double mf_distil_loss(struct mf_distil *distil);

#endif
