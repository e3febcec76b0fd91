/* Questions and images in JSON: a list of objects, or an object in each line. See question_rows.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/question_rows_priv.h"
#include "io/questions.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { WHY = 200 };

/* An object of the file, and where it is. */
struct record {
    struct mf_question_rows *rows;
    const struct mf_json *at;
    size_t line;
};

static int refuse(const struct record *r, const char *why)
{
    return mf_fail(MF_INPUT, "%s %zu of '%s': %s", r->rows->unit, r->line, r->rows->path, why);
}

/* ---- fields ---- */

static const struct mf_json *member(const struct mf_json *object, int field)
{
    const struct mf_json *value = NULL;

    for (int w = 0; !value && w < MF_FIELD_WORDS && mf_question_words[field][w]; ++w)
        value = mf_json_get(object, mf_question_words[field][w]);
    return value;
}

/* A list of one is this one. An object is its text. */
static const struct mf_json *plain(const struct mf_json *value)
{
    if (mf_json_kind(value) == MF_JSON_ARRAY && mf_json_count(value) == 1) value = mf_json_item(value, 0);
    if (mf_json_kind(value) == MF_JSON_OBJECT && mf_json_get(value, "text")) value = mf_json_get(value, "text");
    return value;
}

/* The text without the blanks around it. */
static int take_text(const struct record *r, const struct mf_json *value, const char **text)
{
    const char *from = mf_json_to_text(value), *end = from + mf_json_length(value);

    if (strlen(from) != mf_json_length(value)) return refuse(r, "a text has a zero character");
    while (*from && strchr(" \t\r\n", *from)) ++from;
    while (end > from && strchr(" \t\r\n", end[-1])) --end;
    *text = from;
    return *end ? mf_question_keep(r->rows, mf_format("%.*s", (int)(end - from), from), text) : MF_OK;
}

/* A number as it would stand in a table. */
static int take_number(const struct record *r, double number, const char **text)
{
    return mf_question_keep(r->rows, mf_format("%.15g", number), text);
}

static int take_field(const struct record *r, const struct mf_json *object, int field, const char **text)
{
    const struct mf_json *value = plain(member(object, field));
    char why[WHY];

    switch (mf_json_kind(value)) {
    case MF_JSON_NULL: return MF_OK;
    case MF_JSON_TEXT: return take_text(r, value, text);
    case MF_JSON_INT:
    case MF_JSON_REAL: return take_number(r, mf_json_to_real(value), text);
    case MF_JSON_BOOL:
        *text =
            field == MF_FIELD_ANSWER ? (mf_json_to_bool(value) ? "yes" : "no") : (mf_json_to_bool(value) ? "1" : "0");
        return MF_OK;
    default:
        snprintf(why, sizeof why, "'%s' is %s%s, and must be one text", mf_question_words[field][0],
                 mf_json_kind_name(value), field == MF_FIELD_ANSWER ? " of several answers" : "");
        return refuse(r, why);
    }
}

static int take_question(const struct record *r, const struct mf_json *object, const struct mf_question_row *inherited)
{
    struct mf_question_row row = *inherited;

    for (int f = 0; f < MF_FIELDS; ++f) MF_TRY(take_field(r, object, f, mf_question_field(&row, f)));
    return mf_question_add(r->rows, &row);
}

/* ---- boxes ---- */

static int take_numbers(const struct record *r, const struct mf_json *list, double at[4])
{
    int sound = mf_json_count(list) == 4;

    for (size_t k = 0; sound && k < 4; ++k) {
        const enum mf_json_kind kind = mf_json_kind(mf_json_item(list, k));

        sound = kind == MF_JSON_REAL || kind == MF_JSON_INT;
        at[k] = mf_json_to_real(mf_json_item(list, k));
    }
    return sound ? MF_OK : refuse(r, "a box must be four numbers, [x0, y0, x1, y1] in pixels");
}

static int take_box(const struct record *r, const struct mf_json *object, struct mf_scene *scene)
{
    const int is_list = mf_json_kind(object) == MF_JSON_ARRAY;
    const struct mf_json *list = is_list ? object : mf_json_get(object, "box");
    struct mf_scene_box box = {{0}, 0, 0};

    if (!is_list && !list) list = mf_json_get(object, "bbox");
    MF_TRY(take_numbers(r, list, box.at));
    if (!is_list) {
        box.area = mf_json_get_real(object, "area");
        box.phase = mf_json_get_real(object, "phase");
    }
    if (!(box.area >= 0) || !(box.phase >= 0)) return refuse(r, "area and phase of an object must be 0 or more");
    return mf_scene_add_box(scene, box);
}

