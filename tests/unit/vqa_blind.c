/* Guesses of somebody blind. A regression is at its minimum; guesses are those of counts and of a rule. Words tell the
 * type of a question. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/vqa/blind.h"
#include "src/vqa/guess.h"
#include "src/vqa/logistic.h"
#include "src/vqa/vqa.h"
#include "tests/check.h"

/* ---- the regression: derivatives of dense sums vanish ---- */

enum { N = 200, COLUMNS = 5, ANSWERS = 3, WIDTH = 3 };

static void check_minimum(double ridge)
{
    static uint32_t column[N][WIDTH];
    static double value[N][WIDTH], dense[N][COLUMNS], weight[COLUMNS][ANSWERS];
    static int32_t answer[N];
    const struct mf_logistic_rows rows = {N, COLUMNS, ANSWERS, WIDTH, *column, *value, answer};

    memset(dense, 0, sizeof dense);
    for (size_t r = 0; r < N; ++r) {
        answer[r] = (int32_t)(mf_random_uniform(1, 0, r) * ANSWERS);
        for (size_t k = 0; k < WIDTH; ++k) {
            column[r][k] = (uint32_t)((r + 2 * k) % COLUMNS);
            value[r][k] = k ? mf_random_uniform(1, (uint32_t)k, r) * (1 + answer[r]) : 1;
            dense[r][column[r][k]] = value[r][k];
        }
    }
    CHECK(mf_logistic_fit(&rows, ridge, *weight) == MF_OK);
    for (size_t c = 0; c < COLUMNS; ++c)
        for (size_t a = 0; a < ANSWERS; ++a) {
            double sum = ridge * weight[c][a];

            for (size_t r = 0; r < N; ++r) {
                double part[ANSWERS] = {0}, all = 0;

                for (size_t b = 0; b < ANSWERS; ++b) {
                    for (size_t d = 0; d < COLUMNS; ++d) part[b] += dense[r][d] * weight[d][b];
                    all += exp(part[b]);
                }
                sum += dense[r][c] * (exp(part[a]) / all - ((int32_t)a == answer[r]));
            }
            CHECK_NEAR(sum, 0, 1e-6 * N);
        }
}

/* ---- guesses ---- */

enum { SAMPLES = 600, TYPES = 2, TEXT = 32 };

static uint32_t sample[SAMPLES * TYPES], row[SAMPLES * TYPES];
static uint8_t type[SAMPLES * TYPES];
static int32_t label[SAMPLES * TYPES][2], class[SAMPLES];
static char text[SAMPLES * TYPES][TEXT];
static float fraction[SAMPLES];
static mf_name real_name = "volume_fraction";

/* Type 0 asks whether a phase has more pixels than its class wants, type 1 which of three things fills the image. */
static struct mf_questions *ask(void)
{
    static struct mf_questions q = {.sample = sample, .type = type, .label = *label, .text = *text};

    q.form = (struct mf_questions_form){.rows = SAMPLES * TYPES, .text = TEXT, .types = TYPES, .heads = 2};
    q.form.head_of[1] = 1;
    q.form.answers[0] = 2;
    q.form.answers[1] = 3;
    for (size_t r = 0; r < SAMPLES * TYPES; ++r) {
        const size_t i = r / TYPES;
        const int light = (int)(r / 3 % 2);
        const double f = mf_random_uniform(2, 0, i), own = light ? f : 1 - f;

        class[i] = (int32_t)(i % 2);
        fraction[i] = (float)f;
        row[r] = sample[r] = (uint32_t)i;
        row[r] = (uint32_t)r;
        type[r] = (uint8_t)(r % TYPES);
        label[r][type[r]] = type[r] ? (int32_t)(mf_random_uniform(2, 1, r) * 2.2) : own > (class[i] ? 0.3 : 0.6);
        label[r][!type[r]] = -1;
        snprintf(text[r], TEXT, "is the %s phase more?", light ? "light" : "dark");
    }
    return &q;
}

static void check_guesses(void)
{
    static mf_name name[2] = {"a", "b"};
    struct mf_dataset set = {.samples = SAMPLES,
                             .classes = 2,
                             .class_name = name,
                             .label = class,
                             .reals = 1,
                             .real_name = &real_name,
                             .real = fraction};
    struct mf_questions *q = ask();
    const struct mf_blind blind = {&set, q, SAMPLES, SAMPLES * TYPES - SAMPLES, row, row + SAMPLES};
    size_t count[TYPES][3] = {{0}}, most[TYPES] = {0}, right[TYPES] = {0}, asked[TYPES] = {0};
    struct mf_guesses got, again;
    int measured;

    for (size_t r = 0; r < SAMPLES; ++r) ++count[type[r]][label[r][type[r]]];
    for (size_t t = 0; t < TYPES; ++t)
        for (size_t a = 0; a < 3; ++a)
            if (count[t][a] > count[t][most[t]]) most[t] = a;
    for (size_t r = SAMPLES; r < SAMPLES * TYPES; ++r) {
        ++asked[type[r]];
        right[type[r]] += label[r][type[r]] == (int32_t)most[type[r]];
    }
    CHECK(mf_blind_majority(&blind, &got) == MF_OK);
    for (size_t t = 0; t < TYPES; ++t) CHECK(got.rows[t] == asked[t] && got.right[t] == right[t]);

    CHECK(mf_blind_measures(&blind, &got, &measured) == MF_OK && measured);
    CHECK(mf_blind_measures(&blind, &again, &measured) == MF_OK && measured);
    CHECK(memcmp(&got, &again, sizeof got) == 0 && got.rows[0] == asked[0] && got.rows[1] == asked[1]);
    CHECK_SAYS(got.right[0] > 0.97 * (double)asked[0], "a rule of class and fraction: %zu of %zu", got.right[0],
               asked[0]);
    CHECK_SAYS(got.right[1] < 0.6 * (double)asked[1], "chance: %zu of %zu", got.right[1], asked[1]);
    for (size_t r = 1; r < SAMPLES * TYPES; r += TYPES) label[r][1] = class[sample[r]];
    for (size_t a = 0; a < 2; ++a) snprintf(q->form.answer[2 + a], sizeof q->form.answer[0], "%s", name[a]);
    for (size_t i = 0; i < SAMPLES; i += 50) fraction[i] = NAN;
    CHECK(mf_blind_measures(&blind, &got, &measured) == MF_OK && measured && got.rows[0] == asked[0] &&
          got.rows[1] == 0);
    CHECK_SAYS(got.right[0] > 0.95 * (double)asked[0], "some fractions are not known: %zu of %zu", got.right[0],
               asked[0]);
    set.classes = set.reals = 0;
    set.label = NULL;
    CHECK(mf_blind_measures(&blind, &got, &measured) == MF_OK && !measured && got.rows[0] == 0);
}

