/* Questions about the samples of a dataset, and their answers: several questions to a sample. They stand in the file of
 * the dataset (docs/FILES.md). Opening them brings all of them into the memory of every rank, but no sample.
 *
 * Rule: rows are in the order of their samples. So a window of samples has a window of rows. */
#ifndef MF_IO_QUESTIONS_H
#define MF_IO_QUESTIONS_H

#include "io/dataset.h"

enum {
    MF_QUESTION_TYPES = 64,
    MF_QUESTION_HEADS = 8,
    MF_QUESTION_ANSWERS = 1024, /* of all heads */
    MF_QUESTION_FINDINGS = 64,
    MF_QUESTION_OBJECTS = 64,
    MF_QUESTION_TEXT = 1 << 14, /* bytes of a row's text */
    MF_QUESTION_VOCABULARY = 1 << 26,
    MF_QUESTIONS_TOGETHER = 4, /* of an item, at most */
    MF_OBJECT_VALUES = 6,  /* of an object: box {y0, x0, y1, x1} in shares of the extents, share of the pixels, phase */
    MF_FINDING_NONE = 255, /* of a finding that does not count */
    MF_ANSWER_NONE = -1    /* of a head that does not answer this question */
};

/** Names and extents. It has no pointers, so it is sent as it is. */
struct mf_questions_form {
    uint64_t rows;                      /* questions */
    uint64_t text;                      /* bytes of a row's text, zeros behind it */
    uint64_t types;                     /* of questions */
    uint64_t heads;                     /* each has a number of answers */
    uint64_t findings, objects;         /* of a sample; 0: there are none */
    uint64_t graded;                    /* 1: each question has a grade */
    uint64_t vocabulary;                /* bytes; 0: there is none */
    int32_t head_of[MF_QUESTION_TYPES]; /* the head of a type */
    int32_t answers[MF_QUESTION_HEADS]; /* of a head */
    double threshold[MF_QUESTION_FINDINGS];
    mf_name type[MF_QUESTION_TYPES], head[MF_QUESTION_HEADS], finding[MF_QUESTION_FINDINGS];
    mf_name answer[MF_QUESTION_ANSWERS]; /* those of the first head, then the next */
};

/** Questions of a set, or of a part of its samples. */
struct mf_questions {
    struct mf_questions_form form;
    uint32_t *sample;        /* [rows] which sample; does not fall */
    uint8_t *type;           /* [rows] */
    uint8_t *held_out;       /* [rows] 1: its phrasing stands in the test split alone */
    int32_t *label;          /* [rows][heads] the answer, or MF_ANSWER_NONE */
    char *text;              /* [rows][form.text] UTF-8 */
    uint8_t *grade;          /* [rows] 'A' the best, to 'Z'; 0: none; NULL: form.graded is 0 */
    float *object;           /* [samples][objects][MF_OBJECT_VALUES], the largest first; zeros: there is none */
    uint8_t *finding;        /* [samples][findings] 0, 1, MF_FINDING_NONE */
    char *vocabulary;        /* tokens for WordPiece, a line each; NULL: none */
    char hash[MF_HASH_TEXT]; /* of all arrays; the zeros behind the texts do not count */
    /* after mf_dataset_ask(); else NULL: each row is an item, and counts */
    uint32_t *item;        /* [items + 1] the first row of each item */
    uint32_t *item_sample; /* [items] */
    uint8_t *counts;       /* [rows] 0: it is in no split */
    size_t together;       /* rows of an item, at most; 0: one */
};

/** Number of answers of the heads before @p head: where its names begin. Local. */
size_t mf_questions_answer_at(const struct mf_questions_form *form, size_t head);

/** Rows of an item. Local. */
static inline struct mf_span mf_item_rows(const struct mf_questions *questions, size_t item)
{
    const uint32_t *first = questions->item;

    return first ? (struct mf_span){first[item], first[item + 1] - first[item]} : (struct mf_span){item, 1};
}

/** Does a row count in the split of its sample? Local. */
static inline int mf_row_counts(const struct mf_questions *questions, size_t row)
{
    return !questions->counts || questions->counts[row];
}

/** The first row of sample @p sample or of one behind it. Local. */
size_t mf_questions_first(const struct mf_questions *questions, size_t sample);

/**
 * Reads all questions of an open set. Collective. Refuses (agreed) with MF_INPUT a set without questions (set->asks is
 * 0), and arrays of another type or extent. It refuses rows in another order than their samples, and texts that are
 * empty or not UTF-8. A row must have one answer, of the head of its type. Boxes must lie in the image. MF_MEMORY.
 */
int mf_questions_open(const struct mf_comm *comm, const struct mf_dataset *set, struct mf_questions **questions);
void mf_questions_close(struct mf_questions *questions); /* NULL is accepted */

/** Makes all arrays for form->rows rows and @p samples samples, of zeros. Local. The caller closes. */
struct mf_questions *mf_questions_new(const struct mf_questions_form *form, size_t samples);

/**
 * Opens the questions of a set, which has them from then on. Its items are groups of questions about one sample, and
 * splits list these. So a network looks at an image once for all of a group. A group has as many questions as a sample
 * has on average, at most MF_QUESTIONS_TOGETHER. A question is in the split of its sample. A phrasing that is held out
 * counts in the test split or in none. The hash of the set covers them. Before readers are opened. Collective. Refuses
 * as mf_questions_open().
 */
int mf_dataset_ask(const struct mf_comm *comm, struct mf_dataset *set);

/** Leaves questions of such a set out of its splits, unless their grade is 'A' to @p worst. The hash of the set is
 * another one then. Before readers are opened. Refuses with MF_INPUT a set without grades, or with no such question in
 * its train split. Local. */
int mf_dataset_grades(struct mf_dataset *set, char worst);

/** Questions of a set that is being made. */
struct mf_questions_wish {
    const struct mf_questions_form *form;
    const char *vocabulary; /* form->vocabulary bytes */
    const uint64_t *first;  /* [samples + 1] rows before each sample, and all; NULL: as many of each sample */
    /** Fills all arrays of @p part, which has the rows and samples of @p own alone. In part->sample the first sample of
     * the set is 0. All samples are made, and their splits [samples of the set] are known. Collective. */
    int (*make)(void *context, const uint8_t *split, struct mf_span own, struct mf_questions *part);
    void *context;
};

#endif
