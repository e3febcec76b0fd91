/* Texts and numbers of tokens that a user gives a language model. */
#ifndef MF_CMD_LEARN_PROMPTS_H
#define MF_CMD_LEARN_PROMPTS_H

#include "mpi/comm.h"
#include "src/base/opt.h"
#include "src/text/tokenizer.h"

/** Options. */
struct mf_prompt_opts {
    const char *prompt, *prompts; /* a text, @FILE or -; a file of JSON lines, or - */
    struct mf_longs tokens;
    struct mf_texts texts; /* of a library's host, as they are; no option has them */
};

#define MF_PROMPT_ROWS(type, field)                                                                              \
    MF_OPT(type, "prompt", field.prompt, MF_TEXT, NULL, "a text, @FILE, or - (standard input)"),                 \
        MF_OPT(type, "prompts", field.prompts, MF_TEXT, NULL,                                                    \
               "a file, or - (standard input), with a JSON object in each line: {\"text\": \"...\"}, also with " \
               "\"text_pair\", or {\"tokens\": [..]}"),                                                          \
        MF_OPT(type, "tokens", field.tokens, MF_LONGS, NULL, "numbers of tokens, as 12,7,9")

/** A text, two texts, or numbers. */
struct mf_prompt {
    struct mf_bytes text[2];        /* valid UTF-8 */
    size_t texts;                   /* 0: the user gave numbers; else tokens are those of the texts */
    struct mf_tokens tokens, types; /* types: of two texts */
};

/** Refuses with MF_USAGE more than one of the options, and none. */
int mf_prompts_check(const struct mf_prompt_opts *opts);

/** Reads them, and gives each to @p take, which refuses as it likes. @p how has bits of enum mf_encode. The first text
 * opens the tokenizer of @p folder, where *tokenizer is NULL; numbers need none. Refuses with MF_INPUT, and as
 * mf_tokenizer_open(). Warns of bytes that are no UTF-8, and of characters without a token. Rank 0 reads files for all.
 * Collective. */
int mf_prompts_each(const struct mf_comm *comm, const struct mf_prompt_opts *opts, const char *folder,
                    struct mf_tokenizer **tokenizer, unsigned how, int (*take)(void *context, struct mf_prompt *prompt),
                    void *context);

/** The file of --prompts, for sentences. */
const char *mf_prompts_file(const struct mf_prompt_opts *opts);

void mf_prompt_free(struct mf_prompt *prompt);

#endif
