/* See spread_impl.h: devices in a given order, of which any may be left out. */
#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/place/spread_impl.h"

size_t mf_spread_ordered(const struct mf_spread_search *s, const size_t *order)
{
    size_t begin = s->chain->parts;

    for (size_t i = s->n; i > 0 && begin > 0; --i) begin = mf_spread_begin(s, s->kind_of[order[i - 1]], begin);
    return begin;
}

/* begin [n + 1][n + 1]: the smallest begin of j runs on the devices from number i on. */
static size_t *find_begins(const struct mf_spread_search *s, const size_t *order)
{
    const size_t row = s->n + 1;
    size_t *begin = MF_MUST(malloc(row * row * sizeof *begin), "runs");

    for (size_t k = 0; k < row * row; ++k) begin[k] = s->chain->parts;
    for (size_t i = s->n; i-- > 0;)
        for (size_t j = 1; j <= s->n - i; ++j)
            begin[i * row + j] = mf_min(begin[(i + 1) * row + j],
                                        mf_spread_begin(s, s->kind_of[order[i]], begin[(i + 1) * row + j - 1]));
    return begin;
}

void mf_spread_ordered_put(const struct mf_spread_search *s, const size_t *order, struct mf_spread *to)
{
    const size_t row = s->n + 1;
    size_t *begin = find_begins(s, order), at = to->begin, runs = 0;
    double left = 0;

    while (begin[runs] > at) ++runs;
    for (size_t i = 0; i < s->n; ++i) left += s->kind[s->kind_of[order[i]]].free;
    for (size_t i = 0; i < s->n && runs > 0; ++i) {
        const struct mf_spread_kind *k = &s->kind[s->kind_of[order[i]]];
        const size_t least = begin[(i + 1) * row + runs - 1];

        if (least <= mf_place_chain_end(s->chain, at, s->share * k->free)) {
            at = mf_spread_put(s, order[i], at, least, left, to);
            --runs;
        }
        left -= k->free;
    }
    MF_ASSERT(at == s->chain->parts);
    free(begin);
}
