/* Boundaries between two phases in slices. It counts pixel sides between them, and corners among four pixels of both
 * and of a third (as in the measure boundaries). Values are per pixel. */
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/count.h"

static size_t numbers(size_t lag)
{
    (void)lag;
    return MF_BOUNDARY_NUMBERS;
}

static int is_side(unsigned a, unsigned b) { return (a ^ b) == (MF_COUNT_FIRST ^ MF_COUNT_SECOND); }

/* Do pixels of both phases and one of neither meet? */
static int is_corner(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return (a | b | c | d) == (MF_COUNT_FIRST | MF_COUNT_SECOND) && !(a && b && c && d);
}

/* A row and, if @p two, the one below. */
static void add_rows(const uint8_t *a, const uint8_t *b, int two, size_t nv, int periodic, int64_t *number)
{
    int64_t sides = 0, corners = 0;

    for (size_t v = 0; v < nv; ++v) {
        const size_t next = v + 1 < nv ? v + 1 : 0;
        const int ends = next == 0 && !periodic;

        if (two) sides += is_side(a[v], b[v]);
        if (ends) continue;
        sides += is_side(a[v], a[next]);
        if (two) corners += is_corner(a[v], a[next], b[v], b[next]);
    }
    number[MF_BOUNDARY_SIDES] += sides;
    number[MF_BOUNDARY_CORNERS] += corners;
}

static void count(const struct mf_count_slice *s, void *scratch, int64_t *number)
{
    (void)scratch;
    memset(number, 0, MF_BOUNDARY_NUMBERS * sizeof *number);
    for (size_t u = 0; u < s->nu; ++u) {
        const uint8_t *a = s->is + u * s->nv, *b = u + 1 < s->nu ? a + s->nv : s->is;

        add_rows(a, b, u + 1 < s->nu || s->periodic, s->nv, s->periodic, number);
    }
}

static void values(const struct mf_count_slice *s, const int64_t *number, double *value)
{
    for (int i = 0; i < MF_BOUNDARY_NUMBERS; ++i) value[i] = (double)number[i] / ((double)s->nu * (double)s->nv);
}

const struct mf_count mf_count_boundaries = {
    .pairs = 1, .numbers = numbers, .entries = numbers, .count = count, .values = values};

/* -- tables -- */

static size_t of_slice(const struct mf_slice_desc *d) { return mf_count_boundaries.entries(d->lag); }

const struct mf_slice_kind mf_kind_boundary = {"boundary", "boundaries of phases", of_slice, mf_cost_boundaries};

static const struct mf_cpu_count boundary = MF_CPU_COUNT(mf_count_boundaries, 2);

MF_CPU_OF_PAIRS(boundary, boundary);
