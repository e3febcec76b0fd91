/* See answer_vqa_net.h. Items of the set in memory are the samples of a batch with each question: item s * questions +
 * q.
 */
#include "src/cmd/learn/answer_vqa_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/train/saved.h"
#include "src/vqa/vqa.h"

enum { SHOWN = 80 /* bytes of a text in a sentence */ };
static const double KNOWN = 0.5; /* least share of known words */
/* Probabilities of a type. Below GROUND the words fit types alike, as those of "the dark" do; from SURE on they tell
 * it. */
static const double GROUND = 1.0 / 3, SURE = 0.5;

int mf_answerer_check(const struct mf_texts *questions)
{
    if (questions->count == 0)
        return mf_fail(MF_USAGE, "no question; try: --question \"does the dark phase percolate from left to right?\"");
    for (size_t q = 0; q < questions->count; ++q) {
        const char *text = questions->at[q], *wrong = mf_utf8_wrong(text);

        if (text[strspn(text, " \t\r\n")] == '\0') return mf_fail(MF_USAGE, "--question: question %zu is empty", q + 1);
        if (wrong)
            return mf_fail(MF_USAGE, "--question: question %zu is not UTF-8: byte %zu", q + 1,
                           (size_t)(wrong - text) + 1);
        if (access(text, F_OK) == 0)
            return mf_fail(MF_USAGE, "--question: '%.200s' is a file; files stand before --question", text);
    }
    return MF_OK;
}

/* ---- the set in memory ---- */

static size_t fitting(const char *text) { return mf_utf8_cut(text, MF_QUESTION_TEXT); }

static void put_texts(struct mf_answerer *a, const struct mf_texts *texts)
{
    const size_t each = a->asked->form.text;

    for (size_t i = 0; i < a->asked->form.rows; ++i)
        memcpy(a->asked->text + i * each, texts->at[i % a->questions], fitting(texts->at[i % a->questions]));
}

/* A label that the network knows, so that its task takes the questions. No score reads it. */
static void put_labels(struct mf_questions *q)
{
    const struct mf_questions_form *f = &q->form;

    for (size_t i = 0; i < f->rows; ++i)
        for (size_t h = 0; h < f->heads; ++h)
            q->label[i * f->heads + h] = h == (size_t)f->head_of[0] ? 0 : MF_ANSWER_NONE;
}

static int make_set(struct mf_answerer *a, const struct mf_texts *texts)
{
    struct mf_questions_form *form = MF_MUST(calloc(1, sizeof *form), "questions");
    const struct mf_model_card *c = &a->card;

    *form = *mf_vqa_form(&a->task);
    form->rows = a->batch * a->questions;
    form->vocabulary = form->text = 0;
    for (size_t q = 0; q < a->questions; ++q) {
        const size_t n = fitting(texts->at[q]);

        form->text = n > form->text ? n : form->text;
    }
    a->asked = mf_questions_new(form, a->batch);
    free(form);
    if (!a->asked) return MF_MEMORY;
    for (size_t i = 0; i < a->asked->form.rows; ++i) a->asked->sample[i] = (uint32_t)(i / a->questions);
    put_labels(a->asked);
    put_texts(a, texts);
    a->set = (struct mf_dataset){.path = "--question",
                                 .samples = a->batch,
                                 .items = a->asked->form.rows,
                                 .sample_of = a->asked->sample,
                                 .questions = a->asked,
                                 .ndim = c->dims[0] > 1 ? 3 : 2,
                                 .dims = {c->dims[0], c->dims[1], c->dims[2], c->phases ? 1 : c->dims[3]},
                                 .is_float = !c->phases,
                                 .phases = c->phases,
                                 .inputs = c->dims[3]};
    return MF_OK;
}

/* ---- types of questions ---- */

/* "percolates, larger_phase, ..." */
static char *names_of(const struct mf_questions_form *form)
{
    char *all = MF_MUST(calloc(form->types, MF_REAL_TEXT + 2), "names");

    for (size_t t = 0, n = 0; t < form->types; ++t) n += (size_t)sprintf(all + n, "%s%s", t ? ", " : "", form->type[t]);
    return all;
}

