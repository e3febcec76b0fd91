/* Phases: self and inclusive time add up, what is counted goes to the innermost one, nothing is kept when off. */
#include "src/base/phase.h"

#include <string.h>

#include "src/base/log.h"
#include "tests/check.h"

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
    MF_PHASE(MF_PHASE_STEP);

    mf_phase_count(((struct mf_cost){8, 3}));
    if (early) return 1;
    mf_phase_sent(5);
    return 0;
}

static void nest(void)
{
    MF_PHASE(MF_PHASE_DESCENT);

    wait(0.01);
    mf_phase_count(((struct mf_cost){100, 10}));
    {
        MF_PHASE(MF_PHASE_S2);

        wait(0.02);
        mf_phase_count(((struct mf_cost){1000, 20}));
    }
    CHECK(leave_early(1) == 1 && leave_early(0) == 0);
}

static void again(int depth)
{
    MF_PHASE(MF_PHASE_CUT);

    wait(0.002);
    mf_phase_sent(1);
    if (depth > 1) again(depth - 1);
}

static void check_nested(void)
{
    const struct mf_phase_sum *s = mf_phases_sums(), *outer = &s[MF_PHASE_DESCENT], *inner = &s[MF_PHASE_S2];
    const struct mf_phase_sum *step = &s[MF_PHASE_STEP];

    CHECK(outer->count == 1 && inner->count == 1 && step->count == 2);
    CHECK(outer->self >= 0.01 && outer->total >= 0.03 && inner->self >= 0.02 && inner->total == inner->self);
    CHECK_NEAR(outer->total, outer->self + inner->total + step->total, 1e-9);
    CHECK(outer->bytes[0] == 100 && outer->bytes[1] == 1116 && inner->bytes[0] == 1000 && step->bytes[1] == 16);
    CHECK(outer->operations[0] == 10 && outer->operations[1] == 36);
    CHECK(step->sent[0] == 5 && outer->sent[0] == 0 && outer->sent[1] == 5);
}

int main(void)
{
    const struct mf_phase_sum *s = mf_phases_sums();
    double begun = mf_now();

    nest();
    CHECK(s[MF_PHASE_DESCENT].count == 0 && !mf_phases_on);
    mf_phases_open(1, begun);
    CHECK(s[MF_PHASE_START].total >= 0.03 && s[MF_PHASE_START].count == 1);
    nest();
    check_nested();
    again(3);
    CHECK(s[MF_PHASE_CUT].count == 3 && s[MF_PHASE_CUT].sent[0] == 3 && s[MF_PHASE_CUT].sent[1] == 3);
    CHECK_NEAR(s[MF_PHASE_CUT].total, s[MF_PHASE_CUT].self, 1e-9);
    mf_phases_open(0, begun);
    mf_phases_hook(push, pop);
    CHECK(leave_early(0) == 0);
    nest();
    mf_phases_hook(NULL, NULL);
    nest();
    CHECK(strcmp(said, "<step><descent<S2><step><step>>") == 0);
    CHECK(!mf_phases_on);
    for (int p = 0; p < MF_PHASES; ++p)
        for (int q = 0; q < p; ++q)
            CHECK(strcmp(mf_phase_name((enum mf_phase)p), mf_phase_name((enum mf_phase)q)) != 0);
    return failures != 0;
}
