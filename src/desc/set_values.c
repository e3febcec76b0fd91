/* See set_measures.h: values of one sample of images. They are measured in units of the range of their channel. */
#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/set_measures_impl.h"

size_t mf_set_entries_values(const struct mf_set_shape *s, enum mf_set_measure measure)
{
    switch (measure) {
    case MF_SET_MEAN:
    case MF_SET_DEVIATION: return 1;
    case MF_SET_HISTOGRAM: return MF_SET_BINS;
    case MF_SET_AUTOCORRELATION: return (size_t)s->ndim * (s->lag - 1);
    default: return 0;
    }
}

void mf_set_scale_values(struct mf_set_measures *m)
{
    for (size_t e = 0; e < m->entries; ++e) m->scale[e] = MF_SET_GRAIN;
    for (size_t e = m->first[MF_SET_HISTOGRAM]; e < m->first[MF_SET_HISTOGRAM + 1]; ++e)
        m->scale[e] = 1 / (double)m->voxels;
}

static int64_t grains(double value) { return llround(value / MF_SET_GRAIN); }

/* Values of a channel in 0 .. 1, as the mean; 0: one is not finite. */
static int scale_channel(struct mf_set_measures *m, const void *x, size_t channel, double *mean)
{
    const size_t channels = m->shape.channels;
    const double low = m->low[channel], by = m->high[channel] > low ? 1 / (m->high[channel] - low) : 0;
    double sum = 0;

    for (size_t i = 0; i < m->voxels; ++i) {
        const size_t at = i * channels + channel;
        const double raw = m->shape.is_float ? (double)((const float *)x)[at] : ((const uint8_t *)x)[at];

        if (!isfinite(raw)) return 0;
        m->value[i] = fmin(fmax((raw - low) * by, 0), 1);
        sum += m->value[i];
    }
    *mean = sum / (double)m->voxels;
    return 1;
}

/* Bytes of the whole range have a bin each. */
static void count_bins(struct mf_set_measures *m, int64_t *bin)
{
    for (size_t i = 0; i < m->voxels; ++i) ++bin[(size_t)(m->value[i] * (MF_SET_BINS - 1) + 0.5)];
}

/* Mean product of values that are @p distance apart on an axis. */
static double product(const struct mf_set_measures *m, int axis, size_t distance)
{
    const size_t n = m->shape.dims[axis], stride = mf_set_stride(m->shape.dims, axis);
    double sum = 0;

    for (size_t i = 0; i < m->voxels; i += stride * n)
        for (size_t k = 0; k < n && (m->shape.periodic || k + distance < n); ++k) {
            const double *a = m->value + i + k * stride, *b = m->value + i + (k + distance) % n * stride;

            for (size_t j = 0; j < stride; ++j) sum += a[j] * b[j];
        }
    return sum / mf_set_places(m, axis, distance);
}

static void count_channel(struct mf_set_measures *m, double mean, int64_t *count)
{
    double variance = 0;
    int64_t *to = count + m->first[MF_SET_AUTOCORRELATION];

    count_bins(m, count + m->first[MF_SET_HISTOGRAM]);
    for (size_t i = 0; i < m->voxels; ++i) {
        m->value[i] -= mean;
        variance += m->value[i] * m->value[i] / (double)m->voxels;
    }
    count[m->first[MF_SET_MEAN]] = grains(mean);
    count[m->first[MF_SET_DEVIATION]] = grains(sqrt(variance));
    for (int axis = mf_set_axis_first(m); axis < 3; ++axis)
        for (size_t r = 1; r < m->shape.lag; ++r) *to++ = variance > 1e-18 ? grains(product(m, axis, r) / variance) : 0;
}

int mf_set_count_values(struct mf_set_measures *m, const void *x)
{
    for (size_t c = 0; c < m->parts; ++c) {
        double mean;

        if (!scale_channel(m, x, c, &mean)) return mf_fail(MF_INPUT, "a value is not a finite number");
        count_channel(m, mean, m->count + c * m->entries);
    }
    return MF_OK;
}
