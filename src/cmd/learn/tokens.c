/* infer tokens: texts to the numbers of a tokenizer and back, without the weights of its model. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/learn/prompts.h"

struct tokens_cmd {
    struct mf_common common; /* of which it has --json */
    struct mf_prompt_opts from;
    int bare, literal, special;
};

static const struct mf_opt rows[] = {
    MF_PROMPT_ROWS(tokens_cmd, from),
    MF_OPT(tokens_cmd, "bare", bare, MF_FLAG, NULL, "put no special tokens around a text"),
    MF_OPT(tokens_cmd, "literal", literal, MF_FLAG, NULL, "special tokens that stand in a text are text"),
    MF_OPT(tokens_cmd, "special", special, MF_FLAG, NULL, "special tokens are part of a text that is made of numbers"),
    MF_OPT(tokens_cmd, "json", common.json, MF_FLAG, NULL, "print results as JSON, with the text of every token"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, NULL};

struct job {
    const struct tokens_cmd *o;
    struct mf_tokenizer *tokenizer;
    struct mf_json *results; /* NULL: plain lines */
};

static void put_text(struct mf_json *row, const char *key, const struct mf_bytes *text)
{
    mf_json_bytes(row, key, text->count ? text->at : "", text->count);
}

static void put_numbers(struct mf_json *row, const char *key, const struct mf_tokens *tokens)
{
    struct mf_json *numbers = mf_json_array();

    for (size_t i = 0; i < tokens->count; ++i) mf_json_int(numbers, NULL, tokens->at[i]);
    mf_json_put(row, key, numbers);
}

/* One result: texts, numbers, the text of each, and what the numbers decode to. */
static void put_result(const struct job *job, const struct mf_prompt *a, const struct mf_bytes *decoded)
{
    struct mf_json *row = mf_json_object(), *pieces = mf_json_array();

    for (size_t i = 0; i < a->tokens.count; ++i) {
        size_t n;
        const char *piece = mf_tokenizer_piece(job->tokenizer, a->tokens.at[i], &n);

        mf_json_bytes(pieces, NULL, piece, n);
    }
    if (a->texts > 0) put_text(row, "text", &a->text[0]);
    if (a->texts > 1) put_text(row, "text_pair", &a->text[1]);
    put_numbers(row, "tokens", &a->tokens);
    if (a->texts > 1) put_numbers(row, "types", &a->types);
    mf_json_put(row, "pieces", pieces);
    put_text(row, "decoded", decoded);
    if (a->texts > 0) mf_json_size(row, "lost", a->tokens.lost);
    mf_json_put(job->results, NULL, row);
}

static int tell(void *context, struct mf_prompt *a)
{
    const struct job *job = context;
    struct mf_bytes decoded = {0};
    int rc = MF_OK;

    if (a->texts == 0 || job->results)
        rc = mf_tokenizer_decode(job->tokenizer, a->tokens.at, a->tokens.count, job->o->special, &decoded);
    if (rc == MF_OK && job->results)
        put_result(job, a, &decoded);
    else if (rc == MF_OK && a->texts > 0) {
        for (size_t i = 0; i < a->tokens.count; ++i) printf("%s%u", i ? " " : "", a->tokens.at[i]);
        printf("\n");
    } else if (rc == MF_OK) {
        fwrite(decoded.at ? decoded.at : "", 1, decoded.count, stdout);
        printf("\n");
    }
    mf_bytes_free(&decoded);
    return rc;
}

/* Prints the tokenizer and its results. */
static int print_json(const struct job *job, const char *path, struct mf_json *results)
{
    struct mf_json *all = mf_json_object();
    int rc;

    MF_JSON(all, "tokenizer", path, "model", mf_tokenizer_kind(job->tokenizer), "numbers",
            mf_tokenizer_numbers(job->tokenizer), "results", results);
    rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc;
}

static int check(const struct mf_options *options, const struct tokens_cmd *o, const char **path)
{
    const char *const *words = NULL;

    if (mf_options_positional(options, &words) == 0)
        return mf_fail(MF_USAGE, "no tokenizer; try: mesoforge infer tokens FOLDER --prompt TEXT");
    *path = words[0];
    return mf_prompts_check(&o->from);
}

static int alone(const struct mf_options *options, void *into)
{
    const struct tokens_cmd *o = into;
    struct job job = {.o = o};
    const char *path = NULL;
    struct mf_comm self;
    int rc;

    mf_comm_self(&self);
    MF_TRY(check(options, o, &path));
    MF_TRY(mf_tokenizer_open(path, &job.tokenizer));
    if (o->common.json) job.results = mf_json_array();
    rc = mf_prompts_each(&self, &o->from, path, &job.tokenizer,
                         (o->bare ? MF_ENCODE_BARE : 0u) | (o->literal ? MF_ENCODE_LITERAL : 0u), tell, &job);
    if (job.results && rc == MF_OK)
        rc = print_json(&job, path, job.results);
    else
        mf_json_free(job.results);
    mf_tokenizer_close(job.tokenizer);
    return rc;
}

const struct mf_cmd mf_cmd_infer_tokens = {
    .name = "infer tokens",
    .summary = "texts to the numbers of a language model's tokenizer, and back",
    .synopsis = "FOLDER --prompt TEXT | --prompts FILE | --tokens NUMBERS",
    .text = "Reads the tokenizer of a model's folder, and no weights: tokenizer.json, else vocab.json with merges.txt, "
            "else vocab.txt. A file of the form of tokenizer.json may stand for the folder. A part of a tokenizer "
            "that is not known here is refused (exit status 3), since other numbers would come out. A text gives a "
            "line of numbers, and numbers give a text. Special tokens are put around a text as the file says, unless "
            "--bare is given. Special tokens inside of a text count as such, unless --literal is given. Bytes that "
            "are no UTF-8 become U+FFFD, and a warning says it.\n"
            "\n"
            "  mesoforge infer tokens gpt2 --prompt 'the pore network'\n"
            "  mesoforge infer tokens gpt2 --tokens 1169,22345,3127\n"
            "  mesoforge infer tokens llama --prompts texts.jsonl --json\n",
    .tables = tables,
    .size = sizeof(struct tokens_cmd),
    .positional_max = 1,
    .alone = alone,
    .in_library = 1,
};
