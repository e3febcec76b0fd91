/* Questions about images, and what is in these images, as files of other programs have them. A file is a table of text
 * (io/table.h), a JSON list of objects, or JSON lines. Each object, or row, is a question, or it is about an image. All
 * functions are local.
 *
 * Rule: this module knows how files say things, and not whether they are true. */
#ifndef MF_IO_QUESTION_ROWS_H
#define MF_IO_QUESTION_ROWS_H

#include <stddef.h>
#include <stdint.h>

/** A question. A text that the file does not have is "". */
struct mf_question_row {
    const char *image; /* name of its file, or the number of a sample */
    const char *text, *answer, *type, *split, *grade, *held_out;
    const char *study; /* to which the image belongs, with others of one patient */
    size_t line;       /* place in the file, from 1 */
};

/** A box {x0, y0, x1, y1} in pixels, which ends behind its last pixel. */
struct mf_scene_box {
    double at[4];
    double area;  /* of the object [pixels]; 0: that of the box */
    double phase; /* 0: not said */
};

/** A finding: 0, 1, or MF_FINDING_NONE (io/questions.h). */
struct mf_scene_finding {
    const char *name;
    uint8_t value;
};

/** Objects and findings of an image; or findings of a study, and so of all its images. */
struct mf_scene {
    const char *image, *study; /* study: "" unless image is "" */
    size_t boxes, findings;
    struct mf_scene_box *box;         /* [boxes] */
    struct mf_scene_finding *finding; /* [findings] */
    int has_boxes;                    /* the file says which there are, maybe none */
    size_t line;
};

struct mf_question_rows {
    char *path;
    const char *unit; /* what a place is: "line", or "item" of a list */
    size_t count, scenes;
    struct mf_question_row *row;       /* [count] in the order of the file */
    struct mf_scene *scene;            /* [scenes] */
    struct mf_question_memory *memory; /* private */
};

/**
 * Reads a file. Columns or keys of a question:
 * - image, or file, image_path, image_id, sample
 * - question, answer
 * - question_type, or type
 * - maybe split, grade, held_out
 * - maybe study, or study_id, patient, patient_id, subject_id: the first of these words that there is
 *
 * A table without column question has a row for each image, or for each study where it has no column of images. Its
 * other columns are findings. 1 and 0 count, -1 and empty cells do not.
 *
 * An object about an image has objects, findings, or questions. One about a study has findings alone. Its objects are
 * boxes {box: [x0, y0, x1, y1], area, phase}, or four numbers. Its questions inherit image, study, split and grade.
 * Observations with localization, as scene graphs have them, are boxes, too.
 *
 * Refuses with MF_INPUT what it cannot read, with its place. It needs UTF-8. A question needs image, text, type, and
 * one answer. A line names other columns; other keys are not read.
 */
int mf_question_rows_load(const char *path, struct mf_question_rows **rows);
void mf_question_rows_close(struct mf_question_rows *rows); /* NULL is accepted */

#endif
