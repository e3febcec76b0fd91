/* Questions about strings, and texts of files. */
#ifndef MF_BASE_TEXT_H
#define MF_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Does @p text end with @p ending, capitals or not? So are kinds of files told by their names everywhere. */
int mf_ends_with(const char *text, const char *ending);

/** Is @p text one of false, no, off, true, yes, on, capitals or not? Then *value is 0 or 1. */
int mf_word_flag(const char *text, int *value);

/** Ends a noun that is counted, by a number of any type: "1 rank", "2 ranks". */
#define MF_S(count) ((count) == 1 ? "" : "s")

/** A number of its own for what @p number is the number of (MF_FNV: nothing), followed by @p count more bytes: FNV-1a,
 * for names that are compared on one machine or between the ranks of one run. */
#define MF_FNV 0xCBF29CE484222325u
uint64_t mf_fnv(uint64_t number, const void *bytes, size_t count);

/** The name of a file, without its folder. */
const char *mf_name_base(const char *path);

/** @p length bytes of a name as they stand in that of a file beside it: of a long one the beginning and a number of all
 * of it, as others may begin alike. */
enum { MF_NAME_SHORT = 201 };
void mf_name_short(const char *name, size_t length, char to[MF_NAME_SHORT]);

/** Writes @p word so that a POSIX shell reads these very bytes as one argument, whatever they are. */
void mf_quote(FILE *to, const char *word);

/** A text by the rules of printf; the caller frees. */
char *mf_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** A copy of @p text whose lines have at most @p columns letters: longer ones are broken at blanks, and go on @p indent
 * columns behind where they began. The caller frees. */
char *mf_fold(const char *text, size_t indent, size_t columns);

/** Prints text as it stands, escaped for roff. */
void mf_roff(const char *text);

/**
 * The bytes of a file, in a buffer that the caller frees; at most @p most + 1 of them, so that *count > most says that
 * there are more. A pipe is read to its end, which is waited for while somebody has it open to write; an empty one is
 * refused. Refuses with MF_INPUT.
 */
int mf_text_load(const char *path, size_t most, char **text, size_t *count);

#endif
