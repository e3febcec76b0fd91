/* See questions_tell.h. */
#include "src/cmd/files/questions_tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

/* Counts of a type. */
struct tally {
    size_t split[MF_SPLITS], rows, answer[MF_QUESTION_ANSWERS]; /* answers count from the first of the head */
};

static struct tally *count(const struct mf_dataset *set, const struct mf_questions *q)
{
    const struct mf_questions_form *f = &q->form;
    struct tally *all = MF_MUST(calloc(f->types, sizeof *all), "counts");

    for (size_t r = 0; r < f->rows; ++r) {
        struct tally *t = &all[q->type[r]];
        const uint8_t split = set->split[q->sample[r]];

        ++t->rows;
        ++t->answer[q->label[r * f->heads + (size_t)f->head_of[q->type[r]]]];
        if (split < MF_SPLITS) ++t->split[split];
    }
    return all;
}

static const mf_name *answers_of(const struct mf_questions_form *f, size_t type)
{
    return f->answer + mf_questions_answer_at(f, (size_t)f->head_of[type]);
}

/* The answer that is most frequent. */
static size_t most_of(const struct mf_questions_form *f, size_t type, const struct tally *t)
{
    size_t most = 0;

    for (size_t a = 1; a < (size_t)f->answers[f->head_of[type]]; ++a)
        if (t->answer[a] > t->answer[most]) most = a;
    return most;
}

static size_t held_out(const struct mf_questions *q)
{
    size_t n = 0;

    for (size_t r = 0; r < q->form.rows; ++r) n += q->held_out[r];
    return n;
}

static size_t tokens(const struct mf_questions *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->form.vocabulary; ++i) n += q->vocabulary[i] == '\n';
    return n + (q->form.vocabulary && q->vocabulary[q->form.vocabulary - 1] != '\n');
}

/* No, yes, does not count. */
static void count_finding(const struct mf_dataset *set, const struct mf_questions *q, size_t finding, size_t of[3])
{
    memset(of, 0, 3 * sizeof *of);
    for (size_t i = 0; i < set->samples; ++i) {
        const uint8_t v = q->finding[i * q->form.findings + finding];

        ++of[v == MF_FINDING_NONE ? 2 : v];
    }
}

/* How many questions have the grade; '\0': none. */
static size_t graded(const struct mf_questions *q, uint8_t grade)
{
    size_t n = 0;

    for (size_t r = 0; q->form.graded && r < q->form.rows; ++r) n += q->grade[r] == grade;
    return n;
}

/* ---- JSON ---- */

static struct mf_json *type_json(const struct mf_questions_form *f, size_t type, const struct tally *t)
{
    struct mf_json *json = mf_json_object(), *answers = mf_json_object();

    mf_json_text(json, "head", f->head[f->head_of[type]]);
    for (int k = 0; k < MF_SPLITS; ++k) mf_json_int(json, mf_split_names[k], (long long)t->split[k]);
    for (int32_t a = 0; a < f->answers[f->head_of[type]]; ++a)
        if (t->answer[a]) mf_json_int(answers, answers_of(f, type)[a], (long long)t->answer[a]);
    if (t->rows) mf_json_real(json, "majority", (double)t->answer[most_of(f, type, t)] / (double)t->rows);
    mf_json_put(json, "answers", answers);
    return json;
}

static struct mf_json *findings_json(const struct mf_dataset *set, const struct mf_questions *q)
{
    struct mf_json *findings = mf_json_object();

    for (size_t i = 0; i < q->form.findings; ++i) {
        struct mf_json *one = mf_json_object();
        size_t of[3];

        count_finding(set, q, i, of);
        MF_JSON(one, "no", of[0], "yes", of[1], "none", of[2]);
        mf_json_put(findings, q->form.finding[i], one);
    }
    return findings;
}

static struct mf_json *grades_json(const struct mf_questions *q)
{
    struct mf_json *grades = mf_json_object();

    for (char grade[2] = "A"; *grade <= 'Z'; ++*grade)
        if (graded(q, (uint8_t)*grade)) mf_json_int(grades, grade, (long long)graded(q, (uint8_t)*grade));
    mf_json_int(grades, "none", (long long)graded(q, 0));
    return grades;
}

static void put(const struct mf_dataset *set, const struct mf_questions *q, const struct tally *all,
                struct mf_json *json)
{
    struct mf_json *questions = mf_json_object(), *types = mf_json_object();

    for (size_t t = 0; t < q->form.types; ++t) mf_json_put(types, q->form.type[t], type_json(&q->form, t, &all[t]));
    MF_JSON(questions, "questions", (size_t)q->form.rows, "held_out", held_out(q), "objects", (size_t)q->form.objects,
            "tokens", tokens(q), "types", types, "findings", findings_json(set, q), "hash", q->hash);
    if (q->form.graded) mf_json_put(questions, "grades", grades_json(q));
    mf_json_put(json, "questions", questions);
}

/* ---- text ---- */

enum { SHOWN = 6 };

/* The most frequent answers, in their order, and the share of the first. */
static void print_answers(const struct mf_questions_form *f, size_t type, struct tally *t)
{
    const size_t n = (size_t)f->answers[f->head_of[type]];
    size_t shown = 0, most;

    for (; shown < SHOWN && t->answer[most = most_of(f, type, t)]; ++shown) {
        printf("%s%s %zu", shown ? ", " : "", answers_of(f, type)[most], t->answer[most]);
        if (!shown) printf(" (%.0f %%)", 100 * (double)t->answer[most] / (double)t->rows);
        t->answer[most] = 0;
    }
    for (most = 0; most < n && !t->answer[most]; ++most)
        ;
    printf("%s\n", most < n ? ", .." : "");
}

static void print_grades(const struct mf_questions *q)
{
    printf("  grades:       ");
    for (uint8_t grade = 'A'; grade <= 'Z'; ++grade)
        if (graded(q, grade)) printf("%c %zu, ", grade, graded(q, grade));
    printf("none %zu\n", graded(q, 0));
}

/* Columns of the longest type. */
static int widest(const struct mf_questions_form *f)
{
    size_t most = 13;

    for (size_t t = 0; t < f->types; ++t)
        if (strlen(f->type[t]) > most) most = strlen(f->type[t]);
    return (int)most;
}

static void print(const struct mf_dataset *set, const struct mf_questions *q, struct tally *all)
{
    const struct mf_questions_form *f = &q->form;

    printf("  questions:    %zu, %zu of them in words of the test split alone; %zu tokens, %zu objects of a sample\n",
           (size_t)f->rows, held_out(q), tokens(q), (size_t)f->objects);
    for (size_t t = 0; t < f->types; ++t) {
        printf("  %-*s train %zu, validation %zu, test %zu; %s: ", widest(f), f->type[t], all[t].split[MF_TRAIN],
               all[t].split[MF_VALIDATION], all[t].split[MF_TEST], f->head[f->head_of[t]]);
        print_answers(f, t, &all[t]);
    }
    if (f->graded) print_grades(q);
    if (f->findings) printf("  findings:     no, yes, do not count\n");
    for (size_t i = 0; i < f->findings; ++i) {
        size_t of[3];

        count_finding(set, q, i, of);
        printf("    %-46s %zu, %zu, %zu\n", f->finding[i], of[0], of[1], of[2]);
    }
}

void mf_questions_tell(const struct mf_dataset *set, const struct mf_questions *q, struct mf_json *json)
{
    struct tally *all = count(set, q);

    if (json)
        put(set, q, all, json);
    else
        print(set, q, all);
    free(all);
}
