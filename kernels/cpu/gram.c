/* Soft three-point correlations of slices: see form/gram.h. Families: gram, gram_axes, gram_cross.
 *
 * Channels of DEPTH anchors are made at a time: exp(-s (z - t)) is a product of two numbers of one pixel each, so a
 * channel costs a product and a quotient. Their products are added up in tiles that stay in registers. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/tile.h"
#include "kernels/form/gram.h"
#include "src/base/err.h"

enum { DEPTH = 96, PARTS = 4, ALIGN = 16 };

/* Channels first .. first + count - 1: lags (du, dv), (du, dv + step), .. */
struct run {
    struct mf_gram_lag lag;
    int step;
    size_t first, count;
};

struct gram {
    size_t channels, width; /* width: floats from anchor to anchor, with room for whole tiles */
    size_t runs;
    struct run *run;
    struct mf_soft soft;
    enum mf_gram_kind kind;
    int periodic, pair; /* pair: anchors are of the second field */
    struct mf_cpu_frame frame;
    mf_cpu_tile *tile;
};

/* -- plans -- */

/* The next @p count channels, whose lags differ in their columns alone. */
static void add_run(struct gram *m, size_t lag, size_t count)
{
    struct mf_gram_lag first;

    if (count == 0) return;
    first = mf_gram_lag_of(m->kind, lag, m->channels);
    m->run[m->runs++] = (struct run){first, first.negative ? -1 : 1, m->channels, count};
    m->channels += count;
}

static void make_runs(struct gram *m, size_t lag)
{
    const int axes = m->kind == MF_GRAM_AXES;

    for (size_t i = axes ? 1 : 0; i < lag; ++i) add_run(m, lag, axes ? 1 : lag);
    if (axes) add_run(m, lag, lag);
    for (size_t i = 1; !axes && i < lag; ++i) add_run(m, lag, lag - 1);
    m->frame.left = axes ? 0 : lag - 1;
}

static void close_plan(struct mf_slice_plan *plan)
{
    struct gram *m = plan->state;

    if (m) free(m->run);
    free(m);
}

static size_t aligned(size_t floats) { return (floats + ALIGN - 1) / ALIGN * ALIGN; }

/* Scratch: exponentials of the framed slice, and of the one of anchors (the same, unless there are two), the slopes as
 * a matrix; for every part framed gradients of both, channels and what comes back to them, and sums of products in
 * double. */
struct areas {
    float *e, *own, *slope, *g, *own_g, *f, *h;
    double *sum;
};

static size_t areas_of(const struct gram *m, size_t nu, size_t nv, float *scratch, size_t part, struct areas *at)
{
    const size_t frame = aligned(mf_cpu_frame_size(&m->frame, nu, nv)), block = aligned(DEPTH * m->width);
    const size_t slope = aligned(m->width * m->width), sum = aligned(2 * m->channels * m->channels);
    const size_t second = m->pair ? frame : 0, frames = frame + second, each = frames + 2 * block + sum;
    float *first = scratch + frames + slope + part * each;

    if (scratch)
        *at = (struct areas){.e = scratch,
                             .own = scratch + second,
                             .slope = scratch + frames,
                             .g = first,
                             .own_g = first + second,
                             .f = first + frames,
                             .h = first + frames + block,
                             .sum = (double *)(void *)(first + frames + 2 * block)};
    return frames + slope + PARTS * each;
}

static int open_plan(struct mf_slice_plan *plan, enum mf_gram_kind kind)
{
    const struct mf_slice_desc *desc = &plan->desc;
    struct gram *m = plan->state = calloc(1, sizeof *m);

    if (m) m->run = calloc(2 * desc->lag, sizeof *m->run);
    if (!m || !m->run) return mf_fail(MF_MEMORY, "no memory for a plan of %s", plan->kind->what);
    m->kind = kind;
    m->pair = plan->pair = kind == MF_GRAM_CROSS;
    make_runs(m, desc->lag);
    m->frame.right = m->frame.below = desc->lag - 1;
    m->width = (m->channels + MF_TILE_ROWS + MF_TILE_COLUMNS - 1) / MF_TILE_COLUMNS * MF_TILE_COLUMNS;
    m->soft = mf_soft_of(desc->threshold, desc->steepness);
    m->periodic = mf_gram_anchors_of(kind, desc->periodic, desc->seam, desc->lag, desc->nu, desc->nv).periodic;
    m->tile = mf_cpu_tile_best();
    plan->scratch = areas_of(m, desc->nu, desc->nv, NULL, 0, NULL);
    return MF_OK;
}

