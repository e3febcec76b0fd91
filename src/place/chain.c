/* See chain.h. */
#include "src/place/chain.h"

#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

/* -- making -- */

static int is_apart(const unsigned char *apart, size_t part) { return apart && apart[part]; }

/* How many parts of the chain touch an array. */
static size_t touched_by(const struct mf_part_array *a, const unsigned char *apart)
{
    size_t n = 0;

    for (size_t k = 0; k < a->parts; ++k) n += !is_apart(apart, a->part[k]);
    return n;
}

static size_t before(const struct mf_part_array *a, const unsigned char *apart, size_t k)
{
    while (k > 0 && is_apart(apart, a->part[k - 1])) --k;
    return k > 0 ? a->part[k - 1] + 1 : 0;
}

static size_t behind(const struct mf_part_array *a, const unsigned char *apart, size_t k, size_t parts)
{
    while (k + 1 < a->parts && is_apart(apart, a->part[k + 1])) ++k;
    return k + 1 < a->parts ? a->part[k + 1] : parts;
}

/* Counts the shared arrays of each part in first[part + 1], or, with these sums, puts them there. */
static void add_shared(const struct mf_parts *parts, const unsigned char *apart, struct mf_place_chain *c, int put)
{
    for (size_t i = 0; i < parts->arrays; ++i) {
        const struct mf_part_array *a = &parts->array[i];
        const int alone = touched_by(a, apart) == 1;

        for (size_t k = 0; k < a->parts; ++k) {
            const size_t p = a->part[k];

            if (is_apart(apart, p)) continue;
            if (alone && put) c->own[p] += a->bytes;
            if (alone) continue;
            if (put)
                c->shared[c->first[p]++] =
                    (struct mf_place_chain_shared){before(a, apart, k), behind(a, apart, k, c->parts), a->bytes};
            else
                ++c->first[p + 1];
        }
    }
}

void mf_place_chain_make(const struct mf_parts *parts, const unsigned char *apart, struct mf_place_chain *c)
{
    const size_t n = parts->count;

    *c = (struct mf_place_chain){.parts = n};
    c->own = MF_MUST(calloc(n + 1, sizeof *c->own), "bytes of parts");
    c->work = MF_MUST(calloc(n + 1, sizeof *c->work), "bytes of parts");
    c->first = MF_MUST(calloc(n + 2, sizeof *c->first), "shared arrays");
    for (size_t p = 0; p < n; ++p) c->work[p] = is_apart(apart, p) ? 0 : parts->part[p].work;
    add_shared(parts, apart, c, 0);
    for (size_t p = 0; p < n; ++p) c->first[p + 1] += c->first[p];
    c->shared = MF_MUST(malloc((c->first[n] + 1) * sizeof *c->shared), "shared arrays");
    add_shared(parts, apart, c, 1);
    for (size_t p = n; p > 0; --p) c->first[p] = c->first[p - 1]; /* each begin has moved to its end */
    c->first[0] = 0;
}

void mf_place_chain_free(struct mf_place_chain *c)
{
    free(c->own);
    free(c->work);
    free(c->first);
    free(c->shared);
    *c = (struct mf_place_chain){0};
}

/* -- runs -- */

size_t mf_place_chain_bytes(const struct mf_place_chain *c, size_t from, size_t end)
{
    size_t bytes = 0, work = 0;

    for (size_t p = from; p < end; ++p) {
        bytes += c->own[p];
        work = mf_max(work, c->work[p]);
        for (size_t i = c->first[p]; i < c->first[p + 1]; ++i)
            bytes += c->shared[i].before <= from ? c->shared[i].bytes : 0;
    }
    return bytes + work;
}

size_t mf_place_chain_end(const struct mf_place_chain *c, size_t from, double room)
{
    size_t bytes = 0, work = 0, p = from;

    for (; p < c->parts; ++p) {
        bytes += c->own[p];
        work = mf_max(work, c->work[p]);
        for (size_t i = c->first[p]; i < c->first[p + 1]; ++i)
            bytes += c->shared[i].before <= from ? c->shared[i].bytes : 0;
        if ((double)(bytes + work) > room) break;
    }
    return p;
}

size_t mf_place_chain_begin(const struct mf_place_chain *c, size_t end, double room)
{
    size_t bytes = 0, work = 0, p = end;

    for (; p > 0; --p) {
        bytes += c->own[p - 1];
        work = mf_max(work, c->work[p - 1]);
        for (size_t i = c->first[p - 1]; i < c->first[p]; ++i)
            bytes += c->shared[i].behind >= end ? c->shared[i].bytes : 0;
        if ((double)(bytes + work) > room) break;
    }
    return p;
}
