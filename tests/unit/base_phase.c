/* Phases: self and inclusive time add up, what is counted goes to the innermost one, nothing is kept when off. */
#include "src/base/phase.h"

#include <string.h>

#include "src/base/log.h"
#include "tests/check.h"

static struct mf_phase descent = {.name = "descent", .kind = MF_STAGE}, cut = {.name = "cut", .kind = MF_STAGE},
                       s2 = {.name = "S2", .kind = MF_WORK}, step = {.name = "step", .kind = MF_WORK};
static char said[256];

static void push(const char *name)
{
    strcat(said, "<");
    strcat(said, name);
}

static void pop(void) { strcat(said, ">"); }

static void wait(double seconds)
{
    double end = mf_now() + seconds;

    while (mf_now() < end) {}
}

static int leave_early(int early)
{
    MF_PHASE(&step);

    mf_phase_count(((struct mf_cost){8, 3}));
    if (early) return 1;
    mf_phase_sent(5);
    return 0;
}

static void nest(void)
{
    MF_PHASE(&descent);

    wait(0.01);
    mf_phase_count(((struct mf_cost){100, 10}));
    {
        MF_PHASE(&s2);

        wait(0.02);
        mf_phase_count(((struct mf_cost){1000, 20}));
    }
    CHECK(leave_early(1) == 1 && leave_early(0) == 0);
}

static void again(int depth)
{
    MF_PHASE(&cut);

    wait(0.002);
    mf_phase_sent(1);
    if (depth > 1) again(depth - 1);
}

static void check_nested(void)
{
    const struct mf_phase_sum *outer = &descent.sum, *inner = &s2.sum, *each = &step.sum;

    CHECK(outer->count == 1 && inner->count == 1 && each->count == 2);
    CHECK(outer->self >= 0.01 && outer->total >= 0.03 && inner->self >= 0.02 && inner->total == inner->self);
    CHECK_NEAR(outer->total, outer->self + inner->total + each->total, 1e-9);
    CHECK(outer->bytes[0] == 100 && outer->bytes[1] == 1116 && inner->bytes[0] == 1000 && each->bytes[1] == 16);
    CHECK(outer->operations[0] == 10 && outer->operations[1] == 36);
    CHECK(each->sent[0] == 5 && outer->sent[0] == 0 && outer->sent[1] == 5);
}

/* Phases are listed in the order of their first time. */
static void check_list(void)
{
    const struct mf_phase *p = mf_phases();

    CHECK(p == &mf_phase_start && p->next == &descent && descent.next == &s2 && s2.next == &step && step.next == &cut);
    CHECK(!cut.next);
}

int main(void)
{
    double begun = mf_now();

    nest();
    CHECK(descent.sum.count == 0 && !mf_phases_on && !mf_phases()->next);
    mf_phases_open(1, begun);
    CHECK(mf_phase_start.sum.total >= 0.03 && mf_phase_start.sum.count == 1);
    nest();
    check_nested();
    again(3);
    check_list();
    CHECK(cut.sum.count == 3 && cut.sum.sent[0] == 3 && cut.sum.sent[1] == 3);
    CHECK_NEAR(cut.sum.total, cut.sum.self, 1e-9);
    mf_phases_open(0, begun);
    mf_phases_hook(push, pop);
    CHECK(leave_early(0) == 0);
    nest();
    mf_phases_hook(NULL, NULL);
    nest();
    CHECK(strcmp(said, "<step><descent<S2><step><step>>") == 0);
    CHECK(!mf_phases_on);
    return failures != 0;
}
