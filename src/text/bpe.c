/* See bpe.h. */
#include "src/text/bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/text/byte_letters.h"
#include "src/text/joints.h"
#include "src/text/symbols.h"
#include "src/text/unicode.h"
#include "src/text/words.h"

enum { UNKNOWN_NONE = -1, UNKNOWN_MISSING = -2 };

struct mf_bpe {
    const struct mf_vocab *vocab;
    struct mf_merges pairs;
    struct mf_joints joints;
    struct mf_symbols symbols;
    struct mf_words_kept *kept;
    struct mf_bytes letters;
    int32_t letter[256];   /* the token of a byte as a letter (bytes) or of an ASCII character; -1: none */
    int32_t fallback[256]; /* tokens <0x00> to <0xFF>; -1: none */
    int32_t unknown;       /* a token, UNKNOWN_NONE or UNKNOWN_MISSING */
    int bytes, fuse_unknown, byte_fallback, ignore_merges;
};

/* ---- reading ---- */

/* The two tokens of a merge: texts in an array, or in one text with a blank between. */
static int halves(const struct mf_part *part, const struct mf_json *merge, struct mf_bytes half[2])
{
    half[0].count = half[1].count = 0;
    if (mf_json_kind(merge) == MF_JSON_TEXT) {
        const char *text = mf_json_to_text(merge), *blank = strchr(text, ' ');

        if (!blank || blank == text || !blank[1] || strchr(blank + 1, ' '))
            return mf_part_fail(part, "the merge '%.100s' is no pair of tokens with a blank between", text);
        mf_bytes_put(&half[0], text, (size_t)(blank - text));
        mf_bytes_put(&half[1], blank + 1, strlen(blank + 1));
        return MF_OK;
    }
    if (mf_json_kind(merge) != MF_JSON_ARRAY || mf_json_count(merge) != 2)
        return mf_part_fail(part, "a merge must be two texts, and is %s", mf_json_kind_name(merge));
    for (size_t i = 0; i < 2; ++i) {
        const struct mf_json *text = mf_json_item(merge, i);

        if (mf_json_kind(text) != MF_JSON_TEXT)
            return mf_part_fail(part, "a merge must be two texts, and has %s", mf_json_kind_name(text));
        mf_bytes_put(&half[i], mf_json_to_text(text), mf_json_length(text));
        if (half[i].count == 0) return mf_part_fail(part, "a merge has an empty text");
    }
    return MF_OK;
}

/* @p whole: room for the text of both. */
static int read_merge(const struct mf_part *part, struct mf_bpe *b, size_t rank, const struct mf_bytes half[2],
                      struct mf_bytes *whole)
{
    const int32_t left = mf_vocab_find(b->vocab, half[0].at, half[0].count);
    const int32_t right = mf_vocab_find(b->vocab, half[1].at, half[1].count);
    int32_t both;

    whole->count = 0;
    mf_bytes_put(whole, half[0].at, half[0].count);
    mf_bytes_put(whole, half[1].at, half[1].count);
    both = mf_vocab_find(b->vocab, whole->at, whole->count);
    if (left < 0 || right < 0 || both < 0) {
        const struct mf_bytes *lacks = left < 0 ? &half[0] : right < 0 ? &half[1] : whole;

        return mf_part_fail(part, "merge %zu has '%.*s', which the vocabulary lacks", rank, (int)lacks->count,
                            lacks->at);
    }
    mf_merges_put(&b->pairs, (uint32_t)left, (uint32_t)right, (uint32_t)rank, (uint32_t)both);
    mf_joints_put(&b->joints, mf_point_before(half[0].at, half[0].at + half[0].count), half[1].at);
    return MF_OK;
}

