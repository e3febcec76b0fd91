/* See language.h: reading config.json. A family is a row of a table, and so is each of its sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/model/language.h"
#include "src/text/read.h"

enum {
    SIZE_LARGEST = 1 << 28,
    LAYERS_MOST = 1 << 10,
    EXPERTS_MOST = 1 << 14,
    FILE_MOST = 1 << 20,
    VALUES_MOST = 1 << 16
};

/** A size in a file. It has a key, one of older files, a place, and a value if it is missing. A value of 0 says that it
 * must be there. */
struct size_row {
    const char *key, *old;
    size_t at, standard;
};

#define SIZE(key, old, field, standard)                         \
    {                                                           \
        key, old, offsetof(struct mf_language, field), standard \
    }
#define KEY(rows, field) key_of(rows, offsetof(struct mf_language, field))

/* The word of a family for a size. */
static const char *key_of(const struct size_row *row, size_t at)
{
    while (row->at != at) ++row;
    return row->key;
}

static const struct size_row gpt2_sizes[] = {
    SIZE("vocab_size", NULL, vocabulary, 0), SIZE("n_positions", "n_ctx", context, 0), SIZE("n_embd", NULL, width, 0),
    SIZE("n_layer", NULL, layers, 0),        SIZE("n_head", NULL, heads, 0),           {NULL, NULL, 0, 0}};

/* All others have these. */
#define COMMON(context_standard)                                                                               \
    SIZE("vocab_size", NULL, vocabulary, 0), SIZE("max_position_embeddings", NULL, context, context_standard), \
        SIZE("hidden_size", NULL, width, 0), SIZE("num_hidden_layers", NULL, layers, 0),                       \
        SIZE("num_attention_heads", NULL, heads, 0)

static const struct size_row opt_sizes[] = {COMMON(0), SIZE("ffn_dim", NULL, inner, 0), {NULL, NULL, 0, 0}};
static const struct size_row bert_sizes[] = {COMMON(0),
                                             SIZE("intermediate_size", NULL, inner, 0),
                                             SIZE("type_vocab_size", NULL, segments, 2),
                                             {NULL, NULL, 0, 0}};
static const struct size_row llama_sizes[] = {
    COMMON(2048), SIZE("intermediate_size", NULL, inner, 0), {NULL, NULL, 0, 0}};
static const struct size_row mistral_sizes[] = {
    COMMON(131072), SIZE("intermediate_size", NULL, inner, 0), {NULL, NULL, 0, 0}};
static const struct size_row mixtral_sizes[] = {COMMON(131072),
                                                SIZE("intermediate_size", NULL, inner, 0),
                                                SIZE("num_local_experts", NULL, experts, 8),
                                                SIZE("num_experts_per_tok", NULL, chosen, 2),
                                                {NULL, NULL, 0, 0}};

static int read_sizes(const struct mf_part *part, const struct size_row *rows, struct mf_language *m)
{
    for (const struct size_row *row = rows; row->key; ++row) {
        size_t *to = (size_t *)(void *)((char *)m + row->at);

        *to = 0;
        if (row->old) MF_TRY(mf_part_number(part, row->old, SIZE_LARGEST, to));
        MF_TRY(mf_part_number(part, row->key, SIZE_LARGEST, to));
        if (*to == 0 && mf_json_kind(mf_json_get(part->row, row->key)) == MF_JSON_NULL) *to = row->standard;
        if (*to == 0) return mf_part_fail(part, "'%s' is missing or 0", row->key);
    }
    if (m->layers <= LAYERS_MOST) return MF_OK;
    return mf_part_fail(part, "'%s' must be at most %d, not %zu", KEY(rows, layers), LAYERS_MOST, m->layers);
}

/* ---- values that are no sizes ---- */

