/* train regress, infer regress: to predict real values. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/cmd/learn/infer_resident.h"
#include "src/cmd/learn/train_verb.h"
#include "src/train/learn_regress.h"

static int meant(const struct mf_train_cmd *o) { return o->columns.count > 0; }

static int open(const struct mf_train_cmd *o, const struct mf_dataset *set, struct mf_task *task)
{
    size_t *column = MF_MUST(calloc(set->reals + 1, sizeof *column), "columns"), n;
    const int rc = mf_train_columns(o, set, &n, column);

    if (rc == MF_OK) *task = mf_task_columns(set, n, column);
    free(column);
    return rc;
}

const struct mf_train_kind mf_train_regress = {.learn = &mf_learn_regress,
                                               .meant = meant,
                                               .open = open,
                                               .lacks = "label-smoothing",
                                               .why = "it is of classes, and --target predicts values"};

MF_TRAIN_FUNCTIONS(regress)

static const struct mf_opt rows[] = {MF_TRAIN_OWN_ROWS("results/regress", "cnn", MF_TRAIN_NETWORKS, NULL, NULL),
                                     MF_OPT_END};
static const struct mf_opt *const tables[] = {rows,           mf_train_rows, mf_column_rows, mf_log_view_rows,
                                              mf_common_opts, NULL};

const struct mf_cmd mf_cmd_train_regress =
    MF_TRAIN_VERB(regress, "predicts properties", "[--target COLUMN ...] ",
                  MF_TRAIN_TEXT "  mesoforge train regress --data micro.h5 \\\n"
                                "      --target interface_density --results-dir run\n",
                  tables);

const struct mf_cmd mf_cmd_infer_regress = MF_INFER_VERB(regress, "predict properties", "");

const struct mf_resident_kind mf_resident_regress = MF_INFER_RESIDENT(regress);
