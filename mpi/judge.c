/* See judge.h. */
#include "mpi/judge.h"

static int is_inside(const struct mf_seen *s) { return s->place != MF_PLACE_GONE && s->place % 2 == 1; }

static int mark(struct mf_seen *seen, int size, int (*is_guilty)(const struct mf_seen *, uint64_t, double),
                uint64_t place, double seconds)
{
    int n = 0;

    for (int r = 0; r < size; ++r) n += seen[r].guilty = is_guilty(&seen[r], place, seconds);
    return n;
}

static int is_dead(const struct mf_seen *s, uint64_t place, double seconds)
{
    (void)place;
    (void)seconds;
    return s->dead && s->place != MF_PLACE_GONE;
}

/* Outside, behind @p place, for too long; or not further and stopped. */
static int is_late(const struct mf_seen *s, uint64_t place, double seconds)
{
    if (s->unknown || s->quiet < seconds) return 0;
    return (s->place < place && s->place % 2 == 0) || (s->place <= place && s->stopped);
}

/* The last word of such a rank may be an old one. */
static int is_unheard(const struct mf_seen *s, uint64_t place, double seconds)
{
    (void)place;
    return s->place != MF_PLACE_GONE && s->quiet >= seconds && s->unknown;
}

/* Behind @p place and at work: a rank of which nothing is known may well wait for it. */
static int is_busy(const struct mf_seen *s, uint64_t place, double seconds)
{
    return s->place < place && s->quiet < seconds && !s->unknown;
}

static int is_first(const struct mf_seen *s, uint64_t place, double seconds)
{
    (void)seconds;
    return s->place == place;
}

/* The furthest rank that is known to be inside a collective (for @p seconds); -1: none. */
static int furthest(const struct mf_seen *seen, int size, double seconds)
{
    int best = -1;

    for (int r = 0; r < size; ++r)
        if (is_inside(&seen[r]) && !seen[r].dead && !seen[r].stopped && !seen[r].unknown && seen[r].quiet >= seconds &&
            (best < 0 || seen[r].place > seen[best].place))
            best = r;
    return best;
}

static int all_quiet(const struct mf_seen *seen, int size, double seconds)
{
    for (int r = 0; r < size; ++r)
        if (seen[r].place != MF_PLACE_GONE && seen[r].quiet < seconds) return 0;
    return 1;
}

/* Nobody is late, nothing moves: who is further back than others is named, else nobody. */
static int mark_first(struct mf_seen *seen, int size, uint64_t place)
{
    uint64_t first = place;

    for (int r = 0; r < size; ++r)
        if (seen[r].place < first) first = seen[r].place;
    return first < place ? mark(seen, size, is_first, first, 0) : 0;
}

/* Rank @p waiter has waited for too long. */
static enum mf_verdict_kind blame(struct mf_seen *seen, int size, int waiter, double seconds, int *guilty)
{
    uint64_t place = seen[waiter].place;

    *guilty = mark(seen, size, is_late, place, seconds);
    for (int r = 0; r < size; ++r)
        if (seen[r].guilty && !is_inside(&seen[r])) return MF_MISSING;
    if (*guilty) return MF_INSIDE;
    if (mark(seen, size, is_busy, place, seconds)) return MF_NOBODY;
    *guilty = mark(seen, size, is_unheard, place, seconds);
    if (*guilty) return MF_UNHEARD;
    if (!all_quiet(seen, size, seconds)) return MF_NOBODY;
    *guilty = mark_first(seen, size, place);
    return MF_INSIDE;
}

struct mf_verdict mf_judge(struct mf_seen *seen, int size, double seconds)
{
    struct mf_verdict v = {MF_NOBODY, furthest(seen, size, 0), 0};

    v.guilty = mark(seen, size, is_dead, 0, 0);
    if (v.guilty) {
        v.kind = MF_DEAD;
        return v;
    }
    v.waiter = furthest(seen, size, seconds);
    if (v.waiter >= 0) v.kind = blame(seen, size, v.waiter, seconds, &v.guilty);
    return v;
}
