/* Tokenizers in files of the first years: vocab.json with merges.txt, or vocab.txt. They become what tokenizer.json
 * says of the same tokenizer, so that all are read by the same functions. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/text/tokenizer_priv.h"

/* The text of a special token in tokenizer_config.json: a text, or an object with "content". */
static const char *special(const struct mf_json *config, const char *key, const char *standard)
{
    const struct mf_json *token = mf_json_get(config, key);

    if (mf_json_kind(token) == MF_JSON_OBJECT) token = mf_json_get(token, "content");
    return mf_json_kind(token) == MF_JSON_TEXT ? mf_json_to_text(token) : standard;
}

static int flag(const struct mf_json *config, const char *key, int standard)
{
    const struct mf_json *value = mf_json_get(config, key);

    return mf_json_kind(value) == MF_JSON_BOOL ? mf_json_to_bool(value) : standard;
}

/* Makes {"type": name} at a key, or in a list. */
static struct mf_json *typed(struct mf_json *at, const char *key, const char *name)
{
    struct mf_json *part = mf_json_object();

    mf_json_text(part, "type", name);
    mf_json_put(at, key, part);
    return part;
}

/* One added special token, unless it is there. Its number: that of the vocabulary, of which @p path is the name. */
static int add_token(struct mf_json *root, const char *path, const char *content)
{
    struct mf_json *list = mf_json_get(root, "added_tokens"), *row;
    const struct mf_json *number = mf_json_get(mf_json_get(mf_json_get(root, "model"), "vocab"), content);

    for (size_t i = 0; i < mf_json_count(list); ++i)
        if (strcmp(mf_json_get_text(mf_json_item(list, i), "content"), content) == 0) return MF_OK;
    if (!number) return mf_fail(MF_INPUT, "'%.300s' lacks the special token '%.60s'", path, content);
    row = mf_json_object();
    mf_json_text(row, "content", content);
    mf_json_real(row, "id", mf_json_to_real(number));
    mf_json_bool(row, "special", 1);
    mf_json_bool(row, "normalized", 0);
    mf_json_put(list, NULL, row);
    return MF_OK;
}

static void put_step(struct mf_json *list, const char *kind, const char *id, int type)
{
    struct mf_json *step = mf_json_object(), *inner = mf_json_object();

    MF_JSON(inner, "id", id, "type_id", type);
    mf_json_put(step, kind, inner);
    mf_json_put(list, NULL, step);
}

/* A token that the frame names. */
static void put_special(const struct mf_json *root, struct mf_json *frame, const char *content)
{
    const struct mf_json *number = mf_json_get(mf_json_get(mf_json_get(root, "model"), "vocab"), content);
    struct mf_json *token = mf_json_object(), *ids = mf_json_array();

    mf_json_real(ids, NULL, mf_json_to_real(number));
    mf_json_put(token, "ids", ids);
    mf_json_put(mf_json_get(frame, "special_tokens"), content, token);
}

static struct mf_json *frame_of(struct mf_json *root)
{
    struct mf_json *frame = typed(root, "post_processor", "TemplateProcessing");

    mf_json_put(frame, "single", mf_json_array());
    mf_json_put(frame, "pair", mf_json_array());
    mf_json_put(frame, "special_tokens", mf_json_object());
    return frame;
}

/* ---- vocab.txt ---- */

/* A line is a token, and its place is its number. */
static int read_lines(const char *path, char *text, size_t n, struct mf_json *vocab)
{
    size_t number = 0;

    for (char *line = text, *end; line < text + n; line = end + 1, ++number) {
        size_t bytes;

        end = strchrnul(line, '\n');
        bytes = (size_t)(end - line);
        if (bytes && line[bytes - 1] == '\r') --bytes;
        if (end == text + n && bytes == 0) break;
        line[bytes] = '\0';
        if (number > MF_TOKEN_MOST)
            return mf_fail(MF_INPUT, "'%.300s' has more than %d lines, too many for a tokenizer", path, MF_TOKEN_MOST);
        if (!*line) continue;
        if (mf_json_get(vocab, line))
            return mf_fail(MF_INPUT, "'%.300s' has the token '%.60s' in line %lld and again in line %zu", path, line,
                           (long long)mf_json_get_real(vocab, line) + 1, number + 1);
        mf_json_real(vocab, line, (double)number);
    }
    return MF_OK;
}