static int open_half_plane(struct mf_slice_plan *plan) { return open_plan(plan, MF_GRAM_HALF); }
static int open_axes(struct mf_slice_plan *plan) { return open_plan(plan, MF_GRAM_AXES); }
static int open_cross(struct mf_slice_plan *plan) { return open_plan(plan, MF_GRAM_CROSS); }

/* -- anchors and channels -- */

static struct mf_gram_anchors anchors_of(const struct mf_cpu_job *job)
{
    const struct mf_slice_desc *d = &job->plan->desc;
    const struct gram *m = job->plan->state;

    return mf_gram_anchors_of(m->kind, d->periodic, d->seam, d->lag, job->level->nu, job->level->nv);
}

/* Where in the frame anchor q stands, for lags with columns >= 0 and < 0. */
static void place(const struct gram *m, const struct mf_gram_anchors *at, size_t stride, size_t q, size_t here[2])
{
    const size_t row = q / at->nv * stride + m->frame.left, v = q % at->nv;

    for (int negative = 0; negative < 2; ++negative) here[negative] = row + mf_gram_column(at, negative, v);
}

/* Work on DEPTH anchors from q on. */
struct block {
    const struct gram *m;
    struct mf_gram_anchors at;
    size_t stride, first, count; /* count of them are there */
    const float *e, *own;
    float *f;
};

MF_CPU_FAST static void make_channels(const struct block *b)
{
    const struct gram *m = b->m;
    const struct mf_soft soft = m->soft;

    for (size_t k = 0; k < DEPTH; ++k) {
        float *restrict f = b->f + k * m->width;
        size_t here[2];

        for (size_t c = k < b->count ? m->channels : 0; c < m->width; ++c) f[c] = 0;
        if (k >= b->count) continue;
        place(m, &b->at, b->stride, b->first + k, here);
        for (size_t i = 0; i < m->runs; ++i) {
            const struct run r = m->run[i];
            const float own = b->own[here[r.lag.negative]];
            const float *e = b->e + here[r.lag.negative] + (size_t)r.lag.du * b->stride + r.lag.dv;
            float *restrict to = f + r.first;

            if (r.step > 0)
                for (size_t n = 0; n < r.count; ++n) to[n] = own * e[n];
            else
                for (size_t n = 0; n < r.count; ++n) to[n] = own * *(e - n);
        }
        if (m->pair) f[0] = b->own[here[0]] * b->own[here[0]];
#pragma omp simd
        for (size_t c = 0; c < m->channels; ++c) f[c] = mf_gram_channel(soft, f[c]);
    }
}

MF_CPU_FAST static void exponentials(struct mf_soft f, size_t n, float *e)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) e[i] = mf_gram_factor(f, e[i]);
}

static struct block begin(const struct mf_cpu_job *job, const struct gram *m, const struct areas *at)
{
    return (struct block){.m = m,
                          .at = anchors_of(job),
                          .stride = mf_cpu_frame_stride(&m->frame, job->level->nv),
                          .e = at->e,
                          .own = at->own,
                          .f = at->f};
}

/* The blocks of a part: the next one, 0 behind the last. */
static int next(struct block *b, size_t part, int *first)
{
    const size_t all = b->at.nu * b->at.nv, at = *first ? part * DEPTH : b->first + PARTS * DEPTH;

    *first = 0;
    b->first = at;
    b->count = at >= all ? 0 : all - at < DEPTH ? all - at : DEPTH;
    return at < all;
}

/* The second field as a level of its own. */
static struct mf_cpu_level second_of(const struct mf_cpu_level *level)
{
    return (struct mf_cpu_level){.nu = level->nu, .nv = level->nv, .x = level->y, .g = level->h};
}

static void fill_frame(const struct gram *m, const struct mf_cpu_level *level, float *e)
{
    mf_cpu_frame_fill(&m->frame, m->periodic, level, e);
    exponentials(m->soft, mf_cpu_frame_size(&m->frame, level->nu, level->nv), e);
}

static void fill_frames(const struct mf_cpu_job *job, const struct gram *m, const struct areas *at)
{
    const struct mf_cpu_level second = second_of(job->level);

    fill_frame(m, job->level, at->e);
    if (m->pair) fill_frame(m, &second, at->own);
}

/* -- values -- */

