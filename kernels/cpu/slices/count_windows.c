/* Mean and variance of the volume fraction in windows of slices. Windows are squares of 2, 4, .. pixels that tile a
 * slice from its origin. Incomplete ones are left out (as in the measure local_fraction). */
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/count.h"

static size_t numbers(size_t lag) { return mf_windows_number(mf_windows_edges(lag), 0); }

static size_t room(size_t nu, size_t nv) { return (nu / 2) * (nv / 2) * sizeof(int32_t); }

/* Windows of two pixels. Windows of the next edge are sums of four each, and replace the smaller ones in memory. */
static void first_windows(const struct mf_count_slice *s, int32_t *sum)
{
    const size_t wide = s->nv / 2;

    for (size_t u = 0; u < s->nu / 2; ++u)
        for (size_t v = 0; v < wide; ++v) {
            const uint8_t *is = s->is + 2 * u * s->nv + 2 * v;

            sum[u * wide + v] = is[0] + is[1] + is[s->nv] + is[s->nv + 1];
        }
}

static void next_windows(size_t tall, size_t wide, int32_t *sum)
{
    for (size_t u = 0; u < tall / 2; ++u)
        for (size_t v = 0; v < wide / 2; ++v) {
            const int32_t *four = sum + 2 * u * wide + 2 * v;

            sum[u * (wide / 2) + v] = four[0] + four[1] + four[wide] + four[wide + 1];
        }
}

static void count(const struct mf_count_slice *s, void *scratch, int64_t *number)
{
    const size_t edges = mf_windows_edges(s->lag);
    size_t tall = s->nu / 2, wide = s->nv / 2;
    int32_t *sum = scratch;

    memset(number, 0, numbers(s->lag) * sizeof *number);
    first_windows(s, sum);
    for (size_t e = 0; e < edges; ++e) {
        for (size_t i = 0; i < tall * wide; ++i) {
            number[mf_windows_number(e, 0)] += sum[i];
            number[mf_windows_number(e, 1)] += (int64_t)sum[i] * sum[i];
        }
        next_windows(tall, wide, sum);
        tall /= 2;
        wide /= 2;
    }
}

/* The means of all edges, then the variances; 0: no window fits. */
static void values(const struct mf_count_slice *s, const int64_t *number, double *value)
{
    const size_t edges = mf_windows_edges(s->lag);

    for (size_t e = 0, edge = 2; e < edges; ++e, edge *= 2) {
        const size_t tall = s->nu / edge, wide = s->nv / edge;
        const double size = (double)edge * (double)edge;
        const double pixels = tall && wide ? (double)tall * (double)wide * size : 1;
        const double mean = (double)number[mf_windows_number(e, 0)] / pixels;

        value[e] = mean;
        value[edges + e] = (double)number[mf_windows_number(e, 1)] / pixels / size - mean * mean;
    }
}

const struct mf_count mf_count_windows = {
    .numbers = numbers, .entries = numbers, .room = room, .count = count, .values = values};

/* -- tables -- */

static size_t of_slice(const struct mf_slice_desc *d) { return mf_count_windows.entries(d->lag); }

const struct mf_slice_kind mf_kind_window = {"window", "local volume fractions", of_slice, mf_cost_windows};

static const struct mf_cpu_count window = MF_CPU_COUNT(mf_count_windows, 1);

MF_CPU_OF_FIELD(window, window);
