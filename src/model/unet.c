/* See unet.h. The U-Net is that of Dhariwal, Nichol, "Diffusion models beat GANs on image synthesis", 2021. Parameters
 * have the names of Karras and others, "Elucidating the design space of diffusion-based generative models", 2022. Level
 * l has 2^-l of the pixels at a side, and (l + 1) width channels. A level has a way down to it, or a convolution, then
 * blocks. Then it has a way up to it, or two blocks in the middle, and one block more. These get what the encoder gave,
 * last first. */
#include "src/model/unet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/model/archs.h"

enum {
    WIDER = 4,   /* columns of the embedding of the noise, in widths */
    GROUPS = 32, /* of channels, at most */
    LEAST = 4,   /* channels of a group */
    HEAD = 64,   /* channels of a head */
    MOST_WIDTH = 1 << 16,
    MOST_LEVELS = 8,
    MOST_BLOCKS = 16,
    MOST_PATCH = 16,
    MOST_PARTS = MOST_LEVELS * (2 * MOST_BLOCKS + 3) + 1
};

/* A layer of the encoder or the decoder: the first convolution, or a block. */
struct part {
    char name[40];
    size_t in, out; /* channels */
    size_t height, width;
    int is_conv;
    int periodic;        /* its images are */
    int halves, doubles; /* the image */
    int attention;
    int joins; /* it also gets what the encoder gave */
};

struct plan {
    size_t height, width; /* of level 0 */
    size_t channels;      /* of what the next part gets */
    int periodic;
    size_t encoders, parts;
    struct part part[MOST_PARTS];
};

/* -- which parts there are -- */

static struct part *add(struct plan *plan, const char *coder, long level, const char *name, size_t out)
{
    struct part *p = &plan->part[plan->parts++];

    *p = (struct part){.in = plan->channels,
                       .out = out,
                       .height = plan->height >> level,
                       .width = plan->width >> level,
                       .periodic = plan->periodic};
    snprintf(p->name, sizeof p->name, "model.%s.%zux%zu_%s", coder, p->height, p->width, name);
    plan->channels = out;
    return p;
}

static void add_blocks(struct plan *plan, const char *coder, long level, long count, const struct mf_arch_args *args)
{
    for (long k = 0; k < count; ++k) {
        char name[16];
        struct part *p;

        snprintf(name, sizeof name, "block%d", (int)k);
        p = add(plan, coder, level, name, (size_t)(level + 1) * (size_t)args->width);
        p->attention = mf_max(p->height, p->width) <= (size_t)args->attention;
    }
}

static void add_encoder(struct plan *plan, const struct mf_arch_args *args)
{
    for (long level = 0; level < args->depth; ++level) {
        if (level == 0)
            add(plan, "enc", level, "conv", (size_t)args->width)->is_conv = 1;
        else
            add(plan, "enc", level, "down", plan->channels)->halves = 1;
        add_blocks(plan, "enc", level, args->blocks, args);
    }
    plan->encoders = plan->parts;
}

static void add_decoder(struct plan *plan, const struct mf_arch_args *args)
{
    size_t left = plan->encoders;

    for (long level = args->depth; level-- > 0;) {
        size_t first;

        if (level == args->depth - 1) {
            add(plan, "dec", level, "in0", plan->channels)->attention = 1;
            add(plan, "dec", level, "in1", plan->channels);
        } else {
            add(plan, "dec", level, "up", plan->channels)->doubles = 1;
        }
        first = plan->parts;
        add_blocks(plan, "dec", level, args->blocks + 1, args);
        for (size_t k = first; k < plan->parts; ++k) {
            plan->part[k].joins = 1;
            plan->part[k].in += plan->part[--left].out;
        }
    }
}

static void find_parts(const struct mf_arch_args *args, size_t height, size_t width, size_t channels, int periodic,
                       struct plan *plan)
{
    const size_t edge = (size_t)args->patch;

    *plan = (struct plan){
        .height = height / edge, .width = width / edge, .channels = channels * edge * edge, .periodic = periodic};
    add_encoder(plan, args);
    add_decoder(plan, args);
}

/* -- what it refuses -- */

static int groups_of(size_t channels) { return (int)mf_min(GROUPS, channels / LEAST); }

static int has_groups(size_t channels)
{
    return groups_of(channels) > 0 && channels % (size_t)groups_of(channels) == 0;
}

