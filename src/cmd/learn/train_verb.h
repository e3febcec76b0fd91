/* Rows of verbs that train a network for one kind of task, and that apply it. A kind's file has them beside its
 * struct mf_train_kind. */
#ifndef MF_CMD_LEARN_TRAIN_VERB_H
#define MF_CMD_LEARN_TRAIN_VERB_H

#include "src/cmd/learn/infer.h"
#include "src/cmd/learn/train_plan.h"
#include "src/cmd/learn/train_run.h"
#include "src/cmd/log_view.h"

/** The kinds that train_kinds.c lists. */
extern const struct mf_train_kind mf_train_classify, mf_train_regress, mf_train_diffuse, mf_train_vqa;

extern const char *const mf_train_names[];

#define MF_TRAIN_TEXT                                                                                                \
    "Ranks share the samples of a step and sum gradients while backward still runs. The result does not depend on "  \
    "the numbers of ranks, passes and readers. After every epoch the network is scored on the validation split. "    \
    "model.safetensors in --results-dir holds the weights of the best epoch, and what eval and infer need to build " \
    "the network. A run that was stopped or killed continues with --restart auto, also on another number of "        \
    "ranks.\n\n"

/** Functions of the verbs "train KIND" and "infer KIND" with the row mf_train_KIND. */
#define MF_TRAIN_FUNCTIONS(kind)                                                                        \
    static int train_run(struct mf_session *s, void *options)                                           \
    {                                                                                                   \
        return mf_train_run(s, options, &mf_train_##kind, NULL);                                        \
    }                                                                                                   \
    static int train_ahead(const struct mf_session *s, const void *options, const char *path, size_t n) \
    {                                                                                                   \
        return mf_train_plan_ahead(s, options, &mf_train_##kind, 0, path, n);                           \
    }                                                                                                   \
    static int infer_run(struct mf_session *s, void *options)                                           \
    {                                                                                                   \
        return mf_infer_run(s, options, mf_train_##kind.learn, NULL);                                   \
    }                                                                                                   \
    static int infer_check(const struct mf_session *s, void *options)                                   \
    {                                                                                                   \
        return mf_infer_check(s, options, "infer " #kind);                                              \
    }

#define MF_TRAIN_VERB(kind, what, target, text_, tables_)                                                              \
    {                                                                                                                  \
        .name = "train " #kind, .summary = "train a network that " what " of microstructures",                         \
        .synopsis = "--data FILE.h5 " target "[--arch cnn] [--results-dir DIR] [OPTION VALUE ...]", .text = (text_),   \
        .tables = (tables_), .keys = mf_train_keys, .size = sizeof(struct mf_train_cmd), .adopt = mf_train_adopt,      \
        .check = mf_train_checked, .check_plan = train_ahead, .run = train_run, .work = MF_WORK_GPUS, .in_library = 1, \
        .remedy = "a smaller --batch-size, or --recompute blocks", .writes = 1, .checkpoints = 1,                      \
        .names = mf_train_names, .small = mf_train_small,                                                              \
    }

#define MF_INFER_VERB(kind, what, example)                                                                            \
    {                                                                                                                 \
        .name = "infer " #kind, .summary = what " of microstructures by a trained model",                             \
        .synopsis = "MODEL.safetensors FILE ... [--threshold otsu] [--output predictions.csv]",                       \
        .text =                                                                                                       \
            MF_INFER_TEXT "  mesoforge infer " #kind " run/model.safetensors steel.png --threshold otsu\n" example,   \
        .tables = mf_infer_tables, .size = sizeof(struct mf_infer_cmd), .positional_max = 4096, .check = infer_check, \
        .run = infer_run, .work = MF_WORK_CORES, .in_library = 1, .remedy = "a smaller --batch-size",                 \
    }

#endif
