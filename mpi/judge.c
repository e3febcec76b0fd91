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

/* Outside, behind @p place, for too long; first those of which that is certain. */
static int is_late(const struct mf_seen *s, uint64_t place, double seconds)
{
    return s->place < place && s->place % 2 == 0 && s->quiet >= seconds && !s->unknown;
}

static int is_unheard(const struct mf_seen *s, uint64_t place, double seconds)
{
    return s->place < place && s->quiet >= seconds && s->unknown;
}

/* Behind @p place and at work: a rank of which nothing is known may well wait for it. */
static int is_busy(const struct mf_seen *s, uint64_t place, double seconds)
{
    return s->place < place && s->quiet < seconds && !s->unknown;
}

static int has_stopped(const struct mf_seen *s, uint64_t place, double seconds)
{
    (void)place;
    (void)seconds;
    return s->place != MF_PLACE_GONE && s->stopped;
}

static int is_first(const struct mf_seen *s, uint64_t place, double seconds)
{
    (void)seconds;
    return s->place == place;
}

/* The furthest rank that is inside a collective (for @p seconds); -1: none. */
static int furthest(const struct mf_seen *seen, int size, double seconds)
{
    int best = -1;

    for (int r = 0; r < size; ++r)
        if (is_inside(&seen[r]) && !seen[r].dead && seen[r].quiet >= seconds &&
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

/* Nobody is late, nothing moves: who has stopped, else who is further back than others, else nobody by name. */
static int mark_inside(struct mf_seen *seen, int size, uint64_t place)
{
    uint64_t first = place;
    int n = mark(seen, size, has_stopped, 0, 0);

    if (n) return n;
    for (int r = 0; r < size; ++r)
        if (seen[r].place < first) first = seen[r].place;
    return first < place ? mark(seen, size, is_first, first, 0) : 0;
}

struct mf_verdict mf_judge(struct mf_seen *seen, int size, double seconds)
{
    struct mf_verdict v = {MF_NOBODY, furthest(seen, size, 0), 0};
    uint64_t place;

    v.guilty = mark(seen, size, is_dead, 0, 0);
    if (v.guilty) {
        v.kind = MF_DEAD;
        return v;
    }
    v.waiter = furthest(seen, size, seconds);
    if (v.waiter < 0) return v;
    place = seen[v.waiter].place;
    v.guilty = mark(seen, size, is_late, place, seconds);
    if (!v.guilty && !mark(seen, size, is_busy, place, seconds))
        v.guilty = mark(seen, size, is_unheard, place, seconds);
    if (v.guilty) {
        v.kind = MF_MISSING;
    } else if (all_quiet(seen, size, seconds)) {
        v.guilty = mark_inside(seen, size, place);
        v.kind = MF_INSIDE;
    }
    return v;
}
