/* See blind.h. */
#include "src/vqa/blind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/vqa/logistic.h"

/* Phases: those that a question may name, and none. */
enum { PHASES = 3, POWERS = 3, WIDTH = POWERS + 1 /* entries of a row */, MOST = 20000 };
static const double RIDGE = 0.1;

static size_t head_of(const struct mf_questions *q, size_t type) { return (size_t)q->form.head_of[type]; }

static int32_t label_of(const struct mf_questions *q, size_t row)
{
    return q->label[row * q->form.heads + head_of(q, q->type[row])];
}

/* Rows of a type. @p to has room for n. */
static size_t choose(const struct mf_questions *q, size_t type, size_t n, const uint32_t *from, uint32_t *to)
{
    size_t count = 0;

    for (size_t i = 0; i < n; ++i)
        if (q->type[from[i]] == type && label_of(q, from[i]) >= 0) to[count++] = from[i];
    return count;
}

/* ---- the most frequent answer ---- */

int mf_blind_majority(const struct mf_blind *b, struct mf_guesses *guesses)
{
    const struct mf_questions *q = b->questions;
    size_t(*count)[MF_QUESTION_ANSWERS], n[MF_QUESTION_TYPES] = {0};
    int32_t most[MF_QUESTION_TYPES] = {0};

    MF_TRY(MF_ROOM(count, q->form.types, "the answers of %zu types of questions", (size_t)q->form.types));
    *guesses = (struct mf_guesses){.rows = {0}};
    for (size_t i = 0; i < b->learnt; ++i) {
        const int32_t label = label_of(q, b->learn[i]);

        if (label < 0) continue;
        ++n[q->type[b->learn[i]]];
        ++count[q->type[b->learn[i]]][label];
    }
    for (size_t t = 0; t < q->form.types; ++t)
        for (int32_t a = 1; a < q->form.answers[head_of(q, t)]; ++a)
            if (count[t][a] > count[t][most[t]]) most[t] = a;
    for (size_t i = 0; i < b->guessed; ++i) {
        const size_t t = q->type[b->guess[i]];
        const int32_t label = label_of(q, b->guess[i]);

        if (label < 0 || n[t] == 0) continue;
        ++guesses->rows[t];
        guesses->right[t] += label == most[t];
    }
    free(count);
    return MF_OK;
}

/* ---- the regression ---- */

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static int has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[n])) return 1;
    return 0;
}

/* 1: the first word; 2: the second one; 0: neither, or both. */
static int which(const char *text, const char *first, const char *second)
{
    const int a = has_word(text, first), b = has_word(text, second);

    return a == b ? 0 : a ? 1 : 2;
}

/* Columns of a set: classes, one of samples without a class, times phases times powers; then the direction. */
struct columns {
    size_t fraction; /* which real value; set->reals: none */
    size_t classes, count;
};

static struct columns columns_of(const struct mf_dataset *set)
{
    struct columns c = {.fraction = mf_dataset_column(set, "volume_fraction"), .classes = set->classes + 1};

    c.count = c.classes * PHASES * POWERS + 1;
    return c;
}

static void put_row(const struct mf_blind *b, const struct columns *c, size_t row, uint32_t *column, double *value)
{
    const struct mf_dataset *set = b->set;
    const size_t sample = b->questions->sample[row];
    const char *text = b->questions->text + row * b->questions->form.text;
    const int32_t label = set->label ? set->label[sample] : -1;
    const int phase = which(text, "dark", "light"), direction = which(text, "left", "top");
    const size_t class = label < 0 ? set->classes : (size_t)label;
    const double known = c->fraction < set->reals ? (double)set->real[sample * set->reals + c->fraction] : NAN;
    const double f = isfinite(known) ? known : 0.5;

    value[0] = 1;
    for (size_t k = 0; k < POWERS; ++k) {
        column[k] = (uint32_t)((class * PHASES + (size_t)phase) * POWERS + k);
        if (k > 0) value[k] = value[k - 1] * (2 * f - 1);
    }
    column[POWERS] = (uint32_t)(c->count - 1);
    value[POWERS] = direction == 0 ? 0 : direction == 1 ? 1 : -1;
}

/* Memory of rows of a regression. */
struct rows {
    uint32_t *column;
    double *value;
    int32_t *answer;
};

