/* Soft three-point correlations of slices: see form/gram.h. Families: gram, gram_axes, gram_cross.
 *
 * Channels of DEPTH anchors are computed at a time. exp(-s (z - t)) is a product of two numbers of one pixel each. So a
 * channel costs one product and one quotient. Products of channels are summed in tiles that stay in registers. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/gram_runs.h"
#include "kernels/cpu/slices/mirror.h"
#include "kernels/cpu/slices/packed.h"
#include "kernels/cpu/slices/tile.h"
#include "kernels/cpu/slices/whole.h"
#include "kernels/form/gram.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum {
    DEPTH = 96, /* anchors of a block */
    PARTS = 8,  /* blocks that are worked on at a time; no more threads share a gradient */
    BAND = 4,   /* tiles that share their columns */
    LOTS = 8    /* of tiles, for each thread */
};

/* Pieces of a gradient, each with a frame. Their number does not depend on threads, so neither does the sum; no more
 * threads than pieces take part. */
enum { MOST_PIECES = 16, LEAST_PIECES = 4, FEW_CHANNELS = 64, FRAMES = 1 << 22 /* floats in all, or nearly */ };

struct gram {
    struct mf_gram_runs lags;
    size_t width;  /* floats from anchor to anchor */
    size_t pieces; /* of a gradient */
    float steps;   /* of a channel in whole numbers: those of two pixels 0 or 1 are exact */
    enum mf_gram_kind kind;
    int periodic;
    struct mf_cpu_frame frame;
    mf_cpu_tile *tile;
    mf_cpu_whole_tile *whole; /* or NULL */
};

/* -- plans -- */

static void close_plan(struct mf_slice_plan *plan)
{
    struct gram *m = plan->state;

    if (m) free(m->lags.run);
    free(m);
}

static size_t aligned(size_t floats) { return (floats + MF_LINE - 1) / MF_LINE * MF_LINE; }

/* Floats of a row of channels. It has space for the reads and writes of whole tiles and lines beyond the last channel.
 * It is an odd number of lines, because otherwise rows would share few sets of the cache. */
static size_t width_of(size_t channels)
{
    const size_t lines = (channels + MF_LINE + MF_TILE_COLUMNS - 1) / MF_TILE_COLUMNS * MF_TILE_COLUMNS / MF_LINE;

    return (lines + 1) * MF_LINE;
}

static size_t frame_of(const struct gram *m, size_t nu, size_t nv)
{
    return aligned(mf_cpu_frame_size(&m->frame, nu, nv)) + MF_LINE;
}

/* Few where channels are few, whose products take no longer than frames do, and where frames are large. */
static size_t pieces_of(const struct gram *m, size_t nu, size_t nv)
{
    const size_t frames = (m->lags.pair ? 2 : 1) * frame_of(m, nu, nv);
    size_t pieces = m->lags.channels < FEW_CHANNELS ? LEAST_PIECES : MOST_PIECES;

    while (pieces > LEAST_PIECES && pieces * frames > FRAMES) pieces /= 2;
    return pieces;
}

/* The scratch. Exponentials of the framed slice, and of the anchors' slice (the same, unless there are two). Sums of
 * products in double. The slopes as a matrix, in float and as integers. For every piece framed gradients of both
 * slices. For every part channels, in float and as integers, and their gradients. A frame has an extra line, which the
 * ends of runs read without effect. */
struct areas {
    float *e, *own, *slope, *frames, *f, *h;
    size_t frame, second; /* floats of a frame, and of the second field's */
    double *sum;
    struct mf_cpu_whole whole;
    int16_t *rounded;
};

static size_t areas_of(const struct gram *m, size_t nu, size_t nv, float *scratch, size_t part, struct areas *at)
{
    const size_t frame = frame_of(m, nu, nv), block = (DEPTH + 1) * m->width;
    const size_t second = m->lags.pair ? frame : 0, frames = frame + second, slope = m->lags.channels * m->width;
    const size_t sum = aligned(2 * m->lags.channels * m->lags.channels), each = 2 * block + aligned(block / 2);
    struct mf_cpu_whole whole = {.n = m->lags.channels, .width = m->width, .steps = m->steps};
    float *sums = scratch + frames, *numbers = sums + sum + slope;
    const size_t shared = frames + sum + slope + mf_cpu_whole_place(&whole, scratch ? numbers : NULL);
    float *gradients = scratch + shared, *first = gradients + m->pieces * frames + part * each;

    if (scratch)
        *at = (struct areas){.e = scratch,
                             .own = scratch + second,
                             .sum = (double *)(void *)sums,
                             .slope = sums + sum,
                             .whole = whole,
                             .frames = gradients,
                             .frame = frame,
                             .second = second,
                             .f = first,
                             .h = first + block,
                             .rounded = (int16_t *)(void *)(first + 2 * block)};
    return shared + m->pieces * frames + PARTS * each;
}

