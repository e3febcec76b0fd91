/* The plan of a training that is about to run (planned.h). */
#ifndef MF_CMD_LEARN_TRAIN_PLAN_H
#define MF_CMD_LEARN_TRAIN_PLAN_H

#include "src/cmd/learn/train_opts.h"
#include "src/cmd/planned.h"

/** Plans the training: sets in @p opts what the options leave open. Where that is worth it, tries batches on the
 * samples themselves. As mf_planned_make(). */
int mf_train_plan_make(struct mf_session *session, const struct mf_train_cmd *o, const struct mf_dataset *set,
                       struct mf_train_opts *opts, struct mf_run_plan *plan);

/** For the check_plan of trainings (cmd.h), of mixtures where @p grows: compares what the samples do not decide. */
int mf_train_plan_ahead(const struct mf_session *session, const struct mf_train_cmd *o,
                        const struct mf_train_kind *kind, int grows, const char *path, size_t ranks);

/** Opens the trainer. Where a rank has less memory than planned, all ranks pass fewer samples at a time, and say so.
 * They do not if the user gave --batch-size. The caller closes it in every case. Collective; refuses (agreed). */
int mf_train_open(const struct mf_session *session, const struct mf_train_cmd *o, const struct mf_dataset *set,
                  struct mf_train_opts *opts, struct mf_trainer *trainer);

/** --dry-run: the steps of a training and its bytes, on standard output. Ranks share layers, or are stages, if the
 * run's plan says so. Where the steps do not fit, they become smaller as in mf_train_open(). Collective; refuses
 * (agreed) as the run would. */
int mf_train_dry(struct mf_session *session, const struct mf_train_cmd *o, const struct mf_dataset *set,
                 struct mf_train_opts *opts);

#endif
