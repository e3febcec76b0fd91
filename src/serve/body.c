/* See body.h. */
#include "src/serve/body.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/err.h"

const struct mf_range mf_range_counts = {1, INT32_MAX, 0, 0, "1 to 2147483647"};
static const struct mf_range range_seeds = {0, 9007199254740991, 0, 0, "0 to 9007199254740991"}; /* exact as doubles */
const struct mf_range mf_range_factors = {0, 1000, 1, 0, "above 0 and at most 1000"};

void mf_body_refuse(struct mf_body *b, const char *format, ...)
{
    char why[MF_ERR_TEXT];
    va_list values;

    if (b->rc) return;
    va_start(values, format);
    (void)vsnprintf(why, sizeof why, format, values);
    va_end(values);
    b->rc = mf_fail(b->refuses, "%s", why);
}

/* Something has nothing in it. */
static void refuse_empty(struct mf_body *b, const char *key, const char *what)
{
    if (!b->rc) b->rc = mf_fail(b->empty, "'%s' %s", key, what);
}

const struct mf_json *mf_body_get(const struct mf_body *b, const char *key)
{
    const struct mf_json *value = mf_json_get(b->json, key);

    return mf_json_kind(value) == MF_JSON_NULL ? NULL : value;
}

/* A text may hold NUL characters. */
int mf_body_is(const struct mf_json *value, const char *text)
{
    return mf_json_kind(value) == MF_JSON_TEXT && mf_json_length(value) == strlen(text) &&
           strcmp(mf_json_to_text(value), text) == 0;
}

/* A member of this kind, which a sentence calls @p what; NULL: it is left out, or it is refused. */
static const struct mf_json *want(struct mf_body *b, const char *key, enum mf_json_kind kind, const char *what)
{
    const struct mf_json *value = mf_body_get(b, key);

    if (!value || mf_json_kind(value) == kind) return value;
    mf_body_refuse(b, "'%s' is %s; it must be %s", key, mf_json_kind_name(value), what);
    return NULL;
}

int mf_body_flag(struct mf_body *b, const char *key, int usual)
{
    const struct mf_json *value = want(b, key, MF_JSON_BOOL, "true or false");

    return value ? mf_json_to_bool(value) : usual;
}

const struct mf_json *mf_body_object(struct mf_body *b, const char *key)
{
    return want(b, key, MF_JSON_OBJECT, "an object");
}

static int is_inside(double x, const struct mf_range *range)
{
    return (range->above ? x > range->low : x >= range->low) && (range->below ? x < range->high : x <= range->high);
}

/* Whole numbers of a body are reals, too (json.h). */
static double number(struct mf_body *b, const char *key, double usual, const struct mf_range *range, int whole)
{
    const struct mf_json *value = want(b, key, MF_JSON_REAL, whole ? "a whole number" : "a number");
    const double x = value ? mf_json_to_real(value) : usual;

    if (!value || (is_inside(x, range) && (!whole || floor(x) == x))) return x;
    mf_body_refuse(b, "'%s' is %.17g; it must be %s%s", key, x, whole ? "a whole number, " : "", range->limits);
    return usual;
}

double mf_body_real(struct mf_body *b, const char *key, double usual, const struct mf_range *range)
{
    return number(b, key, usual, range, 0);
}

long long mf_body_whole(struct mf_body *b, const char *key, long long usual, const struct mf_range *range)
{
    return (long long)number(b, key, (double)usual, range, 1);
}

/* -- members that are not served -- */

static int members(const struct mf_json *object)
{
    static const char *const none[] = {NULL};

    return mf_json_stranger(object, none) != NULL;
}

static int asks_nothing(const struct mf_json *value, double idle)
{
    switch (mf_json_kind(value)) {
    case MF_JSON_BOOL: return !mf_json_to_bool(value);
    case MF_JSON_TEXT: return mf_json_length(value) == 0;
    case MF_JSON_ARRAY: return mf_json_count(value) == 0;
    case MF_JSON_OBJECT: return !members(value);
    case MF_JSON_NULL: return 1;
    default: return fabs(mf_json_to_real(value) - idle) <= 0;
    }
}

void mf_body_unserved(struct mf_body *b, const struct mf_unserved *m)
{
    for (; m->key; ++m) {
        if (asks_nothing(mf_body_get(b, m->key), m->idle)) continue;
        if (m->idle > 0)
            mf_body_refuse(b, "'%s' is not supported with another value than %g", m->key, m->idle);
        else
            mf_body_refuse(b, "'%s' is not supported; leave it out", m->key);
    }
}

/* -- prompts -- */

static struct mf_ask_prompt *add(struct mf_ask *ask)
{
    const size_t n = ask->prompts + 1;

    ask->prompt = MF_MUST(realloc(ask->prompt, n * sizeof *ask->prompt), "prompts");
    ask->prompt[ask->prompts] = (struct mf_ask_prompt){.is_tokens = 0};
    return &ask->prompt[ask->prompts++];
}

static void add_text(struct mf_body *b, const char *key, const struct mf_json *text, struct mf_ask *ask)
{
    if (mf_json_length(text) == 0) refuse_empty(b, key, "has no text in it");
    mf_bytes_put(&add(ask)->text, mf_json_to_text(text), mf_json_length(text));
}

