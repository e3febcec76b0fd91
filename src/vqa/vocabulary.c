/* See vocabulary.h. */
#include "src/vqa/vocabulary.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/text/steps.h"
#include "src/text/unicode.h"
#include "src/text/vocab.h"

enum { TOKENS_MOST = 1 << 17, TOKEN_MOST = 256 };

struct mf_vqa_words {
    struct mf_vocab tokens; /* in the order of their numbers */
    struct mf_text_steps normaliser, splitter;
    struct mf_pieces piece, spare;
    int rc; /* of adding single characters */
};

/* A token that is not there yet. Beyond the limits a word has no token of its own: it is spelt. */
static int add(struct mf_vqa_words *w, const char *before, const char *word, size_t n)
{
    char token[TOKEN_MOST + 3];
    const size_t bytes = strlen(before) + n;

    if (bytes > TOKEN_MOST || w->tokens.count == TOKENS_MOST) return MF_OK;
    snprintf(token, sizeof token, "%s%.*s", before, (int)n, word);
    return mf_vocab_find(&w->tokens, token, bytes) < 0 ? mf_vocab_add(&w->tokens, token, bytes, w->tokens.numbers)
                                                       : MF_OK;
}

/* A step of a tokenizer's file, by its settings. */
static void read_step(const char *settings, const struct mf_text_step_kind *kinds, struct mf_text_steps *chain)
{
    struct mf_json *row = mf_json_parse(settings);
    const struct mf_part part = {"vocabulary", "words", row};

    MF_ASSERT(mf_text_steps_read(&part, "", kinds, chain) == MF_OK);
    mf_json_free(row);
}

static int add_characters(struct mf_vqa_words *w)
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};

    for (size_t i = 0; i < sizeof special / sizeof *special; ++i) MF_TRY(add(w, "", special[i], strlen(special[i])));
    for (char c = '!'; c <= '~'; ++c)
        if (!isupper(c)) MF_TRY(add(w, "", &c, 1));
    for (char c = '!'; c <= '~'; ++c)
        if (islower(c) || isdigit(c)) MF_TRY(add(w, "##", &c, 1));
    return MF_OK;
}

struct mf_vqa_words *mf_vqa_words_begin(void)
{
    struct mf_vqa_words *w = MF_MUST(calloc(1, sizeof *w), "a vocabulary");

    read_step("{\"type\": \"BertNormalizer\"}", mf_normalisers, &w->normaliser);
    read_step("{\"type\": \"BertPreTokenizer\"}", mf_splitters, &w->splitter);
    w->rc = add_characters(w);
    return w;
}

/* A word, and its characters, of which the first begins words and the others continue them. */
static int add_word(struct mf_vqa_words *w, const char *word, size_t n)
{
    size_t bytes;

    for (size_t at = 0; at < n; at += bytes) {
        (void)mf_point(word + at, &bytes);
        MF_TRY(add(w, at ? "##" : "", word + at, bytes));
    }
    return add(w, "", word, n);
}

int mf_vqa_words_add(struct mf_vqa_words *w, const char *text)
{
    struct mf_pieces *p = &w->piece;

    MF_TRY(w->rc);
    mf_pieces_clear(p);
    mf_pieces_put(p, text, strlen(text));
    MF_TRY(mf_text_steps_run(&w->normaliser, p, &w->spare));
    MF_TRY(mf_text_steps_run(&w->splitter, p, &w->spare));
    for (size_t i = 0; i < p->count; ++i) MF_TRY(add_word(w, p->text.at + p->span[i].first, p->span[i].count));
    return MF_OK;
}

int mf_vqa_words_end(struct mf_vqa_words *w, int rc, char **lines)
{
    const size_t n = w->tokens.text.count;

    *lines = NULL;
    if (rc == MF_OK) rc = w->rc;
    if (rc == MF_OK) rc = MF_ROOM(*lines, n + 1, "a vocabulary");
    for (size_t i = 0; rc == MF_OK && i < n; ++i) (*lines)[i] = w->tokens.text.at[i] ? w->tokens.text.at[i] : '\n';
    mf_vocab_free(&w->tokens);
    mf_text_steps_free(&w->normaliser);
    mf_text_steps_free(&w->splitter);
    mf_pieces_free(&w->piece);
    mf_pieces_free(&w->spare);
    free(w);
    return rc;
}
