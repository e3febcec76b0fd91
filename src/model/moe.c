/* moe: a mixture of experts over a sample's numbers, or over the features that a cnn finds in its image. An expert is
 * an mlp with relu. So is the router, whose hidden columns are half as many as the inputs, and at most GATE_MOST.
 * Parameters: those of cnn without its head, gate.fc1, gate.fc2, experts.ID.fcI. */
#include "src/model/archs.h"

enum {
    CNN_WIDTH = 32,
    CNN_DEPTH = 3,
    GATE_MOST = 512 /* of a volume of 32 voxels an edge half of the inputs would be 540 million parameters */
};

static size_t gate_columns(size_t inputs) { return inputs < 2 * GATE_MOST ? (inputs + 1) / 2 : GATE_MOST; }

/* [n][..] -> [n][numbers] */
static int as_rows(struct mf_build *build, int x)
{
    const struct mf_shape all = mf_build_shape(build, x);

    return mf_build_reshape(build, x, (struct mf_shape){.n = 2, .d = {all.d[0], mf_shape_count(&all) / all.d[0]}});
}

static int forward(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs)
{
    struct mf_shape in = mf_build_shape(build, x);
    struct mf_experts first;
    const struct mf_mixture mixture = mf_arch_mixture(args, &first, (size_t)args->width, (size_t)args->depth, outputs);
    int scores;

    if (args->features == MF_FEATURES_CNN && mf_build_volume(build, in, "--features cnn", "--features none")) return -1;
    x = args->features == MF_FEATURES_CNN ? mf_cnn_features(build, x, CNN_WIDTH, CNN_DEPTH, args->dropout)
                                          : as_rows(build, x);
    in = mf_build_shape(build, x);
    scores = mf_build_linear(build, "gate.fc1", x, gate_columns(in.d[1]));
    scores = mf_build_scores(build, "gate.fc2", mf_build_one(build, MF_OP_RELU, "gate.act", scores), mixture.experts);
    return mf_build_experts(build, x, scores, &mixture);
}

const struct mf_arch mf_arch_moe = {.name = "moe",
                                    .summary =
                                        "a mixture of experts, over all numbers of a sample or features of a cnn",
                                    .standard = {.width = 256, .depth = 2, .experts = 8},
                                    .mixes = 1,
                                    .splits = 1,
                                    .rate = 0.001,
                                    .forward = forward};