static void add_tokens(struct mf_body *b, const char *key, const struct mf_json *list, struct mf_ask *ask)
{
    struct mf_ask_prompt *prompt = add(ask);
    const size_t n = mf_json_count(list);

    prompt->is_tokens = 1;
    if (n == 0) refuse_empty(b, key, "has an empty list of tokens");
    for (size_t i = 0; i < n && !b->rc; ++i) {
        const struct mf_json *one = mf_json_item(list, i);
        const double x = mf_json_to_real(one);

        if (mf_json_kind(one) != MF_JSON_REAL)
            mf_body_refuse(b, "'%s' has %s among numbers of tokens", key, mf_json_kind_name(one));
        else if (!(x >= 0 && x <= INT32_MAX && floor(x) == x))
            mf_body_refuse(b, "'%s' has %.17g, which is the number of no token", key, x);
        else
            mf_tokens_put(&prompt->tokens, (uint32_t)x);
    }
}

void mf_body_text(struct mf_body *b, const char *key, struct mf_ask *ask)
{
    const struct mf_json *text = want(b, key, MF_JSON_TEXT, "text");

    if (!text)
        mf_body_refuse(b, "'%s' is missing; it is the text to begin with", key);
    else
        add_text(b, key, text, ask);
}

/* All elements of a list must be of the kind of the first. */
static void add_list(struct mf_body *b, const char *key, const struct mf_json *list, size_t most, struct mf_ask *ask)
{
    const enum mf_json_kind kind = mf_json_kind(mf_json_item(list, 0));
    const size_t n = mf_json_count(list);

    if (n > most)
        mf_body_refuse(b, "'%s' has %zu texts, and this server takes at most %zu of them together", key, n, most);
    if (kind != MF_JSON_TEXT && kind != MF_JSON_ARRAY)
        mf_body_refuse(b, "'%s' is a list of %s; it must have texts or numbers of tokens", key,
                       mf_json_kind_name(mf_json_item(list, 0)));
    for (size_t i = 0; i < n && !b->rc; ++i) {
        const struct mf_json *one = mf_json_item(list, i);

        if (mf_json_kind(one) != kind)
            mf_body_refuse(b, "'%s' has %s and %s in one list", key, mf_json_kind_name(mf_json_item(list, 0)),
                           mf_json_kind_name(one));
        else if (kind == MF_JSON_TEXT)
            add_text(b, key, one, ask);
        else
            add_tokens(b, key, one, ask);
    }
}

void mf_body_prompts(struct mf_body *b, const char *key, size_t most, struct mf_ask *ask)
{
    const struct mf_json *value = mf_body_get(b, key);

    if (!value)
        mf_body_refuse(b, "'%s' is missing; it is a text, a list of texts, or numbers of tokens", key);
    else if (mf_json_kind(value) == MF_JSON_TEXT)
        add_text(b, key, value, ask);
    else if (mf_json_kind(value) != MF_JSON_ARRAY)
        mf_body_refuse(b, "'%s' is %s; it must be text, or a list", key, mf_json_kind_name(value));
    else if (mf_json_count(value) == 0)
        refuse_empty(b, key, "is an empty list");
    else if (mf_json_kind(mf_json_item(value, 0)) == MF_JSON_REAL)
        add_tokens(b, key, value, ask);
    else
        add_list(b, key, value, most, ask);
}

/* -- what ends an answer, and what draws it -- */

static void add_stop(struct mf_body *b, const char *key, const struct mf_json *text, struct mf_ask *ask)
{
    const size_t n = mf_json_length(text);

    if (mf_json_kind(text) != MF_JSON_TEXT)
        mf_body_refuse(b, "'%s' has %s in it; it must have texts", key, mf_json_kind_name(text));
    else if (n == 0)
        refuse_empty(b, key, "has an empty text, at which every answer would end");
    else if (n > MF_ASK_STOP_BYTES)
        mf_body_refuse(b, "'%s' has a text of %zu bytes; it may have %d", key, n, MF_ASK_STOP_BYTES);
    else if (strlen(mf_json_to_text(text)) != n)
        mf_body_refuse(b, "'%s' has a text with a NUL character", key);
    else
        ask->stop[ask->stops++] = MF_MUST(strdup(mf_json_to_text(text)), "a text");
}

void mf_body_stops(struct mf_body *b, const char *key, struct mf_ask *ask)
{
    const struct mf_json *value = mf_body_get(b, key);
    const int is_list = mf_json_kind(value) == MF_JSON_ARRAY;
    const size_t n = is_list ? mf_json_count(value) : value != NULL;

    if (n > MF_ASK_STOPS) mf_body_refuse(b, "'%s' has %zu texts; it may have %d", key, n, MF_ASK_STOPS);
    if (n == 0 || b->rc) return;
    ask->stop = MF_MUST(calloc(n, sizeof *ask->stop), "texts of stop");
    for (size_t i = 0; i < n; ++i) add_stop(b, key, is_list ? mf_json_item(value, i) : value, ask);
}

void mf_body_seed(struct mf_body *b, struct mf_ask *ask)
{
    uint32_t drawn = 0;

    if (!mf_body_get(b, "seed") && ask->choice.temperature > 0 &&
        getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
        mf_die(MF_BROKEN, __FILE__, __LINE__, "the system gives no random number");
    ask->choice.seed = (uint64_t)mf_body_whole(b, "seed", drawn, &range_seeds);
}

void mf_body_width(struct mf_body *b, const struct mf_served *served)
{
    if (mf_body_whole(b, "dimensions", (long long)served->width, &mf_range_counts) != (long long)served->width)
        mf_body_refuse(b, "'dimensions' must be %zu, the width of the model's vectors", served->width);
}