/* sum += a tile at (i, j), as far as it lies in the matrix and above row @p last. */
MF_CPU_FAST static void add_tile(size_t n, size_t last, size_t i, size_t j, const float *restrict c,
                                 double *restrict sum)
{
    const size_t rows = last - i < MF_TILE_ROWS ? last - i : MF_TILE_ROWS,
                 columns = n - j < MF_TILE_COLUMNS ? n - j : MF_TILE_COLUMNS;

    for (size_t r = 0; r < rows; ++r) {
        double *restrict to = sum + (i + r) * n + j;

#pragma omp simd
        for (size_t k = 0; k < columns; ++k) to[k] += (double)c[r * MF_TILE_COLUMNS + k];
    }
}

/* Columns that are whole tiles, or nearly. A few more come below the diagonal, as rows of a low tile: L^2 + (L - 1)^2
 * is often one more than a multiple of 32. */
static size_t upright(size_t n)
{
    const size_t rest = n % MF_TILE_COLUMNS;

    return rest <= MF_TILE_GROUP ? n - rest : n;
}

/* sum += F^T F on and above the diagonal; what stands in columns that are not upright, below it. */
static void add_products(const struct gram *m, const float *f, double *sum)
{
    const size_t n = m->channels, end = upright(n);
    const float *const low = f + end;
    float c[MF_TILE_ROWS * MF_TILE_COLUMNS];

    for (size_t j = 0; j < end; j += MF_TILE_COLUMNS)
        for (size_t i = 0; i < end && i < j + MF_TILE_COLUMNS; i += MF_TILE_ROWS) {
            memset(c, 0, sizeof c);
            mf_cpu_tile_rows(m->tile, DEPTH, f + i, 1, m->width, f + j, m->width, c);
            add_tile(n, end, i, j, c, sum);
        }
    for (size_t j = 0; j < n && end < n; j += MF_TILE_COLUMNS) {
        memset(c, 0, sizeof c);
        m->tile(1, DEPTH, &low, 1, m->width, f + j, m->width, c);
        add_tile(n, n, end, j, c, sum);
    }
}

enum { LINES = 16 }; /* rows of a thread: what they write by columns are whole lines of a cache */

/* Row i of d = the sum of all parts' sums, on both sides of the diagonal. */
static void put_values(const struct gram *m, const struct areas *at, double each, size_t i, double *d)
{
    const size_t n = m->channels, end = upright(n);

    for (size_t j = i; j < n; ++j) {
        const size_t from = j < end ? i * n + j : j * n + i;
        double sum = 0;

        for (size_t p = 0; p < PARTS; ++p) sum += at[p].sum[from];
        d[i * n + j] = d[j * n + i] = sum * each;
    }
}

static void value(const struct mf_cpu_job *job, double *d)
{
    const struct gram *m = job->plan->state;
    const size_t n = m->channels;
    struct areas at[PARTS];
    struct mf_gram_anchors anchors = anchors_of(job);
    const double each = 1 / ((double)anchors.nu * (double)anchors.nv);

    for (size_t p = 0; p < PARTS; ++p) areas_of(m, job->plan->desc.nu, job->plan->desc.nv, job->scratch, p, &at[p]);
    fill_frames(job, m, &at[0]);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (size_t p = 0; p < PARTS; ++p) {
        struct block b = begin(job, m, &at[p]);

        memset(at[p].sum, 0, n * n * sizeof *at[p].sum);
        for (int first = 1; next(&b, p, &first);) {
            make_channels(&b);
            add_products(m, b.f, at[p].sum);
        }
    }
#pragma omp parallel for num_threads(job->threads) schedule(dynamic, LINES) if (job->threads > 1)
    for (size_t i = 0; i < n; ++i) put_values(m, at, each, i, d);
}

/* -- gradient -- */

/* What the channels count: dE/dF = F (slope + its transpose) / N. */
static void make_slopes(const struct gram *m, double each, int threads, const double *slope, float *to)
{
    const size_t n = m->channels;

    memset(to, 0, m->width * m->width * sizeof *to);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) to[i * m->width + j] = (float)(each * (slope[i * n + j] + slope[j * n + i]));
}

/* h = F slopes */
static void multiply(const struct gram *m, const float *f, const float *slope, float *h)
{
    float c[MF_TILE_ROWS * MF_TILE_COLUMNS];

    for (size_t j = 0; j < m->channels; j += MF_TILE_COLUMNS)
        for (size_t k = 0; k < DEPTH; k += MF_TILE_ROWS) {
            memset(c, 0, sizeof c);
            mf_cpu_tile_rows(m->tile, m->channels, f + k * m->width, m->width, 1, slope + j, m->width, c);
            for (size_t r = 0; r < MF_TILE_ROWS; ++r)
                memcpy(h + (k + r) * m->width + j, c + r * MF_TILE_COLUMNS, MF_TILE_COLUMNS * sizeof *c);
        }
}

