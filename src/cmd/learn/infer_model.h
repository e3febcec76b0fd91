/* A network of ours that stays loaded between questions of infer. It has its weights, and the memory of a batch.
 * Rule: who opens it closes it. All functions but mf_infer_model_streams() are collective. */
#ifndef MF_CMD_LEARN_INFER_MODEL_H
#define MF_CMD_LEARN_INFER_MODEL_H

#include "src/cmd/learn/crew.h"
#include "src/cmd/learn/infer.h"
#include "src/cmd/learn/infer_show.h"

struct mf_infer_model {
    /* the caller sets, and keeps: */
    struct mf_session *session;
    const struct mf_infer_cmd *o;
    const char *path;
    const struct mf_infer_maker *maker; /* of another network than that of a crew; NULL: none */
    /* the functions set: */
    struct mf_crew crew;
    struct mf_model *run; /* of the crew */
    struct mf_run_plan plan;
    struct mf_infer_net net;
    const struct mf_model_card *card;
    struct mf_task task;
    size_t batch, voxels, outputs;
    void *tile;
    float *output; /* of a batch */
};

/** Makes the crew, and reads what the model is. Refuses (agreed) another kind than @p learn. mf_infer_model_close() in
 * any case. */
int mf_infer_model_begin(struct mf_infer_model *model, const struct mf_learn *learn);

/** Are weights elsewhere than on the device, so that a plan says which? Local. */
int mf_infer_model_streams(const struct mf_infer_model *model);

/** Reads the weights. @p beside: bytes of the caller's arrays in host memory, for the plan. Refuses (agreed) with
 * MF_INPUT, MF_MEMORY, MF_DEVICE. */
int mf_infer_model_load(struct mf_infer_model *model, size_t beside);
void mf_infer_model_close(struct mf_infer_model *model);

/** Who gets predictions, which stay until take() returns. It refuses as it likes, agreed. */
struct mf_infer_taker {
    int (*take)(void *context, const struct mf_predictions *predictions);
    void *context;
};

/** Asks a loaded model about files, by the options of a verb. Prints what the verb does. Then the taker gets all
 * answers; NULL: nobody does. Refuses (agreed). */
int mf_infer_ask(struct mf_infer_model *model, const void *options, const char *const *files, size_t count,
                 const struct mf_infer_taker *taker);

#endif
