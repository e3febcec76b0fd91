/* Samples that train unet makes after every epoch, beside the validation split. */
#ifndef MF_CMD_LEARN_UNET_MADE_H
#define MF_CMD_LEARN_UNET_MADE_H

#include "src/cmd/learn/train_run.h"
#include "src/desc/set_measures.h"
#include "src/train/distil.h"

struct mf_unet_made {
    const struct mf_train_cmd *o;
    struct mf_trainer *trainer;
    struct mf_set_shape shape;
    double low[MF_SET_PARTS], high[MF_SET_PARTS];
    struct mf_set_measures *real, *made; /* real: of the validation split; NULL: nothing is compared */
    struct mf_distil distil;             /* with a teacher */
};

/** The additions to a training; their context is @p made, which has o alone. */
struct mf_train_more mf_unet_made_more(struct mf_unet_made *made);

#endif