/* From the channels to the pixels: half of dE/dz to either. */
MF_CPU_FAST static void give_back(const struct block *b, float *h, float *g, float *own_g)
{
    const struct gram *m = b->m;
    const struct mf_soft soft = m->soft;

    for (size_t k = 0; k < b->count; ++k) {
        const float *restrict f = b->f + k * m->width;
        float *restrict w = h + k * m->width;
        size_t here[2];

#pragma omp simd
        for (size_t c = 0; c < m->channels; ++c) w[c] *= mf_gram_slope(soft, f[c]);
        place(m, &b->at, b->stride, b->first + k, here);
        if (m->pair) { /* F_0 is of the anchor alone */
            own_g[here[0]] += 2 * w[0];
            w[0] = 0;
        }
        for (size_t i = 0; i < m->runs; ++i) {
            const struct run r = m->run[i];
            float *to = g + here[r.lag.negative] + (size_t)r.lag.du * b->stride + r.lag.dv, all = 0;

            for (size_t n = 0; n < r.count; ++n) all += w[r.first + n];
            if (r.step > 0)
                for (size_t n = 0; n < r.count; ++n) to[n] += w[r.first + n];
            else
                for (size_t n = 0; n < r.count; ++n) *(to - n) += w[r.first + n];
            own_g[here[r.lag.negative]] += all;
        }
    }
}

static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct gram *m = job->plan->state;
    const struct mf_cpu_level *level = job->level, second = second_of(level);
    const size_t frame = mf_cpu_frame_size(&m->frame, level->nu, level->nv);
    struct mf_gram_anchors anchors = anchors_of(job);
    struct areas at[PARTS];

    for (size_t p = 0; p < PARTS; ++p) areas_of(m, job->plan->desc.nu, job->plan->desc.nv, job->scratch, p, &at[p]);
    fill_frames(job, m, &at[0]);
    make_slopes(m, 1 / ((double)anchors.nu * (double)anchors.nv), job->threads, slope, at[0].slope);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (size_t p = 0; p < PARTS; ++p) {
        struct block b = begin(job, m, &at[p]);

        memset(at[p].g, 0, frame * sizeof *at[p].g);
        memset(at[p].own_g, 0, frame * sizeof *at[p].own_g);
        for (int first = 1; next(&b, p, &first);) {
            make_channels(&b);
            multiply(m, b.f, at[0].slope, at[p].h);
            give_back(&b, at[p].h, at[p].g, at[p].own_g);
        }
    }
    for (size_t p = 0; p < PARTS; ++p) mf_cpu_frame_fold(&m->frame, m->periodic, level, at[p].g);
    for (size_t p = 0; m->pair && p < PARTS; ++p) mf_cpu_frame_fold(&m->frame, m->periodic, &second, at[p].own_g);
}

/* -- tables -- */

static const struct mf_cpu_family half = {open_half_plane, close_plan, value, gradient, 0, 0};
static const struct mf_cpu_family axes = {open_axes, close_plan, value, gradient, 0, 0};
static const struct mf_cpu_family cross = {open_cross, close_plan, value, gradient, 0, 0};

const struct mf_slice_ops mf_gram_cpu = {.kind = &mf_kind_gram,
                                         .family = &half,
                                         .plan = mf_cpu_dense_plan,
                                         .free = mf_cpu_dense_free,
                                         .eval = mf_cpu_dense_eval,
                                         .total = mf_cpu_dense_total};
const struct mf_slice_ops mf_gram_axes_cpu = {.kind = &mf_kind_gram_axes,
                                              .family = &axes,
                                              .plan = mf_cpu_dense_plan,
                                              .free = mf_cpu_dense_free,
                                              .eval = mf_cpu_dense_eval,
                                              .total = mf_cpu_dense_total};
const struct mf_slice_ops mf_gram_cross_cpu = {.kind = &mf_kind_gram_cross,
                                               .family = &cross,
                                               .plan = mf_cpu_dense_plan,
                                               .free = mf_cpu_dense_free,
                                               .eval = mf_cpu_dense_eval,
                                               .cross = mf_cpu_dense_cross};
