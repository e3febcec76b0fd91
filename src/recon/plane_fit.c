/* See plane_fit.h. */
#include "src/recon/plane_fit.h"

#include <math.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"

enum { Z, Y, X, SWEEPS = 4 };

/* Where the tables of lines begin in one block. */
static struct mf_lines lines_at(int32_t *at, const struct mf_slab *s)
{
    const size_t x = s->count * s->dims[1], y = s->count * s->dims[2];

    return (struct mf_lines){at, at + x, at + 2 * x, at + 2 * x + y, at + 2 * (x + y)};
}

static size_t table_bytes(const struct mf_slab *s)
{
    return (2 * s->count * (s->dims[1] + s->dims[2]) + s->dims[1] * s->dims[2]) * sizeof(int32_t);
}

static size_t off_bytes(const struct mf_slab *s) { return (s->count + s->dims[1] + s->dims[2]) * sizeof(float); }

/* Two of the three axes that a table is of, and its size. */
static size_t table_size(const struct mf_plane_fit *p, int table)
{
    static const int rows[3] = {Z, Z, Y}, columns[3] = {Y, X, X};

    return p->slab.dims[rows[table]] * p->slab.dims[columns[table]];
}

int mf_plane_fit_open(struct mf_plane_fit *p, const struct mf_comm *comm, struct mf_queue *queue,
                      const struct mf_slab *slab)
{
    struct mf_arena *host = queue->host;
    int missing = 0;

    *p = (struct mf_plane_fit){.comm = comm, .queue = queue, .slab = *slab};
    for (int k = 0; k < 3; ++k) {
        const size_t n = slab->dims[k];

        p->count[k] = mf_arena_take(host, table_size(p, k) * sizeof(int64_t), "lines");
        p->part[k] = mf_arena_take(host, n * sizeof(double), "planes");
        p->total[k] = mf_arena_take(host, n * sizeof(double), "planes");
        p->number[k] = mf_arena_take(host, n * sizeof(int64_t), "planes");
        if (k < 2) p->sum[k] = mf_arena_take(host, table_size(p, k) * sizeof(int64_t), "lines");
        missing |= !p->count[k] || !p->part[k] || !p->total[k] || !p->number[k] || (k < 2 && !p->sum[k]);
    }
    p->table = mf_arena_take(queue->arena, table_bytes(slab) + 1, "lines");
    p->off = mf_arena_take(queue->arena, off_bytes(slab), "planes");
    if (missing || !p->table || !p->off) return MF_MEMORY;
    p->mirror = mf_mirror_take(queue, p->table, table_bytes(slab) + 1, "lines");
    p->host_off = mf_mirror_take(queue, p->off, off_bytes(slab), "planes");
    if (!p->mirror || !p->host_off) return MF_MEMORY;
    p->lines = lines_at(p->table, slab);
    p->seen = lines_at(p->mirror, slab);
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
        if (k < 2) mf_arena_give(p->queue->host, p->sum[k]);
        mf_arena_give(p->queue->host, p->number[k]);
        mf_arena_give(p->queue->host, p->total[k]);
        mf_arena_give(p->queue->host, p->part[k]);
        mf_arena_give(p->queue->host, p->count[k]);
    }
}

/* A table of this rank's rows, from row @p first on, into that of all ranks. */
static void spread(const struct mf_plane_fit *p, const int32_t *from, size_t first, size_t n, size_t all, int64_t *to)
{
    memset(to, 0, all * sizeof *to);
    for (size_t i = 0; i < n; ++i) to[first + i] = from[i];
    if (p->comm->size > 1) mf_comm_sum_int(p->comm, all, to);
}

static void gather(struct mf_plane_fit *p)
{
    const size_t *n = p->slab.dims, first = p->slab.first, count = p->slab.count;

    spread(p, p->seen.count_x, first * n[Y], count * n[Y], n[Z] * n[Y], p->count[0]);
    spread(p, p->seen.sum_x, first * n[Y], count * n[Y], n[Z] * n[Y], p->sum[0]);
    spread(p, p->seen.count_y, first * n[X], count * n[X], n[Z] * n[X], p->count[1]);
    spread(p, p->seen.sum_y, first * n[X], count * n[X], n[Z] * n[X], p->sum[1]);
    spread(p, p->seen.count_z, 0, n[Y] * n[X], n[Y] * n[X], p->count[2]);
}

