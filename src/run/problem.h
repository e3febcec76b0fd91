/* What a run must share with the checkpoint it goes on from: lines "key: value", and the sentence that names the first
 * line that differs. */
#ifndef MF_RUN_PROBLEM_H
#define MF_RUN_PROBLEM_H

/** A key with a sentence of its own. */
struct mf_problem_word {
    const char *key;  /* "--max_iter" */
    int derived;      /* the line follows from others: it counts only where nothing else differs */
    const char *says; /* why it may not change; of a derived line: what it is of and comes from */
};

/** Refuses (MF_INPUT) where @p saved and @p wanted differ. @p words: up to a key of NULL. Not collective. */
int mf_problem_same(const char *saved, const char *wanted, const struct mf_problem_word *words);

#endif
