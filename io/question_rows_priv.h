/* Shared by the parts of the reader: tables (question_rows.c) and JSON (question_json.c). See question_rows.h. */
#ifndef MF_IO_QUESTION_ROWS_PRIV_H
#define MF_IO_QUESTION_ROWS_PRIV_H

#include "io/question_rows.h"
#include "io/table.h"
#include "src/base/json.h"

enum { MF_QUESTION_LIST = 1 << 28 /* bytes of a file that is one list, at most */ };

/** The texts of rows point into this memory. */
struct mf_question_memory {
    struct mf_table table;
    size_t values, texts;
    struct mf_json **value; /* [values] */
    char **text;            /* [texts], heap each */
};

/** Fields of a question, and the words for them. */
enum mf_question_field {
    MF_FIELD_IMAGE,
    MF_FIELD_TEXT,
    MF_FIELD_ANSWER,
    MF_FIELD_TYPE,
    MF_FIELD_SPLIT,
    MF_FIELD_GRADE,
    MF_FIELD_HELD_OUT,
    MF_FIELD_STUDY,
    MF_FIELDS
};
enum { MF_FIELD_WORDS = 5 };
extern const char *const mf_question_words[MF_FIELDS][MF_FIELD_WORDS];

/** The member of a row that a field is. */
const char **mf_question_field(struct mf_question_row *row, int field);

/** Keeps a text until the rows are closed: MF_MEMORY. */
int mf_question_keep(struct mf_question_rows *rows, char *text_take, const char **kept);

/** Adds a row, and checks it: MF_MEMORY, MF_INPUT. */
int mf_question_add(struct mf_question_rows *rows, const struct mf_question_row *row);

/** Adds an image, which stays in its place until the next is added. MF_MEMORY, as adding a box or a finding to it. */
int mf_scene_add(struct mf_question_rows *rows, size_t line, struct mf_scene **scene);
int mf_scene_add_box(struct mf_scene *scene, struct mf_scene_box box);
int mf_scene_add_finding(struct mf_scene *scene, const char *name, uint8_t value);

/** Refuses a question without image, type, text or answer: MF_INPUT. */
int mf_question_check(const struct mf_question_rows *rows, const struct mf_question_row *row);

/** A finding of this number into @p value. 0: it is none. */
int mf_finding_of(double number, uint8_t *value);

/** Reads JSON: MF_INPUT, MF_MEMORY. */
int mf_question_json(struct mf_question_rows *rows);

#endif
