/* Decides which rank keeps others waiting. The decision is a pure function of what one rank has seen of all ranks, so
 * tests need no processes. A rank waits in a collective of one group, or in a message to or from one rank. Inner header
 * of this folder. */
#ifndef MF_MPI_JUDGE_H
#define MF_MPI_JUDGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** A word of a record, which one rank writes and others read. It does not order other memory accesses. */
static inline void mf_word_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}
static inline uint64_t mf_word_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/** A rank's place counts its steps: it is odd while the rank waits in a collective or message, else even. */
#define MF_PLACE_GONE UINT64_MAX /* the rank has finished */

/** A group that a rank belongs to, and how many collectives of that group it has entered. */
struct mf_standing {
    _Atomic uint64_t group, count; /* group 0: not in use */
};

/** State of one rank as another (or itself) knows it. */
struct mf_seen {
    uint64_t place;
    uint64_t group;                     /* of what it is inside of, or was last */
    int64_t peer;                       /* mf_sends_to(), mf_receives_from(); 0: a collective */
    const struct mf_standing *standing; /* [standings]: all its groups */
    size_t standings;
    double quiet;  /* [s] since its place last changed or a sign of life last came */
    double silent; /* [s] since its watch was last heard */
    int stopped;   /* its process exists but is stopped */
    int dead;      /* its process is gone */
    int unknown;   /* its node is silent, so its place may be out of date */
    int guilty;    /* output: the verdict names it */

    struct mf_wait { /* work memory of the judge */
        int bucket;  /* of the hash table of groups: the waiter that has come furthest; -1: none */
        int late, busy, blocked, unheard;
        uint64_t least;
    } wait;
};

/** World ranks that a message goes to or comes from, as mf_seen.peer. */
static inline int64_t mf_sends_to(int rank) { return (int64_t)rank + 1; }
static inline int64_t mf_receives_from(int rank) { return -((int64_t)rank + 1); }

/** The rank of such a peer. */
static inline int mf_peer_rank(int64_t peer) { return (int)((peer < 0 ? -peer : peer) - 1); }

enum mf_verdict_kind {
    MF_NOBODY,  /* no rank has waited for too long */
    MF_DEAD,    /* the guilty ranks' processes are gone */
    MF_MISSING, /* the guilty ranks have not come to the waiter's collective or message */
    MF_UNHEARD, /* nothing is heard from the nodes of the guilty ranks */
    MF_INSIDE   /* all are inside; the guilty ones (perhaps none) do not leave */
};

struct mf_verdict {
    enum mf_verdict_kind kind;
    int waiter; /* a rank that is known to wait; -1: none is */
    int guilty; /* number of ranks marked */
    int other;  /* MF_INSIDE: a rank elsewhere in the same circle of waiting ranks; -1: there is no circle */
};

/** How many collectives of @p group the rank has entered; 0 if it is not in the group. */
uint64_t mf_seen_count(const struct mf_seen *seen, uint64_t group);

/** Is the rank inside a collective or a message? */
static inline int mf_seen_inside(const struct mf_seen *seen) { return seen->place != MF_PLACE_GONE && seen->place % 2; }

/**
 * @p seconds: the longest that a rank may keep another waiting. Dead ranks are guilty at once. When a rank has waited
 * for that long, the guilty are the first of these:
 * 1. Ranks it waits for that are outside. They gave no sign of life for as long, or have a stopped process.
 * 2. Nobody, if a rank that others wait for still moves.
 * 3. Ranks it waits for whose node is not heard.
 * 4. If nothing moves anywhere: ranks inside a collective that all its group has reached.
 * A rank that itself waits is never late: the rank at the end of the chain is.
 */
struct mf_verdict mf_judge(struct mf_seen *seen, int size, double seconds);

#endif
