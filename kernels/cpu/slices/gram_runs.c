/* See gram_runs.h. Loops go over whole lines, so that the compiler vectorises them. */
#include "kernels/cpu/slices/gram_runs.h"

#include "kernels/cpu/cpu.h"

static const float all_of_line[MF_LINE] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* The next @p count channels. */
static void add_run(struct mf_gram_runs *m, enum mf_gram_kind kind, size_t lag, size_t count)
{
    struct mf_gram_lag first;

    if (count == 0) return;
    first = mf_gram_lag_of(kind, lag, m->channels);
    m->run[m->count] = (struct mf_gram_run){first, first.negative ? -1 : 1, m->channels, count, {0}};
    for (size_t l = 0; l <= (count - 1) % MF_LINE; ++l) m->run[m->count].last[l] = 1;
    m->channels += count;
    ++m->count;
}

void mf_gram_runs_make(struct mf_gram_runs *m, enum mf_gram_kind kind, size_t lag)
{
    const int axes = kind == MF_GRAM_AXES;

    for (size_t i = axes ? 1 : 0; i < lag; ++i) add_run(m, kind, lag, axes ? 1 : lag);
    if (axes) add_run(m, kind, lag, lag);
    m->ahead = m->channels;
    for (size_t i = 1; !axes && i < lag; ++i) add_run(m, kind, lag, lag - 1);
}

/* @p step: known to the compiler. */
MF_LINE_INLINE void make_line(ptrdiff_t step, struct mf_soft soft, float own, const float *restrict e,
                              float *restrict to)
{
#pragma omp simd
    for (ptrdiff_t l = 0; l < MF_LINE; ++l) to[l] = mf_gram_channel(soft, own * e[step * l]);
}

/* The next run overwrites the numbers that are too many. */
MF_LINE_INLINE void make_run(const struct mf_gram_run *r, struct mf_soft soft, float own, const float *restrict e,
                             float *restrict to)
{
    for (size_t n = 0; n < r->count; n += MF_LINE)
        if (r->step > 0)
            make_line(1, soft, own, e + n, to + n);
        else
            make_line(-1, soft, own, e - n, to + n);
}

MF_CPU_FAST void mf_gram_runs_channels(const struct mf_gram_runs *m, const float *e, const float *own, size_t stride,
                                       const size_t here[2], float *f)
{
    for (size_t i = 0; i < m->count; ++i) {
        const struct mf_gram_run *r = &m->run[i];
        const size_t at = here[r->lag.negative];

        make_run(r, m->soft, own[at], e + at + (size_t)r->lag.du * stride + r->lag.dv, f + r->first);
    }
    if (m->pair) f[0] = mf_gram_channel(m->soft, own[here[0]] * own[here[0]]);
}

MF_LINE_INLINE void give_line(ptrdiff_t step, const float *restrict w, const float *restrict some, float *restrict to)
{
#pragma omp simd
    for (ptrdiff_t l = 0; l < MF_LINE; ++l) to[step * l] += w[l] * some[l];
}

/* Adds the gradient of a run to the pixels of its lags. */
MF_LINE_INLINE void give_run(const struct mf_gram_run *r, const float *restrict w, float *restrict to)
{
    for (size_t n = 0; n < r->count; n += MF_LINE) {
        const float *some = n + MF_LINE < r->count ? all_of_line : r->last;

        if (r->step > 0)
            give_line(1, w + n, some, to + n);
        else
            give_line(-1, w + n, some, to - n);
    }
}

MF_LINE_INLINE float sum_of(size_t first, size_t end, const float *w)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t c = first; c < end; ++c) sum += w[c];
    return sum;
}

MF_CPU_FAST void mf_gram_runs_give(const struct mf_gram_runs *m, float *w, size_t stride, const size_t here[2],
                                   float *g, float *own_g)
{
    if (m->pair) {
        own_g[here[0]] += 2 * w[0];
        w[0] = 0;
    }
    own_g[here[0]] += sum_of(0, m->ahead, w);
    own_g[here[1]] += sum_of(m->ahead, m->channels, w);
    for (size_t i = 0; i < m->count; ++i) {
        const struct mf_gram_run *r = &m->run[i];

        give_run(r, w + r->first, g + here[r->lag.negative] + (size_t)r->lag.du * stride + r->lag.dv);
    }
}