/* ---- types by words ---- */

enum { TOKENS = 400, LONGEST = 40 };

/* Numbers of words: their lines in the vocabulary. Others have numbers that no question had. */
static size_t cut(const char *vocabulary, const char *words, int32_t *token)
{
    size_t n = 0;

    for (const char *at = words; *at;) {
        size_t letters = strspn(at, "abcdefghijklmnopqrstuvwxyz"), line = 0;
        const char *known = vocabulary;

        letters = letters ? letters : 1;
        for (; *known && (strcspn(known, "\n") != letters || strncmp(known, at, letters) != 0); ++line)
            known += strcspn(known, "\n") + 1;
        if (*at != ' ') token[n++] = *known ? (int32_t)line : TOKENS - 1;
        at += letters;
    }
    return n;
}

static int reads(const struct mf_json *json, size_t types, size_t tokens, struct mf_vqa_words *to)
{
    int does;

    CHECK(mf_vqa_words_new(types, tokens, to) == MF_OK);
    does = mf_vqa_words_read(json, to);
    if (!does) mf_vqa_words_close(to);
    return does;
}

static void check_types(void)
{
    static const struct {
        const char *words;
        size_t type;
    } said[] = {{"does the structure percolate?", MF_VQA_PERCOLATES},
                {"percolate", MF_VQA_PERCOLATES},
                {"does it percolate?", MF_VQA_PERCOLATES},
                {"does the light phase percolate?", MF_VQA_PERCOLATES},
                {"is there a path?", MF_VQA_PERCOLATES}};
    char *vocabulary, question[MF_VQA_TEXT];
    struct mf_vqa_words words, read;
    struct mf_json *json;
    size_t order[MF_VQA_TYPES];
    int32_t token[LONGEST];
    struct mf_vqa_guess guess;

    CHECK(mf_vqa_vocabulary(&vocabulary) == MF_OK && mf_vqa_words_new(MF_VQA_TYPES, TOKENS, &words) == MF_OK);
    for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q)
        for (size_t p = 0; p < MF_VQA_TRAINED; ++p) {
            mf_vqa_text(q, p, question);
            mf_vqa_words_learn(&words, mf_vqa_questions[q].type, cut(vocabulary, question, token), token);
        }
    for (size_t t = 0; t < MF_VQA_TYPES; ++t) order[t] = t;
    json = mf_vqa_words_json(&words, order);
    CHECK(reads(json, MF_VQA_TYPES, TOKENS, &read));
    for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q)
        for (size_t p = 0; p < MF_VQA_PHRASINGS; ++p) {
            mf_vqa_text(q, p, question);
            guess = mf_vqa_words_guess(&read, cut(vocabulary, question, token), token);
            CHECK_SAYS(guess.type == mf_vqa_questions[q].type && guess.known == 1 && guess.probability > 0.5,
                       "'%s' is of type %zu, %.3f", question, guess.type, guess.probability);
        }
    for (size_t k = 0; k < sizeof said / sizeof *said; ++k) { /* words that the question lacks say nothing */
        guess = mf_vqa_words_guess(&read, cut(vocabulary, said[k].words, token), token);
        CHECK_SAYS(guess.type == said[k].type && guess.probability > 0.4, "'%s' is of type %zu, %.3f", said[k].words,
                   guess.type, guess.probability);
    }
    guess = mf_vqa_words_guess(&read, cut(vocabulary, "Xylophone, is it?", token), token);
    CHECK(guess.known < 1 && guess.known > 0);
    CHECK(mf_vqa_words_guess(&read, 0, token).known == 0);
    mf_vqa_words_close(&read);
    CHECK(!reads(json, MF_VQA_TYPES + 1, TOKENS, &read) && !reads(json, MF_VQA_TYPES, 5, &read));
    CHECK(!reads(NULL, MF_VQA_TYPES, TOKENS, &read));
    mf_json_free(json);
    mf_vqa_words_close(&words);
    free(vocabulary);
}

int main(void)
{
    check_minimum(0.1);
    check_minimum(10);
    check_guesses();
    check_types();
    return failures != 0;
}
