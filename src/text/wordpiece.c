/* See wordpiece.h. */
#include "src/text/wordpiece.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/text/unicode.h"
#include "src/text/words.h"

enum { CHARACTERS = 100, CHARACTERS_MOST = 1 << 20 };

struct mf_wordpiece {
    const struct mf_vocab *vocab;
    struct mf_words_kept *kept;
    struct mf_bytes prefix, text; /* of a token that continues a word; room for one */
    uint32_t unknown;
    size_t most; /* characters of a word */
};

static int read_all(const struct mf_part *part, struct mf_wordpiece *w)
{
    static const char *const keys[] = {
        "type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", NULL};
    const char *unknown = "[UNK]", *prefix = "##";
    int32_t token;

    MF_TRY(mf_part_keys(part, keys));
    MF_TRY(mf_part_text(part, "unk_token", &unknown));
    MF_TRY(mf_part_text(part, "continuing_subword_prefix", &prefix));
    MF_TRY(mf_part_number(part, "max_input_chars_per_word", CHARACTERS_MOST, &w->most));
    token = mf_vocab_find(w->vocab, unknown, strlen(unknown));
    if (token < 0) return mf_part_fail(part, "the vocabulary lacks '%.60s', its token for unknown words", unknown);
    w->unknown = (uint32_t)token;
    mf_bytes_put(&w->prefix, prefix, strlen(prefix));
    return MF_OK;
}

int mf_wordpiece_read(const struct mf_part *part, const struct mf_vocab *vocab, struct mf_wordpiece **wordpiece)
{
    struct mf_wordpiece *w = MF_MUST(calloc(1, sizeof *w), "a tokenizer");
    int rc;

    w->vocab = vocab;
    w->most = CHARACTERS;
    rc = read_all(part, w);
    if (rc == MF_OK)
        w->kept = mf_words_kept_new();
    else {
        mf_wordpiece_free(w);
        w = NULL;
    }
    *wordpiece = w;
    return rc;
}

void mf_wordpiece_free(struct mf_wordpiece *w)
{
    if (!w) return;
    mf_words_kept_free(w->kept);
    mf_bytes_free(&w->prefix);
    mf_bytes_free(&w->text);
    free(w);
}

/* The longest token at the begin of @p word, and its bytes; -1: none. */
static int32_t longest(struct mf_wordpiece *w, const char *word, size_t n, int continues, size_t *bytes)
{
    const size_t prefix = continues ? w->prefix.count : 0;

    w->text.count = 0;
    mf_bytes_put(&w->text, w->prefix.at, prefix);
    if (prefix + n > w->vocab->longest) n = w->vocab->longest > prefix ? w->vocab->longest - prefix : 0;
    mf_bytes_put(&w->text, word, n);
    for (; n > 0; --n) {
        const int32_t token = mf_vocab_find(w->vocab, w->text.at, prefix + n);

        if (token >= 0) return *bytes = n, token;
    }
    return MF_TOKEN_NONE;
}

void mf_wordpiece_word(struct mf_wordpiece *w, const char *word, size_t n, struct mf_tokens *to)
{
    const size_t before = to->count;

    if (mf_words_kept_find(w->kept, word, n, to)) return;
    if (n > w->most && mf_point_count(word, n) > w->most) {
        mf_tokens_put(to, w->unknown);
        return;
    }
    for (size_t at = 0, bytes; at < n; at += bytes) {
        const int32_t token = longest(w, word + at, n - at, at > 0, &bytes);

        if (token < 0) {
            to->count = before;
            mf_tokens_put(to, w->unknown);
            break;
        }
        mf_tokens_put(to, (uint32_t)token);
    }
    mf_words_kept_put(w->kept, word, n, to->at + before, to->count - before);
}
