/* Philox gives Random123's known answers; uniforms and normals have their moments; streams and seeds differ. */
#include "src/base/rng.h"

#include <string.h>

#include "tests/check.h"

static const struct {
    uint32_t counter[4], key[2], want[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_moments(void)
{
    enum { N = 200000 };
    double sum = 0, square = 0, normal = 0, normal_square = 0, fourth = 0;

    for (uint64_t i = 0; i < N; ++i) {
        double u = mf_random_uniform(1, 2, i), g = mf_random_normal(1, 2, i);

        CHECK(u >= 0 && u < 1 && isfinite(g));
        sum += u;
        square += u * u;
        normal += g;
        normal_square += g * g;
        fourth += g * g * g * g;
    }
    CHECK_NEAR(sum / N, 0.5, 4 * 0.2887 / 447);
    CHECK_NEAR(square / N, 1.0 / 3, 4 * 0.2981 / 447);
    CHECK_NEAR(normal / N, 0, 4.0 / 447);
    CHECK_NEAR(normal_square / N, 1, 4 * 1.4142 / 447);
    CHECK_NEAR(fourth / N, 3, 4 * 9.798 / 447);
}

int main(void)
{
    uint32_t out[4], a[4], b[4];

    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        mf_philox(known[i].counter, known[i].key, out);
        CHECK(memcmp(out, known[i].want, sizeof out) == 0);
    }
    mf_random4(0, 0, 0, out);
    CHECK(memcmp(out, known[0].want, sizeof out) == 0);
    mf_random4(1, 0, 5, a);
    mf_random4(1, 1, 5, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    mf_random4(1ull << 32, 0, 5, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    mf_random4(1, 0, 5 + (1ull << 32), b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    test_moments();
    return failures != 0;
}
