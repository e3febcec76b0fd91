/* Patterns of names whose words are divided by dots. A pattern meets a name that begins with it and a dot. Its words
 * may be ranges of numbers (0-11), or have the signs of file names: *, ?, [..]. All functions are local. */
#ifndef MF_BASE_PATTERN_H
#define MF_BASE_PATTERN_H

/** How well it meets, the more the better: by letters. -1: it does not. "*" alone meets all, and least. */
int mf_pattern_meets(const char *pattern, const char *name);

#endif
