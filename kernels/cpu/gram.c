/* Soft three-point correlations of slices: see form/gram.h. Families: gram, gram_axes, gram_cross.
 *
 * Channels of DEPTH anchors are made at a time: exp(-s (z - t)) is a product of two numbers of one pixel each, so a
 * channel costs a product and a quotient. Their products are added up in tiles that stay in registers. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/line.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/whole.h"
#include "kernels/form/gram.h"
#include "src/base/cut.h"
#include "src/base/err.h"

enum { DEPTH = 96, PARTS = 4 };

/* Channels first .. first + count - 1: lags (du, dv), (du, dv + step), .. */
struct run {
    struct mf_gram_lag lag;
    int step;
    size_t first, count;
    float last[MF_LINE]; /* 1 where its last line has a channel, else 0 */
};

struct gram {
    size_t channels, width; /* width: floats from anchor to anchor */
    size_t runs, ahead;     /* ahead: those before the first with negative columns */
    struct run *run;
    struct mf_soft soft;
    float steps; /* of a channel in whole numbers: those of two pixels 0 or 1 are exact */
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
    m->run[m->runs] = (struct run){first, first.negative ? -1 : 1, m->channels, count, {0}};
    for (size_t l = 0; l <= (count - 1) % MF_LINE; ++l) m->run[m->runs].last[l] = 1;
    m->channels += count;
    ++m->runs;
}

static void make_runs(struct gram *m, size_t lag)
{
    const int axes = m->kind == MF_GRAM_AXES;

    for (size_t i = axes ? 1 : 0; i < lag; ++i) add_run(m, lag, axes ? 1 : lag);
    if (axes) add_run(m, lag, lag);
    m->ahead = m->runs;
    for (size_t i = 1; !axes && i < lag; ++i) add_run(m, lag, lag - 1);
    m->frame.left = axes ? 0 : lag - 1;
}

static void close_plan(struct mf_slice_plan *plan)
{
    struct gram *m = plan->state;

    if (m) free(m->run);
    free(m);
}

static size_t aligned(size_t floats) { return (floats + MF_LINE - 1) / MF_LINE * MF_LINE; }

/* Floats of a row of channels: room for what whole tiles and lines read and write beyond the last, and an odd number of
 * lines, or rows would crowd in few sets of the cache. */
static size_t width_of(size_t channels)
{
    const size_t lines = (channels + MF_LINE + MF_TILE_COLUMNS - 1) / MF_TILE_COLUMNS * MF_TILE_COLUMNS / MF_LINE;

    return (lines + 1) * MF_LINE;
}

/* Scratch: exponentials of the framed slice, and of the one of anchors (the same, unless there are two), sums of
 * products in double, the slopes as a matrix, in float and in whole numbers; for every part framed gradients of both,
 * channels, in float and in whole numbers, and what comes back to them. Frames have a line more, which the ends of runs
 * read and add nothing to. */
struct areas {
    float *e, *own, *slope, *g, *own_g, *f, *h;
    double *sum;
    struct mf_cpu_whole whole;
    int16_t *rounded;
};

