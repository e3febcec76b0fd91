/* See learn_show.h: answers to questions about images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/show/training.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_vqa.h"

static double share(struct mf_vqa_right of) { return of.asked > 0 ? of.right / of.asked : NAN; }

/* -- a model's facts -- */

static void facts(const struct mf_task *task, FILE *to)
{
    const struct mf_questions_form *f = mf_vqa_form(task);

    for (size_t h = 0; h < f->heads; ++h) {
        fprintf(to, "  head:       %s, %d answers:", f->head[h], f->answers[h]);
        for (size_t t = 0; t < f->types; ++t)
            if ((size_t)f->head_of[t] == h) fprintf(to, " %s", f->type[t]);
        fprintf(to, "\n");
    }
}

/* -- scores -- */

static void print_row(const char *head, int width, const char *name, struct mf_vqa_right of, FILE *to)
{
    char text[MF_LOSS_TEXT];

    fprintf(to, "%-*s  %-9s  %9.0f  %9s\n", width, name, head, of.asked, mf_accuracy_text(share(of), text));
}

static int width_of(const struct mf_questions_form *f)
{
    size_t width = strlen("type of question");

    for (size_t t = 0; t < f->types; ++t) width = strlen(f->type[t]) > width ? strlen(f->type[t]) : width;
    for (size_t k = 0; k < f->findings; ++k) width = strlen(f->finding[k]) > width ? strlen(f->finding[k]) : width;
    return (int)width;
}

static void print(const struct mf_scored *of, FILE *to)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    const int width = width_of(f);
    char text[MF_LOSS_TEXT];

    fprintf(to, ", accuracy %s\n%-*s  %-9s  %9s  %9s\n", mf_accuracy_text(mf_vqa_accuracy(of->task, of->scores), text),
            width, "type of question", "head", "questions", "right");
    for (size_t t = 0; t < f->types; ++t)
        print_row(f->head[f->head_of[t]], width, f->type[t], mf_vqa_right_type(of->task, of->scores, t), to);
    for (size_t k = 0; k < f->findings; ++k)
        print_row("findings", width, f->finding[k], mf_vqa_right_finding(of->task, of->scores, k), to);
}

static struct mf_json *right_json(struct mf_vqa_right of)
{
    struct mf_json *j = mf_json_object();

    MF_JSON(j, "questions", (long long)of.asked, "right", (long long)of.right);
    mf_json_finite(j, "accuracy", share(of));
    return j;
}

static void json(const struct mf_scored *of, struct mf_json *to)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    struct mf_json *types = mf_json_object(), *findings = mf_json_object();

    mf_json_finite(to, "accuracy", mf_vqa_accuracy(of->task, of->scores));
    for (size_t t = 0; t < f->types; ++t) {
        struct mf_json *j = right_json(mf_vqa_right_type(of->task, of->scores, t));

        mf_json_text(j, "head", f->head[f->head_of[t]]);
        mf_json_put(types, f->type[t], j);
    }
    for (size_t k = 0; k < f->findings; ++k)
        mf_json_put(findings, f->finding[k], right_json(mf_vqa_right_finding(of->task, of->scores, k)));
    mf_json_put(to, "types", types);
    mf_json_put(to, "findings", findings);
}

/* -- picture: right answers beside the answer that is most frequent -- */

/* Share of the questions of a type whose answer is the most frequent one. */
static double most_frequent(const struct mf_scored *of, size_t type)
{
    size_t *count = MF_MUST(calloc(MF_QUESTION_ANSWERS, sizeof *count), "answers"), most = 0, all = 0;

    for (size_t i = 0; i < of->n; ++i) {
        const struct mf_vqa_item item = mf_vqa_item(of->task, of->id[i]);

        if (item.answer < 0 || item.type != type) continue;
        ++all;
        if (++count[item.answer] > most) most = count[item.answer];
    }
    free(count);
    return all ? (double)most / (double)all : NAN;
}

/* @p curve [series] has names and values. */
static void put_bars(struct mf_figure *figure, const char *title, size_t n, const mf_name *name, size_t series,
                     const struct mf_curve *curve)
{
    const char **names = mf_figure_keep(figure, (n + 1) * sizeof *names);

    for (size_t i = 0; i < n; ++i) names[i] = mf_figure_text(figure, "%s", name[i]);
    *mf_figure_next(figure) = (struct mf_panel){.kind = MF_PANEL_BARS,
                                                .title = title,
                                                .xlabel = "right answers [%]",
                                                .curve_count = series,
                                                .curves = curve,
                                                .bar_count = n,
                                                .bar_names = names,
                                                .sideways = 1};
}

