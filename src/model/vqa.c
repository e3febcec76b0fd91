/* See vqa.h. Cells of the image's last feature map, tokens and objects are rows of one width. Two layers of attention
 * follow: cells read tokens, tokens read cells and objects, objects read tokens. Each takes what the layer before gave.
 * Then means over cells, tokens, objects and the last feature map are summed, with what the boxes say. A feed-forward
 * layer and the heads follow. Findings come from what is seen before any attention.
 *
 * Parameters of the towers begin with image. and text. Those of rows are visual.proj, norm, position, level, pool,
 * and objects.box, norm, position. All boxes have objects.see, words, ask, read. Layers have
 * cross.I.STREAM.query, key, value, output, norm. Then come joint.fc1, fc2, norm, and heads.H.fc1, fc2. */
#include "src/model/vqa.h"

#include <stdio.h>

#include "src/base/err.h"
#include "src/model/archs.h"

enum { LAYERS = 2, WIDER = 4, BOX = 6 }; /* of attention; hidden columns, in widths; numbers of an object */

struct asker {
    struct mf_build *b;
    const struct mf_arch_ask *in;
    const struct mf_arch_args *args;
    size_t n, width; /* n: images */
};

/* -- towers -- */

static int cnn_map(struct mf_build *build, int x, const struct mf_arch_args *args)
{
    return mf_cnn_map(build, x, (size_t)args->width, args->depth, args->dropout);
}

static size_t cnn_extent(size_t extent, const struct mf_arch_args *args) { return mf_cnn_extent(extent, args->depth); }

const struct mf_image_tower mf_image_towers[] = {
    [MF_IMAGE_CNN] = {cnn_map, cnn_extent}, [MF_IMAGE_CONVNEXT] = {mf_convnext_map, mf_convnext_extent}};

/* -- rows -- */

/* x [n][rows][columns] of images becomes that of their questions: [n each][rows][columns]. */
static int for_each(struct asker *a, const char *name, int x)
{
    const struct mf_shape of = mf_build_shape(a->b, x);
    const size_t each = a->in->each;
    int in[MF_INS];

    if (each == 1) return x;
    x = mf_build_reshape(a->b, x, (struct mf_shape){.type = of.type, .n = 3, .d = {of.d[0], 1, of.d[1] * of.d[2]}});
    for (size_t k = 0; k < each; ++k) in[k] = x;
    return mf_build_reshape(a->b, mf_build_concat(a->b, name, each, in, 1),
                            (struct mf_shape){.type = of.type, .n = 3, .d = {of.d[0] * each, of.d[1], of.d[2]}});
}

static int norm_of_sum(struct asker *a, const char *name, int x, int y)
{
    char text[64];

    snprintf(text, sizeof text, "%s.sum", name);
    return mf_build_layer_norm(a->b, name, mf_build_two(a->b, MF_OP_ADD, text, x, y));
}

/* What the image tower gives: [n][rows][columns][channels]. */
static int map_of(struct asker *a)
{
    const char *before = a->b->network;
    int map;

    a->b->network = "image";
    map = mf_image_towers[a->args->image].map(a->b, a->in->x, a->args);
    a->b->network = before;
    return map;
}

/* [rows][width]: what tells rows apart by their order. */
static int positions(struct asker *a, const char *name, size_t rows)
{
    return mf_build_parameter(a->b, name, (struct mf_shape){.type = MF_F32, .n = 2, .d = {rows, a->width}},
                              MF_START_NORMAL, 0.02);
}

/* [n][cells][width] */
static int cells_of(struct asker *a, int map)
{
    const struct mf_shape of = mf_build_shape(a->b, map);
    const size_t cells = of.d[1] * of.d[2];
    int x = mf_build_reshape(a->b, map, (struct mf_shape){.n = 3, .d = {a->n, cells, of.d[3]}});

    x = mf_build_layer_norm(a->b, "visual.norm", mf_build_linear(a->b, "visual.proj", x, a->width));
    return mf_build_two(a->b, MF_OP_ADD, "visual.sum", x, positions(a, "visual.position", cells));
}

/* [n][1][width]: the mean of every channel of the image and of its map, which norms hide. With two phases the first is
 * their fraction. */
