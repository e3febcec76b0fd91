/* See set_copies.h. */
#include "src/desc/set_copies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/slices/shifts.h"
#include "src/base/err.h"

/* Error of a sum by transforms, relative to the values and to the sum. */
#define NEARLY 1e-2

struct mf_set_copies {
    struct mf_arena *arena;
    size_t dims[3], voxels, channels, queries;
    int phases;
    struct mf_shifts *shifts;
    struct mf_shift *found;      /* [queries] */
    struct mf_set_nearest *near; /* [queries] */
    float *x;                    /* [voxels][channels] */
    float *query;                /* values: [queries][voxels][channels], for exact sums; phases: NULL */
};

static int take(struct mf_queue *queue, struct mf_set_copies *c)
{
    c->found = mf_arena_zeros(c->arena, c->queries, sizeof *c->found, "copies");
    c->near = mf_arena_zeros(c->arena, c->queries, sizeof *c->near, "copies");
    c->x = mf_arena_take(c->arena, c->voxels * c->channels * sizeof *c->x, "copies");
    if (!c->phases)
        c->query = mf_arena_zeros(c->arena, c->queries * c->voxels * c->channels, sizeof *c->query, "copies");
    if (!c->found || !c->near || !c->x || !(c->query || c->phases)) return MF_MEMORY;
    for (size_t k = 0; k < c->queries; ++k) c->near[k] = (struct mf_set_nearest){.off = INFINITY, .id = UINT32_MAX};
    return mf_shifts_open(queue, c->dims, c->channels, c->queries, &c->shifts);
}

int mf_set_copies_begin(struct mf_queue *queue, const size_t dims[3], int phases, size_t channels, size_t queries,
                        struct mf_set_copies **copies)
{
    struct mf_set_copies *c = mf_arena_zeros(queue->host, 1, sizeof *c, "copies");
    int rc;

    if (!c) return MF_MEMORY;
    *c = (struct mf_set_copies){.arena = queue->host,
                                .dims = {dims[0], dims[1], dims[2]},
                                .voxels = dims[0] * dims[1] * dims[2],
                                .channels = channels,
                                .queries = queries,
                                .phases = phases};
    rc = take(queue, c);
    if (rc == MF_OK)
        *copies = c;
    else
        mf_set_copies_end(c);
    return rc;
}

void mf_set_copies_end(struct mf_set_copies *c)
{
    if (!c) return;
    mf_shifts_close(c->shifts);
    mf_arena_give(c->arena, c->query);
    mf_arena_give(c->arena, c->x);
    mf_arena_give(c->arena, c->near);
    mf_arena_give(c->arena, c->found);
    mf_arena_give(c->arena, c);
}

/* Values of phases about their middle, so that sums of products are small. */
static const float *centred(struct mf_set_copies *c, const float *x)
{
    const float middle = c->phases == 2 ? 0.5f : c->phases ? 1 / (float)c->phases : 0;

    for (size_t i = 0; i < c->voxels * c->channels; ++i) c->x[i] = x[i] - middle;
    return c->x;
}

void mf_set_copies_query(struct mf_set_copies *c, size_t k, const float *x)
{
    mf_shifts_query(c->shifts, k, centred(c, x));
    if (c->query) memcpy(c->query + k * c->voxels * c->channels, x, c->voxels * c->channels * sizeof *x);
}

/* Sum of squares of query(v + at) - x(v). The sum of a transform loses digits where both are nearly equal. */
static double exact(const struct mf_set_copies *c, size_t k, const float *x, const size_t at[3])
{
    const size_t *n = c->dims, row = n[2] * c->channels;
    const float *query = c->query + k * c->voxels * c->channels;
    double sum = 0;

    for (size_t i = 0; i < n[0] * n[1]; ++i) {
        const float *from = query + ((i / n[1] + at[0]) % n[0] * n[1] + (i % n[1] + at[1]) % n[1]) * row;

        for (size_t j = 0; j < row; ++j) {
            const double off = (double)from[(j + at[2] * c->channels) % row] - (double)x[i * row + j];

            sum += off * off;
        }
    }
    return sum;
}

/* A pixel of another phase counts once in one channel, or in two channels of several. */
static double off_of(const struct mf_set_copies *c, double square)
{
    if (!c->phases) return sqrt(fmax(square, 0) / (double)(c->voxels * c->channels));
    return fmax(0, round(c->phases == 2 ? square : square / 2)) / (double)c->voxels;
}

/* Is it nearer? The first of equal ones counts. */
static int is_nearer(const struct mf_set_nearest *a, const struct mf_set_nearest *b)
{
    return a->off < b->off || (a->off == b->off && a->id < b->id);
}

void mf_set_copies_against(struct mf_set_copies *c, uint32_t id, const float *x)
{
    const size_t *n = c->dims;

    mf_shifts_near(c->shifts, centred(c, x), c->found);
    for (size_t k = 0; k < c->queries; ++k) {
        const size_t at = c->found[k].at;
        struct mf_set_nearest one = {
            off_of(c, c->found[k].square), id, {at / (n[1] * n[2]), at / n[2] % n[1], at % n[2]}};

        if (c->query && one.off < NEARLY * (1 + c->near[k].off) + c->near[k].off)
            one.off = off_of(c, exact(c, k, x, one.at));
        if (is_nearer(&one, &c->near[k])) c->near[k] = one;
    }
}

int mf_set_copies_finish(const struct mf_comm *comm, const struct mf_set_copies *c, struct mf_set_nearest *near)
{
    const struct mf_set_nearest *each;
    void *all;

    MF_TRY(mf_comm_gather(comm, c->near, c->queries * sizeof *c->near, &all, NULL));
    each = all;
    memcpy(near, c->near, c->queries * sizeof *near);
    for (size_t i = 0; i < (size_t)comm->size * c->queries; ++i)
        if (is_nearer(&each[i], &near[i % c->queries])) near[i % c->queries] = each[i];
    free(all);
    return MF_OK;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double mf_set_copies_quantile(size_t n, const struct mf_set_nearest *near, double q)
{
    double *off = MF_MUST(malloc(n * sizeof *off), "a quantile"), value;
    const double at = q * (double)(n - 1);
    const size_t low = (size_t)at;

    for (size_t i = 0; i < n; ++i) off[i] = near[i].off;
    qsort(off, n, sizeof *off, ascending);
    value = low + 1 < n ? off[low] + (at - (double)low) * (off[low + 1] - off[low]) : off[n - 1];
    free(off);
    return value;
}
