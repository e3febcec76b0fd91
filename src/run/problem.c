/* See problem.h. */
#include "src/run/problem.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"

#define ANEW "restore it; " MF_RUN_ANEW

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

/* The first line of @p a that @p b lacks or has otherwise, a derived one last. *other: the line of @p b, or NULL. */
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

enum { QUOTED = 220 };

static const char *quoted(const char *line, char text[QUOTED])
{
    if (!line) return "nothing of it";
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
    return mf_fail(MF_INPUT,
                   "the checkpoint is of another problem: it says %s, this run %s; restore the option; " MF_RUN_ANEW,
                   quoted(theirs, a), quoted(mine, b));
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
