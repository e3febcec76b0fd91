/* train classify, infer classify: to tell classes apart. */
#include "src/base/err.h"
#include "src/cmd/learn/infer_resident.h"
#include "src/cmd/learn/train_verb.h"
#include "src/train/learn_classify.h"

static int open(const struct mf_train_cmd *o, const struct mf_dataset *set, struct mf_task *task)
{
    *task = mf_task_classes(set->classes, (const mf_name *)set->class_name, o->smoothing);
    return MF_OK;
}

const struct mf_train_kind mf_train_classify = {.learn = &mf_learn_classify, .open = open};

MF_TRAIN_FUNCTIONS(classify)

const struct mf_opt mf_classify_rows[] = {MF_TRAIN_OWN_ROWS("results/classify", "cnn", MF_TRAIN_NETWORKS, NULL, NULL),
                                          MF_OPT_END};
static const struct mf_opt *const tables[] = {mf_classify_rows, mf_train_rows,  mf_label_rows,
                                              mf_log_view_rows, mf_common_opts, NULL};

const struct mf_cmd mf_cmd_train_classify =
    MF_TRAIN_VERB(classify, "tells the classes", "",
                  MF_TRAIN_TEXT "  mesoforge synth --num-samples 2000 --size 64 64 --output micro.h5\n"
                                "  mpirun -n 2 mesoforge train classify --data micro.h5 \\\n"
                                "      --arch cnn --results-dir run\n",
                  tables);

const struct mf_cmd mf_cmd_infer_classify =
    MF_INFER_VERB(classify, "tell the class",
                  "  mpirun -n 2 mesoforge infer classify run/model.safetensors micro.h5 \\\n"
                  "      --output predictions.csv\n");

const struct mf_resident_kind mf_resident_classify = MF_INFER_RESIDENT(classify);
