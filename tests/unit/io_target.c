/* Descriptor values in memory: levels of the pyramid, allocation, which side a direction aims at. */
#include "io/target.h"

#include <stdint.h>

#include "src/base/err.h"
#include "tests/check.h"

static void levels(void)
{
    CHECK(mf_levels(64, 64, 16) == 2);
    CHECK(mf_levels(64, 63, 16) == 1);
    CHECK(mf_levels(32, 100, 16) == 1);
    CHECK(mf_levels(31, 100, 16) == 0);
    CHECK(mf_levels(1, 64, 1) == 0);
    CHECK(mf_levels(2, 64, 1) == 1);
    CHECK(mf_levels(64, 64, 0) == 0);
    for (size_t n = 1; n < 200; ++n)
        for (size_t lag = 1; lag <= n; ++lag)
            CHECK(mf_levels(n, n + 3, lag) == (size_t)floor(log2((double)n / (double)lag) + 1e-12));
    CHECK(mf_levels(SIZE_MAX, SIZE_MAX, 1) == MF_LEVELS_MAX);
}

static void sides(void)
{
    struct mf_target t = {.phases = 3, .lag = 4, .sides = 1};

    CHECK(mf_target_side_new(&t.side[0], 3, 2, 4, 1) == MF_OK);
    CHECK(t.side[0].levels == 2 && t.side[0].cross && t.side[0].cross[3 * 2 * 49 - 1] == 0);
    CHECK(t.side[0].s2[3 * 2 * 49 - 1] == 0 && t.side[0].variation[5] == 0 && t.side[0].fraction[5] == 0);
    CHECK(mf_target_for(&t, MF_X) == &t.side[0]);
    t.sides = 3;
    CHECK(mf_target_for(&t, MF_X) == &t.side[2] && mf_target_for(&t, MF_Z) == &t.side[0]);
    CHECK(mf_target_side_new(&t.side[1], 1, 1, 4, 1) == MF_OK && !t.side[1].cross);
    CHECK(mf_target_side_new(&t.side[2], 2, 1, 4, 0) == MF_OK && !t.side[2].cross);
    mf_target_free(&t);
    CHECK(!t.side[0].s2 && t.sides == 0);
    CHECK(mf_target_side_new(&t.side[0], 2, 1, SIZE_MAX / 8, 0) == MF_MEMORY);
    CHECK(mf_target_side_new(&t.side[0], 2, 1, 0, 0) == MF_MEMORY);
    CHECK(mf_target_side_new(&t.side[0], MF_PHASES_MAX + 1, 1, 4, 0) == MF_MEMORY);
    mf_target_free(&t);
}

int main(void)
{
    levels();
    sides();
    return failures != 0;
}
