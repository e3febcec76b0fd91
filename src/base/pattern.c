/* See pattern.h. */
#include "src/base/pattern.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 220 /* bytes of a name */ };

/* A word between dots: "0-11" meets numbers, others as file names do. */
static int word_meets(const char *word, const char *name)
{
    char *end, *last;
    const long first = strtol(word, &end, 10);
    long most, number;

    if (end == word || *end != '-') return fnmatch(word, name, 0) == 0;
    most = strtol(end + 1, &last, 10);
    if (last == end + 1 || *last) return fnmatch(word, name, 0) == 0;
    number = strtol(name, &end, 10);
    return end != name && !*end && first <= number && number <= most;
}

/* Word by word; the name may go on. */
static int words_meet(const char *pattern, const char *name)
{
    char left[WORDS], right[WORDS], *p = left, *n = right, *word;
    int how = 1;

    snprintf(left, sizeof left, "%s", pattern);
    snprintf(right, sizeof right, "%s", name);
    while (how > 0 && (word = strsep(&p, "."))) {
        const char *other = strsep(&n, ".");

        how = other && word_meets(word, other);
    }
    return how;
}

int mf_pattern_meets(const char *pattern, const char *name)
{
    const size_t length = strlen(pattern);
    int letters = 0, how;

    if (length == 0 || strcmp(pattern, "*") == 0) return 0;
    if (strncmp(pattern, name, length) == 0 && (!name[length] || name[length] == '.')) return 4 * (int)length + 2;
    if (!strpbrk(pattern, "*?[-")) return -1;
    for (const char *c = pattern; *c; ++c) letters += !strchr("*?[]", *c);
    how = words_meet(pattern, name);
    if (how == 0 && fnmatch(pattern, name, 0) != 0) return -1;
    return 4 * letters + how;
}
