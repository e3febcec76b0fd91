/* See kernels/copy.h. A window is 256 bits for each bit of a class; windows differ where any of them does. */
#include "kernels/copy.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { SIDE = 16, WORDS = SIDE * SIDE / 64, DIFFER = SIDE * SIDE / 20, SECOND = (SIDE * SIDE + 9) / 10, ALONG = 64 };

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define COUNTS __attribute__((target_clones("popcnt", "default")))
#else
#define COUNTS
#endif

/* Windows of an image, every step-th along both axes. */
struct windows {
    size_t count, planes;
    uint64_t *bits; /* [count][WORDS][planes] */
};

static uint8_t pixel(const struct mf_copy_image *image, size_t u, size_t v)
{
    return image->x[u % image->nu * image->nv + v % image->nv];
}

static void pack(const struct mf_copy_image *image, size_t u, size_t v, size_t planes, uint64_t *bits)
{
    memset(bits, 0, WORDS * planes * sizeof *bits);
    for (size_t k = 0; k < (size_t)SIDE * SIDE; ++k) {
        const uint64_t class = pixel(image, u + k / SIDE, v + k % SIDE);

        for (size_t p = 0; p < planes; ++p) bits[k / 64 * planes + p] |= (class >> p & 1) << k % 64;
    }
}

/* Has a window enough of a second class? */
static int counts(const struct mf_copy_image *image, size_t u, size_t v)
{
    int count[256] = {0}, first = 0;

    for (size_t k = 0; k < (size_t)SIDE * SIDE; ++k) ++count[pixel(image, u + k / SIDE, v + k % SIDE)];
    for (int c = 1; c < 256; ++c)
        if (count[c] > count[first]) first = c;
    for (int c = 0; c < 256; ++c)
        if (c != first && count[c] >= SECOND) return 1;
    return 0;
}

/* Places of a window along an axis. */
static size_t places(size_t n, int periodic) { return n < SIDE ? 0 : periodic ? n : n - SIDE + 1; }

static int take(const struct mf_copy_image *image, int all, size_t planes, struct windows *to)
{
    const size_t nu = places(image->nu, image->periodic), nv = places(image->nv, image->periodic);
    const size_t su = all ? 1 : (nu + ALONG - 1) / ALONG, sv = all ? 1 : (nv + ALONG - 1) / ALONG;

    *to = (struct windows){.planes = planes};
    to->bits = malloc((nu * nv * WORDS * planes + 1) * sizeof *to->bits);
    if (!to->bits) return mf_fail(MF_MEMORY, "no memory for %zu windows", nu * nv);
    for (size_t u = 0; u < nu; u += su)
        for (size_t v = 0; v < nv; v += sv)
            if (all || counts(image, u, v)) pack(image, u, v, planes, to->bits + to->count++ * WORDS * planes);
    return MF_OK;
}

/* Is there a window that differs in few pixels? */
COUNTS static int is_copied(const uint64_t *one, const struct windows *of)
{
    for (size_t i = 0; i < of->count; ++i) {
        const uint64_t *other = of->bits + i * WORDS * of->planes;
        int differ = 0;

        for (size_t w = 0; w < WORDS && differ <= DIFFER; ++w) {
            uint64_t bits = 0;

            for (size_t p = 0; p < of->planes; ++p) bits |= one[w * of->planes + p] ^ other[w * of->planes + p];
            differ += __builtin_popcountll(bits);
        }
        if (differ <= DIFFER) return 1;
    }
    return 0;
}

/* Bits that tell the classes of both apart. */
static size_t planes_of(const struct mf_copy_image *a, const struct mf_copy_image *b)
{
    uint8_t any = 0;
    size_t planes = 1;

    for (size_t i = 0; i < a->nu * a->nv; ++i) any |= a->x[i];
    for (size_t i = 0; i < b->nu * b->nv; ++i) any |= b->x[i];
    while (any >> planes) ++planes;
    return planes;
}

int mf_copy_share(const struct mf_copy_image *image, const struct mf_copy_image *example, double *share)
{
    const size_t planes = planes_of(image, example);
    struct windows mine, all;
    size_t copied = 0;
    int rc;

    MF_TRY(take(image, 0, planes, &mine));
    rc = take(example, 1, planes, &all);
    for (size_t i = 0; rc == MF_OK && i < mine.count; ++i)
        copied += (size_t)is_copied(mine.bits + i * WORDS * planes, &all);
    free(mine.bits);
    if (rc != MF_OK) return rc;
    free(all.bits);
    *share = mine.count ? (double)copied / (double)mine.count : 0;
    return MF_OK;
}
