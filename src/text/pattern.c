/* See pattern.h. */
#include "src/text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/text/buffer.h"

enum { STACK_LEAST = 32 << 10, STACK_MOST = 8 << 20, STEPS_MOST = 50000000 };

struct mf_pattern {
    char *plain; /* a text that is looked for; NULL: code */
    size_t length;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
};

struct mf_pattern *mf_pattern_plain(const char *text, size_t n)
{
    struct mf_pattern *p = MF_MUST(calloc(1, sizeof *p), "a pattern");

    p->plain = MF_MUST(malloc(n + 1), "a pattern");
    memcpy(p->plain, text, n);
    p->length = n;
    return p;
}

/* PCRE2's \s has U+180E, which is no white space since Unicode 6.3. So its members stand in the pattern. */
#define SPACES "\\t-\\r\\x{85}\\p{Z}"

/* One escape, at @p at; returns its bytes. */
static size_t put_escape(const char *at, int in_set, struct mf_bytes *to)
{
    const size_t n = at[1] ? 2 : 1;

    if (at[1] == 's' && in_set)
        mf_bytes_put(to, SPACES, strlen(SPACES));
    else if (at[1] == 's')
        mf_bytes_put(to, "[" SPACES "]", strlen("[" SPACES "]"));
    else if (at[1] == 'S' && !in_set)
        mf_bytes_put(to, "[^" SPACES "]", strlen("[^" SPACES "]"));
    else
        mf_bytes_put(to, at, n);
    return n;
}

/* Do the two libraries read the same there? */
static int same_meaning(const char *at, int in_set)
{
    if (*at == '\\') return at[1] != 'h' && at[1] != 'H' && !(at[1] == 'S' && in_set);
    return !in_set || (*at != '[' && !(at[0] == '&' && at[1] == '&'));
}

static int translate(const char *regex, struct mf_bytes *to)
{
    int in_set = 0;

    for (const char *at = regex; *at;) {
        if (!same_meaning(at, in_set))
            return mf_fail(MF_INPUT, "the pattern '%.200s' has '%.2s' at byte %zu, which is not known here", regex, at,
                           (size_t)(at - regex));
        if (*at == '\\') {
            at += put_escape(at, in_set, to);
            continue;
        }
        mf_bytes_put(to, at, 1);
        if (*at == '[' && !in_set) {
            in_set = 1;
            if (at[1] == '^') mf_bytes_put(to, ++at, 1);
            if (at[1] == ']') mf_bytes_put(to, ++at, 1);
        } else if (*at == ']')
            in_set = 0;
        ++at;
    }
    return MF_OK;
}

/* Machine code where the machine has it; the matches are the same. */
static void speed_up(struct mf_pattern *p)
{
    p->match = MF_MUST(pcre2_match_data_create(1, NULL), "a pattern");
    p->limits = MF_MUST(pcre2_match_context_create(NULL), "a pattern");
    pcre2_set_match_limit(p->limits, STEPS_MOST);
    if (pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) != 0) return;
    p->stack = pcre2_jit_stack_create(STACK_LEAST, STACK_MOST, NULL);
    pcre2_jit_stack_assign(p->limits, NULL, p->stack);
}

int mf_pattern_regex(const char *regex, struct mf_pattern **pattern)
{
    /* '^' and '$' are those of lines, as in Ruby, whose syntax the files have */
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    struct mf_bytes text = {0};
    struct mf_pattern *p;
    PCRE2_UCHAR why[128];
    PCRE2_SIZE at;
    int rc = translate(regex, &text), error;

    *pattern = NULL;
    if (rc != MF_OK) return mf_bytes_free(&text), rc;
    p = MF_MUST(calloc(1, sizeof *p), "a pattern");
    p->code = pcre2_compile((PCRE2_SPTR)(text.at ? text.at : ""), text.count, options, &error, &at, NULL);
    mf_bytes_free(&text);
    if (!p->code) {
        free(p);
        pcre2_get_error_message(error, why, sizeof why);
        return mf_fail(MF_INPUT, "the pattern '%.200s' is not known here: %s", regex, (const char *)why);
    }
    speed_up(p);
    *pattern = p;
    return MF_OK;
}

static int next_plain(const struct mf_pattern *p, const char *text, size_t n, size_t from, size_t *begin, size_t *end)
{
    const char *found = p->length && from < n ? memmem(text + from, n - from, p->plain, p->length) : NULL;

    if (!found) return 0;
    *begin = (size_t)(found - text);
    *end = *begin + p->length;
    return 1;
}

/* Its own stack may be too small for machine code: then the other engine looks. */
static int match_at(struct mf_pattern *p, const char *text, size_t n, size_t from)
{
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int found = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, options, p->match, p->limits);

    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, options | PCRE2_NO_JIT, p->match, p->limits);
    return found;
}

int mf_pattern_next(struct mf_pattern *p, const char *text, size_t n, size_t from, size_t *begin, size_t *end)
{
    const PCRE2_SIZE *span;
    PCRE2_UCHAR why[128];
    int found;

    if (p->plain) return next_plain(p, text, n, from, begin, end);
    if (from >= n) return 0;
    found = match_at(p, text, n, from);
    if (found == PCRE2_ERROR_NOMATCH) return 0;
    if (found < 0) {
        pcre2_get_error_message(found, why, sizeof why);
        mf_fail(MF_INPUT, "a pattern of the tokenizer cannot cut a text: %s", (const char *)why);
        return -1;
    }
    span = pcre2_get_ovector_pointer(p->match);
    *begin = span[0];
    *end = span[1];
    return 1;
}

void mf_pattern_free(struct mf_pattern *p)
{
    if (!p) return;
    free(p->plain);
    pcre2_code_free(p->code);
    pcre2_match_data_free(p->match);
    pcre2_match_context_free(p->limits);
    pcre2_jit_stack_free(p->stack);
    free(p);
}

void mf_pattern_version(char *text, size_t size)
{
    char all[64] = "";

    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof all) pcre2_config(PCRE2_CONFIG_VERSION, all);
    strncpy(text, all, size - 1);
    text[size - 1] = '\0';
}
