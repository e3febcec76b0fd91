/* See guess.h. */
#include "src/vqa/guess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"

int mf_vqa_words_new(size_t types, size_t tokens, struct mf_vqa_words *w)
{
    *w = (struct mf_vqa_words){.types = types, .tokens = tokens};
    MF_TRY(MF_ROOM(w->questions, types + 1, "the words of %zu types of questions", types));
    return MF_ROOM(w->count, types * tokens + 1, "the words of %zu types of questions", types);
}

void mf_vqa_words_close(struct mf_vqa_words *w)
{
    free(w->questions);
    free(w->count);
    *w = (struct mf_vqa_words){0};
}

static int has(size_t n, const int32_t *token, size_t k)
{
    for (size_t i = 0; i < n; ++i)
        if (token[i] == (int32_t)k) return 1;
    return 0;
}

void mf_vqa_words_learn(struct mf_vqa_words *w, size_t type, size_t n, const int32_t *token)
{
    ++w->questions[type];
    for (size_t k = 0; k < n; ++k)
        if (token[k] >= 0 && (size_t)token[k] < w->tokens && !has(k, token, (size_t)token[k]))
            ++w->count[(size_t)token[k] * w->types + type];
}

int mf_vqa_words_know(const struct mf_vqa_words *w, size_t token)
{
    for (size_t t = 0; token < w->tokens && t < w->types; ++t)
        if (w->count[token * w->types + t]) return 1;
    return 0;
}

/* Logarithm of how probable the tokens of the question are in a type. */
static double weigh(const struct mf_vqa_words *w, size_t type, size_t n, const int32_t *token)
{
    double sum = log((double)w->questions[type]);

    for (size_t k = 0; k < n; ++k) {
        if (token[k] < 0 || (size_t)token[k] >= w->tokens || has(k, token, (size_t)token[k])) continue;
        sum += log((w->count[(size_t)token[k] * w->types + type] + 0.1) / (w->questions[type] + 0.2));
    }
    return sum;
}

struct mf_vqa_guess mf_vqa_words_guess(const struct mf_vqa_words *w, size_t n, const int32_t *token)
{
    struct mf_vqa_guess guess = {.type = w->types};
    double *weight = MF_MUST(calloc(w->types + 1, sizeof *weight), "words"), sum = 0;

    for (size_t t = 0; t < w->types; ++t) {
        if (w->questions[t] == 0) continue;
        weight[t] = weigh(w, t, n, token);
        if (guess.type == w->types || weight[t] > weight[guess.type]) guess.type = t;
    }
    for (size_t t = 0; t < w->types; ++t)
        if (w->questions[t]) sum += exp(weight[t] - weight[guess.type]);
    guess.probability = sum > 0 ? 1 / sum : 0;
    for (size_t k = 0; k < n; ++k) guess.known += token[k] >= 0 && mf_vqa_words_know(w, (size_t)token[k]);
    guess.known /= n ? (double)n : 1;
    free(weight);
    return guess;
}

/* ---- cards ---- */

static struct mf_json *numbers(size_t n, const size_t *order, const uint32_t *number)
{
    struct mf_json *array = mf_json_array();

    for (size_t i = 0; i < n; ++i) mf_json_int(array, NULL, number[order[i]]);
    return array;
}

struct mf_json *mf_vqa_words_json(const struct mf_vqa_words *w, const size_t *order)
{
    struct mf_json *json = mf_json_object(), *token = mf_json_array(), *count = mf_json_array();

    for (size_t k = 0; k < w->tokens; ++k) {
        if (!mf_vqa_words_know(w, k)) continue;
        mf_json_int(token, NULL, (long long)k);
        mf_json_put(count, NULL, numbers(w->types, order, w->count + k * w->types));
    }
    MF_JSON(json, "questions", numbers(w->types, order, w->questions), "tokens", token, "with_token", count);
    return json;
}

static int read_numbers(const struct mf_json *array, size_t n, uint32_t *number)
{
    if (mf_json_kind(array) != MF_JSON_ARRAY || mf_json_count(array) != n) return 0;
    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *item = mf_json_item(array, i);
        const long long value = mf_json_to_int(item);

        if (mf_json_kind(item) != MF_JSON_INT || value < 0 || value > UINT32_MAX) return 0;
        number[i] = (uint32_t)value;
    }
    return 1;
}

int mf_vqa_words_read(const struct mf_json *json, struct mf_vqa_words *w)
{
    const struct mf_json *token = mf_json_get(json, "tokens"), *count = mf_json_get(json, "with_token");

    if (!read_numbers(mf_json_get(json, "questions"), w->types, w->questions)) return 0;
    if (mf_json_kind(token) != MF_JSON_ARRAY || mf_json_count(count) != mf_json_count(token)) return 0;
    for (size_t i = 0; i < mf_json_count(token); ++i) {
        const long long k = mf_json_to_int(mf_json_item(token, i));

        if (k < 0 || (size_t)k >= w->tokens) return 0;
        if (!read_numbers(mf_json_item(count, i), w->types, w->count + (size_t)k * w->types)) return 0;
    }
    return 1;
}
