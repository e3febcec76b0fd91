/* See tally_impl.h: boundaries between phases. A pixel has four sides and is in four squares of 2 x 2. */
#include "src/recon/tally_impl.h"

static int64_t *pair_of(const struct mf_tally *t, int64_t *count, uint8_t a, uint8_t b)
{
    const size_t low = a < b ? a : b, high = a < b ? b : a;

    return count + (low * (2 * t->fields - low - 1) / 2 + high - low - 1) * MF_BOUNDARY_NUMBERS;
}

static void add_sides(const struct mf_tally *t, const struct mf_pixel *p, int sign, int64_t *count)
{
    for (int axis = 0; axis < 2; ++axis)
        for (int step = -1; step <= 1; step += 2) {
            struct mf_pixel q = *p;

            if (mf_pixel_go(&q, axis, step) && *q.label != *p->label)
                pair_of(t, count, *p->label, *q.label)[MF_BOUNDARY_SIDES] += sign;
        }
}

/* Is label n of a kind that the ones before it are not? */
static int is_new(const uint8_t *label, int n)
{
    for (int i = 0; i < n; ++i)
        if (label[i] == label[n]) return 0;
    return 1;
}

/* Where labels of three kinds or four meet, every two of them do. */
static void add_corner(const struct mf_tally *t, const uint8_t *label, int n, int sign, int64_t *count)
{
    uint8_t kind[4];
    int kinds = 0;

    for (int i = 0; i < n; ++i) {
        kind[kinds] = label[i];
        kinds += is_new(kind, kinds);
    }
    for (int i = 0; kinds > 2 && i < kinds; ++i)
        for (int k = i + 1; k < kinds; ++k) pair_of(t, count, kind[i], kind[k])[MF_BOUNDARY_CORNERS] += sign;
}

/* The square of the pixel and the three at its side @p u, @p v; with the pixel, minus without it. */
static void add_square(const struct mf_tally *t, const struct mf_pixel *p, int u, int v, int sign, int64_t *count)
{
    struct mf_pixel a = *p, b = *p, c;
    uint8_t label[4];

    if (!mf_pixel_go(&a, 0, u) || !mf_pixel_go(&b, 1, v)) return;
    c = a;
    if (!mf_pixel_go(&c, 1, v)) return;
    label[0] = *a.label;
    label[1] = *b.label;
    label[2] = *c.label;
    label[3] = *p->label;
    add_corner(t, label, 4, sign, count);
    add_corner(t, label, 3, -sign, count);
}

static void add_boundaries(const struct mf_tally *t, const struct mf_pixel *p, int sign, int64_t *count)
{
    add_sides(t, p, sign, count);
    for (int u = -1; u <= 1; u += 2)
        for (int v = -1; v <= 1; v += 2) add_square(t, p, u, v, sign, count);
}

const struct mf_counted mf_counted_boundary = {.whole = &mf_count_boundaries, .add = add_boundaries};