static int take_boxes(const struct record *r, const struct mf_json *list, struct mf_scene *scene)
{
    if (mf_json_kind(list) != MF_JSON_ARRAY) return refuse(r, "objects must be a list of boxes");
    scene->has_boxes = 1;
    for (size_t i = 0; i < mf_json_count(list); ++i) MF_TRY(take_box(r, mf_json_item(list, i), scene));
    return MF_OK;
}

/* ---- observations: {"O1": {"localization": {IMAGE: {"bboxes": [[x0, y0, x1, y1], ..]}}}, ..} ---- */

struct looking {
    const struct record *record;
    struct mf_scene *scene;
    int rc;
};

/* Is @p key the image, with or without its folder and ending? */
static int is_image(const char *key, const char *image)
{
    const char *name = mf_name_base(image), *dot = strrchr(name, '.');

    return strcmp(key, image) == 0 || strcmp(key, name) == 0 ||
           (dot && strlen(key) == (size_t)(dot - name) && strncmp(key, name, (size_t)(dot - name)) == 0);
}

static void see_place(void *context, const char *key, const struct mf_json *value)
{
    struct looking *l = context;
    const struct mf_json *boxes = mf_json_get(value, "bboxes");

    if (l->rc == MF_OK && boxes && is_image(key, l->scene->image)) l->rc = take_boxes(l->record, boxes, l->scene);
}

static void see_observation(void *context, const char *key, const struct mf_json *value)
{
    (void)key;
    mf_json_each(mf_json_get(value, "localization"), see_place, context);
}

/* ---- findings ---- */

static void see_finding(void *context, const char *key, const struct mf_json *value)
{
    struct looking *l = context;
    const enum mf_json_kind kind = mf_json_kind(value);
    const double number = kind == MF_JSON_BOOL ? mf_json_to_bool(value) : mf_json_to_real(value);
    uint8_t finding = MF_FINDING_NONE;
    char why[WHY];

    if (l->rc != MF_OK) return;
    if (kind >= MF_JSON_TEXT || (kind != MF_JSON_NULL && !mf_finding_of(number, &finding))) {
        snprintf(why, sizeof why, "the finding '%.60s' must be 1, 0, -1 or null", key);
        l->rc = refuse(l->record, why);
        return;
    }
    l->rc = mf_scene_add_finding(l->scene, key, finding);
}

/* ---- objects of the file ---- */

static int has(const struct mf_json *o, const char *key) { return mf_json_kind(mf_json_get(o, key)) != MF_JSON_NULL; }

static int is_about_image(const struct mf_json *o)
{
    return has(o, "objects") || has(o, "findings") || has(o, "questions") || has(o, "observations");
}

static int take_scene(const struct record *r, const char *image)
{
    const struct mf_json *seen = mf_json_get(r->at, "observations");
    struct looking l = {r, NULL, MF_OK};

    MF_TRY(mf_scene_add(r->rows, r->line, &l.scene));
    l.scene->image = image;
    if (has(r->at, "objects")) MF_TRY(take_boxes(r, mf_json_get(r->at, "objects"), l.scene));
    if (has(r->at, "observations")) l.scene->has_boxes = 1;
    for (size_t i = 0; i < mf_json_count(seen); ++i) see_observation(&l, "", mf_json_item(seen, i));
    if (mf_json_kind(seen) == MF_JSON_OBJECT) mf_json_each(seen, see_observation, &l);
    mf_json_each(mf_json_get(r->at, "findings"), see_finding, &l);
    return l.rc;
}

/* Boxes and questions are about one image. */
static int take_study(const struct record *r, const char *study)
{
    struct looking l = {r, NULL, MF_OK};

    MF_TRY(mf_scene_add(r->rows, r->line, &l.scene));
    if (has(r->at, "objects") || has(r->at, "observations") || has(r->at, "questions"))
        return refuse(r, "names no image, and a study has findings alone");
    l.scene->study = study;
    mf_json_each(mf_json_get(r->at, "findings"), see_finding, &l);
    return l.rc;
}

