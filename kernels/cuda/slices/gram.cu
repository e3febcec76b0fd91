/* Soft three-point correlations of slices: see form/gram.h. Values and gradients are tiled matrix products. Channels
 * are computed as they are loaded, so nothing of their size is stored:
 *   values     F^T F, F [anchors][channels], tiles on and above the diagonal
 *   gradient   F (slope + its transpose), a column of tiles at a time, from which pixels gather their parts */
#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/packed.cuh"
#include "kernels/cuda/slices/tile.cuh"
#include "kernels/form/gram.h"

namespace
{

constexpr int TILE = MF_GRAM_TILE, DEPTH = MF_TILE_DEPTH, EACH = MF_TILE_EACH, THREADS = MF_TILE_THREADS;
constexpr size_t SHARED = sizeof(float) * 2 * DEPTH * TILE;
static_assert(TILE == MF_TILE_WIDTH, "columns of channels are tiles");

struct work {
    int nu, nv, pair; /* pair: anchors are of the second field */
    size_t count, pixels, channels, anchors;
    struct mf_gram_anchors at;
    const struct mf_gram_lag *lag; /* [channels], met coming from the other side where they are negative */
    struct mf_soft soft;
    const float *x, *y;
    float *e, *own; /* [count][pixels] of partners, and of anchors: the same, unless there are two fields */
    float *share;   /* [TILE][count][pixels] what a column of channels counts at its anchors */
    double *value;
    size_t stride;
    double each; /* one over the anchors */
};

template <enum mf_gram_kind KIND> struct work work_of(const struct mf_packed_job *job)
{
    const struct mf_slice_desc *d = job->desc;
    struct work w = {};

    w.nu = job->at.nu;
    w.nv = job->at.nv;
    w.count = job->count;
    w.pixels = job->pixels;
    w.channels = mf_gram_channels(KIND, d->lag);
    w.at = mf_gram_anchors_of(KIND, d->periodic, d->seam, d->lag, size_t(w.nu), size_t(w.nv));
    w.anchors = w.at.nu * w.at.nv;
    w.lag = static_cast<const struct mf_gram_lag *>(job->table) + job->level * w.channels;
    w.soft = mf_soft_of(d->threshold, d->steepness);
    w.pair = KIND == MF_GRAM_CROSS;
    w.x = job->at.x;
    w.y = job->at.y;
    w.e = job->scratch;
    w.own = w.e + (w.pair ? w.count * w.pixels : 0);
    w.share = w.own + w.count * w.pixels;
    w.value = job->value;
    w.stride = job->stride;
    w.each = 1.0 / (double(w.at.nu) * double(w.at.nv));
    return w;
}

struct factor_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        w.e[i] = mf_gram_factor(w.soft, w.x[i]);
        if (w.pair) w.own[i] = mf_gram_factor(w.soft, w.y[i]);
    }
};

template <enum mf_gram_kind KIND> int fill(const struct mf_slice_desc *d, void *table)
{
    struct mf_gram_lag *row = static_cast<struct mf_gram_lag *>(table);

    for (size_t l = 0; l < d->levels; ++l)
        for (size_t c = 0; c < mf_gram_channels(KIND, d->lag); ++c, ++row) {
            const int nu = int(d->nu >> l), nv = int(d->nv >> l);

            *row = mf_gram_lag_of(KIND, d->lag, c);
            row->du %= nu;
            row->dv = (row->dv % nv + nv) % nv;
        }
    return MF_OK;
}

/* Where an anchor stands: its column for both kinds of lags. */
struct spot {
    int u, v[2];
};

__device__ struct spot spot_of(const struct work &w, size_t anchor)
{
    const unsigned wide = unsigned(w.at.nv), u = unsigned(anchor) / wide, v = unsigned(anchor) - u * wide;

    struct spot p = {int(u), {int(mf_gram_column(&w.at, 0, v)), int(mf_gram_column(&w.at, 1, v))}};

    p.v[1] -= p.v[1] >= w.nv ? w.nv : 0;
    return p;
}

/* F of an anchor and channel c of slice s. */
__device__ float channel(const struct work &w, size_t s, struct spot p, size_t c)
{
    const struct mf_gram_lag r = w.lag[c];
    const float *e = w.e + s * w.pixels, *own = w.own + s * w.pixels;
    const int v = p.v[r.negative];
    int row = p.u + r.du, column = v + r.dv;

    row -= row >= w.nu ? w.nu : 0;
    column -= column >= w.nv ? w.nv : 0;
    return mf_gram_channel(w.soft, own[p.u * w.nv + v] * (w.pair && c == 0 ? own : e)[row * w.nv + column]);
}

/* -- values -- */

struct matrix {
    size_t rows, channels;
    struct work w;
    __device__ struct spot at(size_t anchor) const { return spot_of(w, anchor); }
    __device__ float operator()(size_t slice, struct spot p, size_t c) const { return channel(w, slice, p, c); }
};

template <enum mf_gram_kind KIND> void value(const struct mf_packed_job *job)
{
    const struct work w = work_of<KIND>(job);

    mf_each(job->q, w.count * w.pixels, factor_body{w});
    mf_tile_gram_run<struct matrix>(job->q, {{w.anchors, w.channels, w}, w.each, w.value, w.stride}, w.count);
}

/* -- gradient -- */

/* The slopes of two entries that mirror each other become their sum over the anchors. */
struct fold_body {
    struct work w;
    __device__ void operator()(size_t n) const
    {
        const size_t all = w.channels * w.channels, i = n % all / w.channels, j = n % all % w.channels;
        double *slope = w.value + n / all * w.stride, *one = slope + i * w.channels + j;

        if (i > j) return;
        *one = slope[j * w.channels + i] = w.each * (*one + slope[j * w.channels + i]);
    }
};