static int read_real(const struct mf_part *part, const char *key, double *value)
{
    const struct mf_json *found = mf_json_get(part->row, key);

    if (mf_json_kind(found) == MF_JSON_NULL) return MF_OK;
    *value = mf_json_to_real(found);
    if (mf_json_kind(found) == MF_JSON_REAL && *value > 0 && isfinite(*value)) return MF_OK;
    return mf_part_fail(part, "'%s' must be a number above 0", key);
}

/* A flag that must have the one value that this program computes. */
static int must_be(const struct mf_part *part, const char *key, int wanted)
{
    int value = wanted;

    MF_TRY(mf_part_flag(part, key, &value));
    if (value == wanted) return MF_OK;
    return mf_part_fail(part, "'%s' is %s, which is not known here", key, value ? "true" : "false");
}

static int read_act(const struct mf_part *part, const char *key, enum mf_act *act)
{
    static const struct {
        const char *name;
        enum mf_act act;
    } known[] = {{"relu", MF_ACT_RELU},          {"gelu", MF_ACT_GELU},
                 {"gelu_new", MF_ACT_GELU_TANH}, {"gelu_pytorch_tanh", MF_ACT_GELU_TANH},
                 {"silu", MF_ACT_SILU},          {"swish", MF_ACT_SILU}};
    const char *name = NULL;

    MF_TRY(mf_part_text(part, key, &name));
    if (!name) return MF_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (strcmp(name, known[i].name) == 0) return *act = known[i].act, MF_OK;
    return mf_part_fail(part, "the function '%.60s' of '%s' is not known", name, key);
}

static int read_type(const struct mf_part *part, enum mf_type *type)
{
    const char *name = NULL, *key = mf_json_get(part->row, "dtype") ? "dtype" : "torch_dtype";

    *type = MF_TYPES;
    MF_TRY(mf_part_text(part, "torch_dtype", &name));
    MF_TRY(mf_part_text(part, "dtype", &name));
    if (!name) return MF_OK;
    *type = strcmp(name, "float32") == 0    ? MF_F32
            : strcmp(name, "float16") == 0  ? MF_F16
            : strcmp(name, "bfloat16") == 0 ? MF_BF16
                                            : MF_TYPES;
    return *type != MF_TYPES ? MF_OK : mf_part_fail(part, "the type '%.60s' of '%s' is not known", name, key);
}

/* ---- rotation ---- */

/* The object of newer files (rope_parameters) or of older ones (rope_scaling); both at once contradict each other. */
static int rope_object(const struct mf_part *part, struct mf_part *inside)
{
    const struct mf_json *now = mf_json_get(part->row, "rope_parameters");
    const struct mf_json *old = mf_json_get(part->row, "rope_scaling");

    if (mf_json_kind(now) != MF_JSON_NULL && mf_json_kind(old) != MF_JSON_NULL)
        return mf_part_fail(part, "'rope_parameters' and 'rope_scaling' contradict each other; leave one of them");
    inside->place = mf_json_kind(now) != MF_JSON_NULL ? "rope_parameters" : "rope_scaling";
    inside->row = mf_json_kind(now) != MF_JSON_NULL ? now : mf_json_kind(old) != MF_JSON_NULL ? old : NULL;
    return MF_OK;
}

static int read_llama3(const struct mf_part *part, struct mf_rope *rope)
{
    rope->kind = MF_ROPE_LLAMA3;
    MF_TRY(read_real(part, "low_freq_factor", &rope->low));
    MF_TRY(read_real(part, "high_freq_factor", &rope->high));
    MF_TRY(mf_part_number(part, "original_max_position_embeddings", SIZE_LARGEST, &rope->original));
    if (rope->low > 0 && rope->high > rope->low && rope->original > 0) return MF_OK;
    return mf_part_fail(part, "llama3 needs low_freq_factor below high_freq_factor, and "
                              "original_max_position_embeddings");
}

