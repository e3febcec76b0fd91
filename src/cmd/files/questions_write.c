/* See questions_write.h. */
#include "src/cmd/files/questions_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/table.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"

enum { NAME = 32 };

/* The name of sample @p k of the written ones. */
static const char *name_of(const struct mf_questions_out *o, size_t k, char name[NAME])
{
    snprintf(name, NAME, o->pictures ? "%08zu.png" : "%zu", o->pictures ? o->id[k] : k);
    return name;
}

static const char *split_of(const struct mf_questions_out *o, size_t k)
{
    const uint8_t split = o->set->split[o->id[k]];

    return split < MF_SPLITS ? mf_split_names[split] : "none";
}

/* ---- questions.csv ---- */

static void put(FILE *to, const char *text)
{
    fputc(',', to);
    mf_table_put(to, text);
}

static void put_row(const struct mf_questions_out *o, size_t k, size_t row, FILE *to)
{
    const struct mf_questions *q = o->questions;
    const struct mf_questions_form *f = &q->form;
    const size_t type = q->type[row], head = (size_t)f->head_of[type];
    const size_t answer = mf_questions_answer_at(f, head) + (size_t)q->label[row * f->heads + head];
    const char grade[2] = {f->graded ? (char)q->grade[row] : '\0', '\0'};
    char name[NAME];

    fputs(name_of(o, k, name), to);
    put(to, q->text + row * f->text);
    put(to, f->answer[answer]);
    put(to, f->type[type]);
    put(to, split_of(o, k));
    put(to, q->held_out[row] ? "1" : "0");
    if (f->graded) put(to, grade);
    fputc('\n', to);
}

static int put_rows(const struct mf_questions_out *o, FILE *to)
{
    const struct mf_questions *q = o->questions;

    fprintf(to, "image,question,answer,question_type,split,held_out%s\n", q->form.graded ? ",grade" : "");
    for (size_t k = 0; k < o->count; ++k)
        for (size_t r = mf_questions_first(q, o->id[k]); r < q->form.rows && q->sample[r] == o->id[k]; ++r)
            put_row(o, k, r, to);
    return MF_OK;
}

/* ---- scenes.jsonl ---- */

/* The box in pixels: {x0, y0, x1, y1}. Products of a float and an extent are exact. */
static struct mf_json *object_json(const struct mf_dataset *set, const float *value)
{
    const double ny = (double)set->dims[1], nx = (double)set->dims[2];
    const double box[4] = {value[1] * nx, value[0] * ny, value[3] * nx, value[2] * ny};
    struct mf_json *json = mf_json_object();

    mf_json_reals(json, "box", box, 4);
    mf_json_real(json, "area", value[4] * (ny * nx));
    mf_json_real(json, "phase", value[5]);
    return json;
}

static struct mf_json *objects_json(const struct mf_questions_out *o, size_t id)
{
    const size_t objects = o->questions->form.objects;
    const float *value = o->questions->object + id * objects * MF_OBJECT_VALUES;
    struct mf_json *list = mf_json_array();

    for (size_t i = 0; i < objects; ++i, value += MF_OBJECT_VALUES)
        if (value[2] > value[0]) mf_json_put(list, NULL, object_json(o->set, value));
    return list;
}

static struct mf_json *findings_json(const struct mf_questions_out *o, size_t id)
{
    const struct mf_questions_form *f = &o->questions->form;
    struct mf_json *json = mf_json_object();

    for (size_t i = 0; i < f->findings; ++i) {
        const uint8_t value = o->questions->finding[id * f->findings + i];

        if (value == MF_FINDING_NONE)
            mf_json_null(json, f->finding[i]);
        else
            mf_json_int(json, f->finding[i], value);
    }
    return json;
}

static int put_scenes(const struct mf_questions_out *o, FILE *to)
{
    const struct mf_questions_form *f = &o->questions->form;
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < o->count; ++k) {
        struct mf_json *json = mf_json_object();
        char name[NAME];

        mf_json_text(json, "image", name_of(o, k, name));
        if (f->objects) mf_json_put(json, "objects", objects_json(o, o->id[k]));
        if (f->findings) mf_json_put(json, "findings", findings_json(o, o->id[k]));
        rc = mf_json_write(json, to);
        mf_json_free(json);
    }
    return rc;
}

/* ---- question_types.json, vocab.txt ---- */

static int put_types(const struct mf_questions_out *o, FILE *to)
{
    const struct mf_questions_form *f = &o->questions->form;
    struct mf_json *json = mf_json_object(), *types = mf_json_object(), *heads = mf_json_object();
    struct mf_json *findings = mf_json_object();
    int rc;

    for (size_t t = 0; t < f->types; ++t) mf_json_text(types, f->type[t], f->head[f->head_of[t]]);
    for (size_t h = 0, at = 0; h < f->heads; ++h) {
        struct mf_json *answers = mf_json_array();

        for (int32_t a = 0; a < f->answers[h]; ++a) mf_json_text(answers, NULL, f->answer[at++]);
        mf_json_put(heads, f->head[h], answers);
    }
    for (size_t i = 0; i < f->findings; ++i) mf_json_real(findings, f->finding[i], f->threshold[i]);
    MF_JSON(json, "question_types", types, "heads", heads, "findings", findings);
    rc = mf_json_write(json, to);
    mf_json_free(json);
    return rc;
}

static int put_words(const struct mf_questions_out *o, FILE *to)
{
    fwrite(o->questions->vocabulary, 1, o->questions->form.vocabulary, to);
    return MF_OK;
}

/* ---- all of it ---- */

static int print(const struct mf_questions_out *o, int (*write)(const struct mf_questions_out *o, FILE *to),
                 const char *temporary, const char *path)
{
    FILE *to = fopen(temporary, "w");
    int bad, rc;

    if (!to) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    rc = write(o, to);
    bad = ferror(to);
    if (fclose(to) != 0 || bad) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    return rc;
}

static int write_file(const struct mf_comm *comm, const struct mf_questions_out *o, const char *name,
                      int (*write)(const struct mf_questions_out *o, FILE *to))
{
    char *path =
        o->pictures ? mf_format("%s/%s", o->path, name) : mf_format("%.*s.%s", (int)strlen(o->path) - 4, o->path, name);
    struct mf_atomic file;
    int rc = mf_atomic_open(comm, path, 0, &file);

    if (rc == MF_OK) rc = mf_atomic_close(comm, &file, comm->rank == 0 ? print(o, write, file.temporary, path) : MF_OK);
    free(path);
    return rc;
}

int mf_questions_write(const struct mf_comm *comm, const struct mf_questions_out *o)
{
    const struct mf_questions_form *f = &o->questions->form;

    MF_TRY(write_file(comm, o, "questions.csv", put_rows));
    MF_TRY(write_file(comm, o, "question_types.json", put_types));
    if (f->objects || f->findings) MF_TRY(write_file(comm, o, "scenes.jsonl", put_scenes));
    return f->vocabulary ? write_file(comm, o, "vocab.txt", put_words) : MF_OK;
}