static int draw(const struct mf_scored *of, const char *title, const char *path)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    struct mf_figure figure = {.columns = 2};
    double *right = mf_figure_keep(&figure, f->types * sizeof *right);
    double *often = mf_figure_keep(&figure, f->types * sizeof *often);
    double *found = mf_figure_keep(&figure, (f->findings + 1) * sizeof *found);
    const struct mf_curve answers[2] = {{.name = "the network", .count = f->types, .y = right},
                                        {.name = "the most frequent answer", .count = f->types, .y = often}};
    const struct mf_curve findings = {.count = f->findings, .y = found};

    for (size_t t = 0; t < f->types; ++t) {
        right[t] = 100 * share(mf_vqa_right_type(of->task, of->scores, t));
        often[t] = 100 * most_frequent(of, t);
    }
    for (size_t k = 0; k < f->findings; ++k) found[k] = 100 * share(mf_vqa_right_finding(of->task, of->scores, k));
    put_bars(&figure, "answers", f->types, f->type, 2, answers);
    if (f->findings) put_bars(&figure, "findings", f->findings, f->finding, 1, &findings);
    return mf_figure_write(path, title, &figure);
}

/* -- predictions -- */

static void put_answer(const struct mf_scored *of, size_t i, FILE *to)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    const struct mf_vqa_item item = mf_vqa_item(of->task, of->id[i]);
    const struct mf_head *head = &of->task->head[item.head];
    const mf_name *name = f->answer + mf_questions_answer_at(f, item.head);
    const float *output = of->scores->head[item.head].output + i * head->outputs;
    const size_t best = mf_classify_best(head->outputs, output);
    double sum = 0;

    for (size_t a = 0; a < head->outputs; ++a) sum += exp((double)(output[a] - output[best]));
    mf_table_put(to, f->type[item.type]);
    fprintf(to, ",");
    mf_table_put(to, name[item.answer]);
    fprintf(to, ",");
    mf_table_put(to, name[best]);
    fprintf(to, ",%.6f\n", 1 / sum);
}

static void table(const struct mf_scored *of, FILE *to)
{
    char *text = MF_MUST(malloc(MF_QUESTION_TEXT + 1), "a question");

    fprintf(to, "id,sample,question,type,true,predicted,probability\n");
    for (size_t i = 0; i < of->n; ++i) {
        if (mf_vqa_item(of->task, of->id[i]).answer < 0) continue;
        fprintf(to, "%lu,%zu,", (unsigned long)of->id[i], mf_item_sample(of->set, of->id[i]));
        mf_table_put(to, mf_vqa_question(of->set, of->id[i], text));
        fprintf(to, ",");
        put_answer(of, i, to);
    }
    free(text);
}

/* -- results in a card -- */

static double judged(const struct mf_json *split, size_t n, double *each)
{
    (void)n, (void)each;
    return mf_json_to_finite(mf_json_get(split, "accuracy"));
}

struct listing {
    FILE *to;
    const char *before;
};

static void list_type(void *context, const char *type, const struct mf_json *value)
{
    struct listing *l = context;

    if (!isfinite(mf_json_to_finite(value))) return; /* nobody asked */
    fprintf(l->to, "%s%s %.1f", l->before, type, 100 * mf_json_to_finite(value));
    l->before = ", ";
}

static void results(const struct mf_json *split, FILE *to)
{
    struct listing l = {to, ""};
    char text[MF_LOSS_TEXT];

    if (!mf_json_get(split, "accuracy")) return;
    fprintf(to, "accuracy %s: ", mf_accuracy_text(judged(split, 0, NULL), text));
    mf_json_each(mf_json_get(split, "types"), list_type, &l);
}

const struct mf_learn_show mf_show_vqa = {.picture = "answers.png",
                                          .title = "answers:",
                                          .facts = facts,
                                          .draw = draw,
                                          .print = print,
                                          .json = json,
                                          .table = table,
                                          .results = results,
                                          .judged = judged,
                                          .judged_by = "accuracy"};