static int open_plan(struct mf_slice_plan *plan, enum mf_gram_kind kind)
{
    const struct mf_slice_desc *desc = &plan->desc;
    struct gram *m = plan->state = calloc(1, sizeof *m);

    if (m) m->lags.run = calloc(2 * desc->lag, sizeof *m->lags.run);
    if (!m || !m->lags.run) return mf_fail(MF_MEMORY, "no memory for a plan of %s", plan->kind->what);
    m->kind = kind;
    m->lags.pair = plan->pair = kind == MF_GRAM_CROSS;
    mf_gram_runs_make(&m->lags, kind, desc->lag);
    m->frame.left = kind == MF_GRAM_AXES ? 0 : desc->lag - 1;
    m->frame.right = m->frame.below = desc->lag - 1;
    m->width = width_of(m->lags.channels);
    m->pieces = pieces_of(m, desc->nu, desc->nv);
    m->lags.soft = mf_soft_of(desc->threshold, desc->steepness);
    m->steps =
        mf_cpu_whole_steps(mf_gram_channel(m->lags.soft, mf_soft_exp(-m->lags.soft.s * (0.5F - m->lags.soft.t))));
    m->periodic = mf_gram_anchors_of(kind, desc->periodic, desc->seam, desc->lag, desc->nu, desc->nv).periodic;
    m->tile = mf_cpu_tile_of(0);
    m->whole = m->lags.channels >= MF_WHOLE_LEAST ? mf_cpu_whole_of(0) : NULL;
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

/* All channels at anchor @p k of a block, and zeros behind them. */
static void make_row(const struct block *b, size_t k, float *f)
{
    const struct gram *m = b->m;
    size_t here[2];

    place(m, &b->at, b->stride, b->first + k, here);
    mf_gram_runs_channels(&m->lags, b->e, b->own, b->stride, here, f);
    for (size_t c = m->lags.channels; c < m->width; ++c) f[c] = 0;
}

/* Writes the channels of a block as rows; rows of missing anchors are 0. @p whole: also as integers. */
static void make_rows(const struct block *b, const struct areas *at, int whole)
{
    const size_t width = b->m->width;

    for (size_t k = 0; k < DEPTH; ++k) {
        float *f = b->f + k * width;

        if (k < b->count)
            make_row(b, k, f);
        else
            memset(f, 0, width * sizeof *f);
        if (whole) mf_cpu_whole_row(&at->whole, b->first + k, f, at->rounded + k * width);
    }
}

/* Index of channel @p c in panels. A panel has 32 channels of all anchors, so that tiles read it sequentially. Panels
 * are a row apart, because otherwise they would share few sets of the cache. */
static size_t in_panel(size_t c) { return c / MF_TILE_COLUMNS * (DEPTH + 1) * MF_TILE_COLUMNS + c % MF_TILE_COLUMNS; }

/* Channels of a block as panels; @p row has room for one row. */
static void make_panels(const struct block *b, float *row)
{
    for (size_t k = 0; k < b->count; ++k) {
        make_row(b, k, row);
        for (size_t c = 0; c < b->m->lags.channels; c += MF_TILE_COLUMNS)
            memcpy(b->f + in_panel(c) + k * MF_TILE_COLUMNS, row + c, MF_TILE_COLUMNS * sizeof *row);
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
    exponentials(m->lags.soft, mf_cpu_frame_size(&m->frame, level->nu, level->nv), e);
}

static void fill_frames(const struct mf_cpu_job *job, const struct gram *m, const struct areas *at)
{
    const struct mf_cpu_level second = second_of(job->level);

    fill_frame(m, job->level, at->e);
    if (m->lags.pair) fill_frame(m, &second, at->own);
}

/* -- values -- */

/* Shared work of the threads: the channels of some blocks, and sums of their products. */
struct chunk {
    const struct gram *m;
    const struct areas *at;
    size_t number; /* of the chunk: its channels are in f, h, f, ..; the first one's are the first in the sums */
    size_t left;   /* anchors from it on */
};

/* Adds a tile at (i, j) to the sums, as far as it lies in the matrix and above row @p last. */
MF_CPU_FAST static void add_tile(const struct chunk *w, size_t last, size_t i, size_t j, const float *restrict c)
{
    const size_t n = w->m->lags.channels, rows = last - i < MF_TILE_ROWS ? last - i : MF_TILE_ROWS,
                 columns = n - j < MF_TILE_COLUMNS ? n - j : MF_TILE_COLUMNS;

    for (size_t r = 0; r < rows; ++r) {
        double *restrict to = w->at->sum + (i + r) * n + j;

#pragma omp simd
        for (size_t k = 0; k < columns; ++k) to[k] = (w->number == 0 ? 0 : to[k]) + (double)c[r * MF_TILE_COLUMNS + k];
    }
}

/* Computes the tiles below each other from (i, j) on, above row @p last. The data of their columns stay in the
 * cache. */
static void product(const struct chunk *w, size_t last, size_t i, size_t j)
{
    float c[BAND][MF_TILE_ROWS * MF_TILE_COLUMNS] = {{0}};

    for (size_t p = 0; p < PARTS && p * DEPTH < w->left; ++p)
        for (size_t t = 0, row = i; row < last; ++t, row += MF_TILE_ROWS) {
            const float *f = w->number % 2 ? w->at[p].h : w->at[p].f, *group[MF_TILE_GROUPS];
            size_t groups = 0;

            for (size_t r = row; r < last && groups < MF_TILE_GROUPS; r += MF_TILE_GROUP)
                group[groups++] = f + in_panel(r);
            w->m->tile(groups, count_of(p * DEPTH, w->left), group, 1, MF_TILE_COLUMNS, f + in_panel(j),
                       MF_TILE_COLUMNS, c[t]);
        }
    for (size_t t = 0, row = i; row < last; ++t, row += MF_TILE_ROWS) add_tile(w, last, row, j, c[t]);
}

/* Columns that form whole tiles, or nearly. The few others are computed below the diagonal, as rows of a low tile. The
 * number L^2 + (L - 1)^2 is often one more than a multiple of 32. */
static size_t upright(size_t n)
{
    const size_t rest = n % MF_TILE_COLUMNS;

    return rest <= MF_TILE_GROUP ? n - rest : n;
}

/* Computes the tiles of F^T F that begin in some of its groups of rows. These are the tiles on and above the diagonal
 * and, for the remaining columns, below it. Returns the number of groups. */
static size_t products(const struct chunk *w, struct mf_span some)
{
    const size_t n = w->m->lags.channels, end = upright(n);
    size_t t = 0;

    for (size_t j = 0; j < end; j += MF_TILE_COLUMNS) {
        const size_t below = j + MF_TILE_COLUMNS < end ? j + MF_TILE_COLUMNS : end;

        for (size_t i = 0, next; i < below; i = next) {
            next = i + BAND * MF_TILE_ROWS < below ? i + BAND * MF_TILE_ROWS : below;
            if (t - some.first < some.count) product(w, next, i, j);
            t += (next - i + MF_TILE_GROUP - 1) / MF_TILE_GROUP;
        }
    }
    for (size_t j = 0; j < n && end < n; j += MF_TILE_COLUMNS, ++t)
        if (t - some.first < some.count) product(w, n, end, j);
    return t;
}

static void areas_all(const struct mf_cpu_job *job, struct areas at[PARTS])
{
    for (size_t p = 0; p < PARTS; ++p)
        areas_of(job->plan->state, job->plan->desc.nu, job->plan->desc.nv, job->scratch, p, &at[p]);
}

/* Makes the channels of a chunk, if it exists. They are those of the next chunk, while the products of this one are
 * computed. */
static void make_chunk(const struct mf_cpu_job *job, const struct areas *at, size_t number, size_t all, int *stopped)
{
#pragma omp for schedule(static, 1) nowait
    for (size_t p = 0; p < PARTS; ++p) {
        struct block b = begin(job, &at[p], (number * PARTS + p) * DEPTH, all);

        b.f = number % 2 ? at[p].h : at[p].f;
        if (b.count > 0 && !mf_cpu_breaks("correlations", stopped)) make_panels(&b, (float *)(void *)at[p].rounded);
    }
}

/* Makes the channels of PARTS blocks at a time, and those of the next while threads take tiles of these. Only one
 * thread at a time adds to a sum. */
static void value(const struct mf_cpu_job *job, double *d)
{
    const struct gram *m = job->plan->state;
    const struct mf_gram_anchors anchors = anchors_of(job);
    const size_t all = anchors.nu * anchors.nv, each = PARTS * DEPTH, lots = LOTS * (size_t)job->threads,
                 groups = products(&(struct chunk){.m = m}, (struct mf_span){0, 0});
    struct areas at[PARTS];
    int stopped = 0;

    areas_all(job, at);
    fill_frames(job, m, &at[0]);
#pragma omp parallel num_threads(job->threads) if (job->threads > 1)
    {
        make_chunk(job, at, 0, all, &stopped);
#pragma omp barrier
        for (size_t k = 0; k * each < all; ++k) {
            const struct chunk chunk = {m, at, k, all - k * each};

            make_chunk(job, at, k + 1, all, &stopped);
#pragma omp for schedule(dynamic)
            for (size_t t = 0; t < lots; ++t)
                if (!mf_cpu_breaks("correlations", &stopped)) (void)products(&chunk, mf_cut(groups, lots, t));
        }
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < m->lags.channels; i += MF_MIRROR)
            mf_cpu_mirror_out(m->lags.channels, upright(m->lags.channels), 1 / (double)all, at[0].sum, i, d);
    }
}

/* -- gradient -- */

/* The product of two rows. */
MF_CPU_FAST static float dot(size_t n, const float *a, const float *b)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

/* A tile of h = F slopes in float. */
static void multiply(const struct gram *m, const struct areas *at, size_t k, size_t j)
{
    float c[MF_TILE_ROWS * MF_TILE_COLUMNS] = {0}, *h = at->h + k * m->width + j;

    mf_cpu_tile_rows(m->tile, m->lags.channels, at->f + k * m->width, m->width, 1, at->slope + j, m->width, c);
    for (size_t r = 0; r < MF_TILE_ROWS; ++r)
        memcpy(h + r * m->width, c + r * MF_TILE_COLUMNS, MF_TILE_COLUMNS * sizeof *c);
}

/* h = F slopes, which are symmetric; whole: in whole numbers, but for columns that fill no tile. */
static void multiply_all(const struct gram *m, const struct areas *at, size_t rows, int whole)
{
    const size_t n = m->lags.channels, end = upright(n), w = m->width;

    for (size_t j = 0; j < end; j += MF_TILE_COLUMNS)
        for (size_t k = 0; k < rows; k += MF_TILE_ROWS)
            if (whole)
                m->whole(&at->whole, at->rounded + k * w, j, at->h + k * w + j);
            else
                multiply(m, at, k, j);
    for (size_t k = 0; k < rows; ++k)
        for (size_t j = end; j < n; ++j) at->h[k * w + j] = dot(n, at->f + k * w, at->slope + j * w);
}

/* Weights of an anchor's channels: h, as it should be, times their slopes. */
MF_CPU_FAST static void weigh(const struct gram *m, const struct mf_cpu_whole *s, const float *restrict f,
                              float *restrict h)
{
    const struct mf_soft soft = m->lags.soft;
    const float *restrict inverse = s->inverse, *restrict half = s->half, *restrict diagonal = s->diagonal;
    const size_t n = m->lags.channels;

#pragma omp simd
    for (size_t c = 0; c < n; ++c)
        h[c] = (h[c] * inverse[c] + half[c] + f[c] * diagonal[c]) * mf_gram_slope(soft, f[c]);
    for (size_t c = n; c < n + MF_LINE; ++c) h[c] = 0;
}

/* From the channels to the pixels, in frames @p g and @p own_g. */
static void give_back(const struct block *b, const struct areas *at, float *g, float *own_g)
{
    for (size_t k = 0; k < b->count; ++k) {
        float *h = at->h + k * b->m->width;
        size_t here[2];

        weigh(b->m, &at->whole, b->f + k * b->m->width, h);
        place(b->m, &b->at, b->stride, b->first + k, here);
        mf_gram_runs_give(&b->m->lags, h, b->stride, here, g, own_g);
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

/* Adds the results of a piece of the anchors to its frames; pieces begin with whole tiles. */
static void give_piece(const struct mf_cpu_job *job, const struct areas *at, size_t all, size_t piece, int whole)
{
    const struct gram *m = job->plan->state;
    const struct mf_span tiles = mf_cut((all + MF_TILE_ROWS - 1) / MF_TILE_ROWS, m->pieces, piece);
    const size_t end = (tiles.first + tiles.count) * MF_TILE_ROWS, last = end < all ? end : all;
    float *g = at->frames + piece * (at->frame + at->second);

    memset(g, 0, (at->frame + at->second) * sizeof *g);
    for (size_t q = tiles.first * MF_TILE_ROWS; q < last; q += DEPTH) {
        const struct block b = begin(job, at, q, last);

        mf_pulse_tell("correlations");
        make_rows(&b, at, whole);
        multiply_all(m, at, b.count, whole);
        give_back(&b, at, g, g + at->second);
    }
}

/* Pieces, as long as there are some: a thread's channels stay in its cache. */
static void give_pieces(const struct mf_cpu_job *job, const struct areas at[PARTS], size_t all, int whole,
                        size_t *threads, size_t *pieces)
{
    const struct gram *m = job->plan->state;
    size_t part, piece = 0;

#pragma omp atomic capture
    part = (*threads)++;
    while (part < PARTS) {
#pragma omp atomic capture
        piece = (*pieces)++;
        if (piece >= m->pieces) break;
        give_piece(job, &at[part], all, piece, whole);
    }
}

/* Gradient by the channels: dE/dF = F (slope + its transpose) / N. */
static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct gram *m = job->plan->state;
    const struct mf_cpu_level *level = job->level, second = second_of(level);
    const struct mf_gram_anchors anchors = anchors_of(job);
    const size_t all = anchors.nu * anchors.nv, n = m->lags.channels;
    const size_t panels = (n + MF_TILE_COLUMNS - 1) / MF_TILE_COLUMNS * MF_TILE_COLUMNS;
    const int whole = m->whole && in_unit(level);
    size_t threads = 0, pieces = 0;
    struct areas at[PARTS];

    areas_all(job, at);
    fill_frames(job, m, &at[0]);
#pragma omp parallel num_threads(job->threads) if (job->threads > 1)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < n; i += MF_MIRROR)
            mf_cpu_mirror_add(n, m->width, 1 / (double)all, slope, i, at[0].slope);
#pragma omp for schedule(static)
        for (size_t i = 0; i < panels; i += MF_LINE)
            mf_cpu_whole_columns(&at[0].whole, whole && i < upright(n), i, at[0].slope);
#pragma omp for schedule(static)
        for (size_t k = 0; k < (whole ? (n + 1) / 2 : 0); ++k) mf_cpu_whole_pack(&at[0].whole, at[0].slope, k);
        give_pieces(job, at, all, whole, &threads, &pieces);
    }
    for (size_t p = 0; p < m->pieces; ++p) {
        const float *g = at[0].frames + p * (at[0].frame + at[0].second);

        mf_cpu_frame_fold(&m->frame, m->periodic, level, g);
        if (m->lags.pair) mf_cpu_frame_fold(&m->frame, m->periodic, &second, g + at[0].second);
    }
}

/* -- tables -- */

static const struct mf_cpu_family half = {open_half_plane, close_plan, value, gradient, 0, 0};
static const struct mf_cpu_family axes = {open_axes, close_plan, value, gradient, 0, 0};
static const struct mf_cpu_family cross = {open_cross, close_plan, value, gradient, 0, 0};

static size_t square(size_t n) { return n * n; }
static size_t half_entries(const struct mf_slice_desc *d) { return square(mf_gram_channels(MF_GRAM_HALF, d->lag)); }
static size_t axes_entries(const struct mf_slice_desc *d) { return square(mf_gram_channels(MF_GRAM_AXES, d->lag)); }

const struct mf_slice_kind mf_kind_gram = {"gram", "soft three-point correlations", half_entries, mf_cost_gram};
const struct mf_slice_kind mf_kind_gram_axes = {"gram_axes", "soft three-point correlations along the axes",
                                                axes_entries, mf_cost_gram_axes};
const struct mf_slice_kind mf_kind_gram_cross = {"gram_cross", "soft cross-correlations", half_entries,
                                                 mf_cost_gram_cross};

MF_CPU_OF_FIELD(gram, half);
MF_CPU_OF_FIELD(gram_axes, axes);
MF_CPU_OF_PAIRS(gram_cross, cross);
