/* The numbers of parameters of published models follow from their config.json exactly. Values that such a file leaves
 * out are those of the model's class. A file is refused if this program would compute it in another way. Arguments:
 * folders with config.json and weights, whose numbers are counted. */
#include "tests/check.h"

#include <string.h>

#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/model/language.h"
#include "tests/unit/text_case.h"

#define GPT2(width, layers, heads)                                                                                   \
    "{\"model_type\": \"gpt2\", \"vocab_size\": 50257, \"n_ctx\": 1024, \"n_embd\": " width ", \"n_layer\": " layers \
    ", \"n_head\": " heads "}"
#define SIZES(type, vocabulary, width, layers, heads)                                        \
    "{\"model_type\": \"" type "\", \"vocab_size\": " vocabulary ", \"hidden_size\": " width \
    ", \"num_hidden_layers\": " layers ", \"num_attention_heads\": " heads
#define OPT(width, layers, heads, inner, more) \
    SIZES("opt", "50272", width, layers, heads) ", \"max_position_embeddings\": 2048, \"ffn_dim\": " inner more "}"
#define LLAMA(vocabulary, width, layers, heads, inner, more) \
    SIZES("llama", vocabulary, width, layers, heads) ", \"intermediate_size\": " inner more "}"
#define SMALL(more) LLAMA("16", "8", "1", "2", "8", more)
#define SMALL_GPT2(more)                                                                                            \
    "{\"model_type\": \"gpt2\", \"vocab_size\": 8, \"n_positions\": 8, \"n_embd\": 8, \"n_layer\": 1, \"n_head\": " \
    "2" more "}"
#define LLAMA3 "\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0"

static const struct {
    const char *name, *config;
    uint64_t parameters;
} published[] = {
    {"gpt2", GPT2("768", "12", "12"), 124439808},
    {"gpt2-medium", GPT2("1024", "24", "16"), 354823168},
    {"gpt2-xl", GPT2("1600", "48", "25"), 1557611200},
    {"opt-125m", OPT("768", "12", "12", "3072", ", \"word_embed_proj_dim\": 768"), 125239296},
    {"opt-350m", OPT("1024", "24", "16", "4096", ", \"word_embed_proj_dim\": 512, \"do_layer_norm_before\": false"),
     331196416},
    {"opt-1.3b", OPT("2048", "24", "32", "8192", ""), 1315758080},
    {"opt-6.7b", OPT("4096", "32", "32", "16384", ""), 6658473984},
    {"llama-7b", LLAMA("32000", "4096", "32", "32", "11008", ""), 6738415616},
    {"llama-2-70b", LLAMA("32000", "8192", "80", "64", "28672", ", \"num_key_value_heads\": 8"), 68976648192},
    {"llama-3-8b", LLAMA("128256", "4096", "32", "32", "14336", ", \"num_key_value_heads\": 8"), 8030261248},
    {"llama-3.2-1b",
     LLAMA("128256", "2048", "16", "32", "8192",
           ", \"num_key_value_heads\": 8, \"head_dim\": 64, "
           "\"tie_word_embeddings\": true"),
     1235814400},
    {"mistral-7b", SIZES("mistral", "32000", "4096", "32", "32") ", \"intermediate_size\": 14336}", 7241732096},
    {"mixtral-8x7b",
     SIZES("mixtral", "32000", "4096", "32", "32") ", \"intermediate_size\": 14336, \"num_key_value_heads\": 8, "
                                                   "\"num_local_experts\": 8}",
     46702792704},
    {"MiniLM-L6",
     SIZES("bert", "30522", "384", "6", "12") ", \"intermediate_size\": 1536, \"max_position_embeddings\": 512}",
     22713216},
    {"bert-base",
     SIZES("bert", "30522", "768", "12", "12") ", \"intermediate_size\": 3072, \"max_position_embeddings\": 512}",
     109482240},
};