/* Sums over the planes normal to every axis; returns the mean of g. */
static double planes_of(struct mf_plane_fit *p, double scale)
{
    const size_t *n = p->slab.dims;
    int64_t all = 0, number = 0;
    double mean;

    for (int k = 0; k < 3; ++k) {
        memset(p->number[k], 0, n[k] * sizeof(int64_t));
        memset(p->part[k], 0, n[k] * sizeof(double));
    }
    for (size_t k = 0; k < n[Z] * n[Y]; ++k) {
        p->number[Z][k / n[Y]] += p->count[0][k];
        p->number[Y][k % n[Y]] += p->count[0][k];
        p->part[Z][k / n[Y]] += (double)p->sum[0][k]; /* whole numbers below 2^53: exact */
        p->part[Y][k % n[Y]] += (double)p->sum[0][k];
        all += p->sum[0][k];
        number += p->count[0][k];
    }
    for (size_t k = 0; k < n[Z] * n[X]; ++k) {
        p->number[X][k % n[X]] += p->count[1][k];
        p->part[X][k % n[X]] += (double)p->sum[1][k];
    }
    mean = number > 0 ? (double)all / (double)number / scale : 0;
    for (int k = 0; k < 3; ++k)
        for (size_t i = 0; i < n[k]; ++i) {
            p->total[k][i] = p->part[k][i] / scale - mean * (double)p->number[k][i];
            p->part[k][i] = 0;
        }
    return mean;
}

/* to[r] -= sum over c of table[r][c] x[c] */
static void take_rows(size_t rows, size_t columns, const int64_t *table, const double *x, double *to)
{
    for (size_t r = 0; r < rows; ++r) {
        double sum = 0;

        for (size_t c = 0; c < columns; ++c) sum += (double)table[r * columns + c] * x[c];
        to[r] -= sum;
    }
}

/* to[c] -= sum over r of table[r][c] x[r] */
static void take_columns(size_t rows, size_t columns, const int64_t *table, const double *x, double *to)
{
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) to[c] -= (double)table[r * columns + c] * x[r];
}

static void divide(struct mf_plane_fit *p, int axis)
{
    for (size_t i = 0; i < p->slab.dims[axis]; ++i)
        p->part[axis][i] = p->number[axis][i] > 0 ? p->part[axis][i] / (double)p->number[axis][i] : 0;
}

/* Gauss and Seidel's iteration: the parts of one axis, given the others'. */
static void sweep(struct mf_plane_fit *p)
{
    const size_t *n = p->slab.dims;

    memcpy(p->part[Z], p->total[Z], n[Z] * sizeof(double));
    take_rows(n[Z], n[Y], p->count[0], p->part[Y], p->part[Z]);
    take_rows(n[Z], n[X], p->count[1], p->part[X], p->part[Z]);
    divide(p, Z);
    memcpy(p->part[Y], p->total[Y], n[Y] * sizeof(double));
    take_columns(n[Z], n[Y], p->count[0], p->part[Z], p->part[Y]);
    take_rows(n[Y], n[X], p->count[2], p->part[X], p->part[Y]);
    divide(p, Y);
    memcpy(p->part[X], p->total[X], n[X] * sizeof(double));
    take_columns(n[Z], n[X], p->count[1], p->part[Z], p->part[X]);
    take_columns(n[Y], n[X], p->count[2], p->part[Y], p->part[X]);
    divide(p, X);
}

void mf_plane_fit(struct mf_plane_fit *p, const float *x, const float *g, const uint8_t *fixed, float level,
                  double most, double share)
{
    const size_t n[3] = {p->slab.count, p->slab.dims[1], p->slab.dims[2]};
    /* a power of two: products are exact */
    const double scale = most > 0 ? exp2(floor(log2((1 << MF_LINE_BITS) / most))) : 1;
    const struct mf_backend *backend = p->queue->backend;
    float *off = p->host_off;
    double mean;

    backend->meanfield->lines(p->queue, n, x, g, fixed, level, (float)scale, &p->lines);
    mf_mirror_get(p->queue, p->mirror, p->table, table_bytes(&p->slab));
    gather(p);
    mean = planes_of(p, scale);
    for (int k = 0; k < SWEEPS; ++k) sweep(p);
    for (size_t z = 0; z < n[Z]; ++z) *off++ = (float)(mean + share * p->part[Z][p->slab.first + z]);
    for (size_t y = 0; y < n[Y]; ++y) *off++ = (float)(share * p->part[Y][y]);
    for (size_t k = 0; k < n[X]; ++k) *off++ = (float)(share * p->part[X][k]);
    mf_mirror_put(p->queue, p->off, p->host_off, off_bytes(&p->slab));
}
