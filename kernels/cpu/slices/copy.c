/* See kernels/slices/copy.h. A window has edge x edge bits for each bit of a class; two windows differ if any bits do.
 * The windows of the image are stored, and every window of the example marks its copies. */
#include "kernels/slices/copy.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { ALONG = 1024, ALONG_HALF = 512 }; /* windows along an axis, times their edge */

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define COUNTS __attribute__((target_clones("popcnt", "default")))
#else
#define COUNTS
#endif

/* Windows of edge x edge pixels, each words x planes. */
struct windows {
    size_t edge, words, planes, count;
    uint64_t *bits;
};

/* Pixel (u, v), across the border at most once. */
static uint8_t pixel(const struct mf_copy_image *image, size_t u, size_t v)
{
    return image->x[(u < image->nu ? u : u - image->nu) * image->nv + (v < image->nv ? v : v - image->nv)];
}

static void pack(const struct mf_copy_image *image, size_t u, size_t v, const struct windows *w, uint64_t *bits)
{
    memset(bits, 0, w->words * w->planes * sizeof *bits);
    for (size_t i = 0, k = 0; i < w->edge; ++i)
        for (size_t j = 0; j < w->edge; ++j, ++k) {
            const uint64_t class = pixel(image, u + i, v + j);

            for (size_t p = 0; p < w->planes; ++p) bits[k / 64 * w->planes + p] |= (class >> p & 1) << k % 64;
        }
}

/* Has a window enough of a second class? */
static int counts(const struct mf_copy_image *image, size_t u, size_t v, size_t edge)
{
    const size_t second = (edge * edge + 9) / 10;
    size_t count[256] = {0};
    int first = 0;

    for (size_t i = 0; i < edge; ++i)
        for (size_t j = 0; j < edge; ++j) ++count[pixel(image, u + i, v + j)];
    for (int c = 1; c < 256; ++c)
        if (count[c] > count[first]) first = c;
    for (int c = 0; c < 256; ++c)
        if (c != first && count[c] >= second) return 1;
    return 0;
}

/* Places of a window along an axis. */
static size_t places(size_t n, int periodic, size_t edge) { return n < edge ? 0 : periodic ? n : n - edge + 1; }

/* Evenly spread windows, at most so many along an axis, that count. */
static int take(const struct mf_copy_image *image, size_t along, struct windows *to)
{
    const size_t nu = places(image->nu, image->periodic, to->edge), nv = places(image->nv, image->periodic, to->edge);
    const size_t su = (nu + along - 1) / along, sv = (nv + along - 1) / along, one = to->words * to->planes;

    to->count = 0;
    to->bits = malloc((along * along + 1) * one * sizeof *to->bits);
    if (!to->bits) return mf_fail(MF_MEMORY, "no memory for %zu windows", along * along);
    for (size_t u = 0; u < nu; u += su)
        for (size_t v = 0; v < nv; v += sv)
            if (counts(image, u, v, to->edge)) pack(image, u, v, to, to->bits + to->count++ * one);
    return MF_OK;
}

/* Windows that differ from another in few pixels are left out from now on. */
COUNTS static void strike(struct windows *left, const uint64_t *other)
{
    const int few = (int)(left->edge * left->edge / 20);
    const size_t one = left->words * left->planes;

    for (size_t i = left->count; i-- > 0;) {
        const uint64_t *mine = left->bits + i * one;
        int differ = 0;

        for (size_t w = 0; w < left->words && differ <= few; ++w) {
            uint64_t bits = 0;

            for (size_t p = 0; p < left->planes; ++p) bits |= mine[w * left->planes + p] ^ other[w * left->planes + p];
            differ += __builtin_popcountll(bits);
        }
        if (differ <= few) memmove(left->bits + i * one, left->bits + --left->count * one, one * sizeof *mine);
    }
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

static int share_of(const struct mf_copy_image *image, const struct mf_copy_image *example, size_t edge, size_t along,
                    double *share)
{
    const size_t nu = places(example->nu, example->periodic, edge), nv = places(example->nv, example->periodic, edge);
    struct windows left = {.edge = edge, .words = edge * edge / 64, .planes = planes_of(image, example)};
    uint64_t other[MF_COPY_MOST * MF_COPY_MOST / 64 * 8];
    size_t all;

    MF_ASSERT(edge % 8 == 0 && edge <= MF_COPY_MOST);
    MF_TRY(take(image, along, &left));
    all = left.count;
    for (size_t u = 0; u < nu; ++u)
        for (size_t v = 0; v < nv && left.count > 0; ++v) {
            pack(example, u, v, &left, other);
            strike(&left, other);
        }
    free(left.bits);
    *share = all ? (double)(all - left.count) / (double)all : 0;
    return MF_OK;
}

int mf_copy_share(const struct mf_copy_image *image, const struct mf_copy_image *example, size_t edge, double *share)
{
    return share_of(image, example, edge, ALONG / edge, share);
}

/* Rows first and last, and columns first and last. x: room for the columns of both. */
static void halve(const struct mf_copy_image *whole, uint8_t *x, struct mf_copy_image half[4])
{
    const size_t nu = whole->nu, nv = whole->nv, up = nu / 2, left = nv / 2;
    uint8_t *right = x + nu * left;

    half[0] = (struct mf_copy_image){whole->x, up, nv, 0};
    half[1] = (struct mf_copy_image){whole->x + up * nv, nu - up, nv, 0};
    half[2] = (struct mf_copy_image){x, nu, left, 0};
    half[3] = (struct mf_copy_image){right, nu, nv - left, 0};
    for (size_t u = 0; u < nu; ++u) {
        memcpy(x + u * left, whole->x + u * nv, left);
        memcpy(right + u * (nv - left), whole->x + u * nv + left, nv - left);
    }
}

/* What each half of an image has of its other half, meant over four. */
static int in_common(const struct mf_copy_image half[4], size_t edge, double *share)
{
    *share = 0;
    for (int k = 0; k < 4; ++k) {
        double one;

        MF_TRY(share_of(&half[k], &half[k ^ 1], edge, ALONG_HALF / edge, &one));
        *share += one / 4;
    }
    return MF_OK;
}

static size_t shorter(const struct mf_copy_image *image) { return image->nu < image->nv ? image->nu : image->nv; }

/* Have both images room for windows twice as wide? */
static int may_double(size_t edge, const struct mf_copy_image *image, const struct mf_copy_image *example)
{
    return 2 * edge <= MF_COPY_MOST && 8 * edge <= shorter(example) && 4 * edge <= shorter(image);
}

int mf_copy_edge(const struct mf_copy_image *image, const struct mf_copy_image *example, size_t *edge, double *common)
{
    struct mf_copy_image half[4];
    int rc;
    uint8_t *x = malloc(example->nu * example->nv + 1);

    *edge = MF_COPY_LEAST;
    if (!x) return mf_fail(MF_MEMORY, "no memory for halves");
    halve(example, x, half);
    for (rc = in_common(half, *edge, common);
         rc == MF_OK && *common > MF_COPY_CHANCE && may_double(*edge, image, example);
         rc = in_common(half, *edge, common))
        *edge *= 2;
    free(x);
    return rc;
}
