/* See masks.h. */
#include "kernels/slices/masks.h"

#include <stdlib.h>

#include "src/base/err.h"

size_t mf_masks_entries(enum mf_masks_kind kind, size_t lag)
{
    if (kind == MF_MASKS_LINES) return 1 + 2 * lag * (lag + 1);
    return kind == MF_MASKS_AXES ? 2 * lag - 1 : lag * lag + (lag - 1) * (lag - 1);
}

/* Most taps of all masks. */
static size_t most_taps(enum mf_masks_kind kind, size_t lag)
{
    size_t taps = 1;

    if (kind == MF_MASKS_PAIRS) return 2 * mf_masks_entries(kind, lag);
    for (size_t c = 1; kind == MF_MASKS_AXES && c < lag; ++c) taps += 2 * (2 * c + 1);
    for (size_t c = 1; kind == MF_MASKS_LINES && c <= lag; ++c) taps += 4 * (2 * c + 1) + 4 * (c - 1) * 4 * c;
    return taps;
}

static void add_tap(struct mf_masks *m, int du, int dv, double w)
{
    struct mf_mask *at = &m->mask[m->count];

    if (at->taps == 0) at->first = m->taps;
    for (int a = 0; a < 2; ++a) {
        const int d = a ? dv : du;

        if (at->taps == 0 || d < at->lo[a]) at->lo[a] = d;
        if (at->taps == 0 || d > at->hi[a]) at->hi[a] = d;
    }
    m->tap[m->taps++] = (struct mf_tap){du, dv, (float)w};
    ++at->taps;
}

/* A place is where the first row and column of its taps are, unless these lie before the origin. */
static void end_mask(struct mf_masks *m)
{
    struct mf_mask *at = &m->mask[m->count++];
    const int du = at->lo[0] > 0 && !m->boxed ? at->lo[0] : 0, dv = at->lo[1] > 0 && !m->boxed ? at->lo[1] : 0;

    for (size_t t = at->first; t < m->taps; ++t) {
        m->tap[t].du -= du;
        m->tap[t].dv -= dv;
    }
    at->lo[0] -= du;
    at->hi[0] -= du;
    at->lo[1] -= dv;
    at->hi[1] -= dv;
}

/* n pixels from (u, v) on in steps of (du, dv). */
static void add_line(struct mf_masks *m, int n, int u, int v, int du, int dv)
{
    for (int k = 0; k < n; ++k) add_tap(m, u + k * du, v + k * dv, 1.0 / n);
    end_mask(m);
}

static void add_image(struct mf_masks *m, int image, int edge, int p, int q, double w)
{
    const int u = image % 2 ? q : p, v = image % 2 ? p : q;

    add_tap(m, u, image < 2 ? v : edge - v, w);
}

/* The four images of the line with slope i / c in a box of n = 2c + 1 pixels. They have 2c rows. A row has one pixel,
 * or two of half its weight where the line passes between them. */
static void add_slope(struct mf_masks *m, int c, int i, double nominal)
{
    for (int image = 0; image < 4; ++image) {
        double y = c - i;

        for (int k = 0; k < 2 * c; ++k, y += (double)i / c) {
            const int low = (int)rint(y - 0.1), high = (int)rint(y + 0.1);

            if (low == high) {
                add_image(m, image, 2 * c, k, (int)rint(y), 1 / nominal);
            } else {
                add_image(m, image, 2 * c, k, low, 0.5 / nominal);
                add_image(m, image, 2 * c, k, high, 0.5 / nominal);
            }
        }
        end_mask(m);
    }
}

static void add_point(struct mf_masks *m)
{
    add_tap(m, 0, 0, 1);
    end_mask(m);
}

