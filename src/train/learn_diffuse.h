/* The task to remove noise of any level from samples, so that new ones can be made. It predicts numbers of deviation 1
 * at every level, so its loss is the share that it does not know.
 *
 * Two further tasks make of such a network, the teacher, a generator that needs one step. Both read conditions of
 * samples, and never the samples.
 *
 * The generator makes samples x of noise of level `start`. Noise is added to x, and two networks estimate x from that.
 * The teacher knows real samples, and the score network made ones. So the difference of their estimates says how x must
 * move to be more like real samples, and less like made ones.
 *
 * The score network learns to remove noise from what the generator makes, as the teacher did from samples.
 *
 * Each borrows the weights of the others. Source: T. Yin et al., "Improved distribution matching distillation for fast
 * image synthesis" (DMD2), arXiv:2405.14867, 2024. */
#ifndef MF_TRAIN_LEARN_DIFFUSE_H
#define MF_TRAIN_LEARN_DIFFUSE_H

#include "src/model/denoise.h"
#include "src/train/learn_show.h"

extern const struct mf_learn mf_learn_diffuse, mf_learn_one_step, mf_learn_made;
extern const struct mf_learn_show mf_show_diffuse;

/** How samples are moved at random before they get noise; a set of bits. Shifts are periodic. */
enum { MF_MOVE_SHIFT = 1, MF_MOVE_FLIP = 2, MF_MOVE_TURN = 4 };

/** The task on samples of a set. It takes @p denoise over. @p column [denoise->columns] of the set are its conditions.
 * mf_task_close() frees. */
struct mf_task mf_task_diffuse(const struct mf_dataset *set, struct mf_denoise denoise, const size_t *column,
                               unsigned moves);

/** The task of a generator. It has the conditions of its teacher, and starts at noise level @p start. mf_task_close()
 * frees. */
struct mf_task mf_task_one_step(const struct mf_task *teacher, double start);

/** The task of the score network beside a generator, to which it belongs. */
const struct mf_task *mf_task_score(const struct mf_task *generator);

/** The names of borrowed networks: of both by the generator, of the generator by the score network. */
#define MF_BORROWED_TEACHER   "teacher"
#define MF_BORROWED_SCORE     "score"
#define MF_BORROWED_GENERATOR "generator"

/** The task's conditions; they belong to the task. */
const struct mf_denoise *mf_task_denoiser(const struct mf_task *task);

/** Names of further inputs of a training [batch]: factors of a sample and of the noise, which the network sees. */
#define MF_DENOISE_IN_X     "in_x"
#define MF_DENOISE_IN_NOISE "in_noise"

#endif
