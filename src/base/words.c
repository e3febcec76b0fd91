/* See words.h. */
#include "src/base/words.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

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
