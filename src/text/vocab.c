/* See vocab.h. The hash table has open addresses and is at most half full. */
#include "src/text/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    const __uint128_t product = (__uint128_t)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xC2B2AE3D27D4EB4Fu);

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t mf_bytes_hash(const char *text, size_t n)
{
    uint64_t hash = n, word;

    for (; n >= 8; n -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = mix(hash, word);
    }
    word = 0;
    if (n >= 4) {
        uint32_t first, last;

        memcpy(&first, text, 4);
        memcpy(&last, text + n - 4, 4);
        word = (uint64_t)first << 32 | last;
    } else if (n > 0)
        word = (uint64_t)(unsigned char)text[0] << 16 | (uint64_t)(unsigned char)text[n / 2] << 8 |
               (unsigned char)text[n - 1];
    return mix(hash, word);
}

/* Where the token stands, or the empty slot where it would. */
static size_t slot_of(const struct mf_vocab *v, const char *text, size_t n)
{
    size_t i = mf_bytes_hash(text, n) & (v->slots - 1);

    for (; v->slot[i]; i = (i + 1) & (v->slots - 1)) {
        const struct mf_span *s = &v->token[v->slot[i] - 1];

        if (s->count == n && memcmp(v->text.at + s->first, text, n) == 0) break;
    }
    return i;
}

static int rehash(struct mf_vocab *v)
{
    const size_t slots = v->slots ? 2 * v->slots : 1024;
    uint32_t *slot;

    if (2 * (v->count + 1) <= v->slots) return MF_OK;
    MF_TRY(MF_ROOM(slot, slots, "a vocabulary of %zu tokens", v->count));
    free(v->slot);
    v->slot = slot;
    v->slots = slots;
    for (size_t k = 0; k < v->numbers; ++k)
        if (v->token[k].count != SIZE_MAX)
            v->slot[slot_of(v, v->text.at + v->token[k].first, v->token[k].count)] = (uint32_t)k + 1;
    return MF_OK;
}

/* Numbers up to @p number have a place. */
static int reach(struct mf_vocab *v, size_t number)
{
    if (number >= v->room) {
        const size_t room = number >= 2 * v->room ? number + 64 : 2 * v->room;

        MF_TRY(MF_ROOM_MORE(v->token, room, "a vocabulary of %zu tokens", number));
        v->room = room;
    }
    for (; v->numbers <= number; ++v->numbers) v->token[v->numbers] = (struct mf_span){0, SIZE_MAX};
    return MF_OK;
}

int mf_vocab_add(struct mf_vocab *v, const char *text, size_t n, size_t number)
{
    size_t at;

    if (number > MF_TOKEN_MOST)
        return mf_fail(MF_INPUT, "the token '%.100s' has number %zu; numbers go up to %d", text, number, MF_TOKEN_MOST);
    if (number < v->numbers && v->token[number].count != SIZE_MAX)
        return mf_fail(MF_INPUT, "the tokens '%.100s' and '%.100s' have the same number %zu",
                       v->text.at + v->token[number].first, text, number);
    MF_TRY(rehash(v));
    at = slot_of(v, text, n);
    if (v->slot[at])
        return mf_fail(MF_INPUT, "the token '%.100s' is there twice, with numbers %u and %zu", text, v->slot[at] - 1,
                       number);
    MF_TRY(reach(v, number));
    v->token[number] = (struct mf_span){v->text.count, n};
    v->slot[at] = (uint32_t)number + 1;
    mf_bytes_put(&v->text, text, n);
    mf_bytes_put(&v->text, "", 1);
    ++v->count;
    if (n > v->longest) v->longest = n;
    return MF_OK;
}

int32_t mf_vocab_find(const struct mf_vocab *v, const char *text, size_t n)
{
    if (v->count == 0 || n > v->longest) return MF_TOKEN_NONE;
    return (int32_t)v->slot[slot_of(v, text, n)] - 1;
}

const char *mf_vocab_text(const struct mf_vocab *v, size_t number, size_t *n)
{
    if (number >= v->numbers || v->token[number].count == SIZE_MAX) return NULL;
    *n = v->token[number].count;
    return v->text.at + v->token[number].first;
}

void mf_vocab_free(struct mf_vocab *v)
{
    mf_bytes_free(&v->text);
    free(v->token);
    free(v->slot);
    *v = (struct mf_vocab){0};
}