/* Are all channels whole groups? Sines and cosines of the noise are as many. */
static int fits(struct mf_arch_args args, long width)
{
    struct plan plan;
    int fits = width > 0 && width % 2 == 0;

    args.width = width;
    find_parts(&args, (size_t)1 << MOST_LEVELS, (size_t)1 << MOST_LEVELS, 1, 0, &plan);
    for (size_t k = 1; fits && k < plan.parts; ++k) /* the first is the convolution */
        fits = has_groups(plan.part[k].in) && has_groups(plan.part[k].out);
    return fits;
}

static int check_width(const struct mf_arch_args *args)
{
    long near = 0;

    if (args->width > MOST_WIDTH)
        return mf_fail(MF_USAGE, "--width %ld: a unet has at most %d channels at its first level", args->width,
                       MOST_WIDTH);
    if (fits(*args, args->width)) return MF_OK;
    while (!fits(*args, args->width - near) && !fits(*args, args->width + near)) ++near;
    if (!fits(*args, args->width - near)) near = -near;
    return mf_fail(MF_USAGE,
                   "--width %ld: some layers have channels that norms cannot divide into groups; try: --width %ld",
                   args->width, args->width - near);
}

/* The multiple of @p step that is nearest. */
static size_t nearest(size_t extent, size_t step) { return mf_max((extent + step / 2) / step, 1) * step; }

static int check(const struct mf_arch_args *args, size_t height, size_t width)
{
    size_t step;

    if (args->depth > MOST_LEVELS || args->blocks > MOST_BLOCKS || args->patch > MOST_PATCH)
        return mf_fail(MF_USAGE,
                       "--depth %ld, --blocks %ld, --patch %ld: a unet has at most %d levels of %d blocks, and patches "
                       "of %d pixels",
                       args->depth, args->blocks, args->patch, MOST_LEVELS, MOST_BLOCKS, MOST_PATCH);
    step = (size_t)args->patch << (args->depth - 1);
    if (height % step || width % step)
        return mf_fail(MF_USAGE,
                       "images of %zu x %zu pixels: a unet with --patch %ld and --depth %ld wants multiples of %zu; "
                       "the nearest are %zu x %zu",
                       height, width, args->patch, args->depth, step, nearest(height, step), nearest(width, step));
    return check_width(args);
}

/* -- layers -- */

static int norm(struct mf_build *build, const char *name, int x)
{
    const struct mf_shape shape = mf_build_shape(build, x);

    return mf_build_group_norm(build, name, x, groups_of(mf_shape_last(&shape)));
}

static int resample(struct mf_build *build, const char *name, int x, const struct part *p)
{
    if (p->halves) return mf_build_one(build, MF_OP_POOL, name, x);
    return p->doubles ? mf_build_one(build, MF_OP_UPSAMPLE, name, x) : x;
}

/* Heads of at least HEAD channels, all alike. */
static int heads_of(size_t channels)
{
    size_t heads = mf_max(channels / HEAD, 1);

    while (channels % heads) --heads;
    return (int)heads;
}

/* Rows of the weights are q, k, v of the first channel, then those of the second. */
static int attention(struct mf_build *build, int x)
{
    const struct mf_shape image = mf_build_shape(build, x);
    const size_t n = image.d[0], pixels = image.d[1] * image.d[2], c = mf_shape_last(&image);
    int y = mf_build_conv(build, "qkv", norm(build, "norm2", x), 3 * c, 1, 1, 0);

    y = mf_build_reshape(build, y, (struct mf_shape){.n = 3, .d = {n * pixels, c, 3}});
    y = mf_build_transpose(build, "turn", y, 1, 2);
    y = mf_build_reshape(build, y, (struct mf_shape){.n = 3, .d = {n, pixels, 3 * c}});
    y = mf_build_attention(build, "attention", y, -1, -1, (struct mf_attr){.heads = heads_of(c)});
    y = mf_build_conv(build, "proj", mf_build_reshape(build, y, image), c, 1, 1, 0);
    mf_build_zero(build);
    return mf_build_two(build, MF_OP_ADD, "out", x, y);
}

/* 3 x 3 pixels, to an image of equal extents. */
static int conv(struct mf_build *build, const char *name, int x, size_t channels, int periodic)
{
    return (periodic ? mf_build_conv_periodic : mf_build_conv)(build, name, x, channels, 3, 1, 1);
}

