/* See build.h. */
#include "src/net/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/text.h"

int mf_name_in(const char *name, const char *parts)
{
    for (size_t n; parts && *parts; parts += n + (parts[n] == ',')) {
        n = strcspn(parts, ",");
        if (n > 0 && strncmp(name, parts, n) == 0 && (name[n] == '\0' || name[n] == '.')) return 1;
    }
    return 0;
}

int mf_build_end(const struct mf_build *build) { return build->rc; }

static int refused(struct mf_build *build, int rc)
{
    build->rc = rc;
    return -1;
}

int mf_build_refuse(struct mf_build *build, const char *sentence)
{
    return build->rc == MF_OK ? refused(build, mf_fail(MF_USAGE, "%s", sentence)) : -1;
}

int mf_build_volume(struct mf_build *build, struct mf_shape sample, const char *what, const char *other)
{
    char text[320], planes[160] = "";

    if (sample.d[1] == 1) return 0;
    if (sample.d[1] <= MF_FEW && sample.d[1] < sample.d[2])
        snprintf(planes, sizeof planes,
                 " of %zu planes; if these are channels, they come last: numpy.moveaxis(x, 1, -1); else",
                 (size_t)sample.d[1]);
    snprintf(text, sizeof text, "%s reads images, and the samples are volumes%s try: %s", what, *planes ? planes : ";",
             other);
    return mf_build_refuse(build, text);
}

struct mf_shape mf_build_shape(const struct mf_build *build, int v)
{
    return v >= 0 ? build->list->net->value[v].shape : (struct mf_shape){.type = MF_F32, .n = 1, .d = {1}};
}

void mf_build_block(struct mf_build *build, const char *name, long number)
{
    build->block = name;
    build->number = number;
    mf_build_segment(build, name != NULL);
}

void mf_build_segment(struct mf_build *build, int is_new) { build->segment = is_new ? ++build->list->segments : 0; }

char *mf_build_name(const struct mf_build *build, const char *name)
{
    const char *network = build->network ? build->network : "", *dot = build->network ? "." : "";

    if (!build->block) return mf_format("%s%s%s", network, dot, name);
    if (build->number < 0) return mf_format("%s%s%s.%s", network, dot, build->block, name);
    return mf_format("%s%s%s.%ld.%s", network, dot, build->block, build->number, name);
}

int mf_build_input(struct mf_build *build, const char *name, struct mf_shape shape)
{
    return mf_value_new(build->list->net, MF_ROLE_INPUT, shape, "%s", name);
}

/* Experts are born and go, and ranks share them: they are trained. */
static int set_of(struct mf_build *build, const char *name)
{
    if (build->set == MF_SET_BALANCE || !mf_name_in(name, build->freeze)) return build->set;
    if (build->set == MF_SET_EXPERTS) mf_build_refuse(build, "--freeze: experts cannot be frozen; leave them out");
    return MF_SET_FROZEN;
}

int mf_build_parameter(struct mf_build *build, const char *name, struct mf_shape shape, enum mf_start start,
                       double spread)
{
    struct mf_net *net = build->list->net;
    char *full;
    int v;

    if (build->rc != MF_OK) return -1;
    full = mf_build_name(build, name);
    v = mf_value_find(net, full);
    if (v < 0 || net->value[v].role != MF_ROLE_PARAMETER) {
        v = mf_weight_new(net, shape, start, spread, full);
        net->value[v].weight->set = set_of(build, full);
    } else if (memcmp(&net->value[v].shape, &shape, sizeof shape) != 0) {
        v = refused(build, mf_fail(MF_USAGE, "parameter '%s' is used with two shapes", full));
    }
    free(full);
    return v;
}

void mf_build_zero(struct mf_build *build)
{
    const struct mf_list *list = build->list;

    for (int i = 0; build->rc == MF_OK && i < MF_INS; ++i) {
        const int v = list->node[list->nodes - 1].in[i];

        if (v < 0 || !mf_value_is_weight(&list->net->value[v])) continue;
        list->net->value[v].weight->start = MF_START_NUMBER;
        list->net->value[v].weight->spread = 0;
    }
}

