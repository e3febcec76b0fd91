/* See tokenizer.h: opening and encoding. */
#include "src/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/text/decode.h"
#include "src/text/split.h"
#include "src/text/tokenizer_priv.h"

/* ---- reading ---- */

/* A vocabulary: an object of numbers. */
struct vocab_reading {
    const struct mf_part *part;
    struct mf_vocab *vocab;
    int rc;
};

static void read_token(void *context, const char *key, const struct mf_json *value)
{
    struct vocab_reading *r = context;
    size_t number;

    if (r->rc == MF_OK) r->rc = mf_part_whole(r->part, value, MF_TOKEN_MOST, &number);
    if (r->rc == MF_OK) r->rc = mf_vocab_add(r->vocab, key, strlen(key), number);
}

static int read_vocab(const struct mf_part *part, struct mf_vocab *vocab)
{
    const struct mf_json *all = mf_json_get(part->row, "vocab");
    struct vocab_reading r = {part, vocab, MF_OK};

    if (mf_json_kind(all) != MF_JSON_OBJECT)
        return mf_part_fail(part, "'vocab' must be an object, and is %s", mf_json_kind_name(all));
    mf_json_each(all, read_token, &r);
    if (r.rc == MF_OK && vocab->count == 0) return mf_part_fail(part, "'vocab' is empty");
    return r.rc;
}

/* Files of the first years name no type. */
static const char *type_of_old(const struct mf_json *model)
{
    if (mf_json_get(model, "merges")) return "BPE";
    return mf_json_get(model, "max_input_chars_per_word") ? "WordPiece" : "";
}

static int read_model(const struct mf_part *part, struct mf_tokenizer *t)
{
    const char *type = type_of_old(part->row);

    if (mf_json_kind(part->row) != MF_JSON_OBJECT)
        return mf_part_fail(part, "must be an object, and is %s", mf_json_kind_name(part->row));
    MF_TRY(mf_part_text(part, "type", &type));
    if (strcmp(type, "BPE") != 0 && strcmp(type, "WordPiece") != 0)
        return mf_part_fail(part, "the type '%.60s' is not known; known are BPE, WordPiece", type);
    MF_TRY(read_vocab(part, &t->vocab));
    if (strcmp(type, "BPE") == 0) return mf_bpe_read(part, &t->vocab, t->bytes, &t->bpe);
    if (t->bytes) return mf_part_fail(part, "WordPiece behind ByteLevel is not known here");
    return mf_wordpiece_read(part, &t->vocab, &t->wordpiece);
}

static size_t numbers_of(const struct mf_tokenizer *t)
{
    const size_t added = t->added ? mf_added_numbers(t->added) : 0;

    return t->vocab.numbers > added ? t->vocab.numbers : added;
}

/* All parts, in an order in which each finds what it needs. Truncation and padding are the caller's. */
static int read_all(const char *file, const struct mf_json *root, struct mf_tokenizer *t)
{
    static const char *const keys[] = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                       "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
    const struct mf_part all = {file, "tokenizer", root};
#define PART(key) (&(const struct mf_part){file, key, mf_json_get(root, key)})

    MF_TRY(mf_part_keys(&all, keys));
    MF_TRY(mf_text_steps_read(PART("normalizer"), "normalizers", mf_normalisers, &t->normaliser));
    MF_TRY(mf_split_read(PART("pre_tokenizer"), &t->splitter, &t->bytes));
    MF_TRY(mf_decode_read(PART("decoder"), &t->decoder));
    MF_TRY(read_model(PART("model"), t));
    MF_TRY(mf_added_read(PART("added_tokens"), &t->vocab, &t->normaliser, &t->added));
    return mf_frames_read(PART("post_processor"), numbers_of(t), &t->frames);
#undef PART
}

int mf_tokenizer_file_room(const char *path, size_t *most)
{
    struct stat s;

    *most = MF_TOKENIZER_FILE_MOST;
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) return MF_OK;
    if (s.st_size > MF_TOKENIZER_FILE_MOST)
        return mf_fail(MF_INPUT, "'%.300s' has %lld bytes, too many for a tokenizer (%d at most)", path,
                       (long long)s.st_size, MF_TOKENIZER_FILE_MOST);
    *most = (size_t)s.st_size;
    return MF_OK;
}

int mf_tokenizer_file_load(const char *path, struct mf_json **value)
{
    size_t most;

    MF_TRY(mf_tokenizer_file_room(path, &most));
    return mf_json_load_foreign(path, most, MF_TOKENIZER_VALUES_MOST, value);
}

