/* See words.h. A word has one place, and a later word takes it. */
#include "src/text/words.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/text/vocab.h"

enum { PLACES = 1 << 14, WORD_MOST = 46, TOKENS_MOST = 18 };

struct mf_words_kept {
    struct place {
        uint64_t hash;
        uint8_t length, count; /* count 0: empty */
        char word[WORD_MOST];
        uint32_t token[TOKENS_MOST];
    } place[PLACES];
};

struct mf_words_kept *mf_words_kept_new(void) { return MF_MUST(calloc(1, sizeof(struct mf_words_kept)), "words"); }

void mf_words_kept_free(struct mf_words_kept *kept) { free(kept); }

int mf_words_kept_find(const struct mf_words_kept *kept, const char *word, size_t n, struct mf_tokens *to)
{
    const uint64_t hash = mf_bytes_hash(word, n);
    const struct place *p = &kept->place[hash % PLACES];

    if (p->hash != hash || p->length != n || p->count == 0 || memcmp(p->word, word, n) != 0) return 0;
    mf_tokens_add(to, p->token, p->count);
    return 1;
}

void mf_words_kept_put(struct mf_words_kept *kept, const char *word, size_t n, const uint32_t *tokens, size_t count)
{
    const uint64_t hash = mf_bytes_hash(word, n);
    struct place *p = &kept->place[hash % PLACES];

    if (n > WORD_MOST || count > TOKENS_MOST || count == 0) return;
    p->hash = hash;
    p->length = (uint8_t)n;
    p->count = (uint8_t)count;
    memcpy(p->word, word, n);
    memcpy(p->token, tokens, count * sizeof *tokens);
}
