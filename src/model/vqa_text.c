/* See vqa.h: the text encoder. Names are those of BertModel in transformers, behind "text.". Query, key and value of a
 * layer are one product. */
#include "src/model/vqa.h"

#include <stdio.h>

#include "src/base/err.h"

enum { POSITIONS = 512, KINDS = 2, WIDER = 4 }; /* of BERT: rows of two tables; hidden columns, in widths */

static const double EPSILON = 1e-12, SPREAD = 0.02;

int mf_vqa_dropout(struct mf_build *build, const struct mf_arch_ask *in, const char *name, int x, double rate)
{
    const struct mf_shape of = mf_build_shape(build, x);
    const size_t n = mf_build_shape(build, in->x).d[0];

    if (rate <= 0 || build->rc != MF_OK || of.d[0] == n) return mf_build_dropout(build, name, x, rate);
    x = mf_build_reshape(build, x, (struct mf_shape){.type = of.type, .n = 2, .d = {n, mf_shape_count(&of) / n}});
    return mf_build_reshape(build, mf_build_dropout(build, name, x, rate), of);
}

static int table(struct mf_build *build, const char *name, size_t rows, size_t width)
{
    const struct mf_shape shape = {.type = MF_F32, .n = 2, .d = {rows, width}};

    return mf_build_parameter(build, name, shape, MF_START_NORMAL, SPREAD);
}

/* Word, position and kind of a token. A question is of kind 0. */
static int embedded(struct mf_build *build, const struct mf_arch_ask *in, const struct mf_arch_args *args, int *words)
{
    const size_t width = (size_t)args->text_width, n = mf_build_shape(build, in->tokens).d[0];
    const int known = table(build, "embeddings.word_embeddings.weight", in->words, width);
    const int positions = table(build, "embeddings.position_embeddings.weight", POSITIONS, width);
    const int kinds = table(build, "embeddings.token_type_embeddings.weight", KINDS, width);
    int place = mf_build_slice(build, "embeddings.position", positions, 0, 0, in->length);
    int kind = mf_build_slice(build, "embeddings.kind", kinds, 0, 0, 1), x;

    kind = mf_build_reshape(build, kind, (struct mf_shape){.n = 1, .d = {width}});
    place = mf_build_two(build, MF_OP_ADD, "embeddings.place", place, kind);
    x = mf_build_two(build, MF_OP_GATHER, "embeddings.word", known, in->tokens);
    *words = x = mf_build_reshape(build, x, (struct mf_shape){.n = 3, .d = {n, in->length, width}});
    x = mf_build_two(build, MF_OP_ADD, "embeddings.sum", x, place);
    x = mf_build_layer_norm_by(build, "embeddings.LayerNorm", x, EPSILON);
    return mf_vqa_dropout(build, in, "embeddings.dropout", x, args->dropout);
}

static int add(struct mf_build *build, const struct mf_arch_ask *in, const char *name, int x, int y, double dropout)
{
    char text[64];

    snprintf(text, sizeof text, "%s.sum", name);
    y = mf_build_two(build, MF_OP_ADD, text, x, mf_vqa_dropout(build, in, name, y, dropout));
    snprintf(text, sizeof text, "%s.LayerNorm", name);
    return mf_build_layer_norm_by(build, text, y, EPSILON);
}

static int layer(struct mf_build *build, const struct mf_arch_ask *in, int x, const struct mf_arch_args *args)
{
    static const char *const part[] = {"attention.self.query", "attention.self.key", "attention.self.value"};
    const size_t width = (size_t)args->text_width;
    const struct mf_attr heads = {.heads = (int)((size_t)args->heads / mf_build_sharers(build))};
    int y = mf_build_linear_first_parts(build, "attention.self.qkv", 3, part, x, width);

    y = mf_build_attention(build, "attention.self", y, -1, in->seen, heads);
    y = mf_build_linear_second(build, "attention.output.dense", y, width, width);
    x = add(build, in, "attention.output", x, y, args->dropout);
    y = mf_build_linear_first(build, "intermediate.dense", x, 1, WIDER * width);
    y = mf_build_one(build, MF_OP_GELU, "intermediate.act", y);
    y = mf_build_linear_second(build, "output.dense", y, WIDER * width, width);
    return add(build, in, "output", x, y, args->dropout);
}

int mf_vqa_text_tower(struct mf_build *build, const struct mf_arch_ask *in, const struct mf_arch_args *args, int *words)
{
    const char *before = build->network;
    int x;

    if (in->length > POSITIONS)
        return mf_build_refuse(build, "--arch vqa reads at most 512 tokens; try: --max-tokens 512");
    build->network = "text";
    x = embedded(build, in, args, words);
    for (long i = 0; i < args->text_depth; ++i) {
        mf_build_block(build, "encoder.layer", i);
        x = layer(build, in, x, args);
    }
    mf_build_block(build, NULL, 0);
    build->network = before;
    return x;
}