int mf_build_part(struct mf_build *build, const char *name, int stack, size_t shift, struct mf_shape shape, int away)
{
    struct mf_net *net = build->list->net;
    char *full;
    int v;

    if (build->rc != MF_OK) return -1;
    full = mf_build_name(build, name);
    if (set_of(build, full) == MF_SET_FROZEN && net->value[stack].weight->set != MF_SET_FROZEN)
        mf_build_refuse(build, "--freeze: query, key and value of a layer are frozen together");
    v = mf_weight_new(net, shape, net->value[stack].weight->start, net->value[stack].weight->spread, full);
    net->value[v].base = away ? -1 : stack;
    net->value[v].shift = shift;
    net->value[v].weight->set = net->value[stack].weight->set;
    if (away) net->value[v].weight->shard = (struct mf_shard){.of = shape.d[0], .group = MF_GROUP_EXPERTS};
    free(full);
    return v;
}

int mf_build_node(struct mf_build *build, enum mf_op_id op, struct mf_attr attr, const char *name, size_t n,
                  const int in[])
{
    char *full;
    int out = -1, rc;

    if (build->rc != MF_OK) return -1;
    full = mf_build_name(build, name);
    rc = mf_list_apply(build->list, op, &attr, full, n, in, &out);
    free(full);
    if (rc != MF_OK) return refused(build, rc);
    build->list->node[build->list->nodes - 1].segment = build->segment;
    build->list->node[build->list->nodes - 1].region = build->region;
    return out;
}

/* An operation of x with NAME.weight and NAME.bias, whose length is the weight's first extent. They start as in
 * PyTorch: norms with 1 and 0, others uniformly within 1 / sqrt(numbers that one output sums). */
static int weighted(struct mf_build *build, enum mf_op_id op, struct mf_attr attr, const char *name, int x,
                    struct mf_shape weight)
{
    const struct mf_shape bias = {.type = MF_F32, .n = 1, .d = {weight.d[0]}};
    const int norm = weight.n == 1;
    const enum mf_start start = norm ? MF_START_NUMBER : MF_START_UNIFORM;
    const double spread = 1 / sqrt((double)(mf_shape_count(&weight) / weight.d[0]));
    char *names[] = {mf_format("%s.weight", name), mf_format("%s.bias", name)};
    const int in[] = {x, mf_build_parameter(build, names[0], weight, start, spread),
                      mf_build_parameter(build, names[1], bias, start, norm ? 0 : spread)};

    free(names[0]);
    free(names[1]);
    return mf_build_node(build, op, attr, name, 3, in);
}

int mf_build_linear(struct mf_build *build, const char *name, int x, size_t columns)
{
    const struct mf_shape shape = mf_build_shape(build, x);

    return weighted(build, MF_OP_LINEAR, (struct mf_attr){0}, name, x,
                    (struct mf_shape){.type = MF_F32, .n = 2, .d = {columns, mf_shape_last(&shape)}});
}

/* Names the @p n parts of a new array, PART.END, along its first axis. */
static void name_parts(struct mf_build *build, int stack, size_t n, const char *const part[], const char *end)
{
    struct mf_net *net = build->list->net;
    struct mf_shape one = net->value[stack].shape;

    one.d[0] /= n;
    if (net->value[stack].flat) return; /* another list made them */
    net->value[stack].flat = 1;
    for (size_t k = 0; k < n; ++k) {
        char *name = mf_format("%s.%s", part[k], end);
        const int v = mf_build_part(build, name, stack, k * mf_shape_bytes(&one), one, 0);

        if (v >= 0) net->value[v].weight->shard = net->value[stack].weight->shard;
        free(name);
    }
}

/* The last node reads these parts. */
static int name_last(struct mf_build *build, int y, size_t n, const char *const part[])
{
    const struct mf_list *list = build->list;

    if (y < 0) return -1;
    name_parts(build, list->node[list->nodes - 1].in[1], n, part, "weight");
    name_parts(build, list->node[list->nodes - 1].in[2], n, part, "bias");
    return y;
}

