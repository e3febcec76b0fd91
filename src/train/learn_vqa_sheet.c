/* See learn_vqa_show.h: images with questions, answers and truths. */
#include <math.h>
#include <stdlib.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/show/grid.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_vqa_show.h"

enum { RIGHT = 0x1f77b4, WRONG = 0xd55e00 }; /* colours of the line around an image */

struct mf_vqa_said mf_vqa_said(const struct mf_scored *of, size_t i)
{
    const struct mf_questions_form *f = mf_vqa_form(of->task);
    const struct mf_vqa_item item = mf_vqa_item(of->task, of->id[i]);
    const size_t n = of->task->head[item.head].outputs;
    const mf_name *name = f->answer + mf_questions_answer_at(f, item.head);
    const float *output = of->scores->head[item.head].output + i * n;
    const size_t best = mf_classify_best(n, output);
    double sum = 0;

    for (size_t a = 0; a < n; ++a) sum += exp((double)(output[a] - output[best]));
    return (struct mf_vqa_said){name[best], name[item.answer], 1 / sum};
}

/* A sheet under way. */
struct sheet {
    const struct mf_scored *of;
    struct mf_figure *figure;
    const size_t *place; /* of items among those that were scored */
    double low, high;
    size_t next;
};

static void add(void *context, const struct mf_batch *batch)
{
    struct sheet *s = context;
    const size_t i = s->place[s->next++];
    const struct mf_vqa_said said = mf_vqa_said(s->of, i);
    const struct mf_grid grid = mf_grid_begin(s->figure, s->of->set, 1, 1);
    char *text = mf_figure_keep(s->figure, MF_QUESTION_TEXT + 1);
    struct mf_panel *panel;

    mf_grid_put(&grid, 0, s->of->set, batch->x, NULL);
    mf_grid_draw(s->figure, &grid, s->low, s->high, mf_vqa_question(s->of->set, s->of->id[i], text));
    panel = &s->figure->panel[s->figure->count - 1];
    panel->colours = "gray"; /* a dark phase is dark */
    panel->rim = said.answer == said.truth ? RIGHT : WRONG;
    panel->caption =
        mf_figure_text(s->figure, said.answer == said.truth ? "%s (%.0f %%), right" : "%s (%.0f %%), but it is: %s",
                       said.answer, 100 * said.probability, said.truth);
}

/* Places of some items of a type, evenly spread. */
static size_t choose(const struct mf_scored *of, size_t type, size_t place[MF_VQA_SHEET])
{
    size_t all = 0, seen = 0, n = 0;

    for (size_t i = 0; i < of->n; ++i) {
        const struct mf_vqa_item item = mf_vqa_item(of->task, of->id[i]);

        all += item.answer >= 0 && item.type == type;
    }
    for (size_t i = 0; i < of->n && n < MF_VQA_SHEET; ++i) {
        const struct mf_vqa_item item = mf_vqa_item(of->task, of->id[i]);

        if (item.answer < 0 || item.type != type) continue;
        if (all <= MF_VQA_SHEET || seen == (2 * n + 1) * all / (2 * MF_VQA_SHEET)) place[n++] = i;
        ++seen;
    }
    return n;
}

int mf_vqa_sheet(const struct mf_scored *of, struct mf_figure *figure)
{
    const struct mf_reader_wish wish = {.ahead = 1, .batch = 1, .raw = 1};
    size_t place[MF_VQA_SHEET];
    uint32_t id[MF_VQA_SHEET];
    struct sheet sheet = {.of = of, .figure = figure, .place = place};
    struct mf_arena *arena;
    int rc;

    MF_TRY(mf_arena_open(&arena, NULL, 0));
    rc = MF_OK;
    mf_grid_range(of->set, of->n, of->id, &sheet.low, &sheet.high);
    for (size_t t = 0; rc == MF_OK && t < mf_vqa_form(of->task)->types; ++t) {
        const size_t n = choose(of, t, place);

        for (size_t k = 0; k < n; ++k) id[k] = of->id[place[k]];
        sheet.next = 0;
        rc = mf_samples_read(of->set, arena, &wish, n, id, add, &sheet);
        if (n) mf_figure_end_row(figure);
    }
    mf_arena_close(arena);
    return rc;
}
