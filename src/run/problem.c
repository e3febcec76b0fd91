/* See problem.h. */
#include "src/run/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

#define ANEW "try: the input and the options of the stopped run; " MF_RUN_ANEW

static size_t line_of(const char *text) { return strcspn(text, "\n"); }

static const char *next_line(const char *text) { return text + line_of(text) + (text[line_of(text)] == '\n'); }

static int is_about(const char *line, const char *key)
{
    const size_t n = strlen(key);

    return line && strncmp(line, key, n) == 0 && line[n] == ':';
}

/* The line of @p text with the key of @p line, or NULL. */
static const char *same_key(const char *text, const char *line)
{
    const size_t n = strcspn(line, ":\n") + 1;

    for (; *text; text = next_line(text))
        if (strncmp(text, line, n) == 0) return text;
    return NULL;
}

/* The word for a line, or NULL. */
static const struct mf_problem_word *word_of(const struct mf_problem_word *words, const char *line)
{
    for (; words->key; ++words)
        if (is_about(line, words->key)) return words;
    return NULL;
}

/* The first line of @p a that @p b lacks or has otherwise, a derived one last. Sets *other to the line of @p b, or
 * NULL. */
static const char *difference(const char *a, const char *b, const struct mf_problem_word *words, const char **other)
{
    const char *derived = NULL;

    for (; *a; a = next_line(a)) {
        const struct mf_problem_word *word = word_of(words, a);

        *other = same_key(b, a);
        if (*other && line_of(*other) == line_of(a) && memcmp(*other, a, line_of(a)) == 0) continue;
        if (!word || !word->derived) return a;
        derived = a;
    }
    *other = derived ? same_key(b, derived) : NULL;
    return derived;
}

enum { QUOTED = 220, CHECKSUM = 64 /* digits of SHA-256 */, SHOWN = 8 /* of these */ };

/* The digits of a line whose value is a checksum; NULL: it is something else. */
static const char *checksum_of(const char *line)
{
    const char *value = line ? strstr(line, ": ") : NULL;
    const size_t left = value ? line_of(line) - (size_t)(value - line) : 0;

    if (!value || value > line + line_of(line) || left != CHECKSUM + 2) return NULL;
    return strspn(value + 2, "0123456789abcdef") == CHECKSUM ? value + 2 : NULL;
}

static const char *quoted(const char *line, char text[QUOTED])
{
    const char *checksum = checksum_of(line);

    if (!line) return "nothing of it";
    if (checksum)
        snprintf(text, QUOTED, "'%.*s...'", (int)(checksum - line) + SHOWN, line);
    else
        snprintf(text, QUOTED, "'%.*s'", (int)(line_of(line) < 200 ? line_of(line) : 200), line);
    return text;
}

static int refuse(const struct mf_problem_word *words, const char *theirs, const char *mine)
{
    const struct mf_problem_word *word = mine ? word_of(words, mine) : NULL;
    char a[QUOTED], b[QUOTED];

    if (word && word->derived) return mf_fail(MF_INPUT, "the checkpoint is of %s; " ANEW, word->says);
    if (word)
        return mf_fail(MF_INPUT, "the checkpoint is of a run with %s, this one has %s: %s; " ANEW, quoted(theirs, a),
                       quoted(mine, b), word->says);
    if (theirs && checksum_of(theirs) && checksum_of(mine))
        return mf_fail(MF_INPUT, "the checkpoint is of a run with another %.*s; " ANEW, (int)strcspn(theirs, ":"),
                       theirs);
    return mf_fail(MF_INPUT, "the checkpoint is of another problem: it says %s, this run %s; " ANEW, quoted(theirs, a),
                   quoted(mine, b));
}

int mf_problem_same(const char *saved, const char *wanted, const struct mf_problem_word *words)
{
    const char *mine, *theirs = difference(saved, wanted, words, &mine), *none;
    const struct mf_problem_word *word = theirs ? word_of(words, theirs) : NULL;
    const char *added;

    if (theirs && !(word && word->derived)) return refuse(words, theirs, mine);
    added = difference(wanted, saved, words, &none);
    if (!added) return MF_OK;
    return none ? refuse(words, none, added) : refuse(words, NULL, added);
}

static int is_free(const char *const *keys, const char *line)
{
    while (*keys && !is_about(line, *keys)) ++keys;
    return *keys != NULL;
}

/* The first line of @p a that counts and that @p b lacks or has otherwise. */
static const char *counted(const char *a, const char *b, const char *const *free)
{
    for (; *a; a = next_line(a)) {
        const char *other = same_key(b, a);

        if (!is_free(free, a) && !(other && line_of(other) == line_of(a) && memcmp(other, a, line_of(a)) == 0))
            return a;
    }
    return NULL;
}

int mf_problem_differs(const char *saved, const char *wanted, const char *const *free, char text[MF_PROBLEM_TEXT])
{
    const char *theirs = counted(saved, wanted, free), *mine = theirs ? same_key(wanted, theirs) : NULL;
    char a[QUOTED], b[QUOTED];

    if (!theirs) mine = counted(wanted, saved, free);
    if (!theirs && !mine) return 0;
    if (checksum_of(theirs) && checksum_of(mine))
        snprintf(text, MF_PROBLEM_TEXT, "it has another %.*s", (int)strcspn(theirs, ":"), theirs);
    else
        snprintf(text, MF_PROBLEM_TEXT, "it says %s, this run %s", quoted(theirs, a), quoted(mine, b));
    return 1;
}

size_t mf_problem_number(const char *problem, const char *key)
{
    while (*problem && !is_about(problem, key)) problem = next_line(problem);
    return *problem ? strtoul(problem + strlen(key) + 1, NULL, 10) : 0;
}