static int read_scaling(const struct mf_part *part, struct mf_rope *rope)
{
    static const char *const keys[] = {"rope_type",
                                       "type",
                                       "rope_theta",
                                       "factor",
                                       "low_freq_factor",
                                       "high_freq_factor",
                                       "original_max_position_embeddings",
                                       "partial_rotary_factor",
                                       NULL};
    const char *type = "default";
    double part_of = 1;

    MF_TRY(mf_part_keys(part, keys));
    MF_TRY(mf_part_text(part, "type", &type));
    MF_TRY(mf_part_text(part, "rope_type", &type));
    MF_TRY(read_real(part, "partial_rotary_factor", &part_of));
    if (part_of < 1 || part_of > 1)
        return mf_part_fail(part, "a partial_rotary_factor of %g is not known here", part_of);
    if (strcmp(type, "default") == 0) return MF_OK;
    MF_TRY(read_real(part, "factor", &rope->factor));
    if (rope->factor <= 0) return mf_part_fail(part, "'factor' is missing");
    if (strcmp(type, "llama3") == 0) return read_llama3(part, rope);
    rope->kind = MF_ROPE_LINEAR;
    if (strcmp(type, "linear") == 0) return MF_OK;
    return mf_part_fail(part, "the rope_type '%.60s' is not known; known are default, linear, llama3", type);
}

static int read_rope(const struct mf_part *part, double base, struct mf_rope *rope)
{
    struct mf_part inner = {.file = part->file};
    double outside = 0, inside = 0;

    *rope = (struct mf_rope){.kind = MF_ROPE_PLAIN};
    MF_TRY(rope_object(part, &inner));
    MF_TRY(read_real(part, "rope_theta", &outside));
    if (inner.row) {
        MF_TRY(read_scaling(&inner, rope));
        MF_TRY(read_real(&inner, "rope_theta", &inside));
    }
    if (outside > 0 && inside > 0 && (outside < inside || outside > inside))
        return mf_part_fail(part, "'rope_theta' is %g and %g; leave one of them", inside, outside);
    rope->base = inside > 0 ? inside : outside > 0 ? outside : base;
    return MF_OK;
}

/* ---- families ---- */

static int read_gpt2(const struct mf_part *part, struct mf_language *m)
{
    MF_TRY(must_be(part, "scale_attn_weights", 1));
    MF_TRY(must_be(part, "scale_attn_by_inverse_layer_idx", 0));
    MF_TRY(must_be(part, "add_cross_attention", 0));
    MF_TRY(mf_part_number(part, "n_inner", SIZE_LARGEST, &m->inner));
    if (m->inner == 0) m->inner = 4 * m->width;
    m->act = MF_ACT_GELU_TANH;
    m->epsilon = 1e-5;
    MF_TRY(read_act(part, "activation_function", &m->act));
    MF_TRY(read_real(part, "layer_norm_epsilon", &m->epsilon));
    m->tied = m->last_norm = m->attention_bias = m->inner_bias = 1;
    return mf_part_flag(part, "tie_word_embeddings", &m->tied);
}

static int read_opt(const struct mf_part *part, struct mf_language *m)
{
    int before = 1, removed = 0;

    MF_TRY(must_be(part, "enable_bias", 1));
    MF_TRY(must_be(part, "layer_norm_elementwise_affine", 1));
    MF_TRY(mf_part_flag(part, "do_layer_norm_before", &before));
    MF_TRY(mf_part_flag(part, "_remove_final_layer_norm", &removed));
    MF_TRY(mf_part_number(part, "word_embed_proj_dim", SIZE_LARGEST, &m->embedding));
    m->norms_behind = !before;
    m->last_norm = before && !removed;
    m->shift = 2;
    m->act = MF_ACT_RELU;
    m->epsilon = 1e-5;
    m->tied = m->attention_bias = m->inner_bias = 1;
    MF_TRY(read_act(part, "activation_function", &m->act));
    return mf_part_flag(part, "tie_word_embeddings", &m->tied);
}

