/* See tokenizer.h: decoding, of all tokens or of one more at a time. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/text/byte_letters.h"
#include "src/text/decode.h"
#include "src/text/tokenizer_priv.h"
#include "src/text/unicode.h"

/* The text of a token. NULL in *text: it is special, or no token has this number. It is left out then. */
static void text_of(const struct mf_tokenizer *t, uint32_t number, int special, const char **text, size_t *n)
{
    int is_special = 0;

    *text = mf_added_text(t->added, number, n, &is_special);
    if (!*text) *text = mf_vocab_text(&t->vocab, number, n);
    if (is_special && !special) *text = NULL;
}

static int decode(const struct mf_tokenizer *t, struct mf_pieces *tokens, struct mf_bytes *text)
{
    struct mf_pieces spare = {0};
    const int rc = mf_text_steps_run(&t->decoder, tokens, &spare);

    if (rc == MF_OK) mf_bytes_put(text, tokens->text.at, tokens->text.count);
    mf_pieces_free(&spare);
    return rc;
}

int mf_tokenizer_decode(const struct mf_tokenizer *t, const uint32_t *number, size_t count, int special,
                        struct mf_bytes *text)
{
    struct mf_pieces tokens = {0};
    int rc = MF_OK;

    for (size_t i = 0; i < count; ++i) {
        const char *piece;
        size_t n;

        text_of(t, number[i], special, &piece, &n);
        if (piece) mf_pieces_put(&tokens, piece, n);
    }
    if (tokens.count) rc = decode(t, &tokens, text);
    mf_pieces_free(&tokens);
    return rc;
}

/* ---- streams ---- */

struct mf_text_stream {
    const struct mf_tokenizer *tokenizer;
    int special;
    enum mf_decode_way way;
    struct mf_bytes bytes;  /* MF_DECODE_BYTES: the begin of a character */
    struct mf_pieces token; /* else: the texts of the last tokens that were told, and of those that were not */
    size_t told;            /* tokens of these that were told */
};

struct mf_text_stream *mf_text_stream_new(const struct mf_tokenizer *tokenizer, int special)
{
    struct mf_text_stream *s = MF_MUST(calloc(1, sizeof *s), "a text");

    s->tokenizer = tokenizer;
    s->special = special;
    s->way = mf_decode_way(&tokenizer->decoder);
    return s;
}

void mf_text_stream_free(struct mf_text_stream *s)
{
    if (!s) return;
    mf_bytes_free(&s->bytes);
    mf_pieces_free(&s->token);
    free(s);
}

static void tell_bytes(struct mf_text_stream *s, int more, struct mf_bytes *text)
{
    const size_t taken = mf_utf8_repair(s->bytes.at, s->bytes.count, more, text, NULL);

    if (taken) memmove(s->bytes.at, s->bytes.at + taken, s->bytes.count - taken);
    s->bytes.count -= taken;
}

/* The text of the first @p count tokens of the window. */
static int window_text(const struct mf_text_stream *s, size_t count, struct mf_bytes *text)
{
    struct mf_pieces window = {0};
    int rc;

    for (size_t i = 0; i < count; ++i)
        mf_pieces_put(&window, s->token.text.at + s->token.span[i].first, s->token.span[i].count);
    rc = count ? decode(s->tokenizer, &window, text) : MF_OK;
    mf_pieces_free(&window);
    return rc;
}

static int ends_lost(const struct mf_bytes *text)
{
    return text->count >= 3 && memcmp(text->at + text->count - 3, "\xEF\xBF\xBD", 3) == 0;
}

/* The window begins with the first token that was not told before. */
static void move_window(struct mf_text_stream *s)
{
    struct mf_pieces rest = {0};

    for (size_t i = s->told; i < s->token.count; ++i)
        mf_pieces_put(&rest, s->token.text.at + s->token.span[i].first, s->token.span[i].count);
    mf_pieces_free(&s->token);
    s->token = rest;
    s->told = rest.count;
}

/* Tells what the tokens that were not told add to the text of those that were. A decoder changes a token by the one in
 * front of it at most, so that a window is enough. */
static int tell_window(struct mf_text_stream *s, int more, struct mf_bytes *text)
{
    struct mf_bytes old = {0}, all = {0};
    int rc = window_text(s, s->told, &old);

    if (rc == MF_OK) rc = window_text(s, s->token.count, &all);
    if (rc == MF_OK && all.count > old.count && !(more && s->way == MF_DECODE_RUNS && ends_lost(&all))) {
        mf_bytes_put(text, all.at + old.count, all.count - old.count);
        move_window(s);
    }
    mf_bytes_free(&old);
    mf_bytes_free(&all);
    return rc;
}

int mf_text_stream_put(struct mf_text_stream *s, uint32_t number, struct mf_bytes *text)
{
    const char *piece;
    size_t n;

    text_of(s->tokenizer, number, s->special, &piece, &n);
    if (!piece) return MF_OK;
    if (s->way == MF_DECODE_BYTES) {
        mf_letters_bytes(piece, n, &s->bytes);
        tell_bytes(s, 1, text);
        return MF_OK;
    }
    mf_pieces_put(&s->token, piece, n);
    if (s->way == MF_DECODE_RUNS && mf_decode_byte(piece, n) >= 0) return MF_OK; /* the run may go on */
    return tell_window(s, 1, text);
}

int mf_text_stream_end(struct mf_text_stream *s, struct mf_bytes *text)
{
    if (s->way == MF_DECODE_BYTES) {
        tell_bytes(s, 0, text);
        return MF_OK;
    }
    return s->token.count > s->told ? tell_window(s, 0, text) : MF_OK;
}