static size_t areas_of(const struct gram *m, size_t nu, size_t nv, float *scratch, size_t part, struct areas *at)
{
    const size_t frame = aligned(mf_cpu_frame_size(&m->frame, nu, nv)) + MF_LINE, block = DEPTH * m->width;
    const size_t second = m->pair ? frame : 0, frames = frame + second, slope = m->channels * m->width;
    const size_t sum = aligned(2 * m->channels * m->channels), each = frames + 2 * block + block / 2;
    struct mf_cpu_whole whole = {.n = m->channels, .width = m->width, .steps = m->steps};
    float *sums = scratch + frames, *numbers = sums + sum + slope;
    const size_t shared = frames + sum + slope + mf_cpu_whole_place(&whole, scratch ? numbers : NULL);
    float *first = scratch + shared + part * each;

    if (scratch)
        *at = (struct areas){.e = scratch,
                             .own = scratch + second,
                             .sum = (double *)(void *)sums,
                             .slope = sums + sum,
                             .whole = whole,
                             .g = first,
                             .own_g = first + second,
                             .f = first + frames,
                             .h = first + frames + block,
                             .rounded = (int16_t *)(void *)(first + frames + 2 * block)};
    return shared + PARTS * each;
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
    m->width = width_of(m->channels);
    m->soft = mf_soft_of(desc->threshold, desc->steepness);
    m->steps = mf_cpu_whole_steps(mf_gram_channel(m->soft, mf_soft_exp(-m->soft.s * (0.5F - m->soft.t))));
    m->periodic = mf_gram_anchors_of(kind, desc->periodic, desc->seam, desc->lag, desc->nu, desc->nv).periodic;
    m->tile = mf_cpu_tile_of(0);
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

        if (k >= b->count) {
            for (size_t c = 0; c < m->width; ++c) f[c] = 0;
            continue;
        }
        place(m, &b->at, b->stride, b->first + k, here);
        for (size_t i = 0; i < m->runs; ++i) {
            const struct run r = m->run[i];
            const float own = b->own[here[r.lag.negative]];
            const float *e = b->e + here[r.lag.negative] + (size_t)r.lag.du * b->stride + r.lag.dv;
            float *restrict to = f + r.first;

            for (size_t n = 0; n < r.count; n += MF_LINE)
                mf_line_put(own * mf_line_get(e + (ptrdiff_t)n * r.step, r.step), 1, to + n);
        }
        if (m->pair) f[0] = b->own[here[0]] * b->own[here[0]];
#pragma omp simd
        for (size_t c = 0; c < m->channels; ++c) f[c] = mf_gram_channel(soft, f[c]);
        for (size_t c = m->channels; c < m->width; ++c) f[c] = 0;
    }
}

MF_CPU_FAST static void exponentials(struct mf_soft f, size_t n, float *e)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) e[i] = mf_gram_factor(f, e[i]);
}

static size_t count_of(size_t q, size_t end) { return q >= end ? 0 : end - q < DEPTH ? end - q : DEPTH; }

