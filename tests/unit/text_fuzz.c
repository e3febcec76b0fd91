/* Whatever is done to a tokenizer's file, opening it succeeds or is refused with MF_INPUT. A tokenizer that opens makes
 * numbers of texts and texts of numbers, or refuses. Arguments: changes of each file, then files. */
#include "tests/check.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/text/tokenizer.h"
#include "tests/unit/mutate.h"
#include "tests/unit/text_case.h"

enum { FILE_MOST = 1 << 24 };

static void use(struct mf_tokenizer *t)
{
    static const char text[] =
        "The pores, 1200 <s>[MASK] Foo\n caf\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80  aaaaaaaaaaaaaaaaaaaa";
    struct mf_tokens tokens = {0};
    struct mf_bytes back = {0};
    struct mf_text_stream *s = mf_text_stream_new(t, 1);
    int rc = mf_tokenizer_encode(t, text, sizeof text, 0, &tokens);

    CHECK(rc == MF_OK || rc == MF_INPUT);
    for (size_t i = 0; i < tokens.count; ++i) {
        rc = mf_text_stream_put(s, tokens.at[i], &back);
        CHECK(rc == MF_OK || rc == MF_INPUT);
    }
    rc = mf_tokenizer_decode(t, tokens.at, tokens.count, 0, &back);
    CHECK(rc == MF_OK || rc == MF_INPUT);
    mf_text_stream_free(s);
    mf_tokens_free(&tokens);
    mf_bytes_free(&back);
}

static int open_and_use(const char *path)
{
    struct mf_tokenizer *t = NULL;
    const int rc = mf_tokenizer_open(path, &t);

    if (rc == MF_OK) use(t);
    mf_tokenizer_close(t);
    return rc;
}

static int try_bytes(const char *bytes, size_t n)
{
    const int rc = open_and_use(text_file(bytes, n));

    CHECK_SAYS(rc == MF_OK || rc == MF_INPUT, "status %d: %s", rc, mf_err_text());
    return rc;
}

/* Returns how many changed files still open. */
static long fuzz(const char *path, long times)
{
    char *sound = NULL, *changed;
    size_t n;
    long opened = 0;

    CHECK(mf_text_load(path, FILE_MOST, &sound, &n) == MF_OK);
    if (!sound) return 0;
    CHECK(try_bytes(sound, n) == MF_OK);
    changed = malloc(2 * n + MUTATE_EXTRA);
    for (long i = 0; i < times; ++i) {
        memcpy(changed, sound, n);
        opened += try_bytes(changed, mutate(changed, n)) == MF_OK;
    }
    memcpy(changed, sound, n);
    memcpy(changed + n, sound, n);
    CHECK(try_bytes(changed, 2 * n) == MF_INPUT); /* doubled */
    free(changed);
    free(sound);
    return opened;
}

int main(int argc, char **argv)
{
    long opened = 0;

    NEEDS(2, "CHANGES FILE ...");
    for (int i = 2; i < argc; ++i) opened += fuzz(argv[i], strtol(argv[1], NULL, 10));
    CHECK(opened > 0); /* else all are refused by the reader of JSON */
    return failures != 0;
}
