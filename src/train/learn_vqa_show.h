/* Shared by learn_vqa_show.c, learn_vqa_blind.c and learn_vqa_sheet.c. All functions are local. */
#ifndef MF_TRAIN_LEARN_VQA_SHOW_H
#define MF_TRAIN_LEARN_VQA_SHOW_H

#include "src/show/figure.h"
#include "src/train/learn_vqa.h"

/** Others that answer, and do not see everything. Two guess by src/vqa/blind.h: the most frequent answer, and class and
 * volume fraction. The others are the network with a grey image, or with another question of
 * the same split. */
enum { MF_VQA_MAJORITY, MF_VQA_MEASURES, MF_VQA_QUESTION, MF_VQA_IMAGE, MF_VQA_BLINDS };

/** Their names: "majority", "measures", "question", "image". */
extern const char *const mf_vqa_blind_names[MF_VQA_BLINDS];

struct mf_vqa_blind {
    double share[MF_VQA_BLINDS][MF_QUESTION_TYPES]; /* right answers, by type of the network; NAN: nobody guesses */
    int measured;                                   /* the set has classes or volume fractions */
};

/** Finds it for questions that were scored. The set's train split is learnt from. Local; MF_MEMORY. */
int mf_vqa_blind(const struct mf_scored *of, struct mf_vqa_blind *blind);

/** The most probable answer to question @p k of item number @p i of the scored ones, and its probability. The network
 * knows the question, and @p of has outputs. */
struct mf_vqa_said {
    const char *answer, *truth;
    double probability;
};
struct mf_vqa_said mf_vqa_said(const struct mf_scored *of, size_t i, size_t k);

/** Adds images of some items to a figure: for each type a row with questions, answers and truths. MF_INPUT, MF_MEMORY.
 */
enum { MF_VQA_SHEET = 3 /* images of a type */ };
int mf_vqa_sheet(const struct mf_scored *of, struct mf_figure *figure);

#endif
