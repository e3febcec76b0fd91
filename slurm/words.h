/* Command lines as lists of words.
 * Rule: this is the one place where a word is quoted for a shell. */
#ifndef MF_SLURM_WORDS_H
#define MF_SLURM_WORDS_H

#include <stddef.h>
#include <stdio.h>

/** Begins as {0}. at [count + 1] is an argv that ends with NULL; it is NULL itself while there is no word. */
struct mf_words {
    size_t count;
    char **at;
    unsigned char *kind; /* [count] how each is printed, enum mf_word of words.c */
};

/** Appends a copy of @p word, a text in printf's format, or copies of @p count words. */
void mf_words_add(struct mf_words *words, const char *word);
void mf_words_say(struct mf_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mf_words_all(struct mf_words *words, size_t count, const char *const *more);
void mf_words_free(struct mf_words *words);

/** Appends @p text, written by this program, which is printed without quotes so that the shell expands it. For scripts,
 * not for an argv. */
void mf_words_shell(struct mf_words *words, const char *text);

/** Appends copies of @p count words. In them "%a" stands for the task number of a job array, as in Slurm. */
void mf_words_numbered(struct mf_words *words, size_t count, const char *const *more);

/**
 * Writes all words quoted for a shell, separated by blanks; a backslash breaks long lines. The shell variable @p
 * variable replaces every "%a" in the words of mf_words_numbered(); NULL: none.
 */
void mf_words_print(FILE *to, const struct mf_words *words, const char *variable);

#endif
