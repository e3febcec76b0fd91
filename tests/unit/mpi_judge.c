/* Who is named when ranks wait for each other: on records of runs that never were. */
#include "mpi/judge.h"

#include "tests/check.h"

enum { RANKS = 4 };

/* Everybody has just been heard. */
static void run(struct mf_seen *s, uint64_t place, double quiet)
{
    for (int r = 0; r < RANKS; ++r) s[r] = (struct mf_seen){.place = place, .quiet = quiet};
}

static void nobody_is_named(void)
{
    struct mf_seen s[RANKS];

    run(s, 8, 1000); /* all compute, nobody waits */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, 9, 4); /* all inside, not for too long */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    s[2].place = 8; /* one is late, not for too long */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, 9, 1000); /* rank 0 works and says so */
    s[0] = (struct mf_seen){.place = 8, .quiet = 1};
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, 9, 3); /* it has come, the others have waited long before */
    s[1].quiet = s[2].quiet = 1000;
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, MF_PLACE_GONE, 1000); /* all others have closed, and their processes may be gone */
    s[1].dead = s[2].dead = 1;
    s[3] = (struct mf_seen){.place = 21, .quiet = 1};
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
}

static void who_is_outside_is_missing(void)
{
    struct mf_seen s[RANKS];
    struct mf_verdict v;

    run(s, 9, 6);
    s[2].place = 8;
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[2].guilty && v.waiter == 0);
    s[3].place = 8;
    s[3].quiet = 1; /* late, but it lives */
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[2].guilty && !s[3].guilty);
    run(s, 9, 6); /* one went on, as the root of a broadcast may, and waits in the next */
    s[1].place = 8;
    s[3].place = 11;
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[1].guilty && v.waiter == 3);
}

static void who_does_not_come_out_is_named(void)
{
    struct mf_seen s[RANKS];
    struct mf_verdict v;

    run(s, 9, 6);
    v = mf_judge(s, RANKS, 5); /* a link is cut */
    CHECK(v.kind == MF_INSIDE && v.guilty == 0 && v.waiter >= 0);
    s[1].stopped = 1;
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_INSIDE && v.guilty == 1 && s[1].guilty);
    run(s, 11, 6); /* the others have come out of it */
    s[3].place = 9;
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_INSIDE && v.guilty == 1 && s[3].guilty);
    s[1].quiet = 1; /* somebody moves */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    s[2] = (struct mf_seen){.place = 9, .quiet = 6, .stopped = 1}; /* but it cannot be that one */
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_INSIDE && v.guilty == 1 && s[2].guilty);
}

static void who_is_dead_is_named_at_once(void)
{
    struct mf_seen s[RANKS];
    struct mf_verdict v;

    run(s, 8, 0);
    s[1].dead = 1;
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_DEAD && v.guilty == 1 && s[1].guilty && v.waiter == -1);
    s[3].place = 9;
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_DEAD && v.guilty == 1 && v.waiter == 3);
}

/* What is known counts before what is not. */
static void news_may_be_old(void)
{
    struct mf_seen s[RANKS];
    struct mf_verdict v;

    run(s, 9, 6);
    s[2].place = 8;
    s[3] = (struct mf_seen){.place = 6, .quiet = 6, .silent = 6, .unknown = 1};
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[2].guilty);
    s[2].quiet = 1; /* the one that is known to be late lives: the other may wait for it too */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    s[2].place = 9; /* it does not matter how far the other was when it was heard */
    for (uint64_t place = 7; place < 12; ++place) {
        s[3].place = place;
        v = mf_judge(s, RANKS, 5);
        CHECK(v.kind == MF_UNHEARD && v.guilty == 1 && s[3].guilty && v.waiter != 3);
    }
    s[1].stopped = 1; /* nor when one of the own node has stopped */
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_INSIDE && v.guilty == 1 && s[1].guilty);
}

int main(void)
{
    nobody_is_named();
    who_is_outside_is_missing();
    who_does_not_come_out_is_named();
    who_is_dead_is_named_at_once();
    news_may_be_old();
    return failures != 0;
}