static int find_type(const struct mf_questions_form *form, const char *word, size_t *type)
{
    char *names;
    int rc;

    for (*type = 0; *type < form->types; ++*type)
        if (strcmp(form->type[*type], word) == 0) return MF_OK;
    names = names_of(form);
    rc = mf_fail(MF_USAGE, "--type %.100s: the model knows no such type of question; it knows %.600s", word, names);
    free(names);
    return rc;
}

/* @p why: before the words of the question; @p words: to ask in. */
static int refuse_words(const struct mf_questions_form *form, const char *why, const char *text, const char *words)
{
    char *names = names_of(form);
    const int rc = mf_fail(MF_USAGE, "--question: %s '%.*s'; ask in %s words, or name the type by --type: %.500s", why,
                           (int)mf_utf8_cut(text, SHOWN), text, words, names);

    free(names);
    return rc;
}

static int guess_type(const struct mf_answerer *a, size_t q, size_t *type)
{
    const struct mf_questions_form *form = mf_vqa_form(&a->task);
    const struct mf_vqa_guess guess = mf_vqa_guess_type(&a->task, q);
    const char *text = a->question[q].text;

    *type = guess.type;
    if (guess.known < KNOWN || guess.type == form->types)
        return refuse_words(form, "the model learnt no question with most words of", text, "its");
    if (guess.probability < GROUND)
        return refuse_words(form, "several types of questions have the words of", text, "more");
    if (guess.probability < SURE && a->session->comm->rank == 0)
        mf_warn("'%.*s' may be of another type than '%s' (%.2f); --type names it", (int)mf_utf8_cut(text, SHOWN), text,
                form->type[guess.type], guess.probability);
    return MF_OK;
}

/* "dark, light", as much as has room. */
static void list_words(const struct mf_json *words, size_t room, char *to)
{
    size_t n = 0;

    *to = '\0';
    for (size_t i = 0; i < mf_json_count(words); ++i) {
        const char *word = mf_json_to_text(mf_json_item(words, i));

        if (n + strlen(word) + sizeof ", , .." > room) {
            strcpy(to + n, n ? ", .." : "..");
            return;
        }
        n += (size_t)sprintf(to + n, "%s%s", n ? ", " : "", word);
    }
}

/* A word that it does not know says nothing to the model. */
static void say_unknown(const struct mf_answerer *a, const struct mf_question *q)
{
    char unknown[2 * SHOWN], learnt[4 * SHOWN];
    struct mf_json *words;

    if (mf_json_count(q->unknown) == 0 || a->session->comm->rank != 0) return;
    words = mf_vqa_learnt_words(&a->task, q->type);
    list_words(q->unknown, sizeof unknown, unknown);
    list_words(words, sizeof learnt, learnt);
    mf_json_free(words);
    mf_warn("the model does not know: %s; so its answer may be to another question than '%.*s'; questions of type '%s' "
            "that it learnt have the words: %s",
            unknown, (int)mf_utf8_cut(q->text, SHOWN), q->text, mf_vqa_form(&a->task)->type[q->type], learnt);
}

/* The answers of a question are those of its type's head. */
static int take_types(struct mf_answerer *a, const struct mf_texts *type)
{
    const struct mf_questions_form *form = mf_vqa_form(&a->task);
    size_t first = 0;

    if (type->count > 1 && type->count != a->questions)
        return mf_fail(MF_USAGE, "--type names %zu types, and there %s %zu question%s; name one, or that of each",
                       type->count, a->questions == 1 ? "is" : "are", a->questions, MF_S(a->questions));
    for (size_t q = 0; q < a->questions; ++q) {
        struct mf_question *it = &a->question[q];

        MF_TRY(type->count ? find_type(form, type->at[type->count > 1 ? q : 0], &it->type)
                           : guess_type(a, q, &it->type));
        it->unknown = mf_vqa_unknown_words(&a->task, it->text);
        say_unknown(a, it);
        it->first = first;
        it->count = (size_t)form->answers[form->head_of[it->type]];
        it->answer = form->answer + mf_questions_answer_at(form, (size_t)form->head_of[it->type]);
        first += it->count;
    }
    return MF_OK;
}

/* ---- samples ---- */

static float *input_of(const struct mf_answerer *a, size_t row) { return a->input + row * a->numbers; }