/* DEPTH anchors from q on, as far as there are some before @p end. */
static struct block begin(const struct mf_cpu_job *job, const struct areas *at, size_t q, size_t end)
{
    const struct gram *m = job->plan->state;
    return (struct block){.m = m,
                          .at = anchors_of(job),
                          .stride = mf_cpu_frame_stride(&m->frame, job->level->nv),
                          .first = q,
                          .e = at->e,
                          .own = at->own,
                          .count = count_of(q, end),
                          .f = at->f};
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

/* What the threads work on together: the channels of some blocks, and sums of their products. */
struct chunk {
    const struct gram *m;
    const struct areas *at;
    size_t number; /* of the chunk: its channels are in f, h, f, ..; those of the first one are the first in the sums */
    size_t left;   /* anchors from it on */
};

/* A tile at (i, j) into the sums, as far as it lies in the matrix and above row @p last. */
MF_CPU_FAST static void add_tile(const struct chunk *w, size_t last, size_t i, size_t j, const float *restrict c)
{
    const size_t n = w->m->channels, rows = last - i < MF_TILE_ROWS ? last - i : MF_TILE_ROWS,
                 columns = n - j < MF_TILE_COLUMNS ? n - j : MF_TILE_COLUMNS;

    for (size_t r = 0; r < rows; ++r) {
        double *restrict to = w->at->sum + (i + r) * n + j;

#pragma omp simd
        for (size_t k = 0; k < columns; ++k) to[k] = (w->number == 0 ? 0 : to[k]) + (double)c[r * MF_TILE_COLUMNS + k];
    }
}

static void product(const struct chunk *w, size_t groups, size_t last, size_t i, size_t j)
{
    float c[MF_TILE_ROWS * MF_TILE_COLUMNS] = {0};

    for (size_t p = 0; p < PARTS && p * DEPTH < w->left; ++p) {
        const float *f = w->number % 2 ? w->at[p].h : w->at[p].f, *const group[MF_TILE_GROUPS] = {
                                                                      f + i, f + i + MF_TILE_GROUP,
                                                                      f + i + 2 * MF_TILE_GROUP};

        w->m->tile(groups, count_of(p * DEPTH, w->left), group, 1, w->m->width, f + j, w->m->width, c);
    }
    add_tile(w, last, i, j, c);
}

/* Columns that are whole tiles, or nearly. A few more come below the diagonal, as rows of a low tile: L^2 + (L - 1)^2
 * is often one more than a multiple of 32. */
static size_t upright(size_t n)
{
    const size_t rest = n % MF_TILE_COLUMNS;

    return rest <= MF_TILE_GROUP ? n - rest : n;
}

/* Those tiles of F^T F that begin in some of its groups of rows: it has those on and above the diagonal, and what
 * stands in columns that are not upright, below it. Returns how many groups it has. */
static size_t products(const struct chunk *w, struct mf_span some)
{
    const size_t n = w->m->channels, end = upright(n);
    size_t t = 0;

    for (size_t j = 0; j < end; j += MF_TILE_COLUMNS)
        for (size_t i = 0; i < end && i < j + MF_TILE_COLUMNS; i += MF_TILE_ROWS, t += MF_TILE_GROUPS)
            if (t - some.first < some.count) product(w, MF_TILE_GROUPS, end, i, j);
    for (size_t j = 0; j < n && end < n; j += MF_TILE_COLUMNS, ++t)
        if (t - some.first < some.count) product(w, 1, n, end, j);
    return t;
}

/* Rows i .. i + MF_LINE - 1 of d from the sums above the diagonal, and the same columns of it. */
static void put_values(const struct gram *m, const double *sum, double each, size_t i, double *d)
{
    const size_t n = m->channels, end = upright(n), last = i + MF_LINE < n ? i + MF_LINE : n;

    for (size_t from = i; from < end; from += MF_LINE) {
        const size_t to = from + MF_LINE < end ? from + MF_LINE : end;

        for (size_t k = i; k < last; ++k)
            for (size_t j = from; j < to; ++j) d[k * n + j] = each * sum[k * n + j];
        for (size_t j = from; j < to; ++j)
            for (size_t k = i; k < last; ++k) d[j * n + k] = d[k * n + j];
    }
    for (size_t j = end; j < n; ++j)
        for (size_t k = i; k < last; ++k) d[k * n + j] = d[j * n + k] = each * sum[j * n + k];
}

static void areas_all(const struct mf_cpu_job *job, struct areas at[PARTS])
{
    for (size_t p = 0; p < PARTS; ++p)
        areas_of(job->plan->state, job->plan->desc.nu, job->plan->desc.nv, job->scratch, p, &at[p]);
}

/* Makes the channels of a chunk, if there are any: those of the next one while products are taken of this one. */
static void make_chunk(const struct mf_cpu_job *job, const struct areas *at, size_t number, size_t all)
{
#pragma omp for schedule(static, 1) nowait
    for (size_t p = 0; p < PARTS; ++p) {
        struct block b = begin(job, &at[p], (number * PARTS + p) * DEPTH, all);

        b.f = number % 2 ? at[p].h : at[p].f;
        if (b.count > 0) make_channels(&b);
    }
}

/* Channels of PARTS blocks are made at a time, and those of the next while tiles of these are dealt out: a sum is a
 * thread's, and stays in its cache. */
static void value(const struct mf_cpu_job *job, double *d)
{
    const struct gram *m = job->plan->state;
    const struct mf_gram_anchors anchors = anchors_of(job);
    const size_t all = anchors.nu * anchors.nv, each = PARTS * DEPTH, team = (size_t)job->threads,
                 groups = products(&(struct chunk){.m = m}, (struct mf_span){0, 0});
    struct areas at[PARTS];

    areas_all(job, at);
    fill_frames(job, m, &at[0]);
#pragma omp parallel num_threads(job->threads) if (job->threads > 1)
    {
        make_chunk(job, at, 0, all);
#pragma omp barrier
        for (size_t k = 0; k * each < all; ++k) {
            const struct chunk chunk = {m, at, k, all - k * each};

            make_chunk(job, at, k + 1, all);
#pragma omp for schedule(static)
            for (size_t t = 0; t < team; ++t) (void)products(&chunk, mf_cut(groups, team, t));
        }
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < m->channels; i += MF_LINE) put_values(m, at[0].sum, 1 / (double)all, i, d);
    }
}

