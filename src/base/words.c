/* See words.h. */
#include "src/base/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { WORD_MAX = 64 };

const char **mf_words_names(size_t n, const char *const *word, mf_word_known *known, const void *context, size_t *count)
{
    size_t bytes = 0;
    const char **name;
    char *at;

    for (size_t k = 0; k < n; ++k) bytes += strlen(word[k]) + 1;
    name = MF_MUST(malloc((bytes + 1) * (sizeof *name + 1)), "names"); /* no more names than letters */
    at = (char *)(name + bytes + 1);
    *count = 0;
    for (size_t k = 0; k < n; ++k) {
        const int whole = !strchr(word[k], ',') || (known && known(context, word[k]));

        for (const char *from = word[k];;) {
            const size_t length = whole ? strlen(from) : strcspn(from, ",");

            if (length || whole) name[(*count)++] = at;
            memcpy(at, from, length);
            at[length] = '\0';
            at += length + 1;
            if (!from[length]) break;
            from += length + 1;
        }
    }
    return name;
}

static int letter(char c) { return c == '_' ? '-' : tolower((unsigned char)c); }

/* Edit distance with neighbours swapped counted once (optimal string alignment). */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][WORD_MAX + 1], *before = row[0], *above = row[1], *here = row[2];

    for (size_t j = 0; j <= nb; ++j) above[j] = j;
    memset(before, 0, sizeof row[0]);
    for (size_t i = 1; i <= na; ++i) {
        size_t *old = before;

        here[0] = i;
        for (size_t j = 1; j <= nb; ++j) {
            size_t best = above[j - 1] + (letter(a[i - 1]) != letter(b[j - 1]));

            if (above[j] + 1 < best) best = above[j] + 1;
            if (here[j - 1] + 1 < best) best = here[j - 1] + 1;
            if (i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) && letter(a[i - 2]) == letter(b[j - 1]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            here[j] = best;
        }
        before = above;
        above = here;
        here = old;
    }
    return above[nb];
}

const char *mf_nearest(const char *word, const char *const *words, size_t count)
{
    size_t n = strlen(word), best = n / 3 < 1 ? 1 : n / 3;
    const char *near = NULL, *begins = NULL;

    if (n == 0 || n > WORD_MAX) return NULL;
    if (best < 2 && n > 3) best = 2;
    for (size_t i = 0; i < count; ++i) {
        size_t m = strlen(words[i]), d;

        if (m > WORD_MAX) continue;
        d = distance(word, n, words[i], m);
        if (d < best || (d == best && !near)) {
            best = d;
            near = words[i];
        }
        if (n >= 3 && m > n && !begins && distance(word, n, words[i], n) == 0) begins = words[i];
    }
    return near ? near : begins;
}

int mf_texts_have(const struct mf_texts *texts, const char *word)
{
    for (size_t i = 0; i < texts->count; ++i)
        if (strcmp(texts->at[i], word) == 0) return 1;
    return 0;
}

int mf_words_place(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    int i = 0;

    for (;; choices += strcspn(choices, "|") + 1, ++i) {
        if (strcspn(choices, "|") == length && memcmp(choices, word, length) == 0) return i;
        MF_ASSERT(strchr(choices, '|')); /* else the option was not checked */
    }
}
