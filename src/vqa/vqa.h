/* Questions about images of two phases, and their answers. Phase 0 is dark, phase 1 is light. An answer is what our
 * measures find in the image, from edge to edge: no border is periodic. Paths lead through faces of pixels.
 *
 * Rule: a question is a row of one table. A type of questions has one head, which has a number of answers. */
#ifndef MF_VQA_ASK_H
#define MF_VQA_ASK_H

#include "src/desc/measure.h"

enum mf_vqa_head { MF_VQA_YES_NO, MF_VQA_KIND, MF_VQA_PLACE, MF_VQA_SEVERITY, MF_VQA_HEADS };

enum mf_vqa_type {
    MF_VQA_PERCOLATES, /* does a path of the phase join two opposite edges? */
    MF_VQA_LARGER,     /* has the phase more than half of the pixels? */
    MF_VQA_ALIGNED,    /* have most interfaces one direction? */
    MF_VQA_CONNECTED,  /* is the phase one component? */
    MF_VQA_MORPHOLOGY, /* of which kind is the structure? */
    MF_VQA_LARGEST,    /* where is the largest component of the phase? */
    MF_VQA_FRACTION,   /* which quarter does the fraction of the phase lie in? */
    MF_VQA_TYPES
};

enum {
    MF_VQA_QUESTIONS = 14, /* every type, with every phase and direction */
    MF_VQA_PHRASINGS = 12, /* of a type */
    MF_VQA_TRAINED = 9,    /* phrasings before this one are for all splits, the others for tests alone */
    MF_VQA_TEXT = 96,      /* bytes of a question, with a zero behind it */
    MF_VQA_GRID = 5,       /* cells of an image along y and x, for places */
    MF_VQA_SPANS = 25,     /* the place of a component that joins two opposite edges */
    MF_VQA_FINDINGS = 14,
    MF_VQA_NO_FINDING = 255, /* a measure too near its threshold */
    MF_VQA_OBJECTS = 8,
    MF_VQA_OBJECT = 6 /* values of an object: its box {y0, x0, y1, x1}, its share of the pixels, its phase */
};

/** A question without its words. */
struct mf_vqa_question {
    enum mf_vqa_type type;
    int phase; /* 0 dark, 1 light; -1: of neither */
    int axis;  /* 1: from top to bottom; 2: from left to right; -1: of none */
};

extern const struct mf_vqa_question mf_vqa_questions[MF_VQA_QUESTIONS];
extern const char *const mf_vqa_type_names[MF_VQA_TYPES];
extern const enum mf_vqa_head mf_vqa_type_heads[MF_VQA_TYPES];
extern const char *const mf_vqa_head_names[MF_VQA_HEADS];
extern const size_t mf_vqa_head_answers[MF_VQA_HEADS]; /* 2, 0, 26, 4. Kinds are the classes of a set */

/** The text of answer @p k of a head, into @p text. The kind of a structure is the name of a class. Local. */
void mf_vqa_answer(enum mf_vqa_head head, size_t k, char text[MF_VQA_TEXT]);

/** A finding: is a measure at least its threshold? */
struct mf_vqa_finding {
    const char *name;
    double threshold;
};
extern const struct mf_vqa_finding mf_vqa_findings[MF_VQA_FINDINGS];

/** Answers, findings and objects of an image. */
struct mf_vqa_facts {
    int8_t answer[MF_VQA_QUESTIONS];             /* -1: the image does not decide it */
    uint8_t finding[MF_VQA_FINDINGS];            /* 0, 1, MF_VQA_NO_FINDING */
    float object[MF_VQA_OBJECTS][MF_VQA_OBJECT]; /* the largest first; zeros: there is none */
};

/**
 * Finds it in the image job->micro, of two phases. @p kind: the place of its morphology, or -1.
 *
 * - percolates: a component has pixels on both edges.
 * - larger: more than half of the pixels. An equal half decides nothing.
 * - connected: one component. A phase without a pixel decides nothing.
 * - aligned: coherence c >= 1/2, where c = sqrt((Jxx - Jyy)^2 + 4 Jxy^2) / (Jxx + Jyy). J is the structure tensor. It
 *   sums the products of the differences gx, gy of every block of 2 x 2 pixels. Interfaces of one direction have c = 1,
 *   those of all directions 0. A c within 5 % of 1/2 decides nothing.
 * - largest: MF_VQA_SPANS, or 5 row + column of the cell that has its centre of mass. Two that are equally large decide
 *   nothing.
 * - fraction: quarter of the share f of the pixels: 4 f rounded down, at most 3.
 * - findings: a measure within 5 % of its threshold is MF_VQA_NO_FINDING.
 * - objects: the largest components of both phases (of equal ones: dark before light, then the first pixel). A box is
 *   in shares of the extents and ends behind its last pixel.
 *
 * Memory: 52 bytes per pixel, and that of components. The job's ranks are this one alone. Local; MF_MEMORY.
 */
int mf_vqa_find(const struct mf_measure_job *job, int kind, struct mf_vqa_facts *facts);

/** Finds the objects alone. */
int mf_vqa_objects(const struct mf_measure_job *job, float object[MF_VQA_OBJECTS][MF_VQA_OBJECT]);

/** Writes the words of question @p q in phrasing @p phrasing < MF_VQA_PHRASINGS into @p text. Local. */
void mf_vqa_text(size_t q, size_t phrasing, char text[MF_VQA_TEXT]);

/** *lines: the tokens of a vocabulary for WordPiece, a line each. It has four special tokens, single characters, and
 * the whole words of the phrasings that are trained. Letters and digits also continue words, so every word can be
 * spelt. The caller frees. Local; MF_MEMORY. */
int mf_vqa_vocabulary(char **lines);

/** A question of a sample: its number, and its phrasing. */
struct mf_vqa_row {
    uint8_t question, phrasing;
};

/**
 * Deals @p each questions to every sample: row [samples][each]. They follow from answer [samples][MF_VQA_QUESTIONS],
 * split [samples] and @p seed alone.
 *
 * Each type gets the same share of the rows, where the samples permit it. In every split a yes/no question is asked of
 * as many samples with yes as with no. The place of the largest component is asked where it spans, and three times as
 * often where it does not. Kinds and fractions fill the rest, and the fraction of the dark phase must be decided. Half
 * of the test split has phrasings from MF_VQA_TRAINED on; nothing else has. Local; MF_MEMORY.
 */
int mf_vqa_deal(size_t samples, const int8_t (*answer)[MF_VQA_QUESTIONS], const uint8_t *split, size_t each,
                uint64_t seed, struct mf_vqa_row *row);

#endif