static const struct {
    const char *config, *says;
} refused[] = {
    {"[]", "must be an object"},
    {"{}", "'model_type' is missing"},
    {"{\"model_type\": \"falcon\"}", "'falcon' is not known; known are bert, gpt2, llama, mistral, mixtral, opt"},
    {"{\"model_type\": \"gpt2\", \"vocab_size\": 8}", "'n_positions' is missing or 0"},
    {SMALL_GPT2(", \"n_inner\": 1e300"), "no whole number"},
    {SMALL_GPT2(", \"scale_attn_by_inverse_layer_idx\": true"), "is true, which is not known here"},
    {SMALL_GPT2(", \"activation_function\": \"mish\""), "the function 'mish'"},
    {SMALL_GPT2(", \"quantization_config\": {}"), "quantization_config"},
    {LLAMA("16", "8", "1000000000", "2", "8", ""), "no whole number of 0 to"},
    {LLAMA("16", "8", "100000", "2", "8", ""), "'num_hidden_layers' must be at most 1024, not 100000"},
    {LLAMA("200000000", "200000000", "1000", "2", "8", ""), "more than 4e15 parameters"},
    {"{\"model_type\": \"gpt2\", \"vocab_size\": 8, \"n_positions\": 8, \"n_embd\": 9, \"n_layer\": 1, \"n_head\": 2}",
     "'n_embd' is 9, which is no multiple of 'n_head' 2"},
    {LLAMA("16", "9", "1", "2", "8", ""), "'hidden_size' is 9, which is no multiple of 'num_attention_heads' 2"},
    {SMALL(", \"num_key_value_heads\": 3"),
     "'num_attention_heads' is 2, which is no multiple of 'num_key_value_heads' 3"},
    {SMALL(", \"head_dim\": 3"), "'head_dim' is 3"},
    {SMALL(", \"dtype\": \"float8\""), "the type 'float8' of 'dtype' is not known"},
    {SMALL(", \"rms_norm_eps\": 0.0"), "'rms_norm_eps' must be a number above 0"},
    {SMALL(", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2.0}"), "'yarn' is not known"},
    {SMALL(", \"rope_scaling\": {\"type\": \"linear\"}"), "rope_scaling: 'factor' is missing"},
    {SMALL(", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0, \"beta_fast\": 1}"),
     "'beta_fast' is not known"},
    {SMALL(", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}, \"rope_parameters\": {\"rope_theta\": 5e3}"),
     "contradict each other"},
    {SMALL(", \"rope_parameters\": {\"rope_theta\": 5000.0}, \"rope_theta\": 7000.0"), "is 5000 and 7000"},
    {SMALL(", \"rope_parameters\": {" LLAMA3 "}"), "llama3 needs"},
    {SIZES("mixtral", "16", "8", "1", "8") ", \"intermediate_size\": 8, \"num_experts_per_tok\": 9}",
     "'num_experts_per_tok' is 9, and 'num_local_experts' only 8"},
    {SIZES("mixtral", "16", "8", "100", "8") ", \"intermediate_size\": 8, \"num_local_experts\": 500}",
     "'num_local_experts' times 'num_hidden_layers' must be at most 16384, not 50000"},
    {SIZES("bert", "16", "8", "1", "2") ", \"intermediate_size\": 8, \"max_position_embeddings\": 8, "
                                        "\"position_embedding_type\": \"relative_key\"}",
     "'relative_key' is not known"},
};

static int read_text(const char *config, struct mf_language *m)
{
    return mf_language_read(text_file(config, strlen(config)), m);
}

static void check_tables(void)
{
    struct mf_language m;

    for (size_t i = 0; i < sizeof published / sizeof *published; ++i) {
        CHECK_SAYS(read_text(published[i].config, &m) == MF_OK, "%s: %s", published[i].name, mf_err_text());
        CHECK_SAYS(mf_language_parameters(&m) == published[i].parameters, "%s: %llu parameters", published[i].name,
                   (unsigned long long)mf_language_parameters(&m));
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        CHECK_SAYS(read_text(refused[i].config, &m) == MF_INPUT, "not refused: %s", refused[i].config);
        CHECK_SAYS(strstr(mf_err_text(), refused[i].says), "'%s' lacks '%s'", mf_err_text(), refused[i].says);
    }
}

