/* See train.h: weights and moments in checkpoints. */
#include <stdlib.h>

#include "src/base/text.h"
#include "src/train/train.h"

/* What is held is loaded whole. */
static void keep(const struct mf_trainer *t, struct mf_checkpoint *checkpoint, int v, enum mf_state state)
{
    static const char *const role[] = {"parameters", "first", "second", "average"};
    const struct mf_value *value = &t->network.net->value[v];
    char *name = mf_format("%s/%s", role[state], value->name);
    struct mf_span part;
    float *at = mf_weights_part(&t->weights, v, state, !mf_checkpoint_loads(checkpoint), &part);
    const struct mf_piece piece = {.name = name,
                                   .type = MF_F32,
                                   .ndim = 1,
                                   .dims = {mf_shape_count(&value->shape)},
                                   .cut = 0,
                                   .first = part.first,
                                   .count = part.count,
                                   .at = at,
                                   .stage = t->network.layout.offload ? NULL : &t->network.stage};

    mf_checkpoint_array(checkpoint, &piece);
    free(name);
}

void mf_trainer_keep(const struct mf_trainer *t, struct mf_checkpoint *checkpoint)
{
    const struct mf_net *net = t->network.net;

    for (size_t v = 0; v < net->values; ++v)
        for (int state = 0; mf_value_is_weight(&net->value[v]) && state < MF_STATES; ++state)
            if (mf_weights_has(&t->weights, (int)v, (enum mf_state)state))
                keep(t, checkpoint, (int)v, (enum mf_state)state);
    if (mf_checkpoint_loads(checkpoint)) mf_weights_masters(&t->weights, 1);
}
