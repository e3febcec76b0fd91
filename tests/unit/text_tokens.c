/* A tokenizer makes the same numbers and texts as the library of its file's form. FOLDER/NAME/expected.jsonl has them.
 * A stream tells the same text as decoding at once. argv[1]: FOLDER, argv[2..]: NAMEs. */
#include "tests/check.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/text/tokenizer.h"
#include "src/text/unicode.h"

enum { FILE_MOST = 64 << 20 };

static int same_numbers(const struct mf_tokens *got, const struct mf_json *want)
{
    if (got->count != mf_json_count(want)) return 0;
    for (size_t i = 0; i < got->count; ++i)
        if ((double)got->at[i] != mf_json_to_real(mf_json_item(want, i))) return 0;
    return 1;
}

static int same_text(const struct mf_bytes *got, const struct mf_json *want)
{
    const size_t n = mf_json_length(want);

    return got->count == n && (n == 0 || memcmp(got->at, mf_json_to_text(want), n) == 0);
}

static void check_text(struct mf_tokenizer *t, const char *name, const struct mf_json *line, unsigned how)
{
    const struct mf_json *text = mf_json_get(line, "text"), *want = mf_json_get(line, how ? "plain" : "ids");
    struct mf_tokens got = {0};

    if (!want) return;
    CHECK(mf_tokenizer_encode(t, mf_json_to_text(text), mf_json_length(text), how, &got) == MF_OK);
    CHECK_SAYS(same_numbers(&got, want), "%s: the numbers of '%s'%s", name, mf_json_to_text(text), how ? " alone" : "");
    if (getenv("MF_SHOW") && !same_numbers(&got, want)) {
        for (size_t i = 0; i < got.count; ++i) fprintf(stderr, "%u ", got.at[i]);
        fprintf(stderr, "\nwant %s", mf_json_string(want));
    }
    mf_tokens_free(&got);
}

/* The text of numbers, at once or token by token; every part that is told is whole characters. */
static void decode(const struct mf_tokenizer *t, const struct mf_tokens *tokens, int special, int streams,
                   struct mf_bytes *text)
{
    struct mf_text_stream *s = mf_text_stream_new(t, special);

    if (!streams) CHECK(mf_tokenizer_decode(t, tokens->at, tokens->count, special, text) == MF_OK);
    for (size_t i = 0; streams && i < tokens->count; ++i) {
        struct mf_bytes part = {0}, sound = {0};
        size_t lost;

        CHECK(mf_text_stream_put(s, tokens->at[i], &part) == MF_OK);
        mf_utf8_repair(part.at, part.count, 0, &sound, &lost);
        CHECK(lost == 0);
        mf_bytes_put(text, part.at, part.count);
        mf_bytes_free(&part);
        mf_bytes_free(&sound);
    }
    if (streams) CHECK(mf_text_stream_end(s, text) == MF_OK);
    mf_text_stream_free(s);
}

static void check_decoded(const struct mf_tokenizer *t, const char *name, const struct mf_json *line, int special,
                          int streams)
{
    const struct mf_json *ids = mf_json_get(line, "ids"),
                         *want = mf_json_get(line, special ? "decoded_all" : "decoded");
    struct mf_tokens tokens = {0};
    struct mf_bytes text = {0};

    for (size_t i = 0; i < mf_json_count(ids); ++i)
        mf_tokens_put(&tokens, (uint32_t)mf_json_to_real(mf_json_item(ids, i)));
    decode(t, &tokens, special, streams, &text);
    CHECK_SAYS(same_text(&text, want), "%s: text of '%s'%s%s: '%.*s', want '%s'", name,
               mf_json_to_text(mf_json_get(line, "text")), special ? ", all" : "", streams ? ", streamed" : "",
               (int)text.count, text.at, mf_json_to_text(want));
    mf_tokens_free(&tokens);
    mf_bytes_free(&text);
}

static void check_line(struct mf_tokenizer *t, const char *name, const char *at, size_t n)
{
    char why[200] = "";
    struct mf_json *line = mf_json_parse_foreign(at, n, why, sizeof why);

    CHECK_SAYS(line, "%s: %s", name, why);
    if (!line) return;
    check_text(t, name, line, 0);
    check_text(t, name, line, MF_ENCODE_BARE);
    for (int i = 0; i < 4; ++i) check_decoded(t, name, line, i / 2, i % 2);
    mf_json_free(line);
}

static size_t check_tokenizer(const char *folder, const char *name)
{
    char *path = mf_format("%s/%s", folder, name), *file = mf_format("%s/expected.jsonl", path), *text = NULL;
    struct mf_tokenizer *t = NULL;
    size_t n = 0, lines = 0;

    if (mf_text_load(file, FILE_MOST, &text, &n) == MF_OK) {
        CHECK_SAYS(mf_tokenizer_open(path, &t) == MF_OK, "%s: %s", name, mf_err_text());
        for (char *at = text, *end; t && at < text + n; at = end + 1, ++lines) {
            end = strchrnul(at, '\n');
            check_line(t, name, at, (size_t)(end - at));
        }
    }
    mf_tokenizer_close(t);
    free(text);
    free(file);
    free(path);
    return lines;
}

int main(int argc, char **argv)
{
    size_t lines = 0;

    NEEDS(2, "FOLDER NAME ...");
    for (int i = 2; i < argc; ++i) lines += check_tokenizer(argv[1], argv[i]);
    if (lines == 0) return 77; /* the folder is not on every machine */
    return failures != 0;
}
