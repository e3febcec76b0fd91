/* Questions of other programs become those of a dataset (io/questions.h). Every rank reads the same files. */
#ifndef MF_VQA_IMPORT_H
#define MF_VQA_IMPORT_H

#include "io/question_rows.h"
#include "io/questions.h"
#include "src/desc/measure.h"
#include "src/vqa/types.h"

/** Files (io/question_rows.h, types.h). NULL: there is none. */
struct mf_vqa_import_wish {
    const char *questions, *scenes, *types;
    const char *vocabulary; /* tokens, a line each. Without it they are the words of questions to learn from */
};

/** Samples of the set. */
struct mf_vqa_samples {
    const char *from; /* what has them, for sentences */
    size_t count;
    const char *const *file; /* [count] names of pictures; NULL: they have numbers alone, 0, 1, .. */
    size_t ny, nx;           /* extents [pixels] */
    int find_objects;        /* images have two phases, so objects can be found in them */
    const uint8_t *split;    /* [count]; NULL: the questions say it, or it is drawn, every class alike */
    const int32_t *label;    /* [count], 0 .. classes-1, or -1; NULL: one class */
    size_t classes;
    double part[2]; /* shares of train and validation, and the seed of the draw */
    uint64_t seed;
};

struct mf_vqa_import {
    struct mf_question_rows *asked, *seen; /* seen: of the file of scenes, or NULL */
    struct mf_vqa_types types;
    char *vocabulary;         /* until it is that of all */
    struct mf_questions *all; /* of all samples. Found objects are there for samples that were measured */
    uint64_t *first;          /* [samples + 1] */
    uint8_t *split;           /* [samples] */
    uint8_t *boxed;           /* [samples] 1: the files say which objects there are */
    struct mf_questions_wish wish;
    size_t ny, nx; /* of the samples */
};

/** Reads and checks the files. MF_INPUT. Local. */
int mf_vqa_import_open(const struct mf_vqa_import_wish *wish, struct mf_vqa_import **import);
void mf_vqa_import_close(struct mf_vqa_import *import); /* NULL is accepted */

/** Names of the pictures in @p folder that the questions are about, in the order of the file. A name may lack its
 * ending, .png, .tif or .tiff, or have another. Refuses with MF_INPUT missing pictures: it names the first, and counts
 * them. The caller frees the list and each name. Local. */
int mf_vqa_import_files(const struct mf_vqa_import *import, const char *folder, size_t *count, char ***file);

enum { MF_VQA_IMPORT_TEXT = 2047 };

/**
 * Makes the questions of these samples: import->all, and import->wish for the dataset.
 * - A picture is found by its name, and whatever its ending is. A name without a folder may be in any, if one has it.
 * - The file of types may list the answers of a head. The head yes_no has no and yes. Another head has the answers of
 *   the train split, in the order of the alphabet.
 * - A question whose text is in the test split alone is held out, unless the file says it.
 * - Texts of more than MF_VQA_IMPORT_TEXT bytes are cut, and a line says so.
 *
 * Refuses with MF_INPUT, with its place:
 * - a picture that is no sample, or is in two splits
 * - a type without a head, and an answer that its head does not have
 * - boxes that are turned round or leave the image
 * - images that have objects or findings twice
 *
 * Local.
 */
int mf_vqa_import_place(struct mf_vqa_import *import, const struct mf_vqa_samples *samples);

/** Finds the objects of sample @p id, if the files do not say them. Its image @p x [ny][nx] has two phases. @p job has
 * no image yet. Local; MF_MEMORY. */
int mf_vqa_import_measure(struct mf_vqa_import *import, const struct mf_measure_job *job, size_t id, uint8_t *x);

#endif
