/* See tally_impl.h: the Euler number. The change by a pixel depends on its eight neighbours. */
#include "src/recon/tally_impl.h"

/* The neighbours in turn: from one to the next along a side of their ring. Sides are at even places, corners between.
 */
enum { AROUND = 8 };
static const int ring[AROUND][2] = {{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}};

/* Which of them are of the pixel's phase. */
static void look(const struct mf_pixel *p, int is[AROUND])
{
    for (int k = 0; k < AROUND; ++k) {
        struct mf_pixel q = *p;

        is[k] = mf_pixel_go(&q, 0, ring[k][0]) && mf_pixel_go(&q, 1, ring[k][1]) && *q.label == *p->label;
    }
}

/* By sides: a pixel, less its pairs, plus the squares that it completes. By corners: the pixel, less the edges and plus
 * the vertices that no other has. */
static void add_euler(const struct mf_tally *t, const struct mf_pixel *p, int sign, int64_t *count)
{
    int is[AROUND], sides = 1, corners = 1;

    (void)t;
    look(p, is);
    for (int k = 0; k < AROUND; k += 2) {
        const int next = is[(k + 2) % AROUND];

        sides += (is[k] && is[k + 1] && next) - is[k];
        corners += !(is[k] || is[k + 1] || next) - !is[k];
    }
    count[0] += sign * sides;
    count[1] += sign * corners;
}

const struct mf_counted mf_counted_euler = {.whole = &mf_count_euler, .add = add_euler};
