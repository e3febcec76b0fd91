/* Who keeps the others waiting: a pure function of what one rank has seen of all. Inner header of this room. */
#ifndef MF_MPI_JUDGE_H
#define MF_MPI_JUDGE_H

#include <stddef.h>
#include <stdint.h>

/** A rank's place in the run: 2 n - 1 inside collective n, 2 n since it has left it, MF_PLACE_GONE after the last. */
#define MF_PLACE_GONE UINT64_MAX

/** What one rank knows of another (or of itself). */
struct mf_seen {
    uint64_t place;
    double quiet;  /* seconds in which neither its place changed nor a sign of life came */
    double silent; /* seconds in which its watch was not heard */
    int stopped;   /* its process is there and does not run */
    int dead;      /* its process is gone */
    int unknown;   /* the way to it is silent, so its place may be an old one */
    int guilty;    /* out: it is named */
};

enum mf_verdict_kind {
    MF_NOBODY,  /* nobody waits for too long */
    MF_DEAD,    /* the guilty ranks' processes are gone */
    MF_MISSING, /* the guilty ranks have not come to the waiter's collective */
    MF_UNHEARD, /* nothing is heard from the guilty ranks' nodes */
    MF_INSIDE   /* all are inside, the guilty ones (or none) do not come out */
};

struct mf_verdict {
    enum mf_verdict_kind kind;
    int waiter; /* a rank that is known to wait, the furthest; -1: nobody is */
    int guilty; /* number of ranks marked */
};

/**
 * @p seconds: the longest that a rank may keep another waiting. A dead rank is guilty at once. When another has waited
 * for that long: a rank outside of collectives, behind it, that has given no sign of life for as long, or one whose
 * process is stopped; else ranks of which nothing is heard; else ranks inside, when nothing moves anywhere.
 */
struct mf_verdict mf_judge(struct mf_seen *seen, int size, double seconds);

#endif
