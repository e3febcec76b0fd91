/* See plane_fit.h. */
#include "src/recon/plane_fit.h"

#include <math.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/recon/pairs.h"

enum { Z, Y, X, SWEEPS = 4 };

/* -- memory -- */

/* Where the tables of lines begin in one block. */
static struct mf_lines lines_at(int32_t *at, const struct mf_slab *s, size_t phases)
{
    const size_t x = s->count * s->dims[1], y = s->count * s->dims[2], pairs = mf_pairs(phases);
    int32_t *sum_x = at + pairs * x, *pair_y = sum_x + phases * x, *sum_y = pair_y + pairs * y;

    return (struct mf_lines){at, sum_x, pair_y, sum_y, sum_y + phases * y};
}

static size_t table_bytes(const struct mf_slab *s, size_t phases)
{
    return ((mf_pairs(phases) + phases) * s->count * (s->dims[1] + s->dims[2]) +
            mf_pairs(phases) * s->dims[1] * s->dims[2]) *
           sizeof(int32_t);
}

static size_t off_bytes(const struct mf_slab *s, size_t phases)
{
    return phases * (s->count + s->dims[1] + s->dims[2]) * sizeof(float);
}

/* Two of the three axes that a table is of, and its size. */
static size_t table_size(const struct mf_plane_fit *p, int table)
{
    static const int rows[3] = {Z, Z, Y}, columns[3] = {Y, X, X};

    return p->slab.dims[rows[table]] * p->slab.dims[columns[table]];
}

static size_t all_size(const struct mf_plane_fit *p)
{
    const size_t two = table_size(p, 0) + table_size(p, 1);

    return mf_pairs(p->phases) * (two + table_size(p, 2)) + p->phases * two;
}

static int take_host(struct mf_plane_fit *p)
{
    struct mf_arena *host = p->queue->host;
    const size_t pairs = mf_pairs(p->phases);

    p->all = mf_arena_take(host, all_size(p) * sizeof(double), "lines");
    if (!p->all) return MF_MEMORY;
    p->pair[0] = p->all;
    for (int k = 1; k < 3; ++k) p->pair[k] = p->pair[k - 1] + pairs * table_size(p, k - 1);
    p->sum[0] = p->pair[2] + pairs * table_size(p, 2);
    p->sum[1] = p->sum[0] + p->phases * table_size(p, 0);
    for (int k = 0; k < 3; ++k) {
        const size_t n = p->slab.dims[k];

        p->part[k] = mf_arena_take(host, p->phases * n * sizeof(double), "planes");
        p->total[k] = mf_arena_take(host, p->phases * n * sizeof(double), "planes");
        p->number[k] = mf_arena_take(host, pairs * n * sizeof(double), "planes");
        if (!p->part[k] || !p->total[k] || !p->number[k]) return MF_MEMORY;
    }
    return MF_OK;
}

int mf_plane_fit_open(struct mf_plane_fit *p, const struct mf_comm *comm, struct mf_queue *queue,
                      const struct mf_slab *slab, size_t phases)
{
    const size_t table = table_bytes(slab, phases), off = off_bytes(slab, phases);

    *p = (struct mf_plane_fit){.comm = comm, .queue = queue, .slab = *slab, .phases = phases};
    MF_TRY(take_host(p));
    p->table = mf_arena_take(queue->arena, table, "lines");
    p->off = mf_arena_take(queue->arena, off, "planes");
    if (!p->table || !p->off) return MF_MEMORY;
    p->mirror = mf_mirror_take(queue, p->table, table, "lines");
    p->host_off = mf_mirror_take(queue, p->off, off, "planes");
    if (!p->mirror || !p->host_off) return MF_MEMORY;
    p->lines = lines_at(p->table, slab, phases);
    p->seen = lines_at(p->mirror, slab, phases);
    return MF_OK;
}

void mf_plane_fit_close(struct mf_plane_fit *p)
{
    if (!p->queue) return;
    if (p->host_off) mf_mirror_give(p->queue, p->off, p->host_off);
    if (p->mirror) mf_mirror_give(p->queue, p->table, p->mirror);
    mf_arena_give(p->queue->arena, p->off);
    mf_arena_give(p->queue->arena, p->table);
    for (int k = 0; k < 3; ++k) {
        mf_arena_give(p->queue->host, p->number[k]);
        mf_arena_give(p->queue->host, p->total[k]);
        mf_arena_give(p->queue->host, p->part[k]);
    }
    mf_arena_give(p->queue->host, p->all);
}