/* The set says them. */
static void take_objects(const struct mf_answerer *a, size_t row, float *to)
{
    const struct mf_questions_form *f = &a->scenes->form;
    const size_t most = a->asked->form.objects, n = f->objects < most ? f->objects : most;

    memcpy(to, a->scenes->object + a->id[row] * f->objects * MF_OBJECT_VALUES, n * MF_OBJECT_VALUES * sizeof *to);
}

/* The objects of a sample: those of its set, else components of two phases, else none. */
static int find_objects(struct mf_answerer *a, size_t row)
{
    const size_t most = a->asked->form.objects, n = most < MF_VQA_OBJECTS ? most : MF_VQA_OBJECTS;
    float found[MF_VQA_OBJECTS][MF_VQA_OBJECT], *to = a->asked->object + row * most * MF_OBJECT_VALUES;
    struct mf_micro micro = {.ndim = 2, .phases = 2, .spacing = {1, 1, 1}};
    struct mf_comm self;
    const struct mf_measure_job job = {
        .comm = &self, .queue = a->session->home, .arena = a->session->arena, .micro = &micro, .lag = 1};
    int rc;

    memset(to, 0, most * MF_OBJECT_VALUES * sizeof *to); /* those of another sample stood there */
    if (a->scenes && a->scenes->form.objects) {
        take_objects(a, row, to);
        return MF_OK;
    }
    if (a->card.phases != 2 || a->card.dims[0] != 1 || n == 0) return MF_OK;
    mf_comm_self(&self);
    micro.slab = mf_slab_of(&self, a->card.dims, 0);
    micro.phase = MF_MUST(malloc(a->numbers), "a sample");
    for (size_t i = 0; i < a->numbers; ++i) micro.phase[i] = input_of(a, row)[i] > 0.5F;
    rc = mf_vqa_objects(&job, found);
    free(micro.phase);
    memcpy(to, found, n * sizeof *found);
    return rc;
}

static int feed(void *of, size_t row, const void *sample)
{
    struct mf_answerer *a = of;

    if (mf_sample_input(&a->set, row, sample, input_of(a, row)) != MF_OK) {
        mf_err_clear();
        return mf_fail(MF_INPUT, "a sample holds a value that the model of '%s' cannot read", a->card.path);
    }
    return MF_OK;
}

static void feed_input(void *of, size_t row, const float *input)
{
    struct mf_answerer *a = of;

    memcpy(input_of(a, row), input, a->numbers * sizeof *input);
}

static int open_set(void *of, const struct mf_comm *comm, const struct mf_dataset *set)
{
    struct mf_answerer *a = of;

    mf_questions_close(a->scenes);
    a->scenes = NULL;
    return set && set->asks ? mf_questions_open(comm, set, &a->scenes) : MF_OK;
}

static void feed_id(void *of, size_t row, size_t id)
{
    struct mf_answerer *a = of;

    a->id[row] = id;
}

/* Answers to items [first, first + n), which have all heads; a question takes its own. */
static int look(struct mf_answerer *a, size_t first, size_t n, float *output, size_t each)
{
    const struct mf_questions_form *form = mf_vqa_form(&a->task);
    size_t *id = MF_MUST(malloc(n * sizeof *id), "questions");
    int rc = MF_OK;

    for (size_t r = 0; r < n; ++r) {
        id[r] = first + r;
        memcpy(a->row + r * a->numbers, input_of(a, id[r] / a->questions), a->numbers * sizeof *a->row);
    }
    (void)mf_crew_walks(&a->crew, 1);
    mf_scorer_look(&a->scorer, &(struct mf_batch){.n = n, .id = id, .input = a->row}, a->output);
    for (size_t r = 0; r < n; ++r) {
        const struct mf_question *q = &a->question[id[r] % a->questions];
        const size_t head = (size_t)form->head_of[q->type];
        float *to = output + id[r] / a->questions * each + q->first;

        memcpy(to, a->output[head] + r * q->count, q->count * sizeof *to);
        if (!mf_outputs_finite(q->count, to)) to[0] = NAN, rc = MF_NUMERIC;
        mf_outputs_shares(&(struct mf_outputs){.count = q->count, .classes = 1}, 1, to);
    }
    free(id);
    return rc == MF_OK ? rc : mf_fail(rc, "an output overflows");
}

static size_t numbers_of(const struct mf_answerer *a)
{
    const struct mf_question *last = &a->question[a->questions - 1];

    return last->first + last->count;
}