static int take_image(const struct record *r)
{
    const struct mf_json *questions = mf_json_get(r->at, "questions");
    struct mf_question_row inherited = {"", "", "", "", "", "", "", "", r->line};

    MF_TRY(take_field(r, r->at, MF_FIELD_IMAGE, &inherited.image));
    MF_TRY(take_field(r, r->at, MF_FIELD_SPLIT, &inherited.split));
    MF_TRY(take_field(r, r->at, MF_FIELD_GRADE, &inherited.grade));
    MF_TRY(take_field(r, r->at, MF_FIELD_STUDY, &inherited.study));
    if (!*inherited.image && *inherited.study) return take_study(r, inherited.study);
    if (!*inherited.image) return refuse(r, "names no image");
    MF_TRY(take_scene(r, inherited.image));
    if (has(r->at, "questions") && mf_json_kind(questions) != MF_JSON_ARRAY)
        return refuse(r, "questions must be a list");
    for (size_t i = 0; i < mf_json_count(questions); ++i)
        MF_TRY(take_question(r, mf_json_item(questions, i), &inherited));
    return MF_OK;
}

static int take_record(struct mf_question_rows *rows, const struct mf_json *at, size_t line)
{
    const struct record r = {rows, at, line};
    const struct mf_question_row none = {"", "", "", "", "", "", "", "", line};

    if (mf_json_kind(at) != MF_JSON_OBJECT) return refuse(&r, "this must be an object, {..}");
    if (!is_about_image(at)) return take_question(&r, at, &none);
    if (!member(at, MF_FIELD_TEXT)) return take_image(&r);
    return refuse(&r, "a question has no objects or findings; write them into an object about its image");
}

/* ---- the file ---- */

static int keep_value(struct mf_question_rows *rows, struct mf_json *value)
{
    struct mf_question_memory *m = rows->memory;

    if (MF_ROOM_NEXT(m->value, m->values, "the lines of '%.300s'", rows->path) != MF_OK) {
        mf_json_free(value);
        return MF_MEMORY;
    }
    m->value[m->values++] = value;
    return MF_OK;
}

static int take_list(struct mf_question_rows *rows)
{
    struct mf_json *list;

    rows->unit = "item";
    MF_TRY(mf_json_load_foreign(rows->path, MF_QUESTION_LIST, MF_QUESTION_LIST / 4, &list));
    MF_TRY(keep_value(rows, list));
    for (size_t i = 0; i < mf_json_count(list); ++i) MF_TRY(take_record(rows, mf_json_item(list, i), i + 1));
    return MF_OK;
}

static int take_line(struct mf_question_rows *rows, const char *text, size_t bytes, size_t line)
{
    struct mf_json *value;
    char why[WHY] = "";

    if (strlen(text) != bytes) return mf_fail(MF_INPUT, "'%s' is no JSON: it has a zero byte", rows->path);
    if (strspn(text, " \t\r\n") == bytes) return MF_OK;
    value = mf_json_parse_foreign(text, bytes, why, sizeof why);
    if (!value && !*why) return mf_room_none(bytes, "line %zu of '%.300s'", line, rows->path);
    if (!value)
        return mf_fail(MF_INPUT,
                       "line %zu of '%s' is not JSON: %s; a file has a list of objects, or an object in each line",
                       line, rows->path, why);
    MF_TRY(keep_value(rows, value));
    return take_record(rows, value, line);
}

/* Lines are read one by one, so the file may have any length. A bracket before them begins a list. */
static int take_lines(struct mf_question_rows *rows, FILE *from)
{
    char *text = NULL;
    size_t room = 0, line = 0;
    ssize_t n;
    int rc = MF_OK;

    while (rc == MF_OK && (n = getline(&text, &room, from)) > 0) {
        const size_t mark = line++ == 0 && strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* of UTF-8 */
        const int is_first = rows->count + rows->scenes == 0;

        if (is_first && text[mark + strspn(text + mark, " \t\r")] == '[') {
            free(text);
            return take_list(rows);
        }
        rc = take_line(rows, text + mark, (size_t)n - mark, line);
    }
    free(text);
    if (rc == MF_OK && !feof(from))
        rc = mf_fail(errno == ENOMEM ? MF_MEMORY : MF_INPUT, "cannot read '%s': %s", rows->path, strerror(errno));
    return rc;
}

int mf_question_json(struct mf_question_rows *rows)
{
    FILE *from = fopen(rows->path, "re");
    int rc;

    if (!from) return mf_fail(MF_INPUT, "cannot open '%s': %s", rows->path, strerror(errno));
    rc = take_lines(rows, from);
    (void)fclose(from);
    MF_TRY(rc);
    return rows->count + rows->scenes ? MF_OK : mf_fail(MF_INPUT, "'%s' has no questions and no images", rows->path);
}
