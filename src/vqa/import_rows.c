/* Types, heads, answers and rows of an import. See import.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/base/words.h"
#include "src/vqa/import_priv.h"
#include "src/vqa/vqa.h"

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static size_t type_of(const struct mf_questions_form *f, const char *word)
{
    size_t t = 0;

    while (t < f->types && strcmp(f->type[t], word) != 0) ++t;
    return t;
}

static size_t head_of(const struct mf_questions_form *f, const char *word)
{
    size_t h = 0;

    while (h < f->heads && strcmp(f->head[h], word) != 0) ++h;
    return h;
}

/* Names of a set have less than MF_REAL_TEXT bytes. */
static int name(mf_name to, const char *what, const char *word)
{
    if (strlen(word) >= sizeof(mf_name))
        return mf_fail(MF_INPUT, "the %s '%.80s' has a name of more than %d bytes", what, word, MF_REAL_TEXT - 1);
    snprintf(to, sizeof(mf_name), "%s", word);
    return MF_OK;
}

/* ---- heads ---- */

static int add_head(struct mf_questions_form *f, const char *word)
{
    if (head_of(f, word) < f->heads) return MF_OK;
    if (f->heads == MF_QUESTION_HEADS)
        return mf_fail(MF_INPUT, "there are more than %d heads; '%.60s' is one too many", MF_QUESTION_HEADS, word);
    return name(f->head[f->heads++], "head", word);
}

struct adding {
    struct mf_placing *placing;
    int rc;
};

static void add_listed_head(void *context, const char *key, const struct mf_json *value)
{
    struct adding *a = context;

    (void)value;
    if (a->rc == MF_OK) a->rc = add_head(a->placing->form, mf_vqa_head_ours(key));
}

/* The list of a head's answers in the file of types. */
struct listed {
    const char *head;
    const struct mf_json *answers;
};

static void see_answers(void *context, const char *key, const struct mf_json *value)
{
    struct listed *l = context;

    if (strcmp(mf_vqa_head_ours(key), l->head) == 0 && mf_json_count(value)) l->answers = value;
}

static const struct mf_json *answers_of(const struct mf_vqa_types *types, const char *head)
{
    struct listed l = {head, NULL};

    mf_json_each(mf_json_get(types->value, "heads"), see_answers, &l);
    return l.answers;
}

/* ---- types ---- */

static int add_type(struct mf_questions_form *f, const char *word, const char *head)
{
    if (type_of(f, word) < f->types) return MF_OK;
    if (f->types == MF_QUESTION_TYPES)
        return mf_fail(MF_INPUT, "there are more than %d types of questions; '%.60s' is one too many",
                       MF_QUESTION_TYPES, word);
    MF_TRY(name(f->type[f->types], "type", word));
    MF_TRY(add_head(f, head));
    f->head_of[f->types++] = (int32_t)head_of(f, head);
    return MF_OK;
}

static int occurs(const struct mf_placing *p, const char *type)
{
    const struct mf_question_rows *asked = p->import->asked;
    size_t r = 0;

    while (r < asked->count && strcmp(asked->row[r].type, type) != 0) ++r;
    return r < asked->count;
}

/* A type that does not occur counts where the file lists its answers: nobody else can know them. */
static void add_listed_type(void *context, const char *key, const struct mf_json *value)
{
    struct adding *a = context;
    const char *head = mf_vqa_head_ours(mf_json_to_text(value));

    if (a->rc == MF_OK && (occurs(a->placing, key) || answers_of(&a->placing->import->types, head)))
        a->rc = add_type(a->placing->form, key, head);
}

static int is_our_head(const char *word)
{
    int h = 0;

    while (h < MF_VQA_HEADS && strcmp(mf_vqa_head_ours(word), mf_vqa_head_names[h]) != 0) ++h;
    return h < MF_VQA_HEADS;
}

