/* See set_measures.h: one set beside another. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/desc/set_measures_impl.h"

/* Deviations below it are those of equal samples, as mean squares count in grains. */
#define LEAST_DEVIATION 1e-5

/* Over the samples; of a curve the root of the mean square over its entries. */
static double deviation_of(const struct mf_set_measures *m, size_t part, enum mf_set_measure measure)
{
    const size_t first = m->first[measure], n = m->first[measure + 1] - first;
    const int64_t *total = m->total + part * (m->entries + MF_SET_MEASURES);
    const double samples = (double)m->samples;
    double variance = (double)total[m->entries + measure] * MF_SET_GRAIN / samples;

    if (m->samples < 2 || mf_set_facts[measure].steady) return NAN;
    for (size_t e = first; e < first + n; ++e) {
        const double mean = (double)total[e] * m->scale[e] / samples;

        variance -= mean * mean / (double)n;
    }
    variance *= samples / (samples - 1);
    return variance > LEAST_DEVIATION * LEAST_DEVIATION ? sqrt(variance) : 0;
}

/* Values of images are measured in units of their range. */
static double unit_of(const struct mf_set_measures *m, size_t part, enum mf_set_measure measure)
{
    if (m->shape.phases || measure == MF_SET_AUTOCORRELATION) return 1;
    return m->high[part] - m->low[part];
}

/* Mean of |b - a| over entries; of a histogram the area between the sums from the left. */
static double distance(size_t n, const double *a, const double *b, enum mf_set_measure measure)
{
    double sum = 0, ahead = 0;

    for (size_t i = 0; i < n; ++i) {
        ahead = b[i] - a[i] + (measure == MF_SET_HISTOGRAM ? ahead : 0);
        sum += fabs(ahead);
    }
    return sum / (double)(measure == MF_SET_HISTOGRAM ? n - 1 : n);
}

static void compare(const struct mf_set_measures *real, const struct mf_set_measures *made, double *value,
                    struct mf_set_row *row)
{
    const size_t n = mf_set_measures_entries(real, row->measure);
    const double unit = unit_of(real, row->part, row->measure);
    const double from = row->measure == MF_SET_MEAN ? real->low[row->part] : 0;

    mf_set_measures_mean(real, row->part, row->measure, value);
    mf_set_measures_mean(made, row->part, row->measure, value + n);
    row->real = mf_set_facts[row->measure].curve ? NAN : from + unit * value[0];
    row->made = mf_set_facts[row->measure].curve ? NAN : from + unit * value[n];
    row->difference = mf_set_facts[row->measure].curve ? unit * distance(n, value, value + n, row->measure)
                                                       : unit * (value[n] - value[0]);
    row->deviation[0] = unit * deviation_of(real, row->part, row->measure);
    row->deviation[1] = unit * deviation_of(made, row->part, row->measure);
    row->spread = row->deviation[0] > 0 ? row->deviation[1] / row->deviation[0] - 1 : NAN;
}

size_t mf_set_measures_rows(const struct mf_set_measures *m)
{
    size_t rows = 0;

    for (enum mf_set_measure i = 0; i < MF_SET_MEASURES; ++i) rows += m->parts * (m->first[i + 1] > m->first[i]);
    return rows;
}

void mf_set_compare(const struct mf_set_measures *real, const struct mf_set_measures *made, struct mf_set_row *row)
{
    double *value = MF_MUST(malloc(2 * real->entries * sizeof *value), "means of a set");

    MF_ASSERT(real->entries == made->entries && real->parts == made->parts && real->samples && made->samples);
    for (size_t p = 0; p < real->parts; ++p)
        for (enum mf_set_measure i = 0; i < MF_SET_MEASURES; ++i) {
            if (!mf_set_measures_entries(real, i)) continue;
            *row = (struct mf_set_row){.measure = i, .part = p};
            compare(real, made, value, row++);
        }
    free(value);
}

double mf_set_distance(size_t rows, const struct mf_set_row *row)
{
    double sum = 0, counted = 0;

    for (size_t k = 0; k < rows; ++k) {
        const double shift = row[k].difference / row[k].deviation[0];

        if (!(row[k].deviation[0] > 0) || !isfinite(row[k].spread)) continue;
        sum += shift * shift + row[k].spread * row[k].spread;
        ++counted;
    }
    return counted > 0 ? sqrt(sum / counted) : NAN;
}
