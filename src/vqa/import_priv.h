/* Shared by the parts of an import: its samples (import.c), rows (import_rows.c), and scenes (import_scenes.c). */
#ifndef MF_VQA_IMPORT_PRIV_H
#define MF_VQA_IMPORT_PRIV_H

#include "src/text/vocab.h"
#include "src/vqa/import.h"

/** Texts and a number for each. */
struct mf_numbered {
    struct mf_vocab vocab;
    size_t *number;
};

/** The number of a text, which is added with @p number if it is not there. Refuses too many texts: MF_INPUT. */
int mf_numbered_put(struct mf_numbered *texts, const char *text, size_t number, size_t *found);
/** The place of its number; NULL: it is not there. */
size_t *mf_numbered_find(const struct mf_numbered *texts, const char *text);
void mf_numbered_free(struct mf_numbered *texts);

/** Facts that are known while samples get their questions. */
struct mf_placing {
    struct mf_vqa_import *import;
    const struct mf_vqa_samples *samples;
    struct mf_questions_form *form;
    size_t *sample; /* [asked->count] of each row of the file */
    struct mf_numbered name, stem, text;
    size_t *text_of;    /* [asked->count] the number of its text */
    uint8_t *elsewhere; /* [asked->count] the text with this number occurs in another split than test */
    size_t *row;        /* [asked->count] rows in the order of the samples */
};

/** The sample of an image; SIZE_MAX: there is none. */
size_t mf_placing_sample(const struct mf_placing *p, const char *image);

/** Is row @p r held out? MF_INPUT. */
int mf_placing_held_out(const struct mf_placing *p, size_t r, uint8_t *held_out);

/** Refuses with MF_INPUT: "line 3 of 'q.csv' ...". */
int mf_placing_fail(const struct mf_question_rows *rows, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Fills the form's extents; its types, heads and answers; then the arrays of rows. MF_INPUT. */
int mf_placing_form(struct mf_placing *p);
int mf_placing_heads(struct mf_placing *p);
int mf_placing_rows(struct mf_placing *p);

/** Fills the form's findings and objects; then the arrays of samples. MF_INPUT. */
int mf_placing_findings(struct mf_placing *p);
int mf_placing_scenes(struct mf_placing *p);

#endif