/* -- gradient -- */

/* What the channels count: dE/dF = F (slope + its transpose) / N. Columns i .. i + MF_LINE - 1 of these from row i on,
 * and the rows that are the same. */
static void make_slopes(const struct gram *m, double each, const double *slope, size_t i, float *to)
{
    const size_t n = m->channels, last = i + MF_LINE < n ? i + MF_LINE : n;

    for (size_t from = i; from < n; from += MF_LINE)
        for (size_t j = from; j < n && j < from + MF_LINE; ++j)
            for (size_t k = i; k < last; ++k)
                to[k * m->width + j] = to[j * m->width + k] = (float)(each * (slope[k * n + j] + slope[j * n + k]));
    for (size_t k = i; k < last; ++k)
        for (size_t j = n; j < m->width; ++j) to[k * m->width + j] = 0;
}

/* The product of two rows, behind whose n floats zeros stand. */
MF_CPU_FAST static float dot(size_t n, const float *a, const float *b)
{
    mf_line sum = {0};

    for (size_t k = 0; k < n; k += MF_LINE) sum += mf_line_get(a + k, 1) * mf_line_get(b + k, 1);
    return mf_line_sum(sum);
}

/* A tile of h = F slopes in float. */
static void multiply(const struct gram *m, const struct areas *at, size_t k, size_t j)
{
    float c[MF_TILE_ROWS * MF_TILE_COLUMNS] = {0}, *h = at->h + k * m->width + j;

    mf_cpu_tile_rows(m->tile, m->channels, at->f + k * m->width, m->width, 1, at->slope + j, m->width, c);
    for (size_t r = 0; r < MF_TILE_ROWS; ++r)
        memcpy(h + r * m->width, c + r * MF_TILE_COLUMNS, MF_TILE_COLUMNS * sizeof *c);
}

/* h = F slopes, which are symmetric; whole: in whole numbers, but for columns that fill no tile. */
static void multiply_all(const struct gram *m, const struct areas *at, size_t rows, int whole)
{
    const size_t n = m->channels, end = upright(n), w = m->width;

    for (size_t k = 0; whole && k < DEPTH; ++k) mf_cpu_whole_row(&at->whole, at->f + k * w, at->rounded + k * w);
    for (size_t j = 0; j < end; j += MF_TILE_COLUMNS)
        for (size_t k = 0; k < rows; k += MF_TILE_ROWS)
            if (whole)
                mf_cpu_whole_tile(&at->whole, at->rounded + k * w, j, at->h + k * w + j);
            else
                multiply(m, at, k, j);
    for (size_t k = 0; k < rows; ++k)
        for (size_t j = end; j < n; ++j) at->h[k * w + j] = dot(n, at->f + k * w, at->slope + j * w);
}

/* What a run gives to the pixels of its lags. Returns the sum, in lines. */
MF_LINE_INLINE mf_line give_run(const struct run *r, const float *w, float *to)
{
    mf_line sum = {0};

    for (size_t n = 0; n < r->count; n += MF_LINE) {
        float *at = to + (ptrdiff_t)n * r->step;
        const mf_line all = mf_line_get(w + n, 1), some = n + MF_LINE < r->count ? all : all * mf_line_get(r->last, 1);

        mf_line_put(mf_line_get(at, r->step) + some, r->step, at);
        sum += some;
    }
    return sum;
}