/* @p given: by the encoder, -1: nothing. The modulation comes before the second norm, so that both become one node. */
static int block(struct mf_build *build, const struct part *p, int x, int given, int embedding, double dropout)
{
    const int both[] = {x, given};
    int modulation, h;

    mf_build_block(build, p->name, -1);
    if (given >= 0) x = mf_build_concat(build, "join", 2, both, 3);
    modulation = mf_build_linear(build, "affine", embedding, 2 * p->out);
    h = mf_build_one(build, MF_OP_SILU, "act0", norm(build, "norm0", x));
    h = conv(build, "conv0", resample(build, "resample0", h, p), p->out, p->periodic);
    h = mf_build_two(build, MF_OP_MODULATE, "modulate", norm(build, "norm1", h), modulation);
    h = mf_build_dropout(build, "drop", mf_build_one(build, MF_OP_SILU, "act1", h), dropout);
    h = conv(build, "conv1", h, p->out, p->periodic);
    mf_build_zero(build);
    x = resample(build, "resample", x, p);
    if (p->in != p->out) x = mf_build_conv(build, "skip", x, p->out, 1, 1, 0);
    h = mf_build_two(build, MF_OP_ADD, p->attention ? "sum" : "out", h, x);
    return p->attention ? attention(build, h) : h;
}

/* Class and columns, without a bias. */
static int label(struct mf_build *build, int condition, size_t columns)
{
    const struct mf_shape shape = mf_build_shape(build, condition);
    const struct mf_shape weight = {.type = MF_F32, .n = 2, .d = {columns, mf_shape_last(&shape)}};
    const int in[] = {condition, mf_build_parameter(build, "map_label.weight", weight, MF_START_NORMAL, 1)};

    return mf_build_node(build, MF_OP_LINEAR, (struct mf_attr){0}, "map_label", 2, in);
}

/* All blocks are told the level of the noise, and the condition. */
static int embed(struct mf_build *build, const struct mf_arch_denoise *in, size_t columns)
{
    int e;

    mf_build_block(build, "model", -1);
    e = mf_build_one(build, MF_OP_SILU, "map_act0", mf_build_linear(build, "map_layer0", in->noise, columns));
    e = mf_build_linear(build, "map_layer1", e, columns);
    if (in->condition >= 0) e = mf_build_two(build, MF_OP_ADD, "map_sum", e, label(build, in->condition, columns));
    return mf_build_one(build, MF_OP_SILU, "map_act1", e);
}

/* Blocks of edge x edge pixels become channels: [n][ny][nx][c] -> [n][ny / edge][nx / edge][edge edge c]. */
static int patches(struct mf_build *build, int x, size_t edge)
{
    const struct mf_shape s = mf_build_shape(build, x);
    const size_t n = s.d[0], ny = s.d[2] / edge, nx = s.d[3] / edge, c = s.d[4];

    if (edge > 1) {
        x = mf_build_reshape(build, x, (struct mf_shape){.n = 4, .d = {n * ny, edge, nx, edge * c}});
        x = mf_build_transpose(build, "patches", x, 1, 2);
    }
    return mf_build_reshape(build, x, (struct mf_shape){.n = 4, .d = {n, ny, nx, edge * edge * c}});
}

/* And back, to the shape @p s. */
static int pixels(struct mf_build *build, int x, size_t edge, struct mf_shape s)
{
    if (edge > 1) {
        x = mf_build_reshape(
            build, x, (struct mf_shape){.n = 4, .d = {s.d[0] * s.d[2] / edge, s.d[3] / edge, edge, edge * s.d[4]}});
        x = mf_build_transpose(build, "pixels", x, 1, 2);
    }
    return mf_build_reshape(build, x, s);
}

/* -- the network -- */

static int all_parts(struct mf_build *build, const struct plan *plan, int x, int embedding, double dropout)
{
    int given[MOST_PARTS];
    size_t left = plan->encoders;

    for (size_t k = 0; k < plan->parts; ++k) {
        const struct part *p = &plan->part[k];

        if (p->is_conv)
            x = conv(build, p->name, x, p->out, p->periodic);
        else
            x = block(build, p, x, p->joins ? given[--left] : -1, embedding, dropout);
        if (k < plan->encoders) given[k] = x;
    }
    return x;
}

static int build_all(struct mf_build *build, const struct mf_arch_denoise *in, const struct mf_arch_args *args,
                     int periodic)
{
    const struct mf_shape shape = mf_build_shape(build, in->x);
    struct plan plan;
    int embedding, x;

    if (build->rc != MF_OK || mf_build_volume(build, shape, "a unet", "slices of them")) return -1;
    build->rc = check(args, shape.d[2], shape.d[3]);
    if (build->rc != MF_OK) return -1;
    find_parts(args, shape.d[2], shape.d[3], shape.d[4], periodic, &plan);
    embedding = embed(build, in, WIDER * (size_t)args->width);
    mf_build_block(build, NULL, 0);
    x = patches(build, in->x, (size_t)args->patch);
    x = all_parts(build, &plan, x, embedding, args->dropout);
    mf_build_block(build, "model", -1);
    x = mf_build_one(build, MF_OP_SILU, "out_act", norm(build, "out_norm", x));
    x = conv(build, "out_conv", x, (size_t)(args->patch * args->patch) * shape.d[4], periodic);
    mf_build_zero(build);
    mf_build_block(build, NULL, 0);
    return pixels(build, x, (size_t)args->patch, shape);
}