/* A text that must be UTF-8 without NUL. The caller frees. */
static int load_text(const char *path, char **text, size_t *n)
{
    size_t most;
    int rc = mf_tokenizer_file_room(path, &most);

    *text = NULL;
    if (rc == MF_OK) rc = mf_text_load(path, most, text, n);
    if (rc == MF_OK && *n > most) rc = mf_fail(MF_INPUT, "'%.300s' is longer than %zu bytes", path, most);
    if (rc == MF_OK && (strlen(*text) != *n || mf_utf8_wrong(*text)))
        rc = mf_fail(MF_INPUT, "'%.300s' is no text of UTF-8", path);
    if (rc == MF_OK) return rc;
    free(*text);
    *text = NULL;
    return rc;
}

static void bert_parts(const struct mf_json *config, struct mf_json *root, const char *first, const char *last)
{
    const struct mf_json *accents = mf_json_get(config, "strip_accents");
    struct mf_json *part = typed(root, "normalizer", "BertNormalizer"), *frame = frame_of(root), *side;

    mf_json_bool(part, "lowercase", flag(config, "do_lower_case", 1));
    mf_json_bool(part, "handle_chinese_chars", flag(config, "tokenize_chinese_chars", 1));
    if (mf_json_kind(accents) == MF_JSON_BOOL) mf_json_bool(part, "strip_accents", mf_json_to_bool(accents));
    typed(root, "pre_tokenizer", "BertPreTokenizer");
    mf_json_text(typed(root, "decoder", "WordPiece"), "prefix", "##");
    for (int pair = 0; pair < 2; ++pair) {
        side = mf_json_get(frame, pair ? "pair" : "single");
        put_step(side, "SpecialToken", first, 0);
        put_step(side, "Sequence", "A", 0);
        put_step(side, "SpecialToken", last, 0);
        if (!pair) continue;
        put_step(side, "Sequence", "B", 1);
        put_step(side, "SpecialToken", last, 1);
    }
    put_special(root, frame, first);
    put_special(root, frame, last);
}

/* @p text: lines, which are changed. The first @p needs of BERT's special tokens must be there. */
static int make_bert(const char *path, char *text, size_t n, size_t needs, const struct mf_json *config,
                     struct mf_json *root)
{
    static const char *const key[] = {"unk_token", "cls_token", "sep_token", "pad_token", "mask_token"};
    static const char *const standard[] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
    struct mf_json *model = typed(root, "model", "WordPiece"), *vocab = mf_json_object();

    mf_json_put(model, "vocab", vocab);
    mf_json_text(model, "unk_token", special(config, "unk_token", "[UNK]"));
    MF_TRY(read_lines(path, text, n, vocab));
    for (size_t i = 0; i < 5; ++i) {
        const char *content = special(config, key[i], standard[i]);

        if (i < needs || mf_json_get(vocab, content)) MF_TRY(add_token(root, path, content));
    }
    bert_parts(config, root, special(config, "cls_token", "[CLS]"), special(config, "sep_token", "[SEP]"));
    return MF_OK;
}

static int read_bert(const char *path, const struct mf_json *config, struct mf_json *root)
{
    char *text = NULL;
    size_t n;
    int rc = load_text(path, &text, &n);

    if (rc == MF_OK) rc = make_bert(path, text, n, 5, config, root);
    free(text);
    return rc;
}

/* ---- vocab.json and merges.txt ---- */

static int read_merges(const char *path, struct mf_json *merges)
{
    char *text = NULL;
    size_t n, lines = 0;

    MF_TRY(load_text(path, &text, &n));
    for (char *line = text, *end; line < text + n && lines <= MF_TOKEN_MOST; line = end + 1, ++lines) {
        end = strchrnul(line, '\n');
        *end = '\0';
        if (end > line && end[-1] == '\r') end[-1] = '\0';
        if (*line && strncmp(line, "#version", 8) != 0) mf_json_text(merges, NULL, line);
    }
    free(text);
    if (lines <= MF_TOKEN_MOST) return MF_OK;
    return mf_fail(MF_INPUT, "'%.300s' has more than %d lines, too many for a tokenizer", path, MF_TOKEN_MOST);
}

