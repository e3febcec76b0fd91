/* The Euler number of slices, for pixels connected by sides (4) and by corners (8). It is the sum over all squares of 2
 * x 2 pixels of vertices minus edges plus faces. Each cell is counted in one square. By sides: cells between pixel
 * centres. By corners: the pixels as closed squares. Values are per pixel. */
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/count.h"

enum { SIDES, CORNERS, NUMBERS };

/* Bits of the four pixels: 1 this one, 2 right, 4 below, 8 below right. By sides: this pixel, minus its pairs to the
 * right and below, plus the square of all four. By corners: the vertex between the four, plus this pixel. Its edges to
 * the right and below (of the pixels on both sides) count minus. */
static const int8_t part[16][NUMBERS] = {{0, 0}, {1, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, -1}, {-1, 0},
                                         {0, 1}, {1, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, -1}, {0, 0}};

static size_t numbers(size_t lag)
{
    (void)lag;
    return NUMBERS;
}

/* Rows that lie below each other, NULL: outside. Columns -1 and nv are outside, or those of the other end. */
static void add_rows(const uint8_t *above, const uint8_t *below, size_t nv, int periodic, int64_t *number)
{
    unsigned left = 0;
    int sum[NUMBERS] = {0};

    if (periodic) left = (above ? above[nv - 1] : 0U) | (below ? below[nv - 1] : 0U) << 2;
    for (size_t v = 0; v < nv + !periodic; ++v) {
        const unsigned right = v < nv ? (above ? above[v] : 0U) | (below ? below[v] : 0U) << 2 : 0;

        sum[SIDES] += part[left | right << 1][SIDES];
        sum[CORNERS] += part[left | right << 1][CORNERS];
        left = right;
    }
    number[SIDES] += sum[SIDES];
    number[CORNERS] += sum[CORNERS];
}

static void count(const struct mf_count_slice *s, void *scratch, int64_t *number)
{
    (void)scratch;
    memset(number, 0, NUMBERS * sizeof *number);
    if (!s->periodic) add_rows(NULL, s->is, s->nv, 0, number);
    for (size_t u = 0; u < s->nu; ++u) {
        const uint8_t *above = s->is + u * s->nv, *below = u + 1 < s->nu ? above + s->nv : s->periodic ? s->is : NULL;

        add_rows(above, below, s->nv, s->periodic, number);
    }
}

static void values(const struct mf_count_slice *s, const int64_t *number, double *value)
{
    for (int i = 0; i < NUMBERS; ++i) value[i] = (double)number[i] / ((double)s->nu * (double)s->nv);
}

const struct mf_count mf_count_euler = {.numbers = numbers, .entries = numbers, .count = count, .values = values};

/* -- tables -- */

static size_t of_slice(const struct mf_slice_desc *d) { return mf_count_euler.entries(d->lag); }

const struct mf_slice_kind mf_kind_euler = {"euler", "Euler numbers", of_slice, mf_cost_euler};

static const struct mf_cpu_count euler = MF_CPU_COUNT(mf_count_euler, 2);

MF_CPU_OF_FIELD(euler, euler);