static int read_bert(const struct mf_part *part, struct mf_language *m)
{
    const char *positions = "absolute";

    MF_TRY(must_be(part, "is_decoder", 0));
    MF_TRY(must_be(part, "add_cross_attention", 0));
    MF_TRY(mf_part_text(part, "position_embedding_type", &positions));
    if (strcmp(positions, "absolute") != 0)
        return mf_part_fail(part, "the position_embedding_type '%.60s' is not known", positions);
    m->act = MF_ACT_GELU;
    m->epsilon = 1e-12;
    m->tied = m->norms_behind = m->attention_bias = m->inner_bias = 1;
    MF_TRY(read_act(part, "hidden_act", &m->act));
    return read_real(part, "layer_norm_eps", &m->epsilon);
}

/* Reads what three families share. @p keys: heads of keys if the file does not say it. 0: as many as of queries. */
static int read_rotated(const struct mf_part *part, struct mf_language *m, size_t keys, double epsilon, double base)
{
    if (!mf_json_get(part->row, "num_key_value_heads")) m->key_heads = keys;
    MF_TRY(mf_part_number(part, "num_key_value_heads", SIZE_LARGEST, &m->key_heads));
    MF_TRY(mf_part_number(part, "head_dim", SIZE_LARGEST, &m->head_width));
    m->act = MF_ACT_SILU;
    m->epsilon = epsilon;
    m->last_norm = 1;
    MF_TRY(read_act(part, "hidden_act", &m->act));
    MF_TRY(read_real(part, "rms_norm_eps", &m->epsilon));
    MF_TRY(mf_part_flag(part, "tie_word_embeddings", &m->tied));
    return read_rope(part, base, &m->rope);
}

static int read_llama(const struct mf_part *part, struct mf_language *m)
{
    MF_TRY(mf_part_flag(part, "attention_bias", &m->attention_bias));
    MF_TRY(mf_part_flag(part, "mlp_bias", &m->inner_bias));
    return read_rotated(part, m, 0, 1e-6, 1e4);
}

static int read_mistral(const struct mf_part *part, struct mf_language *m)
{
    if (!mf_json_get(part->row, "sliding_window")) m->window = 4096;
    MF_TRY(mf_part_number(part, "sliding_window", SIZE_LARGEST, &m->window));
    return read_rotated(part, m, 8, 1e-6, 1e4);
}

static int read_mixtral(const struct mf_part *part, struct mf_language *m)
{
    MF_TRY(mf_part_number(part, "sliding_window", SIZE_LARGEST, &m->window));
    if (m->experts * m->layers > EXPERTS_MOST)
        return mf_part_fail(part, "'num_local_experts' times 'num_hidden_layers' must be at most %d, not %zu",
                            EXPERTS_MOST, m->experts * m->layers);
    if (m->chosen > m->experts)
        return mf_part_fail(part, "'num_experts_per_tok' is %zu, and 'num_local_experts' only %zu", m->chosen,
                            m->experts);
    return read_rotated(part, m, 8, 1e-5, 1e6);
}

static const struct family {
    const char *name;
    const struct size_row *sizes;
    int (*read)(const struct mf_part *part, struct mf_language *m);
} families[MF_LANGUAGE_FAMILIES] = {[MF_BERT] = {"bert", bert_sizes, read_bert},
                                    [MF_GPT2] = {"gpt2", gpt2_sizes, read_gpt2},
                                    [MF_LLAMA] = {"llama", llama_sizes, read_llama},
                                    [MF_MISTRAL] = {"mistral", mistral_sizes, read_mistral},
                                    [MF_MIXTRAL] = {"mixtral", mixtral_sizes, read_mixtral},
                                    [MF_OPT] = {"opt", opt_sizes, read_opt}};

const char *mf_language_name(enum mf_language_family family) { return families[family].name; }