/* Both ways to write the rotation, what classes have where a file says nothing, and types. */
static void check_values(void)
{
    struct mf_language m;

    CHECK(read_text(SMALL(", \"rope_scaling\": null, \"rope_theta\": 500.0, \"torch_dtype\": \"float16\""), &m) ==
          MF_OK);
    CHECK(m.rope.kind == MF_ROPE_PLAIN && m.rope.base == 500 && m.type == MF_F16 && !m.tied && m.act == MF_ACT_SILU);
    CHECK(m.key_heads == 2 && m.head_width == 4 && m.context == 2048 && m.last_norm && m.epsilon == 1e-6);
    CHECK(read_text(SMALL(", \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 5000}"), &m) == MF_OK);
    CHECK(m.rope.base == 5000 && m.type == MF_TYPES);
    CHECK(read_text(SMALL(", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}"), &m) == MF_OK);
    CHECK(m.rope.kind == MF_ROPE_LINEAR && m.rope.factor == 2 && m.rope.base == 10000);
    CHECK(read_text(SMALL(", \"dtype\": \"bfloat16\", \"rope_parameters\": {" LLAMA3
                          ", \"original_max_position_embeddings\": 16, \"rope_theta\": 500.0}"),
                    &m) == MF_OK);
    CHECK(m.rope.kind == MF_ROPE_LLAMA3 && m.rope.low == 1 && m.rope.high == 4 && m.rope.original == 16);
    CHECK(m.type == MF_BF16);
    CHECK(read_text(published[11].config, &m) == MF_OK && m.window == 4096 && m.key_heads == 8);
    CHECK(read_text(published[12].config, &m) == MF_OK && m.window == 0 && m.chosen == 2 && m.rope.base == 1e6);
    CHECK(read_text(published[4].config, &m) == MF_OK && m.shift == 2 && m.norms_behind && !m.last_norm);
    CHECK(read_text(published[0].config, &m) == MF_OK && m.tied && m.act == MF_ACT_GELU_TANH && m.inner == 3072);
}

static int is_buffer(const char *name)
{
    return mf_ends_with(name, ".attn.bias") || mf_ends_with(name, "position_ids");
}

/* Numbers in a folder's weights. */
static void check_folder(const char *path, int *found)
{
    const struct mf_safetensors_entry *list;
    struct mf_safetensors *file = NULL;
    struct mf_language m;
    uint64_t all = 0;
    size_t count;

    if (mf_safetensors_open(path, &file) != MF_OK) return; /* it is not on every machine */
    *found = 1;
    list = mf_safetensors_list(file, &count);
    for (size_t i = 0; i < count; ++i) {
        uint64_t n = !is_buffer(list[i].name);

        for (size_t d = 0; d < list[i].ndim; ++d) n *= list[i].dims[d];
        all += n;
    }
    CHECK_SAYS(mf_language_read(path, &m) == MF_OK, "%s", mf_err_text());
    if (strstr(path, "tied-with-head")) m.tied = 0; /* the file's own head counts */
    CHECK_SAYS(mf_language_parameters(&m) == all, "%s: %llu parameters, and %llu in the file", path,
               (unsigned long long)mf_language_parameters(&m), (unsigned long long)all);
    mf_safetensors_close(file);
}

int main(int argc, char **argv)
{
    int found = 0;

    if (argc < 2) {
        check_tables();
        check_values();
        return failures != 0;
    }
    for (int i = 1; i < argc; ++i) check_folder(argv[i], &found);
    return failures ? 1 : found ? 0 : 77;
}