static int level_of(struct asker *a, int map)
{
    const int image = mf_build_one(a->b, MF_OP_MEAN, "visual.channels", a->in->x);
    const int x = mf_build_linear(a->b, "visual.level", image, a->width);
    const int pool =
        mf_build_linear(a->b, "visual.pool", mf_build_one(a->b, MF_OP_MEAN, "visual.features", map), a->width);

    return mf_build_reshape(a->b, mf_build_two(a->b, MF_OP_ADD, "visual.levels", x, pool),
                            (struct mf_shape){.n = 3, .d = {a->n, 1, a->width}});
}

/* [n][objects][width]: features of the cells under each, its box, and its place among them: the largest comes first. */
static int objects_of(struct asker *a, int cells)
{
    const int under = mf_build_matmul(a->b, "objects.region", a->in->region, cells, 0);

    const int x = norm_of_sum(a, "objects.norm", under, mf_build_linear(a->b, "objects.box", a->in->object, a->width));

    return mf_build_two(a->b, MF_OP_ADD, "objects.placed", x, positions(a, "objects.position", a->in->objects));
}

/* [m][rows][..] -> [m][..] */
static int flat(struct asker *a, int x)
{
    const struct mf_shape of = mf_build_shape(a->b, x);

    return mf_build_reshape(a->b, x, (struct mf_shape){.type = of.type, .n = 2, .d = {of.d[0], of.d[1] * of.d[2]}});
}

/* [m][1][rows] [m][rows][width] -> [m][width] */
static int mean_of(struct asker *a, const char *name, int share, int rows)
{
    return flat(a, mf_build_matmul(a->b, name, share, rows, 0));
}

/* Gives [n each][width]: features of all boxes times numbers of a question. A sum of both learns late which phase and
 * direction are asked. Rows of words alone are @p words [n each][length][width]. The encoder norms its rows. Then a
 * rare word hardly counts. */
static int boxes_of(struct asker *a, int words)
{
    const size_t wide = WIDER * a->width, objects = a->in->objects;
    const int asked = mf_build_layer_norm(a->b, "objects.words", mean_of(a, "objects.asked", a->in->word_share, words));
    int x = mf_build_reshape(a->b, a->in->object, (struct mf_shape){.n = 3, .d = {a->n, 1, objects * BOX}});

    x = mf_build_one(a->b, MF_OP_GELU, "objects.act", mf_build_linear_first(a->b, "objects.see", x, 1, wide));
    x = mf_build_two(a->b, MF_OP_MUL, "objects.chosen", flat(a, for_each(a, "objects.seen", x)),
                     mf_build_linear_first(a->b, "objects.ask", asked, 1, wide));
    return mf_build_linear_second(a->b, "objects.read", x, wide, a->width);
}

/* -- attention -- */

/* x [n][rows][width] reads the rows @p from that @p seen leaves (-1: all). */
static int read_rows(struct asker *a, const char *stream, int x, int from, int seen)
{
    const struct mf_attr heads = {.heads = (int)((size_t)a->args->heads / mf_build_sharers(a->b))};
    char name[7][40];
    static const char *const part[] = {"query", "key_value", "key", "value", "attention", "output", "norm"};
    int q, kv, y;

    for (int i = 0; i < 7; ++i) snprintf(name[i], sizeof name[i], "%s.%s", stream, part[i]);
    q = mf_build_linear_first(a->b, name[0], x, 1, a->width);
    kv = mf_build_linear_first_parts(a->b, name[1], 2, (const char *const[]){name[2], name[3]}, from, a->width);
    y = mf_build_attention(a->b, name[4], q, kv, seen, heads);
    y = mf_build_linear_second(a->b, name[5], y, a->width, a->width);
    return norm_of_sum(a, name[6], x, mf_vqa_dropout(a->b, a->in, stream, y, a->args->dropout));
}

/* Rows of cells, tokens and objects (-1: there are none). */
struct streams {
    int cells, tokens, objects;
};

/* Cells and objects. Where an object is not there, its row says so. */
static int scene_of(struct asker *a, const struct streams *x)
{
    if (x->objects < 0) return x->cells;
    return mf_build_concat(a->b, "scene", 2, (const int[]){x->cells, x->objects}, 1);
}

