/* The lines "key: value" that a run must share with the checkpoint it continues from. The first line that differs is
 * named. */
#ifndef MF_RUN_PROBLEM_H
#define MF_RUN_PROBLEM_H

#include <stddef.h>

/** The remedy where no checkpoint can be used. Scripts of launch always pass --restart auto, so leaving the option out
 * is not a remedy. */
#define MF_RUN_ANEW "to start again, give --restart no, or remove the run's checkpoints (.ckpt-a.h5, .ckpt-b.h5)"

/** A key with its own explanation. */
struct mf_problem_word {
    const char *key;  /* "--max_iter" */
    int derived;      /* the line follows from others: it counts only if nothing else differs */
    const char *says; /* why it may not change; of a derived line: what it follows from */
};

/** The first line that differs, as "it says 'A', this run 'B'", or of checksums "it has another KEY". 0: none does.
 * Lines with the keys @p free (up to NULL) do not count. Not collective. */
enum { MF_PROBLEM_TEXT = 480 };
int mf_problem_differs(const char *saved, const char *wanted, const char *const *free, char text[MF_PROBLEM_TEXT]);

/** The number of line @p key; 0: there is none. */
size_t mf_problem_number(const char *problem, const char *key);

/** Refuses (MF_INPUT) where @p saved and @p wanted differ. @p words: up to a key of NULL. Not collective. */
int mf_problem_same(const char *saved, const char *wanted, const struct mf_problem_word *words);

#endif
