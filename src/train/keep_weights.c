/* See train.h: a trainer in checkpoints. */
#include <stdlib.h>

#include "src/base/text.h"
#include "src/train/train.h"

/* What is held is loaded whole. */
static void keep(const struct mf_trainer *t, const char *before, struct mf_checkpoint *checkpoint, int v,
                 enum mf_state state)
{
    static const char *const role[] = {"parameters", "first", "second", "average"};
    const struct mf_value *value = &t->network.net->value[v];
    const struct mf_shape whole = mf_value_whole(value);
    char *name = mf_format("%s%s/%s", before, role[state], value->name);
    struct mf_span part;
    struct mf_runs runs;
    float *at = mf_weights_part(&t->weights, v, state, !mf_checkpoint_loads(checkpoint), &part, &runs);
    const struct mf_piece piece = {.name = name,
                                   .type = MF_F32,
                                   .ndim = 1,
                                   .dims = {mf_shape_count(&whole)},
                                   .cut = 0,
                                   .first = part.first,
                                   .count = part.count,
                                   .chunk = runs.chunk,
                                   .stride = runs.stride,
                                   .from = runs.from,
                                   .at = at,
                                   .stage = t->network.layout.offload ? NULL : &t->network.stage};

    mf_checkpoint_array(checkpoint, &piece);
    free(name);
}

static void keep_int(struct mf_checkpoint *checkpoint, const char *before, const char *name, long *value)
{
    char *full = mf_format("%s%s", before, name);

    mf_checkpoint_int(checkpoint, full, value);
    free(full);
}

static void keep_scale(struct mf_scale *scale, const char *before, struct mf_checkpoint *checkpoint)
{
    char *name = mf_format("%sscale/value", before);

    mf_checkpoint_real(checkpoint, name, &scale->value);
    keep_int(checkpoint, before, "scale/clean", &scale->clean);
    keep_int(checkpoint, before, "scale/left", &scale->left);
    keep_int(checkpoint, before, "scale/lost", &scale->lost);
    free(name);
}

/* Its reader goes on from the step that is loaded. */
static void keep_steps(struct mf_trainer *t, const char *before, struct mf_checkpoint *checkpoint)
{
    long step = (long)t->step, skipped = (long)t->skipped;

    keep_int(checkpoint, before, "step", &step);
    keep_int(checkpoint, before, "skipped", &skipped);
    if (!mf_checkpoint_loads(checkpoint)) return;
    t->step = (size_t)step;
    t->skipped = (size_t)skipped;
    t->wanted = t->step * t->micro;
}

void mf_trainer_keep(struct mf_trainer *t, const char *before, struct mf_checkpoint *checkpoint)
{
    const struct mf_net *net = t->network.net;

    keep_steps(t, before, checkpoint);
    if (t->opts.scale.window) keep_scale(&t->scale, before, checkpoint);
    for (size_t v = 0; v < net->values; ++v)
        for (int state = 0; mf_value_is_weight(&net->value[v]) && state < MF_STATES; ++state)
            if (mf_weights_has(&t->weights, (int)v, (enum mf_state)state))
                keep(t, before, checkpoint, (int)v, (enum mf_state)state);
    if (mf_checkpoint_loads(checkpoint)) mf_weights_masters(&t->weights, 1);
}
