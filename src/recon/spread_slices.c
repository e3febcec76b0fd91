/* See spread.h: what stands beside the labels of slices. It travels when its slice has changed since the rank that
 * works with it next had it last; all ranks know that, for all know all swaps. */
#include <string.h>

#include "src/base/err.h"
#include "src/recon/spread.h"

_Static_assert(MF_POOLS_MAX <= 16, "a bit for each rank that has a chain");

static size_t residual_of(const struct mf_spread *s) { return s->with.swap->sites.shape.n * 32 * sizeof(float); }
static size_t counts_of(const struct mf_spread *s) { return s->with.tally->entries * sizeof(int64_t); }

size_t mf_spread_bytes(const struct mf_spread *s, int kind)
{
    if (kind == MF_SPREAD_WINDOWS) return s->with.swap ? s->with.fields * (residual_of(s) + sizeof(double)) : 0;
    return s->with.tally ? s->with.fields * counts_of(s) : 0;
}

/* -- a slice -- */

/* Bytes go from here to there, or @p back. */
static char *copy(char *there, void *here, size_t bytes, int back)
{
    memcpy(back ? here : there, back ? there : here, bytes);
    return there + bytes;
}

static void copy_windows(const struct mf_spread *s, size_t d, size_t i, char *there, int back)
{
    const struct mf_swap_side *side = &s->with.swap->side[d];
    const size_t floats = residual_of(s) / sizeof(float);

    for (size_t f = 0; f < s->with.fields; ++f) {
        const size_t at = f * side->slices + i;

        there = copy(there, side->residual + at * floats, residual_of(s), back);
        there = copy(there, side->v + at, sizeof *side->v, back);
    }
}

static void copy_counts(const struct mf_spread *s, size_t d, size_t i, char *there, int back)
{
    const struct mf_tally_side *side = &s->with.tally->side[d];

    for (size_t f = 0; f < s->with.fields; ++f)
        there = copy(there, side->count + (f * side->slices + i) * s->with.tally->entries, counts_of(s), back);
}

static void copy_slice(const struct mf_spread *s, int kind, size_t d, size_t i, char *there, int back)
{
    (kind == MF_SPREAD_WINDOWS ? copy_windows : copy_counts)(s, d, i, there, back);
}

/* -- who has it -- */

void mf_spread_known(struct mf_spread *s, int kind)
{
    for (int d = 0; d < MF_SIDES && s->known[kind][d]; ++d)
        memset(s->known[kind][d], 0xff, s->with.deal->dims[d] * sizeof *s->known[kind][d]);
}

static int owner_of(const struct mf_spread *s, size_t d, size_t i)
{
    return mf_spread_owner(s, s->with.deal->part[d][i]);
}

void mf_spread_own(struct mf_spread *s, int kind)
{
    for (size_t d = 0; d < MF_SIDES && s->known[kind][d]; ++d)
        for (size_t i = 0; i < s->with.deal->dims[d]; ++i) s->known[kind][d][i] = (uint16_t)(1u << owner_of(s, d, i));
}

static int first_of(unsigned ranks)
{
    int r = 0;

    while (!(ranks >> r & 1)) ++r;
    return r;
}

/* -- travelling -- */

/* A slice of all: those normal to z, to y, to x. */
struct place {
    size_t d, i;
};

static struct place place_of(const struct mf_spread *s, size_t n)
{
    struct place p = {0, n};

    for (; p.i >= s->with.deal->dims[p.d]; ++p.d) p.i -= s->with.deal->dims[p.d];
    return p;
}

static size_t all_of(const struct mf_spread *s)
{
    return s->with.deal->dims[0] + s->with.deal->dims[1] + s->with.deal->dims[2];
}

/* Does it go to whose it is now, and from whom? */
static int travels(const struct mf_spread *s, int kind, struct place p, int *from, int *to)
{
    const unsigned known = s->known[kind][p.d][p.i];

    *to = owner_of(s, p.d, p.i);
    if (known >> *to & 1) return 0;
    *from = first_of(known);
    return 1;
}

/* Where so many slices from @p first on end that there is room for those that travel; their number. */
static size_t end_of(const struct mf_spread *s, int kind, size_t first, size_t *many)
{
    const size_t bytes = mf_spread_bytes(s, kind);
    int from, to;

    for (*many = 0; first < all_of(s); ++first) {
        if (!travels(s, kind, place_of(s, first), &from, &to)) continue;
        if ((*many + 1) * bytes > s->room) break;
        ++*many;
    }
    return first;
}

static void measure(struct mf_spread *s, int kind, size_t first, size_t end)
{
    const size_t ranks = (size_t)s->with.comm->size, bytes = mf_spread_bytes(s, kind);
    const int me = s->with.comm->rank;
    int from, to;

    memset(s->sent, 0, ranks * sizeof *s->sent);
    memset(s->got, 0, ranks * sizeof *s->got);
    for (size_t n = first; n < end; ++n) {
        if (!travels(s, kind, place_of(s, n), &from, &to)) continue;
        if (from == me) s->sent[to] += bytes;
        if (to == me) s->got[from] += bytes;
    }
}

/* This rank's slices of them into what is sent. */
static void give(struct mf_spread *s, int kind, size_t first, size_t end)
{
    int from, to;

    mf_spread_places(s, s->sent);
    for (size_t n = first; n < end; ++n) {
        const struct place p = place_of(s, n);

        if (!travels(s, kind, p, &from, &to) || from != s->with.comm->rank) continue;
        copy_slice(s, kind, p.d, p.i, s->out + s->at[to], 0);
        s->at[to] += mf_spread_bytes(s, kind);
    }
}

/* Those that have come to where they belong, and everybody knows. */
static void land(struct mf_spread *s, int kind, size_t first, size_t end)
{
    int from, to;

    mf_spread_places(s, s->got);
    for (size_t n = first; n < end; ++n) {
        const struct place p = place_of(s, n);

        if (!travels(s, kind, p, &from, &to)) continue;
        s->known[kind][p.d][p.i] |= (uint16_t)(1u << to);
        if (to != s->with.comm->rank) continue;
        copy_slice(s, kind, p.d, p.i, s->in + s->at[from], 1);
        s->at[from] += mf_spread_bytes(s, kind);
    }
}

static void bring(struct mf_spread *s, int kind)
{
    for (size_t first = 0, end, many; first < all_of(s); first = end) {
        end = end_of(s, kind, first, &many);
        MF_ASSERT(end > first);
        if (many == 0) continue;
        measure(s, kind, first, end);
        give(s, kind, first, end);
        mf_comm_trade(s->with.comm, s->out, s->sent, s->in, s->got);
        land(s, kind, first, end);
    }
}

void mf_spread_slices(struct mf_spread *s)
{
    for (int kind = 0; kind < MF_SPREAD_KINDS; ++kind)
        if (mf_spread_bytes(s, kind)) bring(s, kind);
}
