/* bench_tokens FOLDER TEXTS.jsonl. For a line "N" of standard input it encodes all texts N times, and decodes them N
 * times. It prints the processor's time of both [s] and the number of tokens. For "tokens" it prints all tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/text/tokenizer.h"

struct texts {
    struct mf_json **line;
    size_t count;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int load(const char *path, struct texts *t)
{
    char *text, why[200];
    size_t n;

    MF_TRY(mf_text_load(path, 1 << 30, &text, &n));
    for (char *at = text, *end; at < text + n; at = end + 1) {
        end = strchrnul(at, '\n');
        t->line = MF_MUST(realloc(t->line, (t->count + 1) * sizeof *t->line), "texts");
        t->line[t->count] = mf_json_parse_foreign(at, (size_t)(end - at), why, sizeof why);
        if (!t->line[t->count++]) return mf_fail(MF_INPUT, "%s", why);
    }
    free(text);
    return MF_OK;
}

/* Numbers of all texts; end[i]: where those of a text end. */
static int encode(struct mf_tokenizer *tokenizer, const struct texts *t, struct mf_tokens *tokens, size_t *end)
{
    tokens->count = 0;
    for (size_t i = 0; i < t->count; ++i) {
        const struct mf_json *text = mf_json_get(t->line[i], "text");

        MF_TRY(mf_tokenizer_encode(tokenizer, mf_json_to_text(text), mf_json_length(text), 0, tokens));
        end[i] = tokens->count;
    }
    return MF_OK;
}

static int decode(const struct mf_tokenizer *tokenizer, const struct texts *t, const struct mf_tokens *tokens,
                  const size_t *end, struct mf_bytes *text)
{
    for (size_t i = 0, begin = 0; i < t->count; begin = end[i++]) {
        text->count = 0;
        MF_TRY(mf_tokenizer_decode(tokenizer, tokens->at + begin, end[i] - begin, 0, text));
    }
    return MF_OK;
}

static int time_turns(struct mf_tokenizer *tokenizer, const struct texts *t, long turns, struct mf_tokens *tokens,
                      size_t *end)
{
    struct mf_bytes text = {0};
    double start = now(), middle;

    for (long k = 0; k < turns; ++k) MF_TRY(encode(tokenizer, t, tokens, end));
    middle = now();
    for (long k = 0; k < turns; ++k) MF_TRY(decode(tokenizer, t, tokens, end, &text));
    printf("%.9g %.9g %zu\n", middle - start, now() - middle, tokens->count);
    mf_bytes_free(&text);
    return MF_OK;
}

static int run(char **argv)
{
    struct mf_tokenizer *tokenizer;
    struct mf_tokens tokens = {0};
    struct texts t = {0};
    char line[100];
    size_t *end;

    MF_TRY(mf_tokenizer_open(argv[1], &tokenizer));
    MF_TRY(load(argv[2], &t));
    end = MF_MUST(calloc(t.count + 1, sizeof *end), "texts");
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "tokens\n") == 0) {
            MF_TRY(encode(tokenizer, &t, &tokens, end));
            for (size_t i = 0; i < tokens.count; ++i) printf("%u ", tokens.at[i]);
            printf("\n");
        } else
            MF_TRY(time_turns(tokenizer, &t, strtol(line, NULL, 10), &tokens, end));
        (void)fflush(stdout);
    }
    return MF_OK;
}

int main(int argc, char **argv)
{
    int rc;

    if (argc != 3) return fprintf(stderr, "usage: %s FOLDER TEXTS.jsonl\n", *argv), 2;
    rc = run(argv);
    if (rc != MF_OK) fprintf(stderr, "%s\n", mf_err_text());
    return rc;
}