int mf_build_linear_parts(struct mf_build *build, const char *name, size_t n, const char *const part[], int x,
                          size_t columns)
{
    return name_last(build, mf_build_linear(build, name, x, n * columns), n, part);
}

/* It starts as in PyTorch. */
int mf_build_embedding(struct mf_build *build, const char *name, int numbers, size_t n, size_t width)
{
    const struct mf_shape shape = {.type = MF_F32, .n = 2, .d = {n, width}};
    char *full = mf_format("%s.weight", name);
    const int table = mf_build_parameter(build, full, shape, MF_START_NORMAL, 1);

    free(full);
    return mf_build_two(build, MF_OP_GATHER, name, table, numbers);
}

int mf_build_rope(struct mf_build *build, const char *name, int x, int positions, int frequencies, int heads)
{
    const int in[] = {x, positions, frequencies};

    return mf_build_node(build, MF_OP_ROPE, (struct mf_attr){.heads = heads}, name, 3, in);
}

void mf_build_keep(struct mf_build *build, const char *name, int rows, int cache, int places)
{
    const int in[] = {rows, cache, places};

    mf_build_node(build, MF_OP_KEEP, (struct mf_attr){0}, name, 3, in);
}

int mf_build_attention_kept(struct mf_build *build, const char *name, const int in[5], struct mf_attr attr)
{
    return mf_build_node(build, MF_OP_ATTENTION_KEPT, attr, name, 5, in);
}

int mf_build_steady_linear(struct mf_build *build, const char *name, const int in[4])
{
    return mf_build_node(build, MF_OP_STEADY_LINEAR, (struct mf_attr){0}, name, 4, in);
}

int mf_build_pick(struct mf_build *build, const char *name, const int in[5])
{
    return mf_build_node(build, MF_OP_PICK, (struct mf_attr){0}, name, 5, in);
}

/* -- layers that ranks cut -- */

/* A parameter of which this rank has a part, or the whole (of 0). */
static int cut_parameter(struct mf_build *build, const char *layer, const char *part, struct mf_shape shape,
                         double spread, const struct mf_shard *shard)
{
    char *name = mf_format("%s.%s", layer, part);
    const int v = mf_build_parameter(build, name, shape, MF_START_UNIFORM, spread);

    if (v >= 0) {
        struct mf_weight *weight = build->list->net->value[v].weight;

        weight->shard = *shard;
        if (shard->of && weight->set == MF_SET_TRAINED) weight->set = MF_SET_SPLIT;
    }
    free(name);
    return v;
}

int mf_build_linear_first(struct mf_build *build, const char *name, int x, size_t parts, size_t hidden)
{
    const struct mf_partners *split = build->split;
    const struct mf_shape all = mf_build_shape(build, x);
    const size_t k = mf_shape_last(&all);
    const double spread = 1 / sqrt((double)k);
    struct mf_shard shard;
    struct mf_span own;
    int in[3];

    if (!split || build->rc != MF_OK) return mf_build_linear(build, name, x, parts * hidden);
    own = mf_cut(hidden, split->ranks, split->rank);
    shard = (struct mf_shard){0, own.first, own.count, hidden, split->group};
    in[0] = mf_value_view(build->list->net, x, 0, all, "&");
    build->list->net->value[in[0]].summed = 1;
    build->list->net->value[in[0]].group = split->group;
    in[1] = cut_parameter(build, name, "weight", (struct mf_shape){MF_F32, 2, {parts * own.count, k}}, spread, &shard);
    in[2] = cut_parameter(build, name, "bias", (struct mf_shape){MF_F32, 1, {parts * own.count}}, spread, &shard);
    return mf_build_node(build, MF_OP_LINEAR, (struct mf_attr){0}, name, 3, in);
}

int mf_build_linear_first_parts(struct mf_build *build, const char *name, size_t n, const char *const part[], int x,
                                size_t hidden)
{
    return name_last(build, mf_build_linear_first(build, name, x, n, hidden), n, part);
}