static int read_merges(const struct mf_part *part, struct mf_bpe *b)
{
    const struct mf_json *merges = mf_json_get(part->row, "merges");
    const size_t count = mf_json_count(merges);
    struct mf_bytes half[2] = {{0}, {0}}, whole = {0};
    int rc = MF_OK;

    if (mf_json_kind(merges) != MF_JSON_ARRAY)
        return mf_part_fail(part, "'merges' must be an array, and is %s", mf_json_kind_name(merges));
    if (count > MF_TOKEN_MOST) return mf_part_fail(part, "there are %zu merges, more than %d", count, MF_TOKEN_MOST);
    mf_merges_make(&b->pairs, count);
    for (size_t i = 0; rc == MF_OK && i < count; ++i) {
        rc = halves(part, mf_json_item(merges, i), half);
        if (rc == MF_OK) rc = read_merge(part, b, i, half, &whole);
    }
    mf_bytes_free(&half[0]);
    mf_bytes_free(&half[1]);
    mf_bytes_free(&whole);
    return rc;
}

/* Refuses what a file may have and this program does not do. */
static int refuse_others(const struct mf_part *part)
{
    const struct mf_json *dropout = mf_json_get(part->row, "dropout");
    const char *prefix = "", *suffix = "";

    if (mf_json_kind(dropout) != MF_JSON_NULL && mf_json_to_real(dropout) != 0)
        return mf_part_fail(part, "'dropout' makes tokens by chance, which is not known here; set it to null");
    MF_TRY(mf_part_text(part, "continuing_subword_prefix", &prefix));
    MF_TRY(mf_part_text(part, "end_of_word_suffix", &suffix));
    if (!*prefix && !*suffix) return MF_OK;
    return mf_part_fail(part, "'%s' is not known here", *prefix ? "continuing_subword_prefix" : "end_of_word_suffix");
}

static void find_letters(struct mf_bpe *b)
{
    for (int c = 0; c < 256; ++c) {
        char utf8[4], name[8];
        const size_t n = mf_point_write(b->bytes ? mf_byte_letter((unsigned char)c) : (uint32_t)c, utf8);

        snprintf(name, sizeof name, "<0x%02X>", c);
        b->fallback[c] = mf_vocab_find(b->vocab, name, 6);
        b->letter[c] = mf_vocab_find(b->vocab, utf8, n);
    }
}

static int read_all(const struct mf_part *part, struct mf_bpe *b)
{
    static const char *const keys[] = {"type",
                                       "vocab",
                                       "merges",
                                       "dropout",
                                       "unk_token",
                                       "fuse_unk",
                                       "byte_fallback",
                                       "ignore_merges",
                                       "continuing_subword_prefix",
                                       "end_of_word_suffix",
                                       NULL};
    const char *unknown = NULL;

    MF_TRY(mf_part_keys(part, keys));
    MF_TRY(refuse_others(part));
    MF_TRY(mf_part_flag(part, "fuse_unk", &b->fuse_unknown));
    MF_TRY(mf_part_flag(part, "byte_fallback", &b->byte_fallback));
    MF_TRY(mf_part_flag(part, "ignore_merges", &b->ignore_merges));
    MF_TRY(mf_part_text(part, "unk_token", &unknown));
    b->unknown = UNKNOWN_NONE;
    if (unknown) b->unknown = mf_vocab_find(b->vocab, unknown, strlen(unknown));
    if (unknown && b->unknown < 0) b->unknown = UNKNOWN_MISSING;
    find_letters(b);
    for (int c = 0; b->bytes && b->byte_fallback && c < 256; ++c)
        if (b->letter[c] < 0) return mf_part_fail(part, "'byte_fallback' behind ByteLevel is not known here");
    return read_merges(part, b);
}

int mf_bpe_read(const struct mf_part *part, const struct mf_vocab *vocab, int bytes, struct mf_bpe **bpe)
{
    struct mf_bpe *b = MF_MUST(calloc(1, sizeof *b), "a tokenizer");
    int rc;

    b->vocab = vocab;
    b->bytes = bytes;
    rc = read_all(part, b);
    if (rc == MF_OK)
        b->kept = mf_words_kept_new();
    else {
        mf_bpe_free(b);
        b = NULL;
    }
    *bpe = b;
    return rc;
}

void mf_bpe_free(struct mf_bpe *b)
{
    if (!b) return;
    mf_merges_free(&b->pairs);
    mf_joints_free(&b->joints);
    mf_symbols_free(&b->symbols);
    mf_words_kept_free(b->kept);
    mf_bytes_free(&b->letters);
    free(b);
}

