/* Changes of files of JSON, by draws that are the same in every run. */
#ifndef MF_TESTS_MUTATE_H
#define MF_TESTS_MUTATE_H

#include <string.h>

#include "src/base/rng.h"

enum { MUTATE_EXTRA = 64 };

static uint64_t mutate_draws;

static inline size_t mutate_draw(size_t below)
{
    uint32_t r[4];

    mf_random4(20261129, 1, mutate_draws++, r);
    return below ? r[0] % below : 0;
}

/* One to three changes: of a byte, of digits, a cut, a part that stands twice. Returns how many bytes are left. */
static inline size_t mutate(char *b, size_t n)
{
    static const char telling[] = "{}[]\":,0\\-9e. ";
    size_t changes = 1 + mutate_draw(3);

    while (changes-- && n) {
        size_t at = mutate_draw(n), k = mutate_draw(MUTATE_EXTRA);

        switch (mutate_draw(6)) {
        case 0: b[at] = (char)mutate_draw(256); break;
        case 1: b[at] = telling[mutate_draw(sizeof telling - 1)]; break;
        case 2: /* digits are larger */
            while (at < n && (b[at] < '0' || b[at] > '9')) ++at;
            for (; at < n && b[at] >= '0' && b[at] <= '9'; ++at) b[at] = '9';
            break;
        case 3: n = mutate_draw(4) ? n : at; break;
        case 4: b[at] = b[mutate_draw(n)]; break;
        default:
            if (at + k > n) k = n - at;
            memmove(b + at + k, b + at, k < n - at - k ? k : n - at - k);
        }
    }
    return n;
}

#endif
