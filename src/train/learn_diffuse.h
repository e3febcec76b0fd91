/* The task to remove noise of any level from samples, so that new ones can be made. It predicts numbers of deviation 1
 * at every level, so its loss is the share that it does not know. */
#ifndef MF_TRAIN_LEARN_DIFFUSE_H
#define MF_TRAIN_LEARN_DIFFUSE_H

#include "src/model/denoise.h"
#include "src/train/learn_show.h"

extern const struct mf_learn mf_learn_diffuse;
extern const struct mf_learn_show mf_show_diffuse;

/** How samples are moved at random before they get noise; a set of bits. Shifts are periodic. */
enum { MF_MOVE_SHIFT = 1, MF_MOVE_FLIP = 2, MF_MOVE_TURN = 4 };

/** The task on samples of a set. It takes @p denoise over. @p column [denoise->columns] of the set are its conditions.
 * mf_task_close() frees. */
struct mf_task mf_task_diffuse(const struct mf_dataset *set, struct mf_denoise denoise, const size_t *column,
                               unsigned moves);

/** The task's conditions; they belong to the task. */
const struct mf_denoise *mf_task_denoiser(const struct mf_task *task);

/** Names of further inputs of a training [batch]: factors of a sample and of the noise, which the network sees. */
#define MF_DENOISE_IN_X     "in_x"
#define MF_DENOISE_IN_NOISE "in_noise"

#endif
