/* See learn_show.h: answers to questions about images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_vqa_show.h"

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

static void print_share(double value, FILE *to)
{
    char text[MF_LOSS_TEXT];

    fprintf(to, "  %9s", isfinite(value) ? mf_accuracy_text(value, text) : "-");
}

static void print_row(const char *head, int width, const char *name, struct mf_vqa_right of, FILE *to)
{
    fprintf(to, "%-*s  %-9s  %9.0f", width, name, head, of.asked);
    print_share(share(of), to);
}

/* The columns behind the network's. */
static void print_legend(const struct mf_vqa_blind *blind, FILE *to)
{
    fprintf(to,
            "majority: the most frequent answer of the train split; measures: %s\n"
            "question: the network with a grey image; image: with another question of the split\n",
            blind->measured ? "a regression on class and volume fraction there"
                            : "none, as the set has neither classes nor volume fractions");
}

static int width_of(const struct mf_questions_form *f)
{
    size_t width = strlen("type of question");

    for (size_t t = 0; t < f->types; ++t) width = strlen(f->type[t]) > width ? strlen(f->type[t]) : width;
    for (size_t k = 0; k < f->findings; ++k) width = strlen(f->finding[k]) > width ? strlen(f->finding[k]) : width;
    return (int)width;
}

static int print(const struct mf_scored *of, FILE *to)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    struct mf_vqa_blind blind;
    const int width = width_of(f);
    char text[MF_LOSS_TEXT];

    MF_TRY(mf_vqa_blind(of, &blind));
    fprintf(to, ", accuracy %s\n%-*s  %-9s  %9s  %9s", mf_accuracy_text(mf_vqa_accuracy(of->task, of->scores), text),
            width, "type of question", "head", "questions", "right");
    for (int k = 0; k < MF_VQA_BLINDS; ++k) fprintf(to, "  %9s", mf_vqa_blind_names[k]);
    fprintf(to, "\n");
    for (size_t t = 0; t < f->types; ++t) {
        print_row(f->head[f->head_of[t]], width, f->type[t], mf_vqa_right_type(of->task, of->scores, t), to);
        for (int k = 0; k < MF_VQA_BLINDS; ++k) print_share(blind.share[k][t], to);
        fprintf(to, "\n");
    }
    for (size_t k = 0; k < f->findings; ++k) {
        const struct mf_vqa_right right = mf_vqa_right_finding(of->task, of->scores, k);

        if (right.asked == 0) continue; /* no image of the split says it */
        print_row("findings", width, f->finding[k], right, to);
        fprintf(to, "\n");
    }
    print_legend(&blind, to);
    return MF_OK;
}

static struct mf_json *right_json(struct mf_vqa_right of)
{
    struct mf_json *j = mf_json_object();

    MF_JSON(j, "questions", (long long)of.asked, "right", (long long)of.right);
    mf_json_finite(j, "accuracy", share(of));
    return j;
}

static int put_blind(const struct mf_scored *of, struct mf_json *to)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    struct mf_vqa_blind blind;
    struct mf_json *all;

    MF_TRY(mf_vqa_blind(of, &blind));
    all = mf_json_object();
    for (int k = 0; k < MF_VQA_BLINDS; ++k) {
        struct mf_json *types = mf_json_object();

        for (size_t t = 0; t < f->types; ++t) mf_json_finite(types, f->type[t], blind.share[k][t]);
        mf_json_put(all, mf_vqa_blind_names[k], types);
    }
    mf_json_put(to, "blind", all);
    return MF_OK;
}

static int json(const struct mf_scored *of, struct mf_json *to)
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
    return put_blind(of, to);
}

/* -- picture: right answers beside those of who does not see everything; then some images -- */

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

