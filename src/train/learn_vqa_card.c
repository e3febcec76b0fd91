/* See learn_vqa.h: the task in a model's file, which so needs no other. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/model/fields.h"
#include "src/train/learn_vqa_priv.h"

/* -- writing -- */

static struct mf_json *names(size_t n, const mf_name *name)
{
    struct mf_json *array = mf_json_array();

    for (size_t i = 0; i < n; ++i) mf_json_text(array, NULL, name[i]);
    return array;
}

static struct mf_json *heads_of(const struct mf_questions_form *f)
{
    struct mf_json *array = mf_json_array();

    for (size_t h = 0; h < f->heads; ++h) {
        struct mf_json *head = mf_json_object(), *types = mf_json_array();

        for (size_t t = 0; t < f->types; ++t)
            if ((size_t)f->head_of[t] == h) mf_json_text(types, NULL, f->type[t]);
        mf_json_text(head, "name", f->head[h]);
        mf_json_put(head, "types", types);
        mf_json_put(head, "answers", names((size_t)f->answers[h], f->answer + mf_questions_answer_at(f, h)));
        mf_json_put(array, NULL, head);
    }
    return array;
}

/* Types are read head by head, so their counts stand in that order. */
static struct mf_json *words_of(const struct mf_asked *own)
{
    const struct mf_questions_form *f = &own->form;
    size_t order[MF_QUESTION_TYPES];

    for (size_t h = 0, n = 0; h < f->heads; ++h)
        for (size_t t = 0; t < f->types; ++t)
            if ((size_t)f->head_of[t] == h) order[n++] = t;
    return mf_vqa_words_json(&own->words, order);
}

void mf_asked_save(const struct mf_task *task, struct mf_json *card)
{
    const struct mf_asked *own = mf_asked_of(task);
    const struct mf_questions_form *f = &own->form;
    struct mf_json *json = mf_json_object();

    mf_json_put(json, "heads", heads_of(f));
    mf_json_put(json, "findings", names(f->findings, f->finding));
    mf_json_reals(json, "thresholds", f->threshold, f->findings);
    MF_JSON(json, "findings_weight", own->findings, "objects", (size_t)f->objects, "tokens",
            own->length < own->most ? own->length : own->most, "vocabulary", own->vocabulary, "words", words_of(own));
    mf_json_put(card, MF_ASKED_KEY, json);
}

/* -- reading; 0: it is not as this program writes it -- */

static int read_names(const struct mf_json *from, size_t most, mf_name *to, uint64_t *count)
{
    const size_t n = mf_field_count(from);
    int twice;

    if (n > most || mf_field_names(from, n, to, &twice) != n) return 0;
    *count = n;
    return 1;
}

static int read_head(const struct mf_json *head, struct mf_questions_form *f)
{
    const size_t at = mf_questions_answer_at(f, f->heads);
    const char *name = mf_json_get_text(head, "name");
    uint64_t answers, types;

    if (!*name || strlen(name) >= sizeof *f->head) return 0;
    memcpy(f->head[f->heads], name, strlen(name) + 1);
    if (!read_names(mf_json_get(head, "answers"), MF_QUESTION_ANSWERS - at, f->answer + at, &answers) || !answers)
        return 0;
    if (!read_names(mf_json_get(head, "types"), MF_QUESTION_TYPES - f->types, f->type + f->types, &types)) return 0;
    f->answers[f->heads] = (int32_t)answers;
    for (; types > 0; --types) f->head_of[f->types++] = (int32_t)f->heads;
    ++f->heads;
    return 1;
}

static int read_heads(const struct mf_json *from, struct mf_questions_form *f)
{
    const size_t n = mf_field_count(from);

    if (n == 0 || n >= MF_HEADS) return 0;
    for (size_t h = 0; h < n; ++h)
        if (!read_head(mf_json_item(from, h), f)) return 0;
    return f->types > 0;
}

static int read_size(const struct mf_json *from, const char *key, size_t most, size_t *size)
{
    const double value = mf_field_is_number(mf_json_get(from, key)) ? mf_json_get_real(from, key) : -1;

    if (!(value >= 0 && value <= (double)most)) return 0;
    *size = (size_t)value;
    return 1;
}

/* The key that is wrong; NULL: none. */
static const char *read_all(const struct mf_json *json, struct mf_asked *own)
{
    struct mf_questions_form *f = &own->form;
    const char *words = mf_json_get_text(json, "vocabulary");
    size_t objects;

    if (!read_heads(mf_json_get(json, "heads"), f)) return "heads";
    if (!read_names(mf_json_get(json, "findings"), MF_QUESTION_FINDINGS, f->finding, &f->findings)) return "findings";
    if (!mf_field_numbers(mf_json_get(json, "thresholds"), f->findings, f->threshold)) return "thresholds";
    if (!read_size(json, "objects", MF_QUESTION_OBJECTS, &objects)) return "objects";
    if (!read_size(json, "tokens", MF_VQA_TOKENS_MOST, &own->most) || own->most < 2) return "tokens";
    if (!mf_field_is_number(mf_json_get(json, "findings_weight"))) return "findings_weight";
    own->findings = mf_json_get_real(json, "findings_weight");
    f->objects = objects;
    own->vocabulary = MF_MUST(strdup(words), "a vocabulary");
    return *words ? NULL : "vocabulary";
}

int mf_asked_load(const struct mf_model_card *card, struct mf_task *task)
{
    struct mf_asked *own = MF_MUST(calloc(1, sizeof *own), "a task");
    const struct mf_json *json = mf_json_get(card->json, MF_ASKED_KEY);
    const char *wrong = read_all(json, own);

    own->length = own->most;
    mf_asked_heads(task, own);
    if (!card->arch->ask) wrong = "arch";
    if (wrong) return mf_model_card_refuse(card, wrong);
    MF_TRY(mf_asked_words(own, card->path));
    MF_TRY(mf_vqa_words_new(own->form.types, mf_tokenizer_numbers(own->tokenizer), &own->words));
    return mf_vqa_words_read(mf_json_get(json, "words"), &own->words) ? MF_OK : mf_model_card_refuse(card, "words");
}
