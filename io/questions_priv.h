/* Shared by the reader and the writer of questions. */
#ifndef MF_IO_QUESTIONS_PRIV_H
#define MF_IO_QUESTIONS_PRIV_H

#include "io/h5.h"
#include "io/questions.h"

#define MF_QUESTION_SAMPLE "/questions/sample"
#define MF_QUESTION_WORDS  "/questions/vocabulary"

enum mf_question_part {
    MF_ASK_SAMPLE,
    MF_ASK_TYPE,
    MF_ASK_HELD_OUT,
    MF_ASK_LABEL,
    MF_ASK_TEXT,
    MF_ASK_GRADE, /* from here on a part may be left out */
    MF_ASK_OBJECT,
    MF_ASK_FINDING,
    MF_ASK_PARTS
};

static const struct mf_question_part_kind {
    const char *path;
    enum mf_h5_type type;
    char kind; /* of struct mf_h5_shape */
    size_t size;
    int ndim;
} mf_question_parts[MF_ASK_PARTS] = {
    {MF_QUESTION_SAMPLE, MF_H5_U32, 'u', 4, 1},   {"/questions/type", MF_H5_U8, 'u', 1, 1},
    {"/questions/held_out", MF_H5_U8, 'u', 1, 1}, {"/questions/label", MF_H5_I32, 'i', 4, 2},
    {"/questions/text", MF_H5_U8, 'u', 1, 2},     {"/questions/grade", MF_H5_U8, 'u', 1, 1},
    {"/samples/objects", MF_H5_F32, 'f', 4, 3},   {"/samples/findings", MF_H5_U8, 'u', 1, 2}};

/** Extents of a part: rows of it, and values of a row; 0: there are none. */
size_t mf_questions_rows(const struct mf_questions_form *form, size_t samples, int part);
size_t mf_questions_columns(const struct mf_questions_form *form, int part);

/** Bytes of a row. */
size_t mf_questions_row(const struct mf_questions_form *form, int part);

/** Bytes of all questions of a set. */
size_t mf_questions_bytes(const struct mf_questions_form *form, size_t samples);

/** The arrays of all parts. Not there: NULL. */
void mf_questions_arrays(struct mf_questions *q, void **array[MF_ASK_PARTS]);

/** Makes the datasets of a file without their values, but the vocabulary; at [MF_ASK_PARTS]: where they begin. Not
 * collective. MF_OUTPUT. */
int mf_questions_lay(struct mf_h5 *file, const struct mf_questions_wish *wish, size_t samples, uint64_t *at);

/** Refuses with MF_INPUT, naming @p path, what readers refuse. q->sample counts from @p first. Local. */
int mf_questions_check(const char *path, const struct mf_questions *q, size_t samples, size_t first);

#endif