/* tokenizer.json of a folder, or what stands for it. */
static int load(const char *path, char **file, struct mf_json **root)
{
    struct stat s;

    *file = NULL;
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) {
        *file = mf_format("%s/tokenizer.json", path);
        if (access(*file, F_OK) != 0) {
            MF_TRY(mf_plain_load(path, root));
            if (*root) return MF_OK;
            return mf_fail(MF_INPUT,
                           "'%.300s' has no tokenizer: neither tokenizer.json, nor vocab.json with merges.txt, nor "
                           "vocab.txt",
                           path);
        }
    } else {
        if (strcmp(mf_name_base(path), "config.json") == 0)
            return mf_fail(MF_INPUT, "'%.300s' is no tokenizer; give its folder", path);
        *file = mf_format("%s", path);
    }
    return mf_tokenizer_file_load(*file, root);
}

/* @p rc: whether @p root could be had. It is freed. */
static int make(int rc, const char *name, struct mf_json *root, struct mf_tokenizer **tokenizer)
{
    struct mf_tokenizer *t = NULL;

    if (rc == MF_OK) {
        t = MF_MUST(calloc(1, sizeof *t), "a tokenizer");
        rc = read_all(name, root, t);
    }
    if (rc != MF_OK) {
        mf_tokenizer_close(t);
        t = NULL;
    }
    mf_json_free(root);
    *tokenizer = t;
    return rc;
}

int mf_tokenizer_open(const char *path, struct mf_tokenizer **tokenizer)
{
    struct mf_json *root = NULL;
    char *file = NULL;
    const int loaded = load(path, &file, &root), rc = make(loaded, file ? file : path, root, tokenizer);

    free(file);
    return rc;
}

int mf_tokenizer_of_words(const char *name, const char *lines, struct mf_tokenizer **tokenizer)
{
    struct mf_json *root = NULL;
    const int made = mf_plain_words(name, lines, &root);

    return make(made, name, root, tokenizer);
}

void mf_tokenizer_close(struct mf_tokenizer *t)
{
    if (!t) return;
    mf_bpe_free(t->bpe);
    mf_wordpiece_free(t->wordpiece);
    mf_added_free(t->added);
    mf_vocab_free(&t->vocab);
    mf_text_steps_free(&t->normaliser);
    mf_text_steps_free(&t->splitter);
    mf_text_steps_free(&t->decoder);
    mf_pieces_free(&t->piece);
    mf_pieces_free(&t->spare);
    mf_bytes_free(&t->normal);
    free(t);
}

/* ---- encoding ---- */

/* Cuts a normalised text without added tokens, and gives the words to the model. */
static int encode_plain(struct mf_tokenizer *t, const char *text, size_t n, int begins, struct mf_tokens *to)
{
    if (n == 0) return MF_OK;
    mf_pieces_clear(&t->piece);
    mf_pieces_put(&t->piece, text, n);
    t->piece.begins = begins;
    MF_TRY(mf_text_steps_run(&t->splitter, &t->piece, &t->spare));
    for (size_t i = 0; i < t->piece.count; ++i) {
        const char *word = t->piece.text.at + t->piece.span[i].first;
        const size_t bytes = t->piece.span[i].count;

        if (bytes == 0) continue;
        if (t->wordpiece)
            mf_wordpiece_word(t->wordpiece, word, bytes, to);
        else
            MF_TRY(mf_bpe_word(t->bpe, word, bytes, to));
    }
    return MF_OK;
}

/* Normalises what stands between added tokens. *begins becomes 0 where its first character vanishes. */
static int normalise(struct mf_tokenizer *t, const char *text, size_t n, int *begins)
{
    struct mf_bytes *normal = &t->normal;

    normal->count = 0;
    mf_pieces_clear(&t->piece);
    mf_pieces_put(&t->piece, text, n);
    t->piece.begins = *begins;
    MF_TRY(mf_text_steps_run(&t->normaliser, &t->piece, &t->spare));
    *begins = t->piece.begins;
    mf_bytes_put(normal, t->piece.text.at, t->piece.text.count);
    return MF_OK;
}

/* A text between the added tokens of a stage. @p begins: it begins what the user wrote. */
static int encode_stage(struct mf_tokenizer *t, enum mf_added_stage stage, struct mf_literal literal, const char *text,
                        size_t n, int begins, struct mf_tokens *to);