/* Every rank adds the bias, behind the sum. */
int mf_build_linear_second(struct mf_build *build, const char *name, int x, size_t hidden, size_t columns)
{
    const struct mf_partners *split = build->split;
    static const struct mf_shard whole = {0};
    const double spread = 1 / sqrt((double)hidden);
    struct mf_shard shard;
    struct mf_span own;
    char *partial;
    int in[2], y;

    if (!split || build->rc != MF_OK) return mf_build_linear(build, name, x, columns);
    own = mf_cut(hidden, split->ranks, split->rank);
    shard = (struct mf_shard){1, own.first, own.count, hidden, split->group};
    in[0] = x;
    in[1] = cut_parameter(build, name, "weight", (struct mf_shape){MF_F32, 2, {columns, own.count}}, spread, &shard);
    partial = mf_format("%s.part", name);
    y = mf_build_node(build, MF_OP_LINEAR, (struct mf_attr){0}, partial, 2, in);
    free(partial);
    if (y < 0) return -1;
    build->list->net->value[y].group = split->group;
    mf_list_sum(build->list, y, build->segment);
    in[0] = y;
    in[1] = cut_parameter(build, name, "bias", (struct mf_shape){MF_F32, 1, {columns}}, spread, &whole);
    return mf_build_node(build, MF_OP_ADD, (struct mf_attr){0}, name, 2, in);
}

int mf_build_conv(struct mf_build *build, const char *name, int x, size_t channels, size_t k, int stride, int pad)
{
    const struct mf_shape shape = mf_build_shape(build, x);

    return weighted(build, MF_OP_CONV2D, (struct mf_attr){.stride = stride, .pad = pad}, name, x,
                    (struct mf_shape){.type = MF_F32, .n = 4, .d = {channels, mf_shape_last(&shape), k, k}});
}

int mf_build_conv_periodic(struct mf_build *build, const char *name, int x, size_t channels, size_t k, int stride,
                           int pad)
{
    char *wrapped;

    if (pad > 0) {
        wrapped = mf_format("%s.wrap", name);
        x = mf_build_node(build, MF_OP_WRAP, (struct mf_attr){.pad = pad}, wrapped, 1, &x);
        free(wrapped);
    }
    return mf_build_conv(build, name, x, channels, k, stride, 0);
}

int mf_build_conv_depthwise(struct mf_build *build, const char *name, int x, size_t k, int pad)
{
    const struct mf_shape shape = mf_build_shape(build, x);

    return weighted(build, MF_OP_CONV_DEPTHWISE, (struct mf_attr){.stride = 1, .pad = pad}, name, x,
                    (struct mf_shape){.type = MF_F32, .n = 4, .d = {mf_shape_last(&shape), 1, k, k}});
}

/* With weights of the last axis. */
static int norm(struct mf_build *build, enum mf_op_id op, struct mf_attr attr, const char *name, int x)
{
    const struct mf_shape shape = mf_build_shape(build, x);

    return weighted(build, op, attr, name, x, (struct mf_shape){.type = MF_F32, .n = 1, .d = {mf_shape_last(&shape)}});
}

int mf_build_layer_norm(struct mf_build *build, const char *name, int x)
{
    return mf_build_layer_norm_by(build, name, x, 0);
}

int mf_build_layer_norm_by(struct mf_build *build, const char *name, int x, double epsilon)
{
    return norm(build, MF_OP_LAYER_NORM, (struct mf_attr){.epsilon = epsilon}, name, x);
}

int mf_build_rms_norm(struct mf_build *build, const char *name, int x, double epsilon)
{
    const struct mf_shape all = mf_build_shape(build, x), shape = {MF_F32, 1, {mf_shape_last(&all)}};
    char *full = mf_format("%s.weight", name);
    const int in[] = {x, mf_build_parameter(build, full, shape, MF_START_NUMBER, 1)};

    free(full);
    return mf_build_node(build, MF_OP_RMS_NORM, (struct mf_attr){.epsilon = epsilon}, name, 2, in);
}

int mf_build_group_norm(struct mf_build *build, const char *name, int x, int groups)
{
    return norm(build, MF_OP_GROUP_NORM, (struct mf_attr){.groups = groups}, name, x);
}

