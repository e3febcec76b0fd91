/* Questions about strings, and texts of files. */
#ifndef MF_BASE_TEXT_H
#define MF_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Does @p text end with @p ending? Upper and lower case are the same. All file formats are told by endings in this
 * way. */
int mf_ends_with(const char *text, const char *ending);

/** The text that stands twice among them; NULL: none does. */
const char *mf_text_twice(size_t count, const char *const *texts);

/** Is @p text one of false, no, off, true, yes, on, in any case? Then *value is 0 or 1. */
int mf_word_flag(const char *text, int *value);

/** The plural ending of a counted noun, for a number of any type: "1 rank", "2 ranks". */
#define MF_S(count) ((count) == 1 ? "" : "s")

/** A duration for people, of two digits or so: "0.4 s", "25 s", "12 min", "3.5 h". */
enum { MF_DURATION_TEXT = 32 };
const char *mf_duration_text(double seconds, char text[MF_DURATION_TEXT]);

/** Continues the FNV-1a hash @p number (MF_FNV: the start) with @p count more bytes. For names that are compared on one
 * machine or between the ranks of one run. */
#define MF_FNV 0xCBF29CE484222325u
uint64_t mf_fnv(uint64_t number, const void *bytes, size_t count);

/** The name of a file, without its folder. */
const char *mf_name_base(const char *path);

/** The name of a file, for use in that of another file beside it: @p length bytes. A long name is shortened to its
 * beginning and a hash of all of it, as others may begin alike. */
enum { MF_NAME_SHORT = 201 };
void mf_name_short(const char *name, size_t length, char to[MF_NAME_SHORT]);

/** Writes @p word so that a POSIX shell reads exactly its bytes as one argument. */
void mf_quote(FILE *to, const char *word);

/** A text by the rules of printf; the caller frees. */
char *mf_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** A copy of @p text with lines of at most @p columns letters. Longer lines are broken at blanks, and continue @p
 * indent columns behind their start. The caller frees. */
char *mf_fold(const char *text, size_t indent, size_t columns);

/** Prints text as it stands, escaped for roff. */
void mf_roff(const char *text);

/**
 * The bytes of a file, at most @p most + 1, and a zero byte, in a buffer that the caller frees. If there are more,
 * *count > @p most. A pipe is read until its writers close it. An empty pipe is refused. Refuses with MF_INPUT or
 * MF_MEMORY; *text is then NULL.
 */
int mf_text_load(const char *path, size_t most, char **text, size_t *count);

#endif
