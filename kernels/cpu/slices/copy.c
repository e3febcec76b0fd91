/* See kernels/slices/copy.h. A window has edge x edge bits for each bit of a class; two windows differ if any bits do.
 * The windows of the image are stored, and every window of the example marks its copies. Windows that differ in few
 * pixels have similar numbers of bits in their halves, so windows are sorted by these. */
#include "kernels/slices/copy.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/pulse.h"

enum { ALONG = 1024, ALONG_HALF = 512 }; /* windows along an axis, times their edge */
enum { STEPS = 129 /* of the number of bits in a half */ };

#define ALWAYS static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define COUNTS __attribute__((target_clones("popcnt", "default")))
#else
#define COUNTS
#endif

/* Windows of edge x edge pixels, each words x planes. */
struct windows {
    size_t edge, words, planes, count, left; /* so many are no copies so far */
    uint64_t *bits;
    uint8_t *struck;                   /* [count] those that are copies */
    uint32_t start[STEPS * STEPS + 1]; /* the first window of so many bits in the halves, in steps */
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

/* The window on the right of one that is packed, at (u, v). */
static void slide(const struct mf_copy_image *image, size_t u, size_t v, const struct windows *w, uint64_t *bits)
{
    const size_t planes = w->planes, all = w->words * planes;

    for (size_t k = 0; k < all; ++k) bits[k] = bits[k] >> 1 | (k + planes < all ? bits[k + planes] << 63 : 0);
    for (size_t i = 0; i < w->edge; ++i) {
        const uint64_t class = pixel(image, u + i, v + w->edge - 1);
        const size_t k = i * w->edge + w->edge - 1;
        uint64_t *word = bits + k / 64 * planes;

        for (size_t p = 0; p < planes; ++p) word[p] = (word[p] & ~((uint64_t)1 << k % 64)) | (class >> p & 1) << k % 64;
    }
}

/* Bits of the first plane in some words. */
ALWAYS size_t bits_in(const struct windows *w, const uint64_t *bits, size_t from, size_t to)
{
    size_t count = 0;

    for (size_t k = from; k < to; ++k) count += (size_t)__builtin_popcountll(bits[k * w->planes]);
    return count;
}

/* Bits of a step. */
static size_t step_of(const struct windows *w) { return (w->edge * w->edge / 2 + STEPS - 1) / (STEPS - 1); }

COUNTS static size_t place_of(const struct windows *w, const uint64_t *bits)
{
    const size_t half = w->words / 2, step = step_of(w);

    return bits_in(w, bits, 0, half) / step * STEPS + bits_in(w, bits, half, w->words) / step;
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
static size_t take(const struct mf_copy_image *image, size_t along, const struct windows *w, uint64_t *bits)
{
    const size_t nu = places(image->nu, image->periodic, w->edge), nv = places(image->nv, image->periodic, w->edge);
    const size_t su = (nu + along - 1) / along, sv = (nv + along - 1) / along, one = w->words * w->planes;
    size_t count = 0;

    for (size_t u = 0; u < nu; u += su)
        for (size_t v = 0; v < nv; v += sv)
            if (counts(image, u, v, w->edge)) pack(image, u, v, w, bits + count++ * one);
    return count;
}

/* Sorts windows by the bits in their halves. */
static void sort(struct windows *w, const uint64_t *bits)
{
    const size_t one = w->words * w->planes;

    memset(w->start, 0, sizeof w->start);
    for (size_t i = 0; i < w->count; ++i) ++w->start[place_of(w, bits + i * one) + 1];
    for (size_t k = 0; k < STEPS * STEPS; ++k) w->start[k + 1] += w->start[k];
    for (size_t i = w->count; i-- > 0;) {
        const size_t place = place_of(w, bits + i * one), at = --w->start[place + 1];

        memcpy(w->bits + at * one, bits + i * one, one * sizeof *bits);
    }
    memmove(w->start, w->start + 1, (STEPS * STEPS) * sizeof *w->start);
    w->start[STEPS * STEPS] = (uint32_t)w->count;
}

static int open_windows(const struct mf_copy_image *image, size_t along, struct windows *w)
{
    const size_t most = along * along + 1, bytes = w->words * w->planes * sizeof *w->bits;
    uint64_t *bits = malloc(most * bytes);

    w->bits = malloc(most * (bytes + 1));
    if (bits && w->bits) {
        w->left = w->count = take(image, along, w, bits);
        w->struck = memset(w->bits + most * w->words * w->planes, 0, w->count);
        sort(w, bits);
    }
    free(bits);
    return bits && w->bits ? MF_OK : mf_fail(MF_MEMORY, "no memory for %zu windows", along * along);
}

/* Windows [from, to) that differ from another in few pixels are copies. */
ALWAYS void strike_some(struct windows *w, const uint64_t *other, int few, size_t from, size_t to)
{
    const size_t one = w->words * w->planes;

    for (size_t i = from; i < to; ++i) {
        const uint64_t *mine = w->bits + i * one;
        int differ = w->struck[i] ? few + 1 : 0;

        for (size_t k = 0; k < w->words && differ <= few; ++k) {
            uint64_t bits = 0;

            for (size_t p = 0; p < w->planes; ++p) bits |= mine[k * w->planes + p] ^ other[k * w->planes + p];
            differ += __builtin_popcountll(bits);
        }
        if (differ > few) continue;
        w->struck[i] = 1;
        --w->left;
    }
}

/* The step of a number of bits; numbers below 0 and above the most count as these. */
ALWAYS size_t step_at(int bits, int step)
{
    const int at = bits < 0 ? 0 : bits / step;

    return (size_t)(at < STEPS ? at : STEPS - 1);
}

/* Looks at the windows whose halves differ from the other's in few bits together. */
COUNTS static void strike(struct windows *w, const uint64_t *other)
{
    const int few = (int)(w->edge * w->edge / 20), step = (int)step_of(w);
    const int up = (int)bits_in(w, other, 0, w->words / 2), down = (int)bits_in(w, other, w->words / 2, w->words);
    const size_t last = step_at(up + few, step);

    for (size_t a = step_at(up - few, step); a <= last; ++a) {
        const int least = (int)a * step, most = least + step - 1;
        const int rest = few - (up < least ? least - up : up > most ? up - most : 0);
        const uint32_t *row = w->start + a * STEPS;

        strike_some(w, other, few, row[step_at(down - rest, step)], row[step_at(down + rest, step) + 1]);
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
    struct windows w = {.edge = edge, .words = edge * edge / 64, .planes = planes_of(image, example)};
    uint64_t other[MF_COPY_MOST * MF_COPY_MOST / 64 * 8];
    int rc;

    MF_ASSERT(edge % 8 == 0 && edge <= MF_COPY_MOST);
    rc = open_windows(image, along, &w);
    for (size_t u = 0; u < nu && rc == MF_OK; ++u) {
        for (size_t v = 0; v < nv && w.left > 0; ++v) {
            (v ? slide : pack)(example, u, v, &w, other);
            strike(&w, other);
        }
        rc = mf_pulse("copies");
    }
    free(w.bits);
    *share = w.count ? (double)(w.count - w.left) / (double)w.count : 0;
    return rc;
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

/* Share of each half of an image that its other half has too, meant over four. */
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