static int answer(void *of, size_t n, float *output)
{
    struct mf_answerer *a = of;
    const size_t items = n * a->questions;
    int rc = MF_OK;

    for (size_t s = 0; s < n; ++s) MF_TRY(find_objects(a, s));
    for (size_t i = 0; i < items; i += a->batch) {
        const int seen = look(a, i, items - i < a->batch ? items - i : a->batch, output, numbers_of(a));

        rc = seen == MF_OK ? rc : seen;
    }
    return rc;
}

static void stay(void *of)
{
    struct mf_answerer *a = of;

    while (mf_crew_walks(&a->crew, 0)) mf_scorer_look(&a->scorer, NULL, NULL);
}

/* ---- opening ---- */

static int take_questions(struct mf_answerer *a, const struct mf_texts *texts)
{
    const size_t each = a->asked->form.text;

    a->question = MF_MUST(calloc(a->questions, sizeof *a->question), "questions");
    for (size_t q = 0; q < a->questions; ++q) {
        char *text = MF_MUST(calloc(each + 1, 1), "a question");

        memcpy(text, a->asked->text + q * each, each);
        a->question[q].text = text;
        if (strlen(text) < strlen(texts->at[q]) && a->session->comm->rank == 0)
            mf_warn("question %zu has %zu bytes; the first %zu are read", q + 1, strlen(texts->at[q]), strlen(text));
    }
    return mf_task_fit(&a->task, &a->card, &a->set);
}

static void take_memory(struct mf_answerer *a)
{
    const struct mf_network *network = a->scorer.network;

    a->input = MF_MUST(calloc(a->batch * a->numbers, sizeof *a->input), "samples");
    a->row = MF_MUST(calloc(a->batch * a->numbers, sizeof *a->row), "samples");
    a->id = MF_MUST(calloc(a->batch, sizeof *a->id), "samples");
    for (size_t h = 0; h < network->heads; ++h)
        a->output[h] = MF_MUST(calloc(a->batch * network->head[h].numbers, sizeof *a->output[h]), "outputs");
}

int mf_answerer_open(const char *model, const struct mf_texts *questions, const struct mf_texts *type,
                     struct mf_answerer *a, struct mf_infer_net *net)
{
    const struct mf_session *s = a->session;

    MF_TRY(mf_agree(s->comm, mf_model_card_open(model, &a->card)));
    MF_TRY(mf_safetensors_same(s->comm, a->card.file));
    MF_TRY(mf_agree(s->comm, mf_task_load(&a->card, &a->task)));
    MF_TRY(mf_infer_check_kind(model, &a->task, &mf_learn_vqa));
    a->numbers = a->card.dims[0] * a->card.dims[1] * a->card.dims[2] * a->card.dims[3];
    MF_TRY(mf_agree(s->comm, make_set(a, questions)));
    MF_TRY(mf_agree(s->comm, take_questions(a, questions)));
    MF_TRY(mf_agree(s->comm, take_types(a, type)));
    a->scorer = (struct mf_scorer){.comm = s->comm,
                                   .arena = s->arena,
                                   .queue = s->queue,
                                   .set = &a->set,
                                   .task = &a->task,
                                   .batch = a->batch,
                                   .stream = mf_crew_stream(&a->crew)};
    MF_TRY(mf_scorer_open(&a->card, &a->scorer));
    take_memory(a);
    *net = (struct mf_infer_net){a, &a->card, numbers_of(a), feed, feed_input, answer, NULL, open_set, feed_id};
    if (a->crew.wish.zero) net->stay = stay;
    return MF_OK;
}

void mf_answerer_close(struct mf_answerer *a)
{
    mf_scorer_close(&a->scorer);
    mf_task_close(&a->task);
    mf_questions_close(a->asked);
    mf_questions_close(a->scenes);
    mf_model_card_close(&a->card);
    for (size_t q = 0; a->question && q < a->questions; ++q) {
        free((void *)(uintptr_t)a->question[q].text);
        mf_json_free(a->question[q].unknown);
    }
    for (size_t h = 0; h < MF_HEADS; ++h) free(a->output[h]);
    free(a->question);
    free(a->input);
    free(a->row);
    free(a->id);
    *a = (struct mf_answerer){.session = NULL};
}