static int unknown(const struct mf_part *part, const char *name)
{
    char known[200] = "";

    for (size_t i = 0, at = 0; i < MF_LANGUAGE_FAMILIES && at < sizeof known; ++i)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", families[i].name);
    return mf_part_fail(part, "the model_type '%.60s' is not known; known are %s", name, known);
}

/* ---- all ---- */

/* Sizes that follow from others, and those that contradict each other. */
static int settle(const struct mf_part *part, struct mf_language *m)
{
    const struct size_row *rows = families[m->family].sizes;
    const char *width = KEY(rows, width), *heads = KEY(rows, heads);
    double all;

    if (m->embedding == 0) m->embedding = m->width;
    if (m->key_heads == 0) m->key_heads = m->heads;
    if (m->head_width == 0 && m->width % m->heads != 0)
        return mf_part_fail(part, "'%s' is %zu, which is no multiple of '%s' %zu", width, m->width, heads, m->heads);
    if (m->head_width == 0) m->head_width = m->width / m->heads;
    if (m->heads % m->key_heads != 0)
        return mf_part_fail(part, "'%s' is %zu, which is no multiple of 'num_key_value_heads' %zu", heads, m->heads,
                            m->key_heads);
    if (m->rope.kind != MF_ROPE_NONE && m->head_width % 2 != 0)
        return mf_part_fail(part,
                            "'head_dim' is %zu ('%s' / '%s' where it is missing), and only even numbers are rotated",
                            m->head_width, width, heads);
    all = (double)m->layers * (4. * (double)m->width * (double)m->heads * (double)m->head_width +
                               3. * (double)(m->experts ? m->experts : 1) * (double)m->width * (double)m->inner);
    all += ((double)m->context + (double)m->segments) * (double)m->width +
           2. * (double)m->vocabulary * (double)m->embedding;
    if (all < 0x1p52) return MF_OK;
    return mf_part_fail(part, "the sizes give more than 4e15 parameters");
}

static int read_all(const struct mf_part *part, struct mf_language *m)
{
    const char *name;
    size_t i = 0;

    if (mf_json_kind(part->row) != MF_JSON_OBJECT)
        return mf_part_fail(part, "must be an object, and is %s", mf_json_kind_name(part->row));
    MF_TRY(mf_part_needs_text(part, "model_type", &name));
    while (i < MF_LANGUAGE_FAMILIES && strcmp(name, families[i].name) != 0) ++i;
    if (i == MF_LANGUAGE_FAMILIES) return unknown(part, name);
    if (mf_json_kind(mf_json_get(part->row, "quantization_config")) != MF_JSON_NULL)
        return mf_part_fail(part, "weights with a 'quantization_config' are not known here");
    *m = (struct mf_language){.family = (enum mf_language_family)i};
    MF_TRY(read_sizes(part, families[i].sizes, m));
    MF_TRY(read_type(part, &m->type));
    MF_TRY(families[i].read(part, m));
    return settle(part, m);
}

int mf_language_named(const char *path)
{
    char *file;
    int is;

    if (strcmp(mf_name_base(path), "config.json") == 0) return 1;
    file = mf_format("%s/config.json", path);
    is = access(file, F_OK) == 0;
    free(file);
    return is;
}

int mf_language_read(const char *path, struct mf_language *model)
{
    struct stat s;
    const int is_folder = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    char *file = is_folder ? mf_format("%s/config.json", path) : mf_format("%s", path);
    const size_t length = strlen(file);
    struct mf_json *root = NULL;
    int rc;

    if (length > 12 && strcmp(file + length - 12, ".safetensors") == 0)
        rc = mf_fail(MF_INPUT, "'%.300s' is a file of weights; give its folder, which has config.json", path);
    else
        rc = mf_json_load_foreign(file, FILE_MOST, VALUES_MOST, &root);
    if (rc == MF_OK) rc = read_all(&(const struct mf_part){file, "model", root}, model);
    mf_json_free(root);
    free(file);
    return rc;
}
