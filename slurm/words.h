/* Command lines as lists of words.
 * Rule: this is the one place where a word is quoted for a shell. */
#ifndef MF_SLURM_WORDS_H
#define MF_SLURM_WORDS_H

#include <stddef.h>
#include <stdio.h>

/** Begins as {0}; at [count + 1] is an argv, NULL at its end (NULL itself while there is no word). */
struct mf_words {
    size_t count;
    char **at;
    char *kind; /* [count] how each is printed, enum mf_word of words.c */
};

/** Appends a copy of @p word, a text by printf's format, copies of @p count words. */
void mf_words_add(struct mf_words *words, const char *word);
void mf_words_say(struct mf_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mf_words_all(struct mf_words *words, size_t count, const char *const *more);
void mf_words_free(struct mf_words *words);

/** Appends @p text, of our own making, which is printed as it is: the shell expands it. For scripts, not for an argv.
 */
void mf_words_shell(struct mf_words *words, const char *text);

/** Appends copies of @p count words in which "%a" may stand for the number of an array's task, as Slurm writes it. */
void mf_words_numbered(struct mf_words *words, size_t count, const char *const *more);

/**
 * Writes all words for a shell, a blank between two, long lines broken by a backslash. @p variable: NULL, or a variable
 * of the shell whose value stands for every "%a" in the words of mf_words_numbered().
 */
void mf_words_print(FILE *to, const struct mf_words *words, const char *variable);

#endif