/* OPT begins a text with a token, GPT-2 does not. */
static void gpt2_parts(const struct mf_json *config, struct mf_json *root, const char *begin)
{
    struct mf_json *cut = typed(root, "pre_tokenizer", "ByteLevel"), *frame;

    mf_json_bool(cut, "add_prefix_space", flag(config, "add_prefix_space", 0));
    typed(root, "decoder", "ByteLevel");
    if (!flag(config, "add_bos_token", 0)) return;
    frame = frame_of(root);
    for (int pair = 0; pair < 2; ++pair) {
        struct mf_json *side = mf_json_get(frame, pair ? "pair" : "single");

        for (int i = 0; i <= pair; ++i) {
            put_step(side, "SpecialToken", begin, i);
            put_step(side, "Sequence", i ? "B" : "A", i);
        }
    }
    put_special(root, frame, begin);
}

static int read_gpt2(const char *path, const char *merges_path, const struct mf_json *config, struct mf_json *root)
{
    static const char *const key[] = {"unk_token", "bos_token", "eos_token", "pad_token"};
    static const char *const standard[] = {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>", NULL};
    struct mf_json *model = typed(root, "model", "BPE"), *merges = mf_json_array(), *vocab = NULL;

    mf_json_put(model, "merges", merges);
    MF_TRY(read_merges(merges_path, merges));
    MF_TRY(mf_tokenizer_file_load(path, &vocab));
    mf_json_put(model, "vocab", vocab);
    if (mf_json_kind(vocab) != MF_JSON_OBJECT)
        return mf_fail(MF_INPUT, "'%.300s' must be an object of tokens and numbers", path);
    for (size_t i = 0; i < 4; ++i) {
        const char *content = special(config, key[i], standard[i]);

        if (content) MF_TRY(add_token(root, path, content));
    }
    gpt2_parts(config, root, special(config, "bos_token", "<|endoftext|>"));
    return MF_OK;
}

/* ---- both ---- */

static int load_config(const char *folder, struct mf_json **config)
{
    char *path = mf_format("%s/tokenizer_config.json", folder);
    int rc = MF_OK;

    *config = NULL;
    if (access(path, F_OK) == 0) rc = mf_tokenizer_file_load(path, config);
    if (rc == MF_OK && *config && mf_json_kind(*config) != MF_JSON_OBJECT)
        rc = mf_fail(MF_INPUT, "'%.300s' must be an object", path);
    free(path);
    return rc;
}

static struct mf_json *plain_root(void)
{
    struct mf_json *root = mf_json_object();

    mf_json_put(root, "added_tokens", mf_json_array());
    return root;
}

int mf_plain_words(const char *name, const char *lines, struct mf_json **value)
{
    char *text = MF_MUST(strdup(lines), "a vocabulary");
    struct mf_json *root = plain_root();
    const int rc = make_bert(name, text, strlen(text), 3, NULL, root);

    free(text);
    if (rc != MF_OK) {
        mf_json_free(root);
        root = NULL;
    }
    *value = root;
    return rc;
}

int mf_plain_load(const char *folder, struct mf_json **value)
{
    char *words = mf_format("%s/vocab.json", folder), *merges = mf_format("%s/merges.txt", folder);
    char *lines = mf_format("%s/vocab.txt", folder);
    const int is_gpt2 = access(words, F_OK) == 0 && access(merges, F_OK) == 0, is_bert = access(lines, F_OK) == 0;
    struct mf_json *config = NULL, *root = NULL;
    int rc = is_gpt2 || is_bert ? load_config(folder, &config) : MF_OK;

    if (rc == MF_OK && (is_gpt2 || is_bert)) {
        root = plain_root();
        rc = is_gpt2 ? read_gpt2(words, merges, config, root) : read_bert(lines, config, root);
    }
    free(words);
    free(merges);
    free(lines);
    mf_json_free(config);
    if (rc != MF_OK) {
        mf_json_free(root);
        root = NULL;
    }
    *value = root;
    return rc;
}