/* Block (TILE anchors, slice): what channels first .. first + TILE - 1 count there. */
__global__ void __launch_bounds__(THREADS) shares(struct work w, size_t first)
{
    MF_SHARED(float, a);         /* [DEPTH channels][TILE anchors] */
    float *b = a + DEPTH * TILE; /* [DEPTH channels][TILE channels of the column] */
    const size_t anchor = blockIdx.x * size_t(TILE), slice = blockIdx.y;
    const double *slope = w.value + slice * w.stride;
    const size_t own = anchor + threadIdx.x % TILE; /* the anchor that a thread loads, whatever the channel */
    const struct spot mine = spot_of(w, own < w.anchors ? own : 0);
    mf_tile<1> sum = {};

    for (size_t c0 = 0; c0 < w.channels; c0 += DEPTH) {
        __syncthreads();
        for (int i = int(threadIdx.x); i < DEPTH * TILE; i += THREADS) {
            const size_t c = c0 + size_t(i / TILE), j = first + size_t(i % TILE);

            a[i] = c < w.channels && own < w.anchors ? channel(w, slice, mine, c) : 0.0f;
            b[i] = c < w.channels && j < w.channels ? float(slope[c * w.channels + j]) : 0.0f;
        }
        __syncthreads();
        mf_tile_multiply(b, TILE, a, &sum);
    }
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) {
            const size_t c = size_t(mf_tile_row(i)), at = anchor + size_t(mf_tile_column() + j);

            if (first + c < w.channels && at < w.anchors)
                w.share[(c * w.count + slice) * w.pixels + at] =
                    sum.at[i][j] * mf_gram_slope(w.soft, channel(w, slice, spot_of(w, at), first + c));
        }
}

/* The anchor in a pixel, for a kind of lags; false: there is none. */
__device__ bool anchor_in(const struct work &w, int negative, int u, int v, size_t *anchor)
{
    const int left = int(negative ? w.at.negative : w.at.column), back = negative ? int(w.at.further) : 0;
    int column = v - left;

    if (column < 0 && w.at.periodic) column += w.nv;
    if (u >= int(w.at.nu) || column < 0 || column >= int(w.at.nv)) return false;
    column -= back;
    *anchor = size_t(u) * w.at.nv + size_t(column < 0 ? column + int(w.at.nv) : column);
    return true;
}

/* Block (pixels, slice): gathers for a pixel the contributions of a column's channels, as their anchor and as their
 * partner. */
__global__ void __launch_bounds__(THREADS) take(struct work w, size_t first, float *g, float *h)
{
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x, slice = blockIdx.y;
    const int u = int(i / size_t(w.nv)), v = int(i % size_t(w.nv));
    float as_anchor = 0.0f, as_partner = 0.0f;

    if (i >= w.pixels) return;
    for (size_t c = first; c < first + TILE && c < w.channels; ++c) {
        const struct mf_gram_lag r = w.lag[c];
        const float *share = w.share + ((c - first) * w.count + slice) * w.pixels;
        int row = u - r.du, column = v - r.dv;
        size_t anchor;

        row += row < 0 ? w.nu : 0;
        column += column < 0 ? w.nv : 0;
        if (anchor_in(w, r.negative, u, v, &anchor)) as_anchor += share[anchor];
        if (!anchor_in(w, r.negative, row, column, &anchor)) continue;
        if (w.pair && c == 0)
            as_anchor += share[anchor];
        else
            as_partner += share[anchor];
    }
    const size_t at = slice * w.pixels + i;

    g[at] += w.pair ? as_partner : as_anchor + as_partner;
    if (w.pair) h[at] += as_anchor;
}

template <enum mf_gram_kind KIND> void gradient(const struct mf_packed_job *job)
{
    const struct work w = work_of<KIND>(job);
    const unsigned count = unsigned(w.count);

    mf_each(job->q, w.count * w.pixels, factor_body{w});
    mf_each(job->q, w.count * w.channels * w.channels, fold_body{w});
    for (size_t first = 0; first < w.channels; first += TILE) {
        MF_RUN(shares, dim3(unsigned((w.anchors + TILE - 1) / TILE), count), THREADS, SHARED, job->q, w, first);
        MF_RUN(take, dim3(unsigned((w.pixels + THREADS - 1) / THREADS), count), THREADS, 0, job->q, w, first, job->at.g,
               job->at.h);
    }
}

} // namespace

template <enum mf_gram_kind KIND> static constexpr struct mf_packed_family family(const struct mf_packed_memory &memory)
{
    return {&memory, fill<KIND>, value<KIND>, gradient<KIND>};
}

static constexpr struct mf_packed_family half = family<MF_GRAM_HALF>(mf_packed_gram);
static constexpr struct mf_packed_family axes = family<MF_GRAM_AXES>(mf_packed_gram_axes);
static constexpr struct mf_packed_family pair = family<MF_GRAM_CROSS>(mf_packed_gram_cross);

MF_PACKED_OPS(mf_gram_cuda, mf_kind_gram, mf_packed_total, nullptr, nullptr, half);
MF_PACKED_OPS(mf_gram_axes_cuda, mf_kind_gram_axes, mf_packed_total, nullptr, nullptr, axes);
MF_PACKED_OPS(mf_gram_cross_cuda, mf_kind_gram_cross, nullptr, mf_packed_total_pairs, nullptr, pair);