/* The network beside two of who does not see everything, from @p first on. */
static void put_answers(const struct mf_scored *of, const struct mf_vqa_blind *blind, int first, const char *title,
                        struct mf_figure *figure)
{
    enum { BESIDE = 2 };
    static const char *const name[MF_VQA_BLINDS] = {"the most frequent answer", "class and volume fraction",
                                                    "with a grey image", "with another question"};
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    double *y = mf_figure_keep(figure, (1 + BESIDE) * f->types * sizeof *y);
    struct mf_curve *curve = mf_figure_keep(figure, (1 + BESIDE) * sizeof *curve);
    size_t series = 0;

    for (size_t t = 0; t < f->types; ++t) y[t] = 100 * share(mf_vqa_right_type(of->task, of->scores, t));
    curve[series++] = (struct mf_curve){.name = "the network", .count = f->types, .y = y};
    for (int k = first; k < first + BESIDE; ++k) {
        int guesses = 0;

        y += f->types;
        for (size_t t = 0; t < f->types; ++t) {
            y[t] = 100 * blind->share[k][t];
            guesses = guesses || isfinite(y[t]);
        }
        if (guesses) curve[series++] = (struct mf_curve){.name = name[k], .count = f->types, .y = y};
    }
    if (series > 1) put_bars(figure, title, f->types, f->type, series, curve);
}

static int draw(const struct mf_scored *of, const char *title, const char *path)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    struct mf_figure figure = {.columns = MF_VQA_SHEET};
    struct mf_curve *findings;
    struct mf_vqa_blind blind;
    int rc, any = 0;
    double *found;

    MF_TRY(mf_vqa_blind(of, &blind));
    found = mf_figure_keep(&figure, (f->findings + 1) * sizeof *found);
    findings = mf_figure_keep(&figure, sizeof *findings);
    put_answers(of, &blind, MF_VQA_MAJORITY, "answers beside blind guesses", &figure);
    put_answers(of, &blind, MF_VQA_QUESTION, "the network, half blind", &figure);
    for (size_t k = 0; k < f->findings; ++k) {
        found[k] = 100 * share(mf_vqa_right_finding(of->task, of->scores, k));
        any |= isfinite(found[k]) != 0;
    }
    *findings = (struct mf_curve){.count = f->findings, .y = found};
    if (any) put_bars(&figure, "findings", f->findings, f->finding, 1, findings);
    mf_figure_end_row(&figure);
    rc = mf_vqa_sheet(of, &figure);
    if (rc == MF_OK) return mf_figure_write(path, title, &figure);
    mf_figure_free(&figure);
    return rc;
}

/* -- predictions -- */

static void put_answer(const struct mf_scored *of, size_t i, size_t k, size_t row, FILE *to)
{
    const struct mf_vqa_said said = mf_vqa_said(of, i, k);

    mf_table_put(to, mf_vqa_form(of->task)->type[mf_vqa_label(of->task, row).type]);
    fprintf(to, ",");
    mf_table_put(to, said.truth);
    fprintf(to, ",");
    mf_table_put(to, said.answer);
    fprintf(to, ",%.6f\n", said.probability);
}

static void table(const struct mf_scored *of, FILE *to)
{
    char *text = MF_MUST(malloc(MF_QUESTION_TEXT + 1), "a question");

    fprintf(to, "id,sample,question,type,true,predicted,probability\n");
    for (size_t i = 0; i < of->n; ++i) {
        const struct mf_span rows = mf_item_rows(of->set->questions, of->id[i]);

        for (size_t k = 0; k < rows.count; ++k) {
            const size_t row = rows.first + k;

            if (mf_vqa_label(of->task, row).answer < 0) continue;
            fprintf(to, "%zu,%zu,", row, mf_item_sample(of->set, of->id[i]));
            mf_table_put(to, mf_vqa_question(of->set, row, text));
            fprintf(to, ",");
            put_answer(of, i, k, row, to);
        }
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

const struct mf_learn_show mf_show_vqa = {.verb = "answer",
                                          .picture = "answers.png",
                                          .draws_outputs = 1,
                                          .title = "answers:",
                                          .facts = facts,
                                          .draw = draw,
                                          .print = print,
                                          .json = json,
                                          .table = table,
                                          .results = results,
                                          .judged = judged,
                                          .judged_by = "accuracy"};
