/* What a run must share with the checkpoint it goes on from: lines "key: value", and the sentence that names the first
 * line that differs. */
#ifndef MF_RUN_PROBLEM_H
#define MF_RUN_PROBLEM_H

/** What helps where no checkpoint can be used. Scripts of launch say --restart auto by themselves, so the option is no
 * way to begin anew. */
#define MF_RUN_ANEW "to begin anew, remove the run's checkpoints (.ckpt-a.h5, .ckpt-b.h5)"

/** A key with a sentence of its own. */
struct mf_problem_word {
    const char *key;  /* "--max_iter" */
    int derived;      /* the line follows from others: it counts only where nothing else differs */
    const char *says; /* why it may not change; of a derived line: what it is of and comes from */
};

/** Refuses (MF_INPUT) where @p saved and @p wanted differ. @p words: up to a key of NULL. Not collective. */
int mf_problem_same(const char *saved, const char *wanted, const struct mf_problem_word *words);

#endif
