/* The share of windows that are found in another image. It is all of an image in itself, none of a random one in
 * another. A pasted part is found, with a few pixels changed or too many; empty ground does not count. Windows are
 * larger where halves of an image are alike, as far as image and example are large enough. */
#include "kernels/slices/copy.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { N = 48, WIDE = 80, BIG = 128 };

static uint8_t a[N * N], b[N * N], large[WIDE * WIDE], lattice[BIG * BIG];

static double share_by(size_t edge, const uint8_t *x, size_t n, int periodic, const uint8_t *of)
{
    const struct mf_copy_image image = {x, n, n, periodic}, example = {of, N, N, 0};
    double share = -1;

    CHECK(mf_copy_share(&image, &example, edge, &share) == MF_OK);
    return share;
}

static double share_of(const uint8_t *x, size_t n, int periodic, const uint8_t *of)
{
    return share_by(16, x, n, periodic, of);
}

static double common; /* of the last */

static size_t edge_for(size_t n, const uint8_t *x, size_t wide)
{
    const struct mf_copy_image image = {a, n, n, 0}, example = {x, wide, wide, 0};
    size_t edge = 0;

    CHECK(mf_copy_edge(&image, &example, &edge, &common) == MF_OK);
    return edge;
}

static void fill(uint8_t *x, size_t n, uint32_t stream, int classes)
{
    for (size_t i = 0; i < n; ++i) x[i] = (uint8_t)(int)(classes * mf_random_uniform(3, stream, i));
}

/* The same by looking at all pixels of all pairs of windows. */
static double brute(const uint8_t *x, const uint8_t *of)
{
    size_t copied = 0, all = (size_t)(N - 15) * (N - 15);

    for (size_t i = 0; i < all; ++i) {
        int found = 0;

        for (size_t j = 0; j < all && !found; ++j) {
            int differ = 0;

            for (size_t k = 0; k < 256 && differ < 13; ++k)
                differ += x[(i / (N - 15) + k / 16) * N + i % (N - 15) + k % 16] !=
                          of[(j / (N - 15) + k / 16) * N + j % (N - 15) + k % 16];
            found = differ < 13;
        }
        copied += (size_t)found;
    }
    return (double)copied / (double)all;
}

/* a's square of 24 x 24 pixels at (3, 5) into b at (10, 12): 9 x 9 windows of the 33 x 33, and some of the next. */
static void paste(void)
{
    for (size_t i = 0; i < 24; ++i) memcpy(b + (10 + i) * N + 12, a + (3 + i) * N + 5, 24);
}

/* No window of noise is found twice, every one of a lattice is. */
static void edges(void)
{
    fill(lattice, sizeof lattice, 4, 2);
    CHECK(edge_for(BIG, lattice, BIG) == 16 && common == 0);
    for (size_t i = 0; i < sizeof lattice; ++i) lattice[i] = (uint8_t)(i / BIG % 20 < 3 || i % BIG % 20 < 3);
    CHECK(edge_for(BIG, lattice, BIG) == 32);
    CHECK(edge_for(64, lattice, BIG) == 32);
    CHECK(edge_for(63, lattice, BIG) == 16 && common == 1);
    CHECK(edge_for(BIG, lattice, BIG - 1) == 16);
    CHECK(share_by(32, a, N, 0, a) == 1 && share_by(32, a, N, 1, a) < 1);
}

int main(void)
{
    for (int classes = 2; classes <= 5; classes += 3) {
        fill(a, N * N, 1, classes);
        fill(b, N * N, 2, classes);
        CHECK(share_of(a, N, 0, a) == 1);
        CHECK(share_of(a, N, 1, a) < 1);
        CHECK(share_of(b, N, 0, a) == 0);
        if (classes == 2) edges();
        paste();
        CHECK_NEAR(share_of(b, N, 0, a), brute(b, a), 1e-12);
        CHECK(share_of(b, N, 0, a) >= 81.0 / (33 * 33));
        for (size_t i = 0; i < 12; ++i) b[(19 + i / 6) * N + 21 + i % 6] ^= 1; /* in all 81 windows: at most 5 % */
        CHECK_NEAR(share_of(b, N, 0, a), brute(b, a), 1e-12);
        CHECK(share_of(b, N, 0, a) >= 81.0 / (33 * 33));
        b[21 * N + 24] ^= 1; /* one too many */
        CHECK(share_of(b, N, 0, a) == 0);
    }
    memset(b, 0, sizeof b);
    CHECK(share_of(b, N, 0, b) == 0);
    for (size_t i = 0; i < 25; ++i) b[20 * N + 3 + i] = 1; /* never 26 of 256 */
    CHECK(share_of(b, N, 0, b) == 0);
    for (size_t i = 0; i < (size_t)WIDE * WIDE; ++i) large[i] = a[i / WIDE % N * N + i % WIDE % N];
    CHECK(share_of(large, WIDE, 0, a) > 0.3 && share_of(large, WIDE, 0, a) < 1);
    CHECK(share_of(large, 15, 1, a) == 0);
    return failures != 0;
}
