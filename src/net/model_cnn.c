/* cnn: a residual network with group norms (He, Zhang, Ren, Sun, "Deep residual learning", 2016; Wu, He, "Group
 * normalization", 2018). A stem of 3x3 with stride 2, then stages of one block; each stage after the first halves the
 * image and doubles the channels. Parameters: stem, stages.S.conv1, norm1, conv2, norm2, skip, head. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/net/models.h"

enum { GROUPS = 8, MOST_STAGES = 16 };

/* As many groups as divide the channels, at most GROUPS. */
static int groups_of(size_t channels)
{
    int groups = GROUPS;

    while (channels % (size_t)groups) --groups;
    return groups;
}

static int part(struct mf_build *build, const char *block, const char *name, int x, size_t channels, size_t k,
                int stride)
{
    char *text = mf_format("%s.%s", block, name);
    const int y = mf_build_conv(build, text, x, channels, k, stride, (int)k / 2);

    free(text);
    return y;
}

static int norm(struct mf_build *build, const char *block, const char *name, int x, size_t channels)
{
    char *text = mf_format("%s.%s", block, name);
    const int y = mf_build_group_norm(build, text, x, groups_of(channels));

    free(text);
    return y;
}

static int silu(struct mf_build *build, const char *block, const char *name, int x)
{
    char *text = mf_format("%s.%s", block, name);
    const int y = mf_build_one(build, MF_OP_SILU, text, x);

    free(text);
    return y;
}

/* y = silu(norm2(conv2(silu(norm1(conv1 x)))) + skip x) */
static int block(struct mf_build *build, const char *name, int x, size_t channels, int stride, double dropout)
{
    const struct mf_shape in = mf_build_shape(build, x);
    char *sum = mf_format("%s.sum", name), *drop = mf_format("%s.drop", name);
    int y = part(build, name, "conv1", x, channels, 3, stride);

    y = silu(build, name, "act1", norm(build, name, "norm1", y, channels));
    y = mf_build_dropout(build, drop, y, dropout);
    y = norm(build, name, "norm2", part(build, name, "conv2", y, channels, 3, 1), channels);
    if (stride != 1 || mf_shape_last(&in) != channels) x = part(build, name, "skip", x, channels, 1, stride);
    y = silu(build, name, "act2", mf_build_two(build, MF_OP_ADD, sum, y, x));
    free(sum);
    free(drop);
    return y;
}

/* [n][1][ny][nx][c] -> [n][ny][nx][c] */
static int image_of(struct mf_build *build, int x)
{
    const struct mf_shape s = mf_build_shape(build, x);

    return mf_build_reshape(build, x, (struct mf_shape){.n = 4, .d = {s.d[0], s.d[2], s.d[3], s.d[4]}});
}

static int forward(struct mf_build *build, int x, const struct mf_model_args *args, size_t outputs)
{
    const struct mf_shape in = mf_build_shape(build, x);
    size_t channels = (size_t)args->width;

    if (in.d[1] != 1)
        return mf_build_refuse(build, "--arch cnn reads images, and the samples are volumes; try: --arch mlp");
    if (args->depth > MOST_STAGES) return mf_build_refuse(build, "--arch cnn has at most 16 stages (--depth)");
    x = silu(build, "stem", "act",
             norm(build, "stem", "norm", part(build, "stem", "conv", image_of(build, x), channels, 3, 2), channels));
    for (long s = 0; s < args->depth; ++s, channels *= 2) {
        char *name = mf_format("stages.%ld", s);

        build->segment = (int)s + 1;
        x = block(build, name, x, channels, s > 0 ? 2 : 1, args->dropout);
        free(name);
    }
    build->segment = 0;
    return mf_build_linear(build, "head", mf_build_one(build, MF_OP_MEAN, "pool", x), outputs);
}

const struct mf_model mf_model_cnn = {.name = "cnn",
                                      .summary = "a residual network with group norms, for images",
                                      .standard = {.width = 32, .depth = 3},
                                      .rate = 0.003,
                                      .forward = forward};
