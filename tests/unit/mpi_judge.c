/* Who is named when ranks wait for each other: on records of runs that never were. */
#include "mpi/judge.h"

#include "tests/check.h"

#include <string.h>

enum { RANKS = 4, WORLD = 1 };

static struct mf_standing world[RANKS];

/* Rank @p r at a place of a run of the world alone. */
static void go(struct mf_seen *s, int r, uint64_t place)
{
    atomic_store(&world[r].group, WORLD);
    atomic_store(&world[r].count, place == MF_PLACE_GONE ? 99 : (place + 1) / 2);
    s[r].place = place;
    s[r].group = WORLD;
    s[r].standing = &world[r];
    s[r].standings = 1;
}

/* Everybody has just been heard. */
static void run(struct mf_seen *s, uint64_t place, double quiet)
{
    for (int r = 0; r < RANKS; ++r) {
        s[r] = (struct mf_seen){.quiet = quiet};
        go(s, r, place);
    }
}

static void nobody_is_named(void)
{
    struct mf_seen s[RANKS];

    run(s, 8, 1000); /* all compute, nobody waits */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, 9, 4); /* all inside, not for too long */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    go(s, 2, 8); /* one is late, not for too long */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, 9, 1000); /* rank 0 works and says so */
    s[0].quiet = 1;
    go(s, 0, 8);
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, 9, 3); /* it has come, the others have waited long before */
    s[1].quiet = s[2].quiet = 1000;
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    run(s, MF_PLACE_GONE, 1000); /* all others have closed, and their processes may be gone */
    s[1].dead = s[2].dead = 1;
    s[3].quiet = 1;
    go(s, 3, 21);
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
}

static void who_is_outside_is_missing(void)
{
    struct mf_seen s[RANKS];
    struct mf_verdict v;

    run(s, 9, 6);
    go(s, 2, 8);
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[2].guilty && v.waiter == 0);
    go(s, 3, 8);
    s[3].quiet = 1; /* late, but it lives */
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[2].guilty && !s[3].guilty);
    run(s, 9, 6); /* one went on, as the root of a broadcast may, and waits in the next */
    go(s, 1, 8);
    go(s, 3, 11);
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
    go(s, 3, 9);
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_INSIDE && v.guilty == 1 && s[3].guilty);
    s[1].quiet = 1; /* somebody moves */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    s[2].stopped = 1; /* but it cannot be that one */
    go(s, 2, 9);
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
    go(s, 3, 9);
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_DEAD && v.guilty == 1 && v.waiter == 3);
}

/* Known facts count before unknown ones. */
static void news_may_be_old(void)
{
    struct mf_seen s[RANKS];
    struct mf_verdict v;

    run(s, 9, 6);
    go(s, 2, 8);
    s[3].silent = 6;
    s[3].unknown = 1;
    go(s, 3, 6);
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[2].guilty);
    s[2].quiet = 1; /* the one that is known to be late lives: the other may wait for it too */
    CHECK(mf_judge(s, RANKS, 5).kind == MF_NOBODY);
    go(s, 2, 9); /* it does not matter how far the other was when it was heard */
    for (uint64_t place = 7; place < 12; ++place) {
        go(s, 3, place);
        v = mf_judge(s, RANKS, 5);
        CHECK(v.kind == MF_UNHEARD && v.guilty == 1 && s[3].guilty && v.waiter != 3);
    }
    s[1].stopped = 1; /* nor when one of the own node has stopped */
    v = mf_judge(s, RANKS, 5);
    CHECK(v.kind == MF_INSIDE && v.guilty == 1 && s[1].guilty);
}

/* -- groups and messages: a run of seven ranks is a table, a line of it a rank -- */

enum { ROWS = 7, A = 2, B = 3, C = 4, D = 5, GROUPS = 5, OLD = 9, NEW = 1 };

/* Outside or inside of what, since when, and how many collectives of each group it has entered; 0: no member. */
struct row {
    char state; /* o outside, i inside, s stopped there, u not heard, g gone */
    uint64_t group;
    int64_t peer;
    double quiet;
    uint64_t count[GROUPS]; /* of WORLD, A, B, C, D */
};

static struct mf_verdict judge(const struct row *rows, struct mf_seen *s)
{
    static struct mf_standing standing[ROWS][GROUPS];

    memset(standing, 0, sizeof standing);
    for (int r = 0; r < ROWS; ++r) {
        const struct row *row = &rows[r];
        int outside = row->state == 'o' || !row->state;

        for (int g = 0; g < GROUPS; ++g) {
            atomic_store(&standing[r][g].group, row->count[g] ? (uint64_t)g + WORLD : 0);
            atomic_store(&standing[r][g].count, row->count[g]);
        }
        s[r] = (struct mf_seen){.place = row->state == 'g' ? MF_PLACE_GONE
                                         : outside         ? 8
                                                           : 9,
                                .group = row->group,
                                .peer = row->peer,
                                .quiet = row->quiet,
                                .standing = standing[r],
                                .standings = GROUPS,
                                .stopped = row->state == 's',
                                .unknown = row->state == 'u'};
    }
    return mf_judge(s, ROWS, 5);
}