/* From the channels to the pixels: half of dE/dz to either. */
MF_CPU_FAST static void give_back(const struct block *b, const struct areas *at)
{
    const struct gram *m = b->m;
    const struct mf_soft soft = m->soft;
    const float *restrict inverse = at->whole.inverse, *restrict half = at->whole.half,
                          *restrict diagonal = at->whole.diagonal;

    for (size_t k = 0; k < b->count; ++k) {
        const float *restrict f = b->f + k * m->width;
        float *restrict w = at->h + k * m->width;
        size_t here[2];

#pragma omp simd
        for (size_t c = 0; c < m->channels; ++c)
            w[c] = (w[c] * inverse[c] + half[c] + f[c] * diagonal[c]) * mf_gram_slope(soft, f[c]);
        for (size_t c = m->channels; c < m->channels + MF_LINE; ++c) w[c] = 0;
        place(m, &b->at, b->stride, b->first + k, here);
        if (m->pair) { /* F_0 is of the anchor alone */
            at->own_g[here[0]] += 2 * w[0];
            w[0] = 0;
        }
        for (int negative = 0; negative < 2; ++negative) {
            const size_t n = here[negative], end = negative ? m->runs : m->ahead;
            mf_line sum = {0};

            for (size_t i = negative ? m->ahead : 0; i < end; ++i) {
                const struct run *r = &m->run[i];

                sum += give_run(r, w + r->first, at->g + n + (size_t)r->lag.du * b->stride + r->lag.dv);
            }
            at->own_g[n] += mf_line_sum(sum);
        }
    }
}

/* Whether all pixels, and so all channels, are in [0, 1]. */
static int in_unit(const struct mf_cpu_level *level)
{
    int all = 1;

    for (size_t i = 0; i < level->nu * level->nv; ++i)
        all &= level->x[i] >= 0 && level->x[i] <= 1 && (!level->y || (level->y[i] >= 0 && level->y[i] <= 1));
    return all;
}

static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct gram *m = job->plan->state;
    const struct mf_cpu_level *level = job->level, second = second_of(level);
    const size_t frame = mf_cpu_frame_size(&m->frame, level->nu, level->nv) + MF_LINE;
    const struct mf_gram_anchors anchors = anchors_of(job);
    const size_t all = anchors.nu * anchors.nv, n = m->channels;
    const size_t panels = (n + MF_TILE_COLUMNS - 1) / MF_TILE_COLUMNS * MF_TILE_COLUMNS;
    const int whole = n >= MF_WHOLE_LEAST && mf_cpu_whole_can() && in_unit(level);
    struct areas at[PARTS];

    areas_all(job, at);
    fill_frames(job, m, &at[0]);
#pragma omp parallel num_threads(job->threads) if (job->threads > 1)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < n; i += MF_LINE) make_slopes(m, 1 / (double)all, slope, i, at[0].slope);
#pragma omp for schedule(static)
        for (size_t i = 0; i < panels; i += MF_LINE)
            mf_cpu_whole_columns(&at[0].whole, whole && i < upright(n), i, at[0].slope);
#pragma omp for schedule(static)
        for (size_t k = 0; k < (whole ? (n + 1) / 2 : 0); ++k) mf_cpu_whole_pack(&at[0].whole, at[0].slope, k);
#pragma omp for schedule(static, 1)
        for (size_t p = 0; p < PARTS; ++p) {
            memset(at[p].g, 0, frame * sizeof *at[p].g);
            if (m->pair) memset(at[p].own_g, 0, frame * sizeof *at[p].own_g);
            for (size_t q = all * p / PARTS, last = all * (p + 1) / PARTS; q < last; q += DEPTH) {
                const struct block b = begin(job, &at[p], q, last);

                make_channels(&b);
                multiply_all(m, &at[p], b.count, whole);
                give_back(&b, &at[p]);
            }
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
