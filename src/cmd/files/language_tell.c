/* See language_tell.h. */
#include "src/cmd/files/language_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/model/language.h"
#include "src/text/tokenizer.h"

/* Files beside a config.json. */
struct beside {
    char *folder;
    struct mf_safetensors *weights; /* NULL: there are none, */
    struct mf_tokenizer *tokenizer; /* or none that is known here: */
    char no_weights[MF_ERR_TEXT], no_tokenizer[MF_ERR_TEXT];
};

static int has(const char *folder, const char *name)
{
    char *path = mf_format("%s/%s", folder, name);
    const int is = access(path, F_OK) == 0;

    free(path);
    return is;
}

static int is_config(const char *file) { return strcmp(mf_name_base(file), "config.json") == 0; }

/* Weights that are no model of ours (model_tell.h). */
static int has_foreign_weights(const char *folder)
{
    char *path = mf_safetensors_where(folder);
    struct mf_safetensors *file = NULL;
    const int is = strcmp(path, folder) != 0 && access(path, F_OK) == 0 &&
                   mf_safetensors_open(folder, &file) == MF_OK && !mf_safetensors_metadata(file, "mesoforge");

    mf_err_clear();
    mf_safetensors_close(file);
    free(path);
    return is;
}

int mf_language_seems(const char *file)
{
    static const char *const names[] = {"tokenizer.json", "vocab.json", "vocab.txt"};

    for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
        if (has(file, names[k])) return 1;
    return mf_language_named(file) || has_foreign_weights(file);
}

static void look_beside(const char *file, struct beside *b)
{
    char *path;

    *b = (struct beside){.folder = is_config(file) ? mf_format("%.*s.", (int)(mf_name_base(file) - file), file)
                                                   : mf_format("%s", file)};
    path = mf_safetensors_where(b->folder);
    if (access(path, F_OK) != 0)
        snprintf(b->no_weights, sizeof b->no_weights, "there is no %s", mf_name_base(path));
    else if (mf_safetensors_open(b->folder, &b->weights) != MF_OK)
        mf_err_take(b->no_weights, sizeof b->no_weights);
    if (mf_tokenizer_open(b->folder, &b->tokenizer) != MF_OK) mf_err_take(b->no_tokenizer, sizeof b->no_tokenizer);
    free(path);
}

static void forget(struct beside *b)
{
    mf_safetensors_close(b->weights);
    mf_tokenizer_close(b->tokenizer);
    free(b->folder);
}

/* Numbers of all arrays. */
static double numbers_of(const struct mf_safetensors *file, size_t *arrays)
{
    const struct mf_safetensors_entry *entry = mf_safetensors_list(file, arrays);
    double sum = 0;

    for (size_t k = 0; k < *arrays; ++k) {
        double n = 1;

        for (size_t i = 0; i < entry[k].ndim; ++i) n *= (double)entry[k].dims[i];
        sum += n;
    }
    return sum;
}

static void print_parts(const struct mf_language *m)
{
    static const char *const act[] = {[MF_ACT_NONE] = "none",
                                      [MF_ACT_RELU] = "relu",
                                      [MF_ACT_SILU] = "silu",
                                      [MF_ACT_GELU] = "gelu",
                                      [MF_ACT_GELU_TANH] = "gelu (tanh)"};
    static const char *const rope[] = {"", "rotated", "rotated, linear scaling", "rotated, llama3 scaling"};

    printf("  layers:     %zu of width %zu: %zu head%s of width %zu, %zu of keys; inner width %zu, %s\n", m->layers,
           m->width, m->heads, MF_S(m->heads), m->head_width, m->key_heads, m->inner, act[m->act]);
    if (m->experts) printf("  experts:    %zu in each layer, %zu for each token\n", m->experts, m->chosen);
    printf("  tokens:     %zu in the table; %zu positions, %s", m->vocabulary, m->context,
           m->rope.kind == MF_ROPE_NONE ? "with a table" : rope[m->rope.kind]);
    if (m->rope.kind != MF_ROPE_NONE) printf(" (base %g)", m->rope.base);
    if (m->window) printf("; a token sees the last %zu", m->window);
    printf("\n");
}

static void print_model(const char *file, const struct mf_language *m)
{
    const uint64_t n = mf_language_parameters(m);

    printf("%s: language model %s\n", file, mf_language_name(m->family));
    print_parts(m);
    printf("  parameters: %" PRIu64 "; %" PRIu64 " bytes in 16 bits, %" PRIu64 " in 32", n, 2 * n, 4 * n);
    if (m->type != MF_TYPES) printf("; the file says %s", mf_type_name(m->type));
    printf("\n");
}

static void print_beside(const struct beside *b)
{
    size_t arrays;

    if (b->weights) {
        const double numbers = numbers_of(b->weights, &arrays);

        printf("  weights:    %zu array%s of %.0f numbers together\n", arrays, MF_S(arrays), numbers);
    } else
        printf("  weights:    none: %s\n", b->no_weights);
    if (b->tokenizer)
        printf("  tokenizer:  %s, %zu tokens\n", mf_tokenizer_kind(b->tokenizer), mf_tokenizer_numbers(b->tokenizer));
    else
        printf("  tokenizer:  none: %s\n", b->no_tokenizer);
}

static void put_model(struct mf_json *json, const struct mf_language *m)
{
    struct mf_json *sizes = mf_json_object();

    MF_JSON(sizes, "vocabulary", m->vocabulary, "context", m->context, "layers", m->layers, "width", m->width,
            "embedding", m->embedding, "heads", m->heads, "key_heads", m->key_heads, "head_width", m->head_width,
            "inner", m->inner, "experts", m->experts, "chosen", m->chosen, "window", m->window);
    MF_JSON(json, "kind", "language model", "family", mf_language_name(m->family), "sizes", sizes, "parameters",
            mf_language_parameters(m));
    mf_json_some(json, "dtype", m->type != MF_TYPES ? mf_type_name(m->type) : NULL);
}

static void put_beside(struct mf_json *json, const struct beside *b)
{
    size_t arrays;

    if (b->weights) {
        struct mf_json *weights = mf_json_object();
        const double numbers = numbers_of(b->weights, &arrays);

        MF_JSON(weights, "arrays", arrays, "numbers", (size_t)numbers);
        mf_json_put(json, "weights", weights);
    } else
        mf_json_text(json, "weights_missing", b->no_weights);
    mf_json_some(json, "tokenizer", b->tokenizer ? mf_tokenizer_kind(b->tokenizer) : NULL);
    if (b->tokenizer)
        mf_json_size(json, "tokens", mf_tokenizer_numbers(b->tokenizer));
    else
        mf_json_text(json, "tokenizer_missing", b->no_tokenizer);
}

/* A folder without config.json. */
static void tell_nameless(const char *file, struct mf_json *json)
{
    if (json)
        mf_json_text(json, "kind", "language model without config.json");
    else
        printf("%s: no config.json, without which no language model runs\n", file);
}

int mf_language_tell(const char *file, struct mf_json *json)
{
    const int is_named = mf_language_named(file);
    struct mf_language m;
    struct beside b;

    if (is_named) MF_TRY(mf_language_read(file, &m));
    look_beside(file, &b);
    if (!is_named)
        tell_nameless(file, json);
    else if (json)
        put_model(json, &m);
    else
        print_model(file, &m);
    if (json)
        put_beside(json, &b);
    else
        print_beside(&b);
    forget(&b);
    return MF_OK;
}