static int refuse_type(const struct mf_placing *p, const struct mf_question_row *row)
{
    const char *near = mf_vqa_types_near(&p->import->types, row->type);

    if (is_our_head(row->type))
        return mf_placing_fail(p->import->asked, row->line,
                               "has the question type '%.60s', which is the name of a head; to have a type of that "
                               "name, too, write question_types: {%.60s: %.60s} into a file for --question-types",
                               row->type, row->type, mf_vqa_head_ours(row->type));
    return mf_placing_fail(p->import->asked, row->line,
                           "has the question type '%.60s', which no head answers%s%.60s%s; give it one in "
                           "question_types of a file for --question-types",
                           row->type, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Types of the file in its order, then others in that of the alphabet. */
static int add_types(struct mf_placing *p)
{
    const struct mf_question_rows *asked = p->import->asked;
    const struct mf_vqa_types *types = &p->import->types;
    const char *other[MF_QUESTION_TYPES];
    struct adding a = {p, MF_OK};
    struct mf_numbered seen = {0};
    size_t n = 0, found;

    mf_json_each(mf_json_get(types->value, "question_types"), add_listed_type, &a);
    for (size_t r = 0; a.rc == MF_OK && r < asked->count; ++r) {
        const char *type = asked->row[r].type;

        if (mf_numbered_find(&seen, type)) continue;
        a.rc = mf_numbered_put(&seen, type, 0, &found);
        if (a.rc == MF_OK && !mf_vqa_types_head(types, type)) a.rc = refuse_type(p, &asked->row[r]);
        if (a.rc == MF_OK && n < MF_QUESTION_TYPES && type_of(p->form, type) == p->form->types) other[n++] = type;
    }
    mf_numbered_free(&seen);
    qsort(other, n, sizeof *other, by_text);
    for (size_t k = 0; a.rc == MF_OK && k < n; ++k)
        a.rc = add_type(p->form, other[k], mf_vqa_types_head(types, other[k]));
    return a.rc;
}

/* Our heads come in their order. */
static int add_our_heads(struct mf_placing *p)
{
    const struct mf_question_rows *asked = p->import->asked;
    int wanted[MF_VQA_HEADS] = {0};

    for (size_t r = 0; r < asked->count; ++r) {
        const char *head = mf_vqa_types_head(&p->import->types, asked->row[r].type);

        for (int h = 0; head && h < MF_VQA_HEADS; ++h) wanted[h] |= strcmp(head, mf_vqa_head_names[h]) == 0;
    }
    for (int h = 0; h < MF_VQA_HEADS; ++h)
        if (wanted[h]) MF_TRY(add_head(p->form, mf_vqa_head_names[h]));
    return MF_OK;
}

/* ---- answers ---- */

static int is_yes_no(const char *head) { return strcmp(head, mf_vqa_head_names[MF_VQA_YES_NO]) == 0; }

/* Names of answers of head @p h, which are added to those before it. */
static int add_answers(struct mf_placing *p, size_t h, size_t n, const char *const *answer)
{
    struct mf_questions_form *f = p->form;
    const size_t at = mf_questions_answer_at(f, h);
    const char *twice = mf_text_twice(n, answer);

    if (twice) return mf_fail(MF_INPUT, "the head '%s' has the answer '%.60s' twice", f->head[h], twice);
    if (at + n > MF_QUESTION_ANSWERS)
        return mf_fail(MF_INPUT,
                       "the head '%s' has %zu answers, and all heads may have %d; answers are classes, no free texts",
                       f->head[h], n, MF_QUESTION_ANSWERS);
    for (size_t k = 0; k < n; ++k) MF_TRY(name(f->answer[at + k], "answer", answer[k]));
    f->answers[h] = (int32_t)n;
    return MF_OK;
}

static int add_listed_answers(struct mf_placing *p, size_t h, const struct mf_json *list)
{
    const size_t n = mf_json_count(list);
    const char **answer;
    int rc;

    MF_TRY(MF_ROOM(answer, n, "%zu answers", n));
    for (size_t k = 0; k < n; ++k) answer[k] = mf_json_to_text(mf_json_item(list, k));
    rc = add_answers(p, h, n, answer);
    free(answer);
    return rc;
}

/* The train split has these answers. They get the order of the alphabet. */
static int add_found_answers(struct mf_placing *p, size_t h)
{
    const struct mf_question_rows *asked = p->import->asked;
    struct mf_numbered seen = {0};
    const char **answer;
    size_t n = 0, found;
    int rc = MF_OK;

    MF_TRY(MF_ROOM(answer, asked->count, "the answers of %zu questions", asked->count));
    for (size_t r = 0; rc == MF_OK && r < asked->count; ++r) {
        const struct mf_question_row *row = &asked->row[r];

        if (p->import->split[p->sample[r]] != MF_TRAIN || p->form->head_of[type_of(p->form, row->type)] != (int32_t)h ||
            mf_numbered_find(&seen, row->answer))
            continue;
        rc = mf_numbered_put(&seen, row->answer, 0, &found);
        answer[n++] = row->answer;
    }
    qsort(answer, n, sizeof *answer, by_text);
    if (rc == MF_OK && !n)
        rc = mf_fail(MF_INPUT,
                     "'%.200s' has no question for the head '%s' in the train split; list the answers of that head in "
                     "heads of a file for --question-types",
                     asked->path, p->form->head[h]);
    if (rc == MF_OK) rc = add_answers(p, h, n, answer);
    mf_numbered_free(&seen);
    free(answer);
    return rc;
}

int mf_placing_heads(struct mf_placing *p)
{
    static const char *const yes_no[] = {"no", "yes"};
    struct adding a = {p, MF_OK};

    mf_json_each(mf_json_get(p->import->types.value, "heads"), add_listed_head, &a);
    MF_TRY(a.rc);
    MF_TRY(add_our_heads(p));
    MF_TRY(add_types(p));
    for (size_t h = 0; h < p->form->heads; ++h) {
        const struct mf_json *list = answers_of(&p->import->types, p->form->head[h]);

        if (list)
            MF_TRY(add_listed_answers(p, h, list));
        else if (is_yes_no(p->form->head[h]))
            MF_TRY(add_answers(p, h, 2, yes_no));
        else
            MF_TRY(add_found_answers(p, h));
    }
    return MF_OK;
}

/* ---- rows ---- */

/* Yes and no are the same in capitals. */
static int is_answer(const char *head, const char *one, const char *other)
{
    return is_yes_no(head) ? strcasecmp(one, other) == 0 : strcmp(one, other) == 0;
}

static int find_answer(const struct mf_placing *p, const struct mf_question_row *row, size_t h, int32_t *answer)
{
    const struct mf_questions_form *f = p->form;
    const mf_name *names = f->answer + mf_questions_answer_at(f, h);
    const char *all[MF_QUESTION_ANSWERS], *near;
    char given[200] = "";

    for (*answer = 0; *answer < f->answers[h]; ++*answer) {
        if (is_answer(f->head[h], names[*answer], row->answer)) return MF_OK;
        all[*answer] = names[*answer];
    }
    near = mf_nearest(row->answer, all, (size_t)f->answers[h]);
    for (int32_t k = 0; k < f->answers[h]; ++k) mf_enumerate(given, sizeof given, "%s", all[k]);
    return mf_placing_fail(p->import->asked, row->line,
                           "has the answer '%.60s', which the head '%s' does not have%s%.60s%s; its answers are %s",
                           row->answer, f->head[h], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
                           answers_of(&p->import->types, f->head[h]) || is_yes_no(f->head[h])
                               ? given
                               : "those of the train split, unless heads of --question-types lists them");
}

/* A letter, and maybe + or - behind it. */
static int read_grade(const struct mf_placing *p, const struct mf_question_row *row, uint8_t *grade)
{
    const char *word = row->grade;

    *grade = (uint8_t)toupper((unsigned char)*word);
    if (!*word || (*grade >= 'A' && *grade <= 'Z' && !word[1 + strspn(word + 1, "+-")])) return MF_OK;
    return mf_placing_fail(p->import->asked, row->line, "has the grade '%.40s', which is no letter", word);
}

int mf_placing_held_out(const struct mf_placing *p, size_t r, uint8_t *held_out)
{
    const struct mf_question_row *row = &p->import->asked->row[r];
    int flag = !p->elsewhere[p->text_of[r]];

    if (strcmp(row->held_out, "0") == 0 || strcmp(row->held_out, "1") == 0)
        flag = *row->held_out == '1';
    else if (*row->held_out && !mf_word_flag(row->held_out, &flag))
        return mf_placing_fail(p->import->asked, row->line, "has held_out '%.40s', which is not 0 or 1", row->held_out);
    *held_out = (uint8_t)flag;
    return MF_OK;
}

static size_t fitting(const char *text) { return mf_utf8_cut(text, MF_VQA_IMPORT_TEXT); }

static void measure_texts(struct mf_placing *p)
{
    const struct mf_question_rows *asked = p->import->asked;
    size_t longest = 0, cuts = 0, first = 0;

    for (size_t r = 0; r < asked->count; ++r) {
        const size_t n = fitting(asked->row[r].text);

        if (asked->row[r].text[n] && !cuts++) first = asked->row[r].line;
        if (n > longest) longest = n;
    }
    p->form->text = (longest / 8 + 1) * 8;
    if (cuts)
        mf_warn("'%.200s': %zu question%s cut after %d bytes, the first in %s %zu", asked->path, cuts,
                cuts == 1 ? " is" : "s are", MF_VQA_IMPORT_TEXT, asked->unit, first);
}

static int put_row(struct mf_placing *p, size_t r, size_t at)
{
    const struct mf_question_row *row = &p->import->asked->row[r];
    struct mf_questions *all = p->import->all;
    const struct mf_questions_form *f = &all->form;
    const size_t type = type_of(f, row->type), head = (size_t)f->head_of[type];
    int32_t *label = all->label + at * f->heads;

    all->sample[at] = (uint32_t)p->sample[r];
    all->type[at] = (uint8_t)type;
    for (size_t h = 0; h < f->heads; ++h) label[h] = MF_ANSWER_NONE;
    memcpy(all->text + at * f->text, row->text, fitting(row->text));
    MF_TRY(find_answer(p, row, head, &label[head]));
    MF_TRY(mf_placing_held_out(p, r, &all->held_out[at]));
    return f->graded ? read_grade(p, row, &all->grade[at]) : MF_OK;
}

int mf_placing_rows(struct mf_placing *p)
{
    for (size_t k = 0; k < p->import->asked->count; ++k) MF_TRY(put_row(p, p->row[k], k));
    return MF_OK;
}

int mf_placing_form(struct mf_placing *p)
{
    const struct mf_question_rows *asked = p->import->asked;

    p->form->rows = asked->count;
    measure_texts(p);
    for (size_t r = 0; r < asked->count; ++r) p->form->graded |= *asked->row[r].grade != '\0';
    return asked->count >> 32 ? mf_fail(MF_INPUT, "'%.200s' has more than 2^32 questions", asked->path) : MF_OK;
}
