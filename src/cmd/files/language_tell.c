/* See language_tell.h. */
#include "src/cmd/files/language_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/model/language.h"
#include "src/text/tokenizer.h"

/* The tokenizer of the model's folder; NULL: there is none that is known here, and *why says it. */
static struct mf_tokenizer *tokenizer_of(const char *file, char *why, size_t room)
{
    const char *base = mf_name_base(file);
    const int is_config = strcmp(base, "config.json") == 0;
    char *folder = is_config ? mf_format("%.*s.", (int)(base - file), file) : mf_format("%s", file);
    struct mf_tokenizer *t = NULL;

    if (mf_tokenizer_open(folder, &t) != MF_OK) mf_err_take(why, room);
    free(folder);
    return t;
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

static void print_all(const char *file, const struct mf_language *m, const struct mf_tokenizer *t, const char *why)
{
    const uint64_t n = mf_language_parameters(m);

    printf("%s: language model %s\n", file, mf_language_name(m->family));
    print_parts(m);
    printf("  parameters: %" PRIu64 "; %" PRIu64 " bytes in 16 bits, %" PRIu64 " in 32", n, 2 * n, 4 * n);
    if (m->type != MF_TYPES) printf("; the file says %s", mf_type_name(m->type));
    printf("\n");
    if (t)
        printf("  tokenizer:  %s, %zu tokens\n", mf_tokenizer_kind(t), mf_tokenizer_numbers(t));
    else
        printf("  tokenizer:  none: %s\n", why);
}

static void put_all(struct mf_json *json, const struct mf_language *m, const struct mf_tokenizer *t, const char *why)
{
    struct mf_json *sizes = mf_json_object();

    MF_JSON(sizes, "vocabulary", m->vocabulary, "context", m->context, "layers", m->layers, "width", m->width,
            "embedding", m->embedding, "heads", m->heads, "key_heads", m->key_heads, "head_width", m->head_width,
            "inner", m->inner, "experts", m->experts, "chosen", m->chosen, "window", m->window);
    MF_JSON(json, "kind", "language model", "family", mf_language_name(m->family), "sizes", sizes, "parameters",
            mf_language_parameters(m));
    mf_json_some(json, "dtype", m->type != MF_TYPES ? mf_type_name(m->type) : NULL);
    mf_json_some(json, "tokenizer", t ? mf_tokenizer_kind(t) : NULL);
    if (t)
        mf_json_size(json, "tokens", mf_tokenizer_numbers(t));
    else
        mf_json_text(json, "tokenizer_missing", why);
}

int mf_language_tell(const char *file, struct mf_json *json)
{
    struct mf_language m;
    struct mf_tokenizer *t;
    char why[MF_ERR_TEXT] = "";

    MF_TRY(mf_language_read(file, &m));
    t = tokenizer_of(file, why, sizeof why);
    if (json)
        put_all(json, &m, t, why);
    else
        print_all(file, &m, t, why);
    mf_tokenizer_close(t);
    return MF_OK;
}