static struct streams cross(struct asker *a, struct streams x)
{
    for (int i = 0; i < LAYERS; ++i) {
        struct streams y = {-1, -1, -1};

        mf_build_block(a->b, "cross", i);
        y.cells = read_rows(a, "visual", x.cells, x.tokens, a->in->seen);
        y.tokens = read_rows(a, "text", x.tokens, scene_of(a, &x), -1);
        if (x.objects >= 0) y.objects = read_rows(a, "objects", x.objects, x.tokens, a->in->seen);
        x = y;
    }
    mf_build_block(a->b, NULL, 0);
    return x;
}

/* -- heads -- */

/* @p boxes: boxes_of(); -1: there are none */
static int joined(struct asker *a, const struct streams *x, int level, int boxes)
{
    const int cells = mf_build_one(a->b, MF_OP_MEAN, "joint.cells", x->cells);
    int y = mf_build_two(a->b, MF_OP_ADD, "joint.two", cells, mean_of(a, "joint.tokens", a->in->word_share, x->tokens));
    int z;

    if (x->objects >= 0) {
        const int share = for_each(a, "joint.share", a->in->object_share);

        y = mf_build_two(a->b, MF_OP_ADD, "joint.all", y, mean_of(a, "joint.objects", share, x->objects));
        y = mf_build_two(a->b, MF_OP_ADD, "joint.with_boxes", y, boxes);
    }
    y = mf_build_two(a->b, MF_OP_ADD, "joint.with_level", y, flat(a, for_each(a, "joint.level", level)));
    z = mf_build_one(a->b, MF_OP_GELU, "joint.act", mf_build_linear_first(a->b, "joint.fc1", y, 1, WIDER * a->width));
    z = mf_build_linear_second(a->b, "joint.fc2", z, WIDER * a->width, a->width);
    z = mf_vqa_dropout(a->b, a->in, "joint", z, a->args->dropout);
    return norm_of_sum(a, "joint.norm", y, z);
}

static int head(struct asker *a, size_t number, int x)
{
    mf_build_block(a->b, "heads", (long)number);
    x = mf_build_one(a->b, MF_OP_RELU, "act", mf_build_linear(a->b, "fc1", x, a->width));
    x = mf_vqa_dropout(a->b, a->in, "drop", x, a->args->dropout);
    x = mf_build_linear(a->b, "fc2", x, a->in->outputs[number]);
    mf_build_block(a->b, NULL, 0);
    return x;
}

static int check(struct asker *a)
{
    const struct mf_arch_args *args = a->args;
    char text[160];

    if (mf_build_volume(a->b, mf_build_shape(a->b, a->in->x), "--arch vqa", "slices of them")) return -1;
    if (args->text_width % args->heads == 0) return a->b->rc == MF_OK ? 0 : -1;
    snprintf(text, sizeof text, "--text-width %ld is no multiple of --heads %ld; try: --text-width %ld",
             args->text_width, args->heads, (args->text_width / args->heads + 1) * args->heads);
    return mf_build_refuse(a->b, text);
}

static void ask(struct mf_build *build, const struct mf_arch_ask *in, const struct mf_arch_args *args, int output[])
{
    struct asker a = {build, in, args, mf_build_shape(build, in->x).d[0], (size_t)args->text_width};
    struct streams x = {-1, -1, -1};
    int map, level, seen, both, words, boxes = -1;

    if (check(&a)) return;
    map = map_of(&a);
    level = level_of(&a, map);
    x.cells = cells_of(&a, map);
    x.tokens = mf_vqa_text_tower(build, in, args, &words);
    if (in->objects > 0) {
        x.objects = objects_of(&a, x.cells);
        boxes = boxes_of(&a, words);
    }
    seen = mf_build_two(build, MF_OP_ADD, "visual.both", mf_build_one(build, MF_OP_MEAN, "visual.mean", x.cells),
                        flat(&a, level));
    x.cells = for_each(&a, "visual.each", x.cells);
    if (x.objects >= 0) x.objects = for_each(&a, "objects.each", x.objects);
    x = cross(&a, x);
    both = joined(&a, &x, level, boxes);
    for (size_t h = 0; h < in->heads; ++h)
        if (in->outputs[h]) output[h] = head(&a, h, h + 1 < in->heads ? both : seen);
}

const struct mf_arch mf_arch_vqa = {
    .name = "vqa",
    .summary = "a network that answers questions: an image tower, a text encoder, and attention between them",
    .standard = {.width = 16, .depth = 3, .heads = 4, .text_width = 64, .text_depth = 1},
    .splits = 1,
    .head = "heads",
    .rate = 0.001,
    .ask = ask};