/* Who is guilty, a bit for each. */
static unsigned guilty(const struct mf_seen *s)
{
    unsigned all = 0;

    for (int r = 0; r < ROWS; ++r) all |= (unsigned)s[r].guilty << r;
    return all;
}

/* @p rows: those that are left out are gone. */
static void expect(int line, const struct row *rows, struct mf_verdict want, unsigned names)
{
    struct mf_seen s[ROWS];
    struct mf_verdict got = judge(rows, s);
    unsigned all = guilty(s), n = 0;

    for (unsigned bit = all; bit; bit >>= 1) n += bit & 1;
    if (got.kind == MF_NOBODY && want.kind == MF_NOBODY) return;
    if (got.kind == want.kind && got.waiter == want.waiter && got.other == want.other && all == names &&
        got.guilty == (int)n)
        return;
    ++failures;
    fprintf(stderr, "line %d: kind %d waiter %d other %d guilty %#x (%d), want %d %d %d %#x\n", line, got.kind,
            got.waiter, got.other, all, got.guilty, want.kind, want.waiter, want.other, names);
}

#define EXPECT(rows, kind, waiter, other, names) \
    expect(__LINE__, rows, (struct mf_verdict){kind, waiter, 0, other}, names)

#define GONE                \
    {                       \
        'g', 0, 0, 0, { 0 } \
    }

/* A = {0, 1}, B = {2, 3}: groups go on by themselves, and a late rank is late for its own group. */
static void groups_advance_apart(void)
{
    struct row apart[ROWS] = {{'o', A, 0, OLD, {5, 900}},
                              {'o', A, 0, OLD, {5, 900}},
                              {'i', B, 0, OLD, {5, 0, 3}},
                              {'i', B, 0, NEW, {5, 0, 3}},
                              GONE,
                              GONE,
                              GONE};
    struct row late[ROWS] = {{'i', WORLD, 0, OLD, {6, 900}},
                             {'i', WORLD, 0, OLD, {6, 900}},
                             {'i', B, 0, 6, {5, 0, 4}},
                             {'o', B, 0, OLD, {5, 0, 3}},
                             GONE,
                             GONE,
                             GONE};
    struct row passed[ROWS] = {{'i', A, 0, OLD, {5, 7}}, {'o', A, 0, OLD, {5, 7}}, GONE, GONE, GONE, GONE, GONE};

    EXPECT(apart, MF_NOBODY, -1, -1, 0);
    EXPECT(late, MF_MISSING, 2, -1, 1u << 3); /* the world waits longer, but for rank 2 too, which waits in B */
    late[3].quiet = NEW;                      /* it works and says so: all wait with reason */
    EXPECT(late, MF_NOBODY, -1, -1, 0);
    late[3].quiet = OLD;
    late[3].state = 's'; /* stopped inside of the collective before */
    EXPECT(late, MF_INSIDE, 2, -1, 1u << 3);
    EXPECT(passed, MF_INSIDE, 0, -1, 0); /* rank 1 has come and gone: it is not late */
}

/* Rows A = {0, 1}, B = {2, 3}, columns C = {0, 2}, D = {1, 3} of a grid. */
static void chains_and_circles(void)
{
    struct row chain[ROWS] = {{'i', A, 0, 8, {1, 4, 0, 2}},
                              {'i', D, 0, 7, {1, 3, 0, 0, 6}},
                              {'i', C, 0, 8, {1, 0, 4, 3}},
                              {'o', B, 0, OLD, {1, 0, 4, 0, 5}},
                              GONE,
                              GONE,
                              GONE};
    struct row circle[ROWS] = {{'i', A, 0, 8, {1, 4, 0, 2}},
                               {'i', D, 0, 7, {1, 3, 0, 0, 6}},
                               {'i', C, 0, 8, {1, 0, 3, 3}},
                               {'i', B, 0, OLD, {1, 0, 4, 0, 5}},
                               GONE,
                               GONE,
                               GONE};

    EXPECT(chain, MF_MISSING, 1, -1, 1u << 3); /* 2 waits for 0, 0 for 1, 1 for 3: the last one is late */
    chain[3].state = 'u';
    EXPECT(chain, MF_UNHEARD, 1, -1, 1u << 3);
    EXPECT(circle, MF_INSIDE, 1, 3, 0); /* 0 -> 1 -> 3 -> 2 -> 0 */
    circle[1].quiet = NEW;
    EXPECT(circle, MF_NOBODY, -1, -1, 0);
}

