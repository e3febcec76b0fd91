/* See tally_impl.h: pixels of a phase in windows. A pixel is in one window of each edge. */
#include "src/recon/tally_impl.h"

/* Pixels of its phase in the window of this edge that it is in; 0: in none. */
static int64_t pixels_of(const struct mf_pixel *p, size_t edge)
{
    const size_t u = p->u % edge, v = p->v % edge;
    const uint8_t *row = p->label - (ptrdiff_t)u * p->su - (ptrdiff_t)v * p->sv;
    int64_t pixels = 0;

    if (p->u - u + edge > p->nu || p->v - v + edge > p->nv) return 0;
    for (size_t i = 0; i < edge; ++i, row += p->su)
        for (size_t k = 0; k < edge; ++k) pixels += row[(ptrdiff_t)k * p->sv] == *p->label;
    return pixels;
}

/* c^2 - (c - 1)^2 of the squares. */
static void add_windows(const struct mf_tally *t, const struct mf_pixel *p, int sign, int64_t *count)
{
    for (size_t e = 0; e < mf_windows_edges(t->lag); ++e) {
        const int64_t pixels = pixels_of(p, (size_t)2 << e);

        if (pixels == 0) return; /* nor is it in a larger one */
        count[mf_windows_number(e, 0)] += sign;
        count[mf_windows_number(e, 1)] += sign * (2 * pixels - 1);
    }
}

const struct mf_counted mf_counted_window = {.whole = &mf_count_windows, .add = add_windows};

/* A single pixel joins or cuts clusters far from it: the slices that a swap touches are counted anew. */
const struct mf_counted mf_counted_cluster_function = {.whole = &mf_count_cluster_function};
const struct mf_counted mf_counted_cluster = {.whole = &mf_count_clusters};
const struct mf_counted mf_counted_path = {.whole = &mf_count_paths};