/* -- sums -- */

/* Tables [n][count][width] of this rank's rows become [n][dims][width] of all, from row @p first on. */
static void spread(size_t n, size_t count, size_t width, const int32_t *from, size_t first, size_t dims, double *to)
{
    for (size_t k = 0; k < n; ++k)
        for (size_t i = 0; i < count * width; ++i)
            to[(k * dims + first) * width + i] = (double)from[k * count * width + i];
}

/* Whole numbers below 2^53: sums of them are exact. */
static void gather(struct mf_plane_fit *p)
{
    const size_t *n = p->slab.dims, first = p->slab.first, count = p->slab.count, pairs = mf_pairs(p->phases);

    if (p->comm->size > 1) memset(p->all, 0, all_size(p) * sizeof *p->all);
    spread(pairs, count, n[Y], p->seen.pair_x, first, n[Z], p->pair[0]);
    spread(pairs, count, n[X], p->seen.pair_y, first, n[Z], p->pair[1]);
    spread(pairs, n[Y], n[X], p->seen.pair_z, 0, n[Y], p->pair[2]);
    spread(p->phases, count, n[Y], p->seen.sum_x, first, n[Z], p->sum[0]);
    spread(p->phases, count, n[X], p->seen.sum_y, first, n[Z], p->sum[1]);
    if (p->comm->size > 1) mf_comm_sum(p->comm, all_size(p), p->all);
}

/* Adds the rows and columns of a table. */
static void add_table(size_t rows, size_t columns, const double *table, double *row, double *column)
{
    for (size_t r = 0; r < rows; ++r) {
        double sum = 0;

        for (size_t c = 0; c < columns; ++c) {
            sum += table[r * columns + c];
            if (column) column[c] += table[r * columns + c];
        }
        if (row) row[r] += sum;
    }
}

static double sum_of(size_t n, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

/* Sums over the planes normal to every axis. */
static void planes_of(struct mf_plane_fit *p)
{
    const size_t *n = p->slab.dims;

    for (int k = 0; k < 3; ++k) {
        memset(p->number[k], 0, mf_pairs(p->phases) * n[k] * sizeof(double));
        memset(p->total[k], 0, p->phases * n[k] * sizeof(double));
    }
    for (size_t k = 0; k < mf_pairs(p->phases); ++k) {
        add_table(n[Z], n[Y], p->pair[0] + k * n[Z] * n[Y], p->number[Z] + k * n[Z], p->number[Y] + k * n[Y]);
        add_table(n[Z], n[X], p->pair[1] + k * n[Z] * n[X], NULL, p->number[X] + k * n[X]);
    }
    for (size_t k = 0; k < p->phases; ++k) {
        add_table(n[Z], n[Y], p->sum[0] + k * n[Z] * n[Y], p->total[Z] + k * n[Z], p->total[Y] + k * n[Y]);
        add_table(n[Z], n[X], p->sum[1] + k * n[Z] * n[X], NULL, p->total[X] + k * n[X]);
    }
}

/* The mean of every phase, which the sums of planes lose. @p unit: of a sum of pairs, in that of gradients. */
static void take_mean(struct mf_plane_fit *p, double unit, double mean[MF_MEANFIELD_PHASES])
{
    const size_t nz = p->slab.dims[Z];
    double number[MF_MEANFIELD_PAIRS] = {0}, sum[MF_MEANFIELD_PHASES] = {0};

    for (size_t k = 0; k < mf_pairs(p->phases); ++k) number[k] = sum_of(nz, p->number[Z] + k * nz) * unit;
    for (size_t k = 0; k < p->phases; ++k) sum[k] = sum_of(nz, p->total[Z] + k * nz);
    mf_pairs_solve(p->phases, number, sum, mean);
    for (int a = 0; a < 3; ++a)
        for (size_t k = 0, n = p->slab.dims[a]; k < p->phases; ++k)
            for (size_t q = 0; q < p->phases; ++q)
                for (size_t i = 0; i < n; ++i)
                    p->total[a][k * n + i] -= unit * mean[q] * p->number[a][mf_pair(p->phases, k, q) * n + i];
}

/* -- Gauss and Seidel's iteration -- */

/* to[r] -= sum over c of table[r][c] x[c] */
static void take_rows(size_t rows, size_t columns, const double *table, const double *x, double *to)
{
    for (size_t r = 0; r < rows; ++r) {
        double sum = 0;

#pragma omp simd reduction(+ : sum)
        for (size_t c = 0; c < columns; ++c) sum += table[r * columns + c] * x[c];
        to[r] -= sum;
    }
}

/* to[c] -= sum over r of table[r][c] x[r] */
static void take_columns(size_t rows, size_t columns, const double *table, const double *x, double *to)
{
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) to[c] -= table[r * columns + c] * x[r];
}

