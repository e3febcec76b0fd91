/* Cuts cover [0, n) without gap or overlap, and are as equal as can be. Borders stand at multiples of the grain. */
#include "src/base/cut.h"

#include <stdint.h>

#include "tests/check.h"

static void test_cover(size_t n, size_t parts)
{
    size_t next = 0, least = SIZE_MAX, most = 0;

    for (size_t i = 0; i < parts; ++i) {
        struct mf_span run = mf_cut(n, parts, i);

        CHECK(run.first == next);
        next += run.count;
        if (run.count < least) least = run.count;
        if (run.count > most) most = run.count;
    }
    CHECK(next == n && most - least <= 1);
}

static void test_grain(size_t n, size_t grain, size_t parts)
{
    size_t next = 0;

    for (size_t i = 0; i < parts; ++i) {
        struct mf_span run = mf_cut_grain(n, grain, parts, i);

        CHECK(run.first == next && (run.first % grain == 0 || run.first == n));
        next += run.count;
    }
    CHECK(next == n);
}

int main(void)
{
    for (size_t n = 0; n < 50; ++n)
        for (size_t parts = 1; parts < 9; ++parts) {
            test_cover(n, parts);
            for (size_t grain = 1; grain < 6; ++grain) test_grain(n, grain, parts);
        }
    CHECK(mf_cut((size_t)1 << 40, 3, 2).first + mf_cut((size_t)1 << 40, 3, 2).count == (size_t)1 << 40);
    return failures != 0;
}