static int take_rows(size_t n, struct rows *rows)
{
    *rows = (struct rows){NULL, NULL, NULL};
    MF_TRY(MF_ROOM(rows->column, n * WIDTH + 1, "a regression of %zu questions", n));
    MF_TRY(MF_ROOM(rows->value, n * WIDTH + 1, "a regression of %zu questions", n));
    return MF_ROOM(rows->answer, n + 1, "a regression of %zu questions", n);
}

static struct mf_logistic_rows rows_of(const struct mf_blind *b, const struct columns *c, size_t answers, size_t n,
                                       const uint32_t *row, const struct rows *to)
{
    for (size_t r = 0; r < n; ++r) {
        put_row(b, c, row[r], to->column + r * WIDTH, to->value + r * WIDTH);
        to->answer[r] = label_of(b->questions, row[r]);
    }
    return (struct mf_logistic_rows){n, c->count, answers, WIDTH, to->column, to->value, to->answer};
}

static void rows_free(struct rows *rows)
{
    free(rows->column);
    free(rows->value);
    free(rows->answer);
}

/* Leaves MOST of many rows, evenly spread. */
static size_t thin(size_t n, uint32_t *row)
{
    for (size_t i = 0; n > MOST && i < MOST; ++i) row[i] = row[i * n / MOST];
    return n > MOST ? MOST : n;
}

/* Is every answer the name of the sample's class? Who is told the class has nothing to guess. */
static int is_told(const struct mf_blind *b, size_t n, const uint32_t *row)
{
    const struct mf_questions *q = b->questions;
    size_t same = 0;

    for (size_t r = 0; r < n; ++r) {
        const int32_t class = b->set->label ? b->set->label[q->sample[row[r]]] : -1;
        const mf_name *answer = q->form.answer + mf_questions_answer_at(&q->form, head_of(q, q->type[row[r]]));

        same += class >= 0 && strcmp(answer[label_of(q, row[r])], b->set->class_name[class]) == 0;
    }
    return n > 0 && same == n;
}

/* Learns from the rows @p row [n]. */
static int learn(const struct mf_blind *b, const struct columns *c, size_t answers, size_t n, const uint32_t *row,
                 double *weight)
{
    struct rows rows;
    int rc = take_rows(n, &rows);

    if (rc == MF_OK) {
        const struct mf_logistic_rows r = rows_of(b, c, answers, n, row, &rows);

        rc = mf_logistic_fit(&r, RIDGE, weight);
    }
    rows_free(&rows);
    return rc;
}

/* How many of the rows @p row [n] it guesses. */
static int guess(const struct mf_blind *b, const struct columns *c, size_t answers, size_t n, const uint32_t *row,
                 const double *weight, size_t *right)
{
    struct rows rows;
    const int rc = take_rows(n, &rows);

    if (rc == MF_OK) {
        const struct mf_logistic_rows all = rows_of(b, c, answers, n, row, &rows);

        for (size_t r = 0; r < n; ++r) *right += mf_logistic_best(&all, r, weight) == (size_t)rows.answer[r];
    }
    rows_free(&rows);
    return rc;
}

static int guess_type(const struct mf_blind *b, const struct columns *c, size_t type, uint32_t *room,
                      struct mf_guesses *guesses)
{
    const size_t answers = (size_t)b->questions->form.answers[head_of(b->questions, type)];
    size_t n = thin(choose(b->questions, type, b->learnt, b->learn, room), room);
    double *weight;
    int rc = MF_OK;

    if (is_told(b, n, room)) return MF_OK;
    MF_TRY(MF_ROOM(weight, c->count * answers, "a regression of %zu answers", answers));
    if (n > 0) rc = learn(b, c, answers, n, room, weight);
    n = n > 0 ? choose(b->questions, type, b->guessed, b->guess, room) : 0;
    guesses->rows[type] = n;
    if (rc == MF_OK) rc = guess(b, c, answers, n, room, weight, &guesses->right[type]);
    free(weight);
    return rc;
}

int mf_blind_measures(const struct mf_blind *b, struct mf_guesses *guesses, int *measured)
{
    const struct columns c = columns_of(b->set);
    const size_t most = b->learnt > b->guessed ? b->learnt : b->guessed;
    uint32_t *room;
    int rc = MF_OK;

    *guesses = (struct mf_guesses){.rows = {0}};
    *measured = c.classes > 1 || c.fraction < b->set->reals;
    if (!*measured) return MF_OK;
    MF_TRY(MF_ROOM(room, most + 1, "%zu questions", most));
    for (size_t t = 0; rc == MF_OK && t < b->questions->form.types; ++t) rc = guess_type(b, &c, t, room, guesses);
    free(room);
    return rc;
}
