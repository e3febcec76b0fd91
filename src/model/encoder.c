/* See encoder.h. */
#include "src/model/encoder.h"

#include <stdio.h>

#include "src/base/err.h"

/* The builder of a list. */
struct encoder {
    const struct mf_language *m;
    struct mf_build b;
    const struct mf_encoder_list *to;
};

static struct mf_shape rows_of(enum mf_type type, size_t n)
{
    return (struct mf_shape){.type = type, .n = 1, .d = {n}};
}

/* x w' + b. */
static int product(struct encoder *e, const char *name, int x, size_t columns)
{
    const struct mf_shape shape = mf_build_shape(&e->b, x);
    const struct mf_shape weight = {MF_F32, 2, {columns, mf_shape_last(&shape)}};
    char text[40];
    int w, bias;

    snprintf(text, sizeof text, "%s.weight", name);
    w = mf_build_parameter(&e->b, text, weight, MF_START_NORMAL, 0.02);
    snprintf(text, sizeof text, "%s.bias", name);
    bias = mf_build_parameter(&e->b, text, rows_of(MF_F32, columns), MF_START_NUMBER, 0);
    return mf_build_steady_linear(&e->b, name, (const int[]){x, w, bias, -1});
}

static int attention(struct encoder *e, int x)
{
    const size_t width = e->m->width, texts = e->to->texts, length = e->to->length;
    const int qkv = mf_build_reshape(&e->b, product(e, "qkv", x, 3 * width),
                                     (struct mf_shape){.n = 3, .d = {texts, length, 3 * width}});
    const int y =
        mf_build_attention(&e->b, "attention", qkv, -1, e->to->seen, (struct mf_attr){.heads = (int)e->m->heads});

    return product(e, "out", mf_build_reshape(&e->b, y, (struct mf_shape){.n = 2, .d = {texts * length, width}}),
                   width);
}

static int inner(struct encoder *e, int x)
{
    static const enum mf_op_id ops[] = {[MF_ACT_RELU] = MF_OP_RELU,
                                        [MF_ACT_SILU] = MF_OP_SILU,
                                        [MF_ACT_GELU] = MF_OP_GELU,
                                        [MF_ACT_GELU_TANH] = MF_OP_GELU_TANH};

    return product(e, "inner", mf_build_one(&e->b, ops[e->m->act], "act", product(e, "in", x, e->m->inner)),
                   e->m->width);
}

static int add(struct encoder *e, const char *norm, const char *sum, int x, int y)
{
    return mf_build_layer_norm_by(&e->b, norm, mf_build_two(&e->b, MF_OP_ADD, sum, x, y), e->m->epsilon);
}

static int layer(struct encoder *e, int x, size_t number)
{
    mf_build_block(&e->b, "layers", (long)number);
    x = add(e, "first", "with_attention", x, attention(e, x));
    x = add(e, "second", "with_inner", x, inner(e, x));
    mf_build_block(&e->b, NULL, -1);
    return x;
}

static int embedded(struct encoder *e)
{
    const struct mf_language *m = e->m;
    const int tokens = mf_build_embedding(&e->b, "tokens", e->to->tokens, m->vocabulary, m->width);
    const int types = mf_build_embedding(&e->b, "types", e->to->types, m->segments, m->width);
    const int positions = mf_build_embedding(&e->b, "positions", e->to->positions, m->context, m->width);

    return add(e, "placed", "with_positions", mf_build_two(&e->b, MF_OP_ADD, "with_types", tokens, types), positions);
}

static void inputs(struct encoder *e, int pooler, struct mf_encoder_list *to)
{
    const size_t rows = to->texts * to->length;

    to->tokens = mf_build_input(&e->b, "in.tokens", rows_of(MF_I32, rows));
    to->positions = mf_build_input(&e->b, "in.positions", rows_of(MF_I32, rows));
    to->types = mf_build_input(&e->b, "in.types", rows_of(MF_I32, rows));
    to->seen = mf_build_input(&e->b, "in.seen", (struct mf_shape){.type = MF_U8, .n = 2, .d = {to->texts, to->length}});
    to->first = pooler ? mf_build_input(&e->b, "in.first", rows_of(MF_I32, to->texts)) : -1;
}

int mf_encoder_build(const struct mf_language *m, struct mf_net *net, const char *name, size_t texts, size_t length,
                     int pooler, struct mf_encoder_list *to)
{
    struct encoder e = {.m = m, .b = {.list = mf_list_new(net, name)}, .to = to};
    int x;

    *to = (struct mf_encoder_list){.list = e.b.list, .texts = texts, .length = length, .pooler = -1};
    inputs(&e, pooler, to);
    x = embedded(&e);
    for (size_t k = 0; k < m->layers; ++k) x = layer(&e, x, k);
    to->states = x;
    if (pooler) to->pooler = product(&e, "pooler", mf_build_two(&e.b, MF_OP_GATHER, "wanted", x, to->first), m->width);
    MF_TRY(mf_build_end(&e.b));
    net->value[to->states].kept = 1;
    if (pooler) net->value[to->pooler].kept = 1;
    return MF_OK;
}