/* B = {2, 3} does not come out of a collective that both have come to; the others wait for them. */
static void one_group_is_stuck(void)
{
    struct row stuck[ROWS] = {{'i', WORLD, 0, OLD, {6, 4}},
                              {'i', WORLD, 0, OLD, {6, 4}},
                              {'i', B, 0, 8, {5, 0, 4}},
                              {'i', B, 0, 8, {5, 0, 4}},
                              GONE,
                              GONE,
                              GONE};

    EXPECT(stuck, MF_INSIDE, 0, -1, 1u << 2 | 1u << 3);
}

static void messages_name_their_peer(void)
{
    struct row late[ROWS] = {{'i', A, mf_receives_from(1), 6, {5, 4, 0}},
                             {'o', A, 0, OLD, {5, 4}},
                             {'o', B, 0, OLD, {5, 0, 4}},
                             GONE,
                             GONE,
                             GONE,
                             GONE};
    struct row pipe[ROWS] = {{'i', A, mf_sends_to(1), OLD, {5, 4}},
                             {'i', A, mf_sends_to(2), 8, {5, 4}},
                             {'o', A, 0, OLD, {5, 4}},
                             GONE,
                             GONE,
                             GONE,
                             GONE};
    struct row both[ROWS] = {{'i', A, mf_receives_from(1), 6, {5, 4}},
                             {'i', A, mf_receives_from(0), 7, {5, 4}},
                             GONE,
                             GONE,
                             GONE,
                             GONE,
                             GONE};

    EXPECT(late, MF_MISSING, 0, -1, 1u << 1); /* rank 2 has nothing to do with it */
    EXPECT(pipe, MF_MISSING, 1, -1, 1u << 2);
    pipe[2].state = 's';
    EXPECT(pipe, MF_INSIDE, 1, -1, 1u << 2);
    EXPECT(both, MF_INSIDE, 0, 1, 0); /* both receive: a circle */
    both[0].peer = mf_sends_to(1);    /* they have met: a link */
    EXPECT(both, MF_INSIDE, 0, -1, 0);
    both[2] = (struct row){'i', WORLD, 0, 6, {6}};
    EXPECT(both, MF_INSIDE, 1, -1, 1u << 0 | 1u << 1);
}

/* A rank that has left a group keeps nobody waiting there. One that is dead is named with who waits for it. */
static void members_come_and_go(void)
{
    struct row left[ROWS] = {
        {'i', A, 0, OLD, {5, 4}}, {'i', A, 0, OLD, {5, 4}}, {'o', A, 0, OLD, {5, 0}}, GONE, GONE, GONE, GONE};
    struct mf_seen s[ROWS];
    struct mf_verdict v;

    EXPECT(left, MF_INSIDE, 0, -1, 0);
    left[1].count[1] = 0;
    left[0].group = B;
    (void)judge(left, s);
    s[2].dead = 1;
    v = mf_judge(s, ROWS, 5);
    CHECK(v.kind == MF_DEAD && v.guilty == 1 && s[2].guilty && v.waiter == -1);
    left[1].group = WORLD;
    (void)judge(left, s);
    s[2].dead = 1;
    CHECK(mf_judge(s, ROWS, 5).waiter == 1);
}

/* As many groups as ranks share a hash table; each finds its own late rank. */
static void many_groups(void)
{
    enum { MANY = 200 };
    static struct mf_standing standing[MANY][2];
    static struct mf_seen s[MANY];
    struct mf_verdict v;

    for (int late = 1; late < MANY; late += 2) {
        for (int r = 0; r < MANY; ++r) {
            s[r] = (struct mf_seen){.place = r == late ? 8 : 9, .quiet = OLD, .standing = standing[r], .standings = 2};
            s[r].group = ((uint64_t)(r / 2 * 2) << 32) + 2;
            atomic_store(&standing[r][0].group, WORLD);
            atomic_store(&standing[r][1].group, s[r].group);
            atomic_store(&standing[r][1].count, r == late ? 6 : 7);
        }
        v = mf_judge(s, MANY, 5);
        CHECK(v.kind == MF_MISSING && v.guilty == 1 && s[late].guilty && v.waiter == late - 1);
    }
}

int main(void)
{
    nobody_is_named();
    who_is_outside_is_missing();
    who_does_not_come_out_is_named();
    who_is_dead_is_named_at_once();
    news_may_be_old();
    groups_advance_apart();
    chains_and_circles();
    one_group_is_stuck();
    messages_name_their_peer();
    members_come_and_go();
    many_groups();
    return failures != 0;
}
