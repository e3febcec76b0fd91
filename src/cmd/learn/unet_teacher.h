/* train unet --teacher: a generator of one step, from a network that removes noise. */
#ifndef MF_CMD_LEARN_UNET_TEACHER_H
#define MF_CMD_LEARN_UNET_TEACHER_H

#include "src/cmd/learn/train_opts.h"

/** Takes the network of the teacher's file, and what suits a distillation where it was not given. Refuses with
 * MF_INPUT, MF_USAGE. Local. */
int mf_unet_adopt(struct mf_options *options, const char *teacher);

/** Refuses options that make no distillation: MF_USAGE. Local. */
int mf_unet_check_teacher(const struct mf_train_cmd *o);

/** The task of the generator that the options mean on @p set: MF_USAGE, MF_INPUT. mf_task_close() frees. Local. */
int mf_unet_teach(const struct mf_train_cmd *o, const struct mf_dataset *set, struct mf_task *task);

/** Warns of options without effect. */
void mf_unet_unused(const struct mf_session *session, const struct mf_train_cmd *o);

#endif
