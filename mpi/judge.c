/* See judge.h. A hash table in the ranks' work memory finds, for each group, the furthest rank that waits in it. Each
 * rank is then compared with the waits of its groups. So the cost is linear in ranks times groups of a rank. */
#include "mpi/judge.h"

/* How a rank stands to a wait of another. */
enum stance { HERE, LATE, BUSY, BLOCKED, UNHEARD };

uint64_t mf_seen_count(const struct mf_seen *seen, uint64_t group)
{
    for (size_t i = 0; group && i < seen->standings; ++i)
        if (mf_word_get(&seen->standing[i].group) == group) return mf_word_get(&seen->standing[i].count);
    return 0;
}

static int is_member(const struct mf_seen *seen, uint64_t group)
{
    for (size_t i = 0; i < seen->standings; ++i)
        if (mf_word_get(&seen->standing[i].group) == group) return 1;
    return 0;
}

/* Does the rank wait, as far as is known, for @p seconds? */
static int waits(const struct mf_seen *s, double seconds)
{
    return mf_seen_inside(s) && !s->dead && !s->stopped && !s->unknown && s->quiet >= seconds;
}

/* -- waits, found by their groups -- */

/* The bucket of @p group, or the empty one where it belongs; NULL: the table is full of others. */
static int *bucket(struct mf_seen *seen, int size, uint64_t group)
{
    size_t n = (size_t)size, at = (size_t)((group * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % n;

    for (size_t i = 0; i < n; ++i, at = at + 1 == n ? 0 : at + 1) {
        int *b = &seen[at].wait.bucket;

        if (*b < 0 || seen[*b].group == group) return b;
    }
    return NULL;
}

/* The furthest rank that waits in a collective of @p group; -1: none does. */
static int waiter_in(struct mf_seen *seen, int size, uint64_t group)
{
    int *b = group ? bucket(seen, size, group) : NULL;

    return b ? *b : -1;
}

static void list_waits(struct mf_seen *seen, int size, double seconds)
{
    for (int r = 0; r < size; ++r) seen[r].wait = (struct mf_wait){.bucket = -1, .least = UINT64_MAX};
    for (int r = 0; r < size; ++r) {
        uint64_t group = seen[r].group;
        int *b;

        if (seen[r].peer || !waits(&seen[r], seconds)) continue;
        b = bucket(seen, size, group);
        if (b && (*b < 0 || mf_seen_count(&seen[r], group) > mf_seen_count(&seen[*b], group))) *b = r;
    }
}

/* -- one rank and one wait -- */

/* @p come: it has entered what is waited in; @p there: it is inside of just that. */
static enum stance stance(const struct mf_seen *s, int come, int there, double seconds)
{
    if (s->place == MF_PLACE_GONE) return HERE;
    if (s->unknown) return s->quiet >= seconds ? UNHEARD : HERE;
    if (s->quiet < seconds) return come ? HERE : BUSY;
    if (s->stopped && (!come || there)) return LATE;
    if (come) return HERE;
    return mf_seen_inside(s) ? BLOCKED : LATE;
}

static enum stance to_collective(const struct mf_seen *s, const struct mf_seen *waiter, double seconds)
{
    uint64_t own = mf_seen_count(s, waiter->group), wanted = mf_seen_count(waiter, waiter->group);
    int inside = mf_seen_inside(s) && !s->peer && s->group == waiter->group;

    return stance(s, own >= wanted, own == wanted && inside, seconds);
}

/* Are the two inside of one message? */
static int is_met(const struct mf_seen *seen, int one, int other)
{
    const struct mf_seen *a = &seen[one], *b = &seen[other];

    return mf_seen_inside(b) && a->group == b->group && (a->peer < 0) != (b->peer < 0) && b->peer &&
           mf_peer_rank(b->peer) == one;
}

static enum stance to_message(const struct mf_seen *seen, int waiter, double seconds)
{
    int peer = mf_peer_rank(seen[waiter].peer), met = is_met(seen, waiter, peer);

    return stance(&seen[peer], met, met, seconds);
}

/* How @p rank stands to what @p waiter waits in. */
static enum stance stands(const struct mf_seen *seen, int rank, int waiter, double seconds)
{
    const struct mf_seen *w = &seen[waiter];

    if (w->peer) return rank == mf_peer_rank(w->peer) ? to_message(seen, waiter, seconds) : HERE;
    return is_member(&seen[rank], w->group) ? to_collective(&seen[rank], w, seconds) : HERE;
}

/* -- all ranks and all waits -- */

static void tally(struct mf_wait *wait, enum stance how)
{
    wait->late += how == LATE;
    wait->busy += how == BUSY;
    wait->blocked += how == BLOCKED;
    wait->unheard += how == UNHEARD;
}

static void weigh(struct mf_seen *seen, int size, int rank, double seconds)
{
    const struct mf_seen *s = &seen[rank];

    for (size_t i = 0; i < s->standings; ++i) {
        int waiter = waiter_in(seen, size, mf_word_get(&s->standing[i].group));
        uint64_t count = mf_word_get(&s->standing[i].count);

        if (waiter < 0) continue;
        tally(&seen[waiter].wait, to_collective(s, &seen[waiter], seconds));
        if (s->place != MF_PLACE_GONE && count < seen[waiter].wait.least) seen[waiter].wait.least = count;
    }
    if (s->peer && waits(s, seconds)) tally(&seen[rank].wait, to_message(seen, rank, seconds));
}

/* Chooses among the waits that @p how counts: one that waits for no other wait, else the longest; -1: none. */
static int choose(const struct mf_seen *seen, int size, int (*how)(const struct mf_wait *wait))
{
    int best = -1;

    for (int r = 0; r < size; ++r) {
        const struct mf_wait *new = &seen[r].wait, *old = best < 0 ? NULL : &seen[best].wait;

        if (!how(new)) continue;
        if (!old || !new->blocked > !old->blocked ||
            (!new->blocked == !old->blocked &&seen[r].quiet > seen[best].quiet))
            best = r;
    }
    return best;
}

static int has_late(const struct mf_wait *wait) { return wait->late; }
static int has_busy(const struct mf_wait *wait) { return wait->busy; }
static int has_unheard(const struct mf_wait *wait) { return wait->unheard; }

static int mark(struct mf_seen *seen, int size, int waiter, enum stance how, double seconds)
{
    int n = 0;

    for (int r = 0; r < size; ++r) n += seen[r].guilty = stands(seen, r, waiter, seconds) == how;
    return n;
}

static int all_quiet(const struct mf_seen *seen, int size, double seconds)
{
    for (int r = 0; r < size; ++r)
        if (seen[r].place != MF_PLACE_GONE && seen[r].quiet < seconds) return 0;
    return 1;
}

/* Has everybody come to what @p rank waits in? */
static int is_complete(struct mf_seen *seen, int size, int rank)
{
    int waiter;

    if (seen[rank].peer) return is_met(seen, rank, mf_peer_rank(seen[rank].peer));
    waiter = waiter_in(seen, size, seen[rank].group);
    return waiter >= 0 && mf_seen_count(&seen[rank], seen[rank].group) <= seen[waiter].wait.least;
}

/* Are the two in one collective, or one message? */
static int is_together(const struct mf_seen *seen, int one, int other)
{
    const struct mf_seen *a = &seen[one], *b = &seen[other];

    if (a->peer || b->peer) return one == other || (a->peer && is_met(seen, one, other));
    return a->group == b->group && mf_seen_count(a, a->group) == mf_seen_count(b, b->group);
}

/* The first rank that @p rank waits for and that waits itself. */
static int waited_for(const struct mf_seen *seen, int size, int rank, double seconds)
{
    for (int r = 0; r < size; ++r)
        if (stands(seen, r, rank, seconds) == BLOCKED) return r;
    return -1;
}

/* Every rank waits for one that waits. Following them for as many steps as there are ranks ends in a circle. */
static void find_circle(const struct mf_seen *seen, int size, double seconds, struct mf_verdict *v)
{
    for (int i = 0; i <= size; ++i) {
        v->other = waited_for(seen, size, v->waiter, seconds);
        if (v->other < 0) return;
        if (i < size) v->waiter = v->other;
    }
}

/* Nobody is late and nothing moves. The guilty are inside a collective that all its group has reached; the others wait
 * for them elsewhere. */
static void blame_inside(struct mf_seen *seen, int size, double seconds, struct mf_verdict *v)
{
    int first = -1, others = 0;

    v->kind = MF_INSIDE;
    for (int r = size - 1; r >= 0; --r)
        if (waits(&seen[r], seconds) && is_complete(seen, size, r)) first = r;
    if (first < 0) {
        find_circle(seen, size, seconds, v);
        return;
    }
    for (int r = 0; r < size; ++r) others += waits(&seen[r], seconds) && !is_complete(seen, size, r);
    if (!others) v->waiter = first;
    for (int r = 0; others && r < size; ++r)
        v->guilty += seen[r].guilty = waits(&seen[r], seconds) && is_together(seen, first, r);
}

static int longest(const struct mf_seen *seen, int size, double seconds)
{
    int best = -1;

    for (int r = 0; r < size; ++r)
        if (waits(&seen[r], seconds) && (best < 0 || seen[r].quiet > seen[best].quiet)) best = r;
    return best;
}

/* A rank that waits in a group of rank @p dead, or for its message; -1: none. */
static int waiter_for(const struct mf_seen *seen, int size, int dead)
{
    for (int r = 0; r < size; ++r) {
        if (!waits(&seen[r], 0)) continue;
        if (seen[r].peer ? mf_peer_rank(seen[r].peer) == dead : is_member(&seen[dead], seen[r].group)) return r;
    }
    return -1;
}

static int mark_dead(struct mf_seen *seen, int size, int *first)
{
    int n = 0;

    for (int r = size - 1; r >= 0; --r) {
        n += seen[r].guilty = seen[r].dead && seen[r].place != MF_PLACE_GONE;
        if (seen[r].guilty) *first = r;
    }
    return n;
}

/* Rank v->waiter waits for ranks of this stance. */
static struct mf_verdict blame(struct mf_seen *seen, int size, enum stance how, double seconds, struct mf_verdict v)
{
    v.guilty = mark(seen, size, v.waiter, how, seconds);
    v.kind = how == UNHEARD ? MF_UNHEARD : MF_INSIDE;
    for (int r = 0; r < size; ++r)
        if (how == LATE && seen[r].guilty && !mf_seen_inside(&seen[r])) v.kind = MF_MISSING;
    return v;
}

struct mf_verdict mf_judge(struct mf_seen *seen, int size, double seconds)
{
    struct mf_verdict v = {MF_NOBODY, -1, 0, -1};
    int first = -1;

    v.guilty = mark_dead(seen, size, &first);
    if (v.guilty) return (struct mf_verdict){MF_DEAD, waiter_for(seen, size, first), v.guilty, -1};
    if (longest(seen, size, seconds) < 0) return v;
    list_waits(seen, size, seconds);
    for (int r = 0; r < size; ++r) weigh(seen, size, r, seconds);
    if ((v.waiter = choose(seen, size, has_late)) >= 0) return blame(seen, size, LATE, seconds, v);
    if (choose(seen, size, has_busy) >= 0) return v;
    if ((v.waiter = choose(seen, size, has_unheard)) >= 0) return blame(seen, size, UNHEARD, seconds, v);
    v.waiter = longest(seen, size, seconds);
    if (all_quiet(seen, size, seconds)) blame_inside(seen, size, seconds, &v);
    return v;
}
