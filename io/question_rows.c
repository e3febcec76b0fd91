/* Tables of questions, and the memory of rows. See question_rows.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/question_rows_priv.h"
#include "io/questions.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"

const char *const mf_question_words[MF_FIELDS][MF_FIELD_WORDS] = {
    [MF_FIELD_IMAGE] = {"image", "file", "image_path", "image_id", "sample"},
    [MF_FIELD_TEXT] = {"question"},
    [MF_FIELD_ANSWER] = {"answer", "answers"},
    [MF_FIELD_TYPE] = {"question_type", "type"},
    [MF_FIELD_SPLIT] = {"split"},
    [MF_FIELD_GRADE] = {"grade", "quality_grade"},
    [MF_FIELD_HELD_OUT] = {"held_out"},
    [MF_FIELD_STUDY] = {"study", "study_id", "patient", "patient_id", "subject_id"},
};

/* ---- memory ---- */

const char **mf_question_field(struct mf_question_row *row, int field)
{
    switch (field) {
    case MF_FIELD_IMAGE: return &row->image;
    case MF_FIELD_TEXT: return &row->text;
    case MF_FIELD_ANSWER: return &row->answer;
    case MF_FIELD_TYPE: return &row->type;
    case MF_FIELD_SPLIT: return &row->split;
    case MF_FIELD_GRADE: return &row->grade;
    case MF_FIELD_HELD_OUT: return &row->held_out;
    default: return &row->study;
    }
}

int mf_question_keep(struct mf_question_rows *rows, char *text, const char **kept)
{
    struct mf_question_memory *m = rows->memory;

    if (MF_ROOM_NEXT(m->text, m->texts, "the texts of '%.300s'", rows->path) != MF_OK) {
        free(text);
        return MF_MEMORY;
    }
    *kept = m->text[m->texts++] = text;
    return MF_OK;
}

int mf_question_add(struct mf_question_rows *rows, const struct mf_question_row *row)
{
    MF_TRY(MF_ROOM_NEXT(rows->row, rows->count, "the questions of '%.300s'", rows->path));
    rows->row[rows->count++] = *row;
    return mf_question_check(rows, row);
}

int mf_scene_add(struct mf_question_rows *rows, size_t line, struct mf_scene **scene)
{
    MF_TRY(MF_ROOM_NEXT(rows->scene, rows->scenes, "the images of '%.300s'", rows->path));
    *scene = &rows->scene[rows->scenes++];
    **scene = (struct mf_scene){.image = "", .study = "", .line = line};
    return MF_OK;
}

int mf_scene_add_box(struct mf_scene *s, struct mf_scene_box box)
{
    MF_TRY(MF_ROOM_NEXT(s->box, s->boxes, "the boxes of an image"));
    s->box[s->boxes++] = box;
    return MF_OK;
}

int mf_scene_add_finding(struct mf_scene *s, const char *name, uint8_t value)
{
    MF_TRY(MF_ROOM_NEXT(s->finding, s->findings, "the findings of an image"));
    s->finding[s->findings++] = (struct mf_scene_finding){name, value};
    return MF_OK;
}

void mf_question_rows_close(struct mf_question_rows *rows)
{
    struct mf_question_memory *m = rows ? rows->memory : NULL;

    if (!rows) return;
    for (size_t i = 0; i < rows->scenes; ++i) {
        free(rows->scene[i].box);
        free(rows->scene[i].finding);
    }
    for (size_t i = 0; i < m->values; ++i) mf_json_free(m->value[i]);
    for (size_t i = 0; i < m->texts; ++i) free(m->text[i]);
    mf_table_free(&m->table);
    free(m->value);
    free(m->text);
    free(m);
    free(rows->row);
    free(rows->scene);
    free(rows->path);
    free(rows);
}

/* ---- what a row must have ---- */

int mf_question_check(const struct mf_question_rows *rows, const struct mf_question_row *row)
{
    const char *missing = !*row->image ? "names no image" : !*row->text ? "has an empty question" : NULL;

    if (!missing && !*row->type) missing = "has no question type";
    if (!missing && !*row->answer) missing = "has no answer";
    return missing ? mf_fail(MF_INPUT, "%s %zu of '%s' %s", rows->unit, row->line, rows->path, missing) : MF_OK;
}

int mf_finding_of(double number, uint8_t *value)
{
    if (number != 0 && number != 1 && number != -1) return 0;
    *value = number < 0 ? MF_FINDING_NONE : (uint8_t)number;
    return 1;
}

/* ---- tables ---- */

/* The column of a field; else the number of columns. */
static size_t column_of(const struct mf_table *t, int field)
{
    for (int w = 0; w < MF_FIELD_WORDS && mf_question_words[field][w]; ++w)
        for (size_t c = 0; c < t->columns; ++c)
            if (strcasecmp(t->name[c], mf_question_words[field][w]) == 0) return c;
    return t->columns;
}

