/* Patterns of tokenizer files: a plain text, or a regular expression as Oniguruma reads it. Rule: only this module
 * includes PCRE2. */
#ifndef MF_TEXT_PATTERN_H
#define MF_TEXT_PATTERN_H

#include <stddef.h>

struct mf_pattern;

/** A text that is looked for as it stands; the caller frees. */
struct mf_pattern *mf_pattern_plain(const char *text, size_t n);

/**
 * Compiles a regular expression for UTF-8 with the classes of Unicode. Refuses with MF_INPUT what PCRE2 does not know.
 * It also refuses what PCRE2 reads in another way than Oniguruma: sets in sets, \h.
 */
int mf_pattern_regex(const char *regex, struct mf_pattern **pattern);

/** The next match of at least one byte in text[from..n): 1 and its begin and end, or 0. It returns -1 where the match
 * takes too many steps, and records the sentence (MF_INPUT). */
int mf_pattern_next(struct mf_pattern *pattern, const char *text, size_t n, size_t from, size_t *begin, size_t *end);

void mf_pattern_free(struct mf_pattern *pattern);

/** "10.42 2022-12-11", of the library. */
void mf_pattern_version(char *text, size_t size);

#endif
