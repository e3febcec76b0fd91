/* See language_names.h. */
#include "src/model/language_names.h"

static const struct mf_language_part gpt2[] = {{"tokens", {"wte"}, 0, 0, 0},
                                               {"positions", {"wpe"}, 0, 0, 0},
                                               {"first", {"h.%zu.ln_1"}, 0, 0, 0},
                                               {"second", {"h.%zu.ln_2"}, 0, 0, 0},
                                               {"qkv", {"h.%zu.attn.c_attn"}, 1, 3, 0},
                                               {"out", {"h.%zu.attn.c_proj"}, 1, 0, 0},
                                               {"in", {"h.%zu.mlp.c_fc"}, 1, 0, 0},
                                               {"inner", {"h.%zu.mlp.c_proj"}, 1, 0, 0},
                                               {"last", {"ln_f"}, 0, 0, 0},
                                               {NULL, {NULL}, 0, 0, 0}};

#define QKV "layers.%zu.self_attn.q_proj", "layers.%zu.self_attn.k_proj", "layers.%zu.self_attn.v_proj"

static const struct mf_language_part opt[] = {{"tokens", {"embed_tokens"}, 0, 0, 0},
                                              {"positions", {"embed_positions"}, 0, 0, 0},
                                              {"before", {"project_in"}, 0, 0, 0},
                                              {"behind", {"project_out"}, 0, 0, 0},
                                              {"first", {"layers.%zu.self_attn_layer_norm"}, 0, 0, 0},
                                              {"second", {"layers.%zu.final_layer_norm"}, 0, 0, 0},
                                              {"qkv", {QKV}, 0, 0, 0},
                                              {"out", {"layers.%zu.self_attn.out_proj"}, 0, 0, 0},
                                              {"in", {"layers.%zu.fc1"}, 0, 0, 0},
                                              {"inner", {"layers.%zu.fc2"}, 0, 0, 0},
                                              {"last", {"final_layer_norm"}, 0, 0, 0},
                                              {NULL, {NULL}, 0, 0, 0}};

static const struct mf_language_part llama[] = {{"tokens", {"embed_tokens"}, 0, 0, 0},
                                                {"first", {"layers.%zu.input_layernorm"}, 0, 0, 0},
                                                {"second", {"layers.%zu.post_attention_layernorm"}, 0, 0, 0},
                                                {"qkv", {QKV}, 0, 0, 0},
                                                {"out", {"layers.%zu.self_attn.o_proj"}, 0, 0, 0},
                                                {"in", {"layers.%zu.mlp.gate_proj", "layers.%zu.mlp.up_proj"}, 0, 0, 0},
                                                {"inner", {"layers.%zu.mlp.down_proj"}, 0, 0, 0},
                                                {"last", {"norm"}, 0, 0, 0},
                                                {NULL, {NULL}, 0, 0, 0}};

#define MIXTRAL                                                                                \
    {"tokens", {"embed_tokens"}, 0, 0, 0}, {"first", {"layers.%zu.input_layernorm"}, 0, 0, 0}, \
        {"second", {"layers.%zu.post_attention_layernorm"}, 0, 0, 0}, {"qkv", {QKV}, 0, 0, 0}, \
        {"out", {"layers.%zu.self_attn.o_proj"}, 0, 0, 0},                                     \
    {                                                                                          \
        "last", {"norm"}, 0, 0, 0                                                              \
    }
#define EXPERT "layers.%zu.block_sparse_moe.experts.%zu"

static const struct mf_language_part mixtral[] = {MIXTRAL,
                                                  {"router", {"layers.%zu.block_sparse_moe.gate"}, 0, 0, 0},
                                                  {"in", {EXPERT ".w1", EXPERT ".w3"}, 0, 0, 0},
                                                  {"inner", {EXPERT ".w2"}, 0, 0, 0},
                                                  {NULL, {NULL}, 0, 0, 0}};

/* As transformers has them in memory, and some programs write them. */
static const struct mf_language_part mixtral_joined[] = {MIXTRAL,
                                                         {"router", {"layers.%zu.mlp.gate"}, 0, 0, 0},
                                                         {"in", {"layers.%zu.mlp.experts.gate_up_proj"}, 0, 2, 1},
                                                         {"inner", {"layers.%zu.mlp.experts.down_proj"}, 0, 0, 1},
                                                         {NULL, {NULL}, 0, 0, 0}};

#define BERT     "encoder.layer.%zu."
#define BERT_QKV BERT "attention.self.query", BERT "attention.self.key", BERT "attention.self.value"

static const struct mf_language_part bert[] = {{"tokens", {"embeddings.word_embeddings"}, 0, 0, 0},
                                               {"positions", {"embeddings.position_embeddings"}, 0, 0, 0},
                                               {"types", {"embeddings.token_type_embeddings"}, 0, 0, 0},
                                               {"placed", {"embeddings.LayerNorm"}, 0, 0, 0},
                                               {"first", {BERT "attention.output.LayerNorm"}, 0, 0, 0},
                                               {"second", {BERT "output.LayerNorm"}, 0, 0, 0},
                                               {"qkv", {BERT_QKV}, 0, 0, 0},
                                               {"out", {BERT "attention.output.dense"}, 0, 0, 0},
                                               {"in", {BERT "intermediate.dense"}, 0, 0, 0},
                                               {"inner", {BERT "output.dense"}, 0, 0, 0},
                                               {"pooler", {"pooler.dense"}, 0, 0, 0},
                                               {NULL, {NULL}, 0, 0, 0}};

const struct mf_language_names mf_language_names[MF_LANGUAGE_FAMILIES] = {
    [MF_BERT] = {bert, {"", "bert."}, NULL},
    [MF_GPT2] = {gpt2, {"transformer.", ""}, NULL},
    [MF_OPT] = {opt, {"model.decoder.", "decoder.", ""}, NULL},
    [MF_LLAMA] = {llama, {"model.", ""}, NULL},
    [MF_MISTRAL] = {llama, {"model.", ""}, NULL},
    [MF_MIXTRAL] = {mixtral, {"model.", ""}, mixtral_joined}};
