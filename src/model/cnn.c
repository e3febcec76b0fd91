/* cnn: a residual network with group norms (He, Zhang, Ren, Sun, "Deep residual learning", 2016; Wu, He, "Group
 * normalization", 2018). A stem of 3x3 with stride 2, then stages of one block; each stage after the first halves the
 * image and doubles the channels. Parameters: stem, stages.S.conv1, norm1, conv2, norm2, skip, head. */
#include "src/model/archs.h"

enum { GROUPS = 8, MOST_STAGES = 16 };

/* As many groups as divide the channels, at most GROUPS. */
static int groups_of(size_t channels)
{
    int groups = GROUPS;

    while (channels % (size_t)groups) --groups;
    return groups;
}

static int norm(struct mf_build *build, const char *name, int x)
{
    const struct mf_shape shape = mf_build_shape(build, x);

    return mf_build_group_norm(build, name, x, groups_of(mf_shape_last(&shape)));
}

/* y = silu(norm2(conv2(silu(norm1(conv1 x)))) + skip x) */
static int block(struct mf_build *build, int x, size_t channels, int stride, double dropout)
{
    const struct mf_shape in = mf_build_shape(build, x);
    int y = norm(build, "norm1", mf_build_conv(build, "conv1", x, channels, 3, stride, 1));

    y = mf_build_dropout(build, "drop", mf_build_one(build, MF_OP_SILU, "act1", y), dropout);
    y = norm(build, "norm2", mf_build_conv(build, "conv2", y, channels, 3, 1, 1));
    if (stride != 1 || mf_shape_last(&in) != channels) x = mf_build_conv(build, "skip", x, channels, 1, stride, 0);
    return mf_build_one(build, MF_OP_SILU, "act2", mf_build_two(build, MF_OP_ADD, "sum", y, x));
}

/* [n][1][ny][nx][c] -> [n][ny][nx][c] */
static int image_of(struct mf_build *build, int x)
{
    const struct mf_shape s = mf_build_shape(build, x);

    return mf_build_reshape(build, x, (struct mf_shape){.n = 4, .d = {s.d[0], s.d[2], s.d[3], s.d[4]}});
}

int mf_cnn_map(struct mf_build *build, int x, size_t channels, long depth, double dropout)
{
    if (depth > MOST_STAGES) return mf_build_refuse(build, "a cnn has at most 16 stages (--depth)");
    x = norm(build, "stem.norm", mf_build_conv(build, "stem.conv", image_of(build, x), channels, 3, 2, 1));
    x = mf_build_one(build, MF_OP_SILU, "stem.act", x);
    for (long s = 0; s < depth; ++s, channels *= 2) {
        mf_build_block(build, "stages", s);
        x = block(build, x, channels, s > 0 ? 2 : 1, dropout);
    }
    mf_build_block(build, NULL, 0);
    return x;
}

/* The stem and all stages but the first one halve, rounded up. */
size_t mf_cnn_extent(size_t extent, long depth)
{
    for (long s = 0; s < depth && extent > 1; ++s) extent = (extent + 1) / 2;
    return extent;
}

int mf_cnn_features(struct mf_build *build, int x, size_t channels, long depth, double dropout)
{
    return mf_build_one(build, MF_OP_MEAN, "pool", mf_cnn_map(build, x, channels, depth, dropout));
}

static int forward(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_shape in = mf_build_shape(build, x);

    if (mf_build_volume(build, in, "--arch cnn", "--arch mlp")) return -1;
    x = mf_cnn_features(build, x, (size_t)args->width, args->depth, args->dropout);
    return mf_build_linear(build, "head", x, outputs);
}

const struct mf_arch mf_arch_cnn = {.name = "cnn",
                                    .summary = "a residual network with group norms, for images",
                                    .standard = {.width = 32, .depth = 3},
                                    .head = "head",
                                    .rate = 0.003,
                                    .forward = forward};