static void make_lines(struct mf_masks *m, const struct mf_slice_desc *desc)
{
    m->boxed = desc->seam;
    m->short_of = desc->seam ? 2 * desc->lag : 0;
    add_point(m);
    for (int c = 1; c <= (int)desc->lag; ++c) {
        const int n = 2 * c + 1;

        add_line(m, n, 0, 0, 1, 1);
        add_line(m, n, 0, n - 1, 1, -1);
        add_line(m, n, c, 0, 0, 1);
        add_line(m, n, 0, c, 1, 0);
        for (int i = 1; i < c; ++i) add_slope(m, c, i, desc->seam ? n : n - 1);
    }
}

static void make_axes(struct mf_masks *m, const struct mf_slice_desc *desc)
{
    for (int c = 1; c < (int)desc->lag; ++c) add_line(m, 2 * c + 1, 0, 0, 1, 0);
    add_point(m);
    for (int c = 1; c < (int)desc->lag; ++c) add_line(m, 2 * c + 1, 0, 0, 0, 1);
}

static void make_pairs(struct mf_masks *m, const struct mf_slice_desc *desc)
{
    const int lag = (int)desc->lag;

    m->square = 1;
    for (int i = 0; i < lag; ++i)
        for (int j = 0; j < lag; ++j) {
            if (i || j) add_tap(m, 0, 0, 0.5);
            add_tap(m, i, j, i || j ? 0.5 : 1);
            end_mask(m);
        }
    for (int i = 1; i < lag; ++i)
        for (int j = 1; j < lag; ++j) {
            add_tap(m, 0, 0, 0.5);
            add_tap(m, i, -j, 0.5);
            end_mask(m);
        }
}

int mf_masks_make(enum mf_masks_kind kind, const struct mf_slice_desc *desc, struct mf_masks *m)
{
    void (*const make[])(struct mf_masks *, const struct mf_slice_desc *) = {make_lines, make_axes, make_pairs};
    const size_t entries = mf_masks_entries(kind, desc->lag), taps = most_taps(kind, desc->lag);

    *m = (struct mf_masks){.soft = mf_soft_of(desc->threshold, desc->steepness),
                           .periodic = desc->periodic || desc->seam};
    m->mask = calloc(entries, sizeof *m->mask);
    m->tap = calloc(taps, sizeof *m->tap);
    if (!m->mask || !m->tap) return mf_fail(MF_MEMORY, "no memory for the masks of a plan");
    make[kind](m, desc);
    MF_ASSERT(m->count == entries && m->taps <= taps);
    return MF_OK;
}

void mf_masks_free(struct mf_masks *m)
{
    free(m->mask);
    free(m->tap);
}

size_t mf_masks_level_bytes(enum mf_masks_kind kind, size_t lag)
{
    return mf_masks_entries(kind, lag) * sizeof(struct mf_mask_row) + most_taps(kind, lag) * sizeof(struct mf_tap);
}

/* A pixel before the first row or column is met from the other side. */
static int inside(int d, size_t n) { return d % (int)n + (d % (int)n < 0 ? (int)n : 0); }

static void lay_level(const struct mf_masks *m, size_t nu, size_t nv, struct mf_mask_row *row)
{
    struct mf_tap *tap = (struct mf_tap *)(void *)(row + m->count);

    for (size_t e = 0; e < m->count; ++e) {
        const struct mf_mask *at = &m->mask[e];

        row[e] = (struct mf_mask_row){(int)at->first, (int)at->taps, mf_places_of(m, at, nu, nv)};
    }
    for (size_t t = 0; t < m->taps; ++t)
        tap[t] = (struct mf_tap){inside(m->tap[t].du, nu), inside(m->tap[t].dv, nv), m->tap[t].w};
}

int mf_masks_lay(enum mf_masks_kind kind, const struct mf_slice_desc *desc, void *table)
{
    struct mf_masks m;
    int rc = mf_masks_make(kind, desc, &m);

    for (size_t l = 0; rc == MF_OK && l < desc->levels; ++l)
        lay_level(&m, desc->nu >> l, desc->nv >> l,
                  (struct mf_mask_row *)(void *)((char *)table + l * mf_masks_level_bytes(kind, desc->lag)));
    mf_masks_free(&m);
    return rc;
}
