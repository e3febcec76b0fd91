/* vit: a transformer on patches of an image (Dosovitskiy et al., "An image is worth 16x16 words", 2021), with norms in
 * front and a mean over patches. Parameters as timm: patch_embed.proj, pos_embed, blocks.I.norm1, attn.qkv, attn.proj,
 * norm2, mlp.fc1, mlp.fc2, norm, head. With --experts a mixture of experts stands in place of the mlp of each block:
 * gate, experts.ID.fc1, fc2. */
#include <stdio.h>

#include "src/model/archs.h"

enum { WIDER = 4 }; /* hidden columns of a block's mlp, in widths */

static int mlp(struct mf_build *build, int x, const struct mf_arch_args *args)
{
    const size_t width = (size_t)args->width;
    struct mf_experts first;
    struct mf_mixture mixture;

    if (args->experts == 0) {
        x = mf_build_one(build, MF_OP_GELU, "mlp.act", mf_build_linear_first(build, "mlp.fc1", x, 1, WIDER * width));
        return mf_build_linear_second(build, "mlp.fc2", x, WIDER * width, width);
    }
    mixture = mf_arch_mixture(args, &first, WIDER * width, 1, width);
    return mf_build_experts(build, x, mf_build_scores(build, "gate", x, mixture.experts), &mixture);
}

static int block(struct mf_build *build, int x, const struct mf_arch_args *args)
{
    const size_t width = (size_t)args->width;
    const struct mf_attr heads = {.heads = (int)((size_t)args->heads / mf_build_sharers(build))};
    int y = mf_build_linear_first(build, "attn.qkv", mf_build_layer_norm(build, "norm1", x), 3, width);

    y = mf_build_attention(build, "attn", y, -1, -1, heads);
    y = mf_build_linear_second(build, "attn.proj", y, width, width);
    x = mf_build_two(build, MF_OP_ADD, "attn.sum", x, mf_build_dropout(build, "attn.drop", y, args->dropout));
    y = mlp(build, mf_build_layer_norm(build, "norm2", x), args);
    return mf_build_two(build, MF_OP_ADD, "mlp.sum", x, mf_build_dropout(build, "mlp.drop", y, args->dropout));
}

/* Patches in rows: [n][patches][width], and their positions. */
static int patches(struct mf_build *build, int x, const struct mf_arch_args *args)
{
    const struct mf_shape in = mf_build_shape(build, x);
    const size_t edge = (size_t)args->patch, width = (size_t)args->width, count = in.d[2] / edge * (in.d[3] / edge);
    const struct mf_shape places = {.type = MF_F32, .n = 2, .d = {count, width}};
    int position;

    x = mf_build_reshape(build, x, (struct mf_shape){.n = 4, .d = {in.d[0], in.d[2], in.d[3], in.d[4]}});
    x = mf_build_conv(build, "patch_embed.proj", x, width, edge, (int)edge, 0);
    x = mf_build_reshape(build, x, (struct mf_shape){.n = 3, .d = {in.d[0], count, width}});
    position = mf_build_parameter(build, "pos_embed", places, MF_START_NORMAL, 0.02);
    return mf_build_two(build, MF_OP_ADD, "positions", x, position);
}

static int refuse_width(struct mf_build *build, const struct mf_arch_args *args)
{
    char text[160];

    snprintf(text, sizeof text, "--width %ld is no multiple of --heads %ld; try: --width %ld", args->width, args->heads,
             (args->width / args->heads + 1) * args->heads);
    return mf_build_refuse(build, text);
}

static int refuse_patch(struct mf_build *build, size_t height, size_t width, size_t patch)
{
    size_t fits = patch;
    char text[160];

    while (height % fits || width % fits) --fits;
    snprintf(text, sizeof text, "--patch %zu does not divide images of %zu x %zu; try: --patch %zu", patch, height,
             width, fits);
    return mf_build_refuse(build, text);
}

static int forward(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_shape in = mf_build_shape(build, x);

    if (mf_build_volume(build, in, "--arch vit", "--arch mlp")) return -1;
    if (args->width % args->heads) return refuse_width(build, args);
    if (in.d[2] % (size_t)args->patch || in.d[3] % (size_t)args->patch)
        return refuse_patch(build, in.d[2], in.d[3], (size_t)args->patch);
    x = patches(build, x, args);
    for (long i = 0; i < args->depth; ++i) {
        mf_build_block(build, "blocks", i);
        x = block(build, x, args);
    }
    mf_build_block(build, NULL, 0);
    x = mf_build_one(build, MF_OP_MEAN, "pool", mf_build_layer_norm(build, "norm", x));
    return mf_build_linear(build, "head", x, outputs);
}

const struct mf_arch mf_arch_vit = {.name = "vit",
                                    .summary = "a transformer on patches of an image",
                                    .standard = {.width = 128, .depth = 4, .heads = 4, .patch = 8},
                                    .mixes = 1,
                                    .splits = 1,
                                    .head = "head",
                                    .rate = 0.001,
                                    .forward = forward};