static int denoise(struct mf_build *build, const struct mf_arch_denoise *in, const struct mf_arch_args *args)
{
    return build_all(build, in, args, 0);
}

static int denoise_periodic(struct mf_build *build, const struct mf_arch_denoise *in, const struct mf_arch_args *args)
{
    return build_all(build, in, args, 1);
}

/* -- beside it -- */

static void describe(const struct plan *plan, size_t k, const char *name, struct mf_unet_tap *tap)
{
    const struct part *p = &plan->part[k];

    *tap = (struct mf_unet_tap){.channels = p->out, .height = p->height, .width = p->width};
    if (name)
        snprintf(tap->name, sizeof tap->name, "%s", name);
    else if (k < plan->encoders)
        snprintf(tap->name, sizeof tap->name, "encoder_block_%d", (int)k);
    else
        snprintf(tap->name, sizeof tap->name, "decoder_block_%d", (int)(k - plan->encoders));
    snprintf(tap->node, sizeof tap->node, "%s%s", p->name, p->is_conv ? "" : ".out");
}

int mf_unet_taps(const struct mf_arch_args *args, size_t height, size_t width, struct mf_unet_tap **tap, size_t *count)
{
    struct plan plan;
    struct mf_unet_tap *t;

    MF_TRY(check(args, height, width));
    find_parts(args, height, width, 1, 0, &plan);
    *tap = t = MF_MUST(calloc(plan.parts + 2, sizeof *t), "layers");
    for (size_t k = 0; k < plan.parts; ++k) {
        describe(&plan, k, NULL, t++);
        if (k + 1 == plan.encoders) describe(&plan, k, "encoder_bottleneck", t++);
        if (k == plan.encoders) describe(&plan, k, "midblock", t++);
    }
    *count = plan.parts + 2;
    return MF_OK;
}

void mf_unet_noise(double c_noise, size_t width, float *to)
{
    const size_t half = width / 2;

    for (size_t i = 0; i < half; ++i) {
        const double angle = c_noise * pow(1e4, -(double)i / (double)half);

        to[i] = (float)cos(angle);
        to[half + i] = (float)sin(angle);
    }
}

const struct mf_arch mf_arch_unet = {.name = "unet",
                                     .summary = "a U-Net that removes noise from images",
                                     .standard = {.width = 24, .depth = 2, .patch = 2, .blocks = 1, .attention = 8},
                                     .rate = 0.002,
                                     .denoise = denoise};

const struct mf_arch mf_arch_unet_periodic = {
    .name = "unet-periodic",
    .summary = "the same for periodic images: what is beyond a border is what is at the opposite one",
    .standard = {.width = 24, .depth = 2, .patch = 2, .blocks = 1, .attention = 8},
    .rate = 0.002,
    .denoise = denoise_periodic};

/* -- the network of published weights -- */

static int denoise_adm(struct mf_build *build, const struct mf_arch_denoise *in, const struct mf_arch_args *args)
{
    const struct mf_arch_args *own = &mf_arch_adm.standard;
    const struct mf_shape x = mf_build_shape(build, in->x), c = mf_build_shape(build, in->condition);
    const int sizes = args->width == own->width && args->depth == own->depth && args->patch == own->patch &&
                      args->blocks == own->blocks && args->attention == own->attention;

    if (build->rc != MF_OK) return -1;
    if (!sizes)
        return mf_build_refuse(build,
                               "--arch adm-imagenet64 has the sizes of its published weights; others: --arch unet");
    if (x.d[1] != 1 || x.d[2] != 64 || x.d[3] != 64 || x.d[4] != 3 || in->condition < 0 || c.d[1] != 1000)
        return mf_build_refuse(build, "--arch adm-imagenet64 makes images of 64 x 64 pixels with 3 channels, of 1000 "
                                      "classes; others: --arch unet");
    return denoise(build, in, args);
}

const struct mf_arch mf_arch_adm = {.name = "adm-imagenet64",
                                    .summary =
                                        "the U-Net of weights that were published for ImageNet in 64 x 64 pixels",
                                    .standard = {.width = 192, .depth = 4, .patch = 1, .blocks = 3, .attention = 32},
                                    .rate = 2e-6,
                                    .denoise = denoise_adm};
