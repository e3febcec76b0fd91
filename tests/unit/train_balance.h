/* Stages of a pipeline that differ in time are cut anew. Without memory for it they stay as they are. */
#ifndef MF_TESTS_TRAIN_BALANCE_H
#define MF_TESTS_TRAIN_BALANCE_H

#include "src/train/balance.h"
#include "tests/unit/train_same.h"

static inline size_t parts_of_stage(const struct mf_trainer *t, size_t stage)
{
    size_t n = 0;

    for (size_t k = 0; k < t->network.cut.parts; ++k) n += t->network.cut.device[k] == stage;
    return n;
}

/* One rank lacks memory for weights on their way (visit 1), or for new arrays (visit 3). All stages stay. */
static inline void lacking_stage(struct mf_trainer *t, size_t slow)
{
    static const char *const fault[] = {"memory:visit=1:rank=0", "memory:visit=3:rank=0"};
    const size_t before = parts_of_stage(t, slow);

    for (size_t k = 0; before > 1 && k < sizeof fault / sizeof *fault; ++k) {
        t->opts.balance = 1;
        t->longest = 0;
        t->busy = t->network.own == slow ? 9 : 1;
        mf_fault_set(fault[k]);
        CHECK(mf_balance(t) == MF_OK && t->opts.balance == 0);
        CHECK(parts_of_stage(t, slow) == before);
        mf_fault_set(NULL);
    }
}

/* A stage of several parts seems slow: it loses some. The same again changes nothing more. */
static inline void slow_stage(struct mf_trainer *t)
{
    size_t slow = 0, before, after;

    while (slow + 1 < t->network.stages && parts_of_stage(t, slow) < 2) ++slow;
    before = parts_of_stage(t, slow);
    if (mf_apart(t->queue)) return; /* the host does not see the time of a GPU */
    lacking_stage(t, slow);
    t->opts.balance = 1;
    t->longest = 0;
    t->busy = t->network.own == slow ? 9 : 1;
    CHECK(mf_balance(t) == MF_OK);
    after = parts_of_stage(t, slow);
    CHECK_SAYS(before < 2 || after < before, "stage %zu has %zu parts of %zu, and had %zu", slow, after,
               t->network.cut.parts, before);
    t->busy = t->network.own == slow ? 9 : 1;
    CHECK(mf_balance(t) == MF_OK && parts_of_stage(t, slow) == after && t->busy == 0);
}

/* Times that lead to another cut, and those that do not. */
static inline void balanced(void)
{
    const double operations[] = {1, 2, 2, 2, 2, 1}, even[] = {5, 5}, little[] = {5, 4.5}, slow[] = {4, 10};
    const size_t from[] = {0, 0, 0, 1, 1, 1}, want[] = {0, 0, 0, 0, 1, 1};
    size_t to[6];

    CHECK(!mf_balance_find(6, operations, 2, even, from, to));
    CHECK(!mf_balance_find(6, operations, 2, little, from, to));
    CHECK(mf_balance_find(6, operations, 2, slow, from, to) && memcmp(to, want, sizeof want) == 0);
    CHECK(!mf_balance_find(2, operations, 2, slow, from + 2, to)); /* each stage keeps a part */
}

#endif