int mf_build_one(struct mf_build *build, enum mf_op_id op, const char *name, int x)
{
    return mf_build_node(build, op, (struct mf_attr){0}, name, 1, &x);
}

int mf_build_two(struct mf_build *build, enum mf_op_id op, const char *name, int a, int b)
{
    const int in[] = {a, b};

    return mf_build_node(build, op, (struct mf_attr){0}, name, 2, in);
}

int mf_build_attention(struct mf_build *build, const char *name, int x, int kv, int mask, struct mf_attr attr)
{
    const int in[] = {x, kv, mask};

    return mf_build_node(build, MF_OP_ATTENTION, attr, name, 3, in);
}

int mf_build_squared_loss(struct mf_build *build, const char *name, int a, int b, int weight)
{
    const int in[] = {a, b, weight};

    return mf_build_node(build, MF_OP_SQUARED_LOSS, (struct mf_attr){0}, name, 3, in);
}

int mf_build_match_loss(struct mf_build *build, const char *name, int x, int real, int made)
{
    const int in[] = {x, real, made};

    return mf_build_node(build, MF_OP_MATCH_LOSS, (struct mf_attr){0}, name, 3, in);
}

int mf_build_blend(struct mf_build *build, const char *name, int x, int z, int a, int b)
{
    const int in[] = {x, z, a, b};

    return mf_build_node(build, MF_OP_BLEND, (struct mf_attr){0}, name, 4, in);
}

int mf_build_normal(struct mf_build *build, const char *name, int like, struct mf_shape sample, unsigned stream)
{
    const struct mf_attr attr = {.stream = stream, .numbers = mf_shape_count(&sample) / sample.d[0]};

    sample.d[0] = mf_build_shape(build, like).d[0];
    return mf_build_reshape(build, mf_build_node(build, MF_OP_NORMAL, attr, name, 1, &like), sample);
}

int mf_build_matmul(struct mf_build *build, const char *name, int a, int b, unsigned transposed)
{
    const int in[] = {a, b};

    return mf_build_node(build, MF_OP_MATMUL, (struct mf_attr){.transposed = transposed}, name, 2, in);
}

int mf_build_concat(struct mf_build *build, const char *name, size_t n, const int in[], int axis)
{
    return mf_build_node(build, MF_OP_CONCAT, (struct mf_attr){.axis = axis}, name, n, in);
}

int mf_build_slice(struct mf_build *build, const char *name, int x, int axis, size_t first, size_t count)
{
    const struct mf_attr attr = {.axis = axis, .first = first, .count = count};

    return mf_build_node(build, MF_OP_SLICE, attr, name, 1, &x);
}

int mf_build_transpose(struct mf_build *build, const char *name, int x, int axis, int other)
{
    return mf_build_node(build, MF_OP_TRANSPOSE, (struct mf_attr){.axis = axis, .other = other}, name, 1, &x);
}

int mf_build_dropout(struct mf_build *build, const char *name, int x, double rate)
{
    const struct mf_attr attr = {.probability = rate, .stream = build->dropouts};

    if (rate <= 0) return x;
    ++build->dropouts;
    return mf_build_node(build, MF_OP_DROPOUT, attr, name, 1, &x);
}

int mf_build_reshape(struct mf_build *build, int x, struct mf_shape shape)
{
    const struct mf_shape now = mf_build_shape(build, x);

    if (build->rc != MF_OK) return -1;
    if (mf_shape_count(&now) != mf_shape_count(&shape))
        return refused(build, mf_fail(MF_USAGE, "'%s' has %zu numbers and cannot take a shape of %zu",
                                      build->list->net->value[x].name, mf_shape_count(&now), mf_shape_count(&shape)));
    shape.type = now.type;
    return mf_value_view(build->list->net, x, 0, shape, "~");
}

int mf_build_stop(struct mf_build *build, int x)
{
    int view;

    if (build->rc != MF_OK) return -1;
    view = mf_value_view(build->list->net, x, 0, mf_build_shape(build, x), "|");
    build->list->net->value[view].stop = 1;
    return view;
}
