/* See learn_vqa_show.h: images with questions, answers and truths. */
#include <math.h>
#include <stdlib.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/show/grid.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_vqa_show.h"

enum { RIGHT = 0x1f77b4, WRONG = 0xd55e00 }; /* colours of the line around an image */

static size_t row_of(const struct mf_scored *of, size_t i, size_t k)
{
    return mf_item_rows(of->set->questions, of->id[i]).first + k;
}

struct mf_vqa_said mf_vqa_said(const struct mf_scored *of, size_t i, size_t k)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    const struct mf_vqa_label label = mf_vqa_label(of->task, row_of(of, i, k));
    const size_t n = of->task->head[label.head].outputs;
    const mf_name *name = f->answer + mf_questions_answer_at(f, label.head);
    const float *output = of->scores->head[label.head].output + (i * mf_vqa_together(of->task) + k) * n;
    const size_t best = mf_classify_best(n, output);
    double sum = 0;

    for (size_t a = 0; a < n; ++a) sum += exp((double)(output[a] - output[best]));
    return (struct mf_vqa_said){name[best], name[label.answer], 1 / sum};
}

/* Question k of item i of those that were scored. */
struct place {
    size_t i, k;
};

/* A sheet under way. */
struct sheet {
    const struct mf_scored *of;
    struct mf_figure *figure;
    const struct place *place;
    double low, high;
    size_t next;
};

static void add(void *context, const struct mf_batch *batch)
{
    struct sheet *s = context;
    const struct place at = s->place[s->next++];
    const struct mf_vqa_said said = mf_vqa_said(s->of, at.i, at.k);
    const struct mf_grid grid = mf_grid_begin(s->figure, s->of->set, 1, 1);
    char *text = mf_figure_keep(s->figure, MF_QUESTION_TEXT + 1);
    struct mf_panel *panel;

    mf_grid_put(&grid, 0, s->of->set, batch->x, NULL);
    mf_grid_draw(s->figure, &grid, s->low, s->high, mf_vqa_question(s->of->set, row_of(s->of, at.i, at.k), text));
    panel = &s->figure->panel[s->figure->count - 1];
    panel->colours = "gray"; /* a dark phase is dark */
    panel->rim = said.answer == said.truth ? RIGHT : WRONG;
    panel->caption =
        mf_figure_text(s->figure, said.answer == said.truth ? "%s (%.0f %%), right" : "%s (%.0f %%), but it is: %s",
                       said.answer, 100 * said.probability, said.truth);
}

/* Places of the questions of a type that count. */
static size_t find_type(const struct mf_scored *of, size_t type, struct place *place)
{
    size_t n = 0;

    for (size_t i = 0; i < of->n; ++i) {
        const struct mf_span rows = mf_item_rows(of->set->questions, of->id[i]);

        for (size_t k = 0; k < rows.count; ++k) {
            const struct mf_vqa_label label = mf_vqa_label(of->task, rows.first + k);

            if (label.answer >= 0 && label.type == type) place[n++] = (struct place){i, k};
        }
    }
    return n;
}

/* Some of them, evenly spread. */
static size_t choose(const struct mf_scored *of, size_t type, struct place place[MF_VQA_SHEET])
{
    struct place *all = MF_MUST(malloc((of->n * mf_vqa_together(of->task) + 1) * sizeof *all), "questions");
    const size_t count = find_type(of, type, all), n = count < MF_VQA_SHEET ? count : MF_VQA_SHEET;

    for (size_t k = 0; k < n; ++k) place[k] = all[(2 * k + 1) * count / (2 * n)];
    free(all);
    return n;
}

int mf_vqa_sheet(const struct mf_scored *of, struct mf_figure *figure)
{
    const struct mf_reader_wish wish = {.ahead = 1, .batch = 1, .raw = 1};
    struct place place[MF_VQA_SHEET];
    uint32_t id[MF_VQA_SHEET];
    struct sheet sheet = {.of = of, .figure = figure, .place = place};
    struct mf_arena *arena;
    int rc;

    MF_TRY(mf_arena_open(&arena, NULL, 0));
    rc = MF_OK;
    mf_grid_range(of->set, of->n, of->id, &sheet.low, &sheet.high);
    for (size_t t = 0; rc == MF_OK && t < mf_vqa_form(of->task)->types; ++t) {
        const size_t n = choose(of, t, place);

        for (size_t k = 0; k < n; ++k) id[k] = of->id[place[k].i];
        sheet.next = 0;
        rc = mf_samples_read(of->set, arena, &wish, n, id, add, &sheet);
        if (n) mf_figure_end_row(figure);
    }
    mf_arena_close(arena);
    return rc;
}
