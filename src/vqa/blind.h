/* Guesses of somebody who does not look, at the image or at the question. A network must beat that. Answers to the
 * questions of the train split are known, and those to others are guessed.
 * Rule: all ranks get the same. All functions are local. */
#ifndef MF_VQA_BLIND_H
#define MF_VQA_BLIND_H

#include "io/questions.h"

/** Rows of questions that are learnt from, and those that are guessed. */
struct mf_blind {
    const struct mf_dataset *set; /* its samples have classes and columns */
    const struct mf_questions *questions;
    size_t learnt, guessed;
    const uint32_t *learn, *guess; /* [learnt], [guessed] rows */
};

/** Guesses of each type, and how many are right. */
struct mf_guesses {
    size_t rows[MF_QUESTION_TYPES], right[MF_QUESTION_TYPES];
};

/** Guesses the most frequent answer of each type; of equally frequent ones the first. A type without rows to learn from
 * has no guesses. MF_MEMORY. */
int mf_blind_majority(const struct mf_blind *blind, struct mf_guesses *guesses);

/**
 * Guesses by a logistic regression of each type. Its columns are 1, u and u^2 for each class and asked phase. There
 * u = 2 f - 1, and f is the fraction of phase 1. Another is the asked direction. Phase and direction are asked by the
 * words dark, light, left and top. A type learns from 20000 rows, at most. A type whose answers are the classes has no
 * guesses. Where a sample has no fraction, f is 1/2. A set with neither classes nor a column volume_fraction has no
 * guesses, and *measured is 0. MF_MEMORY.
 */
int mf_blind_measures(const struct mf_blind *blind, struct mf_guesses *guesses, int *measured);

#endif