static int encode_between(struct mf_tokenizer *t, enum mf_added_stage stage, struct mf_literal literal,
                          const char *text, size_t n, int begins, struct mf_tokens *to)
{
    if (n == 0) return MF_OK;
    if (stage == MF_ADDED_NORMALISED) return encode_plain(t, text, n, begins, to);
    if (t->normaliser.count == 0) return encode_stage(t, MF_ADDED_NORMALISED, literal, text, n, begins, to);
    MF_TRY(normalise(t, text, n, &begins));
    literal.at = SIZE_MAX;
    return encode_stage(t, MF_ADDED_NORMALISED, literal, t->normal.at, t->normal.count, begins, to);
}

/* The part of a text from byte @p from on. */
static struct mf_literal behind(struct mf_literal literal, size_t from)
{
    if (literal.at != SIZE_MAX) literal.at += from;
    return literal;
}

static int encode_stage(struct mf_tokenizer *t, enum mf_added_stage stage, struct mf_literal literal, const char *text,
                        size_t n, int begins, struct mf_tokens *to)
{
    size_t from = 0;
    struct mf_span span;
    uint32_t number;

    while (mf_added_next(t->added, stage, &literal, text, n, from, &span, &number)) {
        if (span.first > from)
            MF_TRY(encode_between(t, stage, behind(literal, from), text + from, span.first - from, begins && from == 0,
                                  to));
        mf_tokens_put(to, number);
        from = span.first + span.count;
    }
    return encode_between(t, stage, behind(literal, from), text + from, n - from, begins && from == 0, to);
}

static int encode_one(struct mf_tokenizer *t, const char *text, size_t n, const struct mf_literal *literal,
                      struct mf_tokens *to)
{
    if (n > MF_TEXT_MOST) return mf_fail(MF_INPUT, "a text has %zu bytes, more than %d", n, MF_TEXT_MOST);
    return encode_stage(t, MF_ADDED_AS_WRITTEN, *literal, text, n, 1, to);
}

/* Puts the texts and special tokens of a frame; types: NULL, or the type of each token. */
static int encode_frame(struct mf_tokenizer *t, const struct mf_frame *f, const char *const *text, const size_t *n,
                        unsigned how, const struct mf_literal *literal, struct mf_tokens *tokens,
                        struct mf_tokens *types)
{
    for (size_t i = 0; i < f->count; ++i) {
        const struct mf_frame_part *p = &f->part[i];
        size_t before = tokens->count;

        if (p->kind != MF_FRAME_TOKEN)
            MF_TRY(encode_one(t, text[p->kind == MF_FRAME_SECOND], n[p->kind == MF_FRAME_SECOND], literal, tokens));
        else if (!(how & MF_ENCODE_BARE))
            mf_tokens_put(tokens, p->token);
        for (; types && before < tokens->count; ++before) mf_tokens_put(types, p->type);
    }
    return MF_OK;
}

int mf_tokenizer_encode(struct mf_tokenizer *t, const char *text, size_t n, unsigned how, struct mf_tokens *tokens)
{
    const struct mf_literal literal = {.all = (how & MF_ENCODE_LITERAL) != 0};

    return encode_frame(t, &t->frames.one, &text, &n, how, &literal, tokens, NULL);
}

int mf_tokenizer_encode_parts(struct mf_tokenizer *t, const char *text, size_t n, unsigned how, size_t parts,
                              const struct mf_span *part, struct mf_tokens *tokens)
{
    const struct mf_literal literal = {.span = part, .spans = parts};

    return encode_frame(t, &t->frames.one, &text, &n, how, &literal, tokens, NULL);
}

int mf_tokenizer_encode_two(struct mf_tokenizer *t, const char *const text[2], const size_t n[2], unsigned how,
                            struct mf_tokens *tokens, struct mf_tokens *types)
{
    const struct mf_literal literal = {.all = (how & MF_ENCODE_LITERAL) != 0};

    return encode_frame(t, &t->frames.two, text, n, how, &literal, tokens, types);
}

/* ---- questions ---- */

const char *mf_tokenizer_piece(const struct mf_tokenizer *t, size_t number, size_t *n)
{
    int special;
    const char *text = mf_added_text(t->added, number, n, &special);

    return text ? text : mf_vocab_text(&t->vocab, number, n);
}

int mf_tokenizer_is_special(const struct mf_tokenizer *t, size_t number)
{
    int special = 0;
    size_t n;

    return mf_added_text(t->added, number, &n, &special) && special;
}

size_t mf_tokenizer_numbers(const struct mf_tokenizer *t) { return numbers_of(t); }

const char *mf_tokenizer_kind(const struct mf_tokenizer *t) { return t->bpe ? "BPE" : "WordPiece"; }