/* ---- words ---- */

/* The token of a character (or byte) of @p size bytes; -1: none. */
static int32_t token_of(const struct mf_bpe *b, const char *at, size_t size)
{
    return size == 1 ? b->letter[(unsigned char)*at] : mf_vocab_find(b->vocab, at, size);
}

static int fall_back(struct mf_bpe *b, const char *at, size_t size)
{
    if (!b->byte_fallback) return 0;
    for (size_t i = 0; i < size; ++i)
        if (b->fallback[(unsigned char)at[i]] < 0) return 0;
    for (size_t i = 0; i < size; ++i) mf_symbols_put(&b->symbols, (uint32_t)b->fallback[(unsigned char)at[i]]);
    return 1;
}

/* Puts the symbols of a word. Unknown characters in a row may be one token. It stands where the next known one is.
 * *lost counts characters that vanish. */
static int put_symbols(struct mf_bpe *b, const char *word, size_t n, size_t *lost)
{
    int pending = 0;

    for (size_t i = 0, size = 1; i < n; i += size) {
        int32_t token;

        if (!b->bytes) (void)mf_point(word + i, &size);
        token = token_of(b, word + i, size);
        if (token >= 0) {
            if (pending) mf_symbols_put(&b->symbols, (uint32_t)b->unknown);
            pending = 0;
            mf_symbols_put(&b->symbols, (uint32_t)token);
        } else if (fall_back(b, word + i, size)) {
            continue;
        } else if (b->unknown == UNKNOWN_MISSING) {
            b->symbols.count = 0;
            return mf_fail(MF_INPUT, "the tokenizer does not know '%.*s', and its vocabulary lacks its unk_token",
                           (int)size, word + i);
        } else if (b->unknown == UNKNOWN_NONE) {
            ++*lost;
        } else {
            if (pending && !b->fuse_unknown) mf_symbols_put(&b->symbols, (uint32_t)b->unknown);
            pending = 1;
        }
    }
    if (pending) mf_symbols_put(&b->symbols, (uint32_t)b->unknown);
    return MF_OK;
}

/* Is all of it one token? */
static int32_t whole_token(struct mf_bpe *b, const char *word, size_t n)
{
    if (!b->bytes) return mf_vocab_find(b->vocab, word, n);
    b->letters.count = 0;
    mf_bytes_letters(word, n, &b->letters);
    return mf_vocab_find(b->vocab, b->letters.at, b->letters.count);
}

/* A word, or a part of one that no merge joins with others. */
static int put_word(struct mf_bpe *b, const char *word, size_t n, struct mf_tokens *to)
{
    const size_t before = to->count;
    size_t lost = 0;
    int32_t whole = MF_TOKEN_NONE;

    if (mf_words_kept_find(b->kept, word, n, to)) return MF_OK;
    if (b->ignore_merges) whole = whole_token(b, word, n);
    if (whole >= 0)
        mf_tokens_put(to, (uint32_t)whole);
    else {
        MF_TRY(put_symbols(b, word, n, &lost));
        mf_symbols_merge(&b->symbols, &b->pairs, to);
    }
    to->lost += lost;
    if (lost == 0) mf_words_kept_put(b->kept, word, n, to->at + before, to->count - before);
    return MF_OK;
}

/* Cuts a word between two known characters that no merge joins. So a text without pre-tokenizer is cut to words that
 * come again. */
int mf_bpe_word(struct mf_bpe *b, const char *word, size_t n, struct mf_tokens *to)
{
    size_t last = 0;
    uint32_t before = 0;
    int was_known = 0;

    if (b->bytes || b->ignore_merges) return put_word(b, word, n, to);
    for (size_t i = 0, size; i < n; i += size) {
        const uint32_t point = mf_point(word + i, &size);
        const int is_known = token_of(b, word + i, size) >= 0;

        if (is_known && was_known && !mf_joints_has(&b->joints, before, point)) {
            MF_TRY(put_word(b, word + last, i - last, to));
            last = i;
        }
        before = point;
        was_known = is_known;
    }
    return last < n ? put_word(b, word + last, n - last, to) : MF_OK;
}