/* What phase @p q adds to the sums of phase @p k through the planes of the other axes. */
static void take_others(const struct mf_plane_fit *p, int axis, size_t k, size_t q, double *to)
{
    const size_t *n = p->slab.dims, at = mf_pair(p->phases, k, q);
    const double *zy = p->pair[0] + at * n[Z] * n[Y], *zx = p->pair[1] + at * n[Z] * n[X],
                 *yx = p->pair[2] + at * n[Y] * n[X];
    const double *z = p->part[Z] + q * n[Z], *y = p->part[Y] + q * n[Y], *x = p->part[X] + q * n[X];

    if (axis == Z) {
        take_rows(n[Z], n[Y], zy, y, to);
        take_rows(n[Z], n[X], zx, x, to);
    } else if (axis == Y) {
        take_columns(n[Z], n[Y], zy, z, to);
        take_rows(n[Y], n[X], yx, x, to);
    } else {
        take_columns(n[Z], n[X], zx, z, to);
        take_columns(n[Y], n[X], yx, y, to);
    }
}

/* The parts of one axis and phase, given all others. @p room [extent] */
static void solve_part(struct mf_plane_fit *p, int axis, size_t k)
{
    const size_t n = p->slab.dims[axis];
    const double *own = p->number[axis] + mf_pair(p->phases, k, k) * n;
    double *to = p->part[axis] + k * n;

    memcpy(to, p->total[axis] + k * n, n * sizeof *to);
    for (size_t q = 0; q < p->phases; ++q) {
        const double *pair = p->number[axis] + mf_pair(p->phases, k, q) * n, *other = p->part[axis] + q * n;

        take_others(p, axis, k, q, to);
        for (size_t i = 0; q != k && i < n; ++i) to[i] -= pair[i] * other[i];
    }
    for (size_t i = 0; i < n; ++i) to[i] = own[i] > 0 ? to[i] / own[i] : 0;
}

static void solve(struct mf_plane_fit *p)
{
    for (int a = 0; a < 3; ++a) memset(p->part[a], 0, p->phases * p->slab.dims[a] * sizeof(double));
    for (int s = 0; s < SWEEPS * (int)p->phases; ++s)
        for (int a = 0; a < 3; ++a)
            for (size_t k = 0; k < p->phases; ++k) solve_part(p, a, k);
}

void mf_plane_fit(struct mf_plane_fit *p, const struct mf_probabilities *at, double most, double share)
{
    /* a power of two: products are exact */
    const double scale = most > 0 ? exp2(floor(log2((1 << MF_LINE_BITS) / most))) : 1, unit = scale / MF_PAIR_UNIT;
    double mean[MF_MEANFIELD_PHASES];
    float *off = p->host_off;

    p->queue->backend->meanfield->lines(p->queue, at, (float)scale, &p->lines);
    mf_mirror_get(p->queue, p->mirror, p->table, table_bytes(&p->slab, p->phases));
    gather(p);
    planes_of(p);
    take_mean(p, unit, mean);
    solve(p);
    for (size_t k = 0; k < p->phases; ++k) {
        for (size_t z = 0; z < p->slab.count; ++z)
            *off++ = (float)((double)at->level[k] + mean[k] +
                             share / unit * p->part[Z][k * p->slab.dims[Z] + p->slab.first + z]);
        for (int a = Y; a <= X; ++a)
            for (size_t i = 0; i < p->slab.dims[a]; ++i)
                *off++ = (float)(share / unit * p->part[a][k * p->slab.dims[a] + i]);
    }
    mf_mirror_send(p->queue, p->off, p->host_off, off_bytes(&p->slab, p->phases));
}