/* Further words for a study are fields, too: a table often has the patient beside it. */
static int is_field(const struct mf_table *t, size_t column)
{
    int f = 0, w = 0;

    while (f < MF_FIELDS && column_of(t, f) != column) ++f;
    while (w < MF_FIELD_WORDS && strcasecmp(t->name[column], mf_question_words[MF_FIELD_STUDY][w]) != 0) ++w;
    return f < MF_FIELDS || w < MF_FIELD_WORDS;
}

static void say_others(const struct mf_table *t)
{
    char all[MF_ERR_TEXT / 4] = "";
    size_t n = 0;

    for (size_t c = 0; c < t->columns; ++c) {
        if (is_field(t, c)) continue;
        mf_enumerate(all, sizeof all, "'%s'", t->name[c]);
        ++n;
    }
    if (n) mf_info("'%s': %zu column%s not read: %s", t->path, n, n == 1 ? " is" : "s are", all);
}

static int take_questions(struct mf_question_rows *rows, const size_t *column)
{
    const struct mf_table *t = &rows->memory->table;

    for (size_t r = 0; r < t->rows; ++r) {
        struct mf_question_row row = {"", "", "", "", "", "", "", "", t->line[r]};

        for (int f = 0; f < MF_FIELDS; ++f)
            if (column[f] < t->columns) *mf_question_field(&row, f) = t->cell[r * t->columns + column[f]];
        MF_TRY(mf_question_add(rows, &row));
    }
    say_others(t);
    return MF_OK;
}

/* A cell of a finding. Empty: it does not count. */
static int take_finding(const struct mf_table *t, size_t row, size_t column, struct mf_scene *scene)
{
    const char *cell = t->cell[row * t->columns + column];
    uint8_t value = MF_FINDING_NONE;
    double number = 0;

    if (*cell && (!mf_table_number(t, cell, &number) || !mf_finding_of(number, &value)))
        return mf_fail(MF_INPUT, "line %zu of '%s': the finding '%.80s' is '%.80s', not 1, 0, -1 or empty",
                       t->line[row], t->path, t->name[column], cell);
    return mf_scene_add_finding(scene, t->name[column], value);
}

static int take_findings(struct mf_question_rows *rows, const size_t *column)
{
    const struct mf_table *t = &rows->memory->table;
    const int about = column[MF_FIELD_IMAGE] < t->columns ? MF_FIELD_IMAGE : MF_FIELD_STUDY;

    for (size_t r = 0; r < t->rows; ++r) {
        const char *const name = t->cell[r * t->columns + column[about]];
        struct mf_scene *scene;

        MF_TRY(mf_scene_add(rows, t->line[r], &scene));
        if (!*name)
            return mf_fail(MF_INPUT, "line %zu of '%s' names no %s", t->line[r], t->path, mf_question_words[about][0]);
        *(about == MF_FIELD_IMAGE ? &scene->image : &scene->study) = name;
        for (size_t c = 0; c < t->columns; ++c)
            if (!is_field(t, c) && *t->name[c]) MF_TRY(take_finding(t, r, c, scene));
    }
    return MF_OK;
}

/* Refuses a column that is not there. */
static int no_column(const struct mf_table *t, int field)
{
    char all[MF_ERR_TEXT / 4] = "";

    for (size_t c = 0; c < t->columns; ++c) mf_enumerate(all, sizeof all, "'%s'", t->name[c]);
    return mf_fail(MF_INPUT, "'%s' has no column '%s', which questions need (columns: %s)", t->path,
                   mf_question_words[field][0], all);
}

static int load_table(struct mf_question_rows *rows)
{
    struct mf_table *t = &rows->memory->table;
    size_t column[MF_FIELDS];

    MF_TRY(mf_table_load(rows->path, t));
    for (int f = 0; f < MF_FIELDS; ++f) column[f] = column_of(t, f);
    if (column[MF_FIELD_TEXT] == t->columns &&
        (column[MF_FIELD_IMAGE] < t->columns || column[MF_FIELD_STUDY] < t->columns))
        return take_findings(rows, column);
    if (column[MF_FIELD_IMAGE] == t->columns) return no_column(t, MF_FIELD_IMAGE);
    for (int f = MF_FIELD_ANSWER; f <= MF_FIELD_TYPE; ++f)
        if (column[f] == t->columns) return no_column(t, f);
    return take_questions(rows, column);
}

int mf_question_rows_load(const char *path, struct mf_question_rows **rows)
{
    struct mf_question_rows *r = MF_MUST(calloc(1, sizeof *r), "questions");
    const int is_json = mf_ends_with(path, ".json") || mf_ends_with(path, ".jsonl") || mf_ends_with(path, ".ndjson");
    int rc;

    r->memory = MF_MUST(calloc(1, sizeof *r->memory), "questions");
    r->path = mf_format("%s", path);
    r->unit = "line";
    rc = is_json ? mf_question_json(r) : load_table(r);
    if (rc != MF_OK)
        mf_question_rows_close(r);
    else
        *rows = r;
    return rc;
}
