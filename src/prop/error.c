/* See error.h. */
#include "src/prop/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/cut.h"
#include "src/base/err.h"

/* Phases of @p micro on other extents; @p phase is theirs. */
static struct mf_micro like(const struct mf_micro *micro, const struct mf_comm *comm, const size_t dims[3],
                            uint8_t *phase)
{
    struct mf_micro m = {.ndim = micro->ndim, .phases = micro->phases, .phase = phase};

    m.slab = mf_slab_of(comm, dims, comm->rank);
    memcpy(m.spacing, micro->spacing, sizeof m.spacing);
    return m;
}

static size_t least(const struct mf_conduct_opts *opts) { return opts->boundary == MF_CONDUCT_CENTRES ? 3 : 2; }

/* -- the grid -- */

/* The most frequent phase of a block. Two as frequent ones take turns, so that fractions stay. */
static uint8_t majority(const struct mf_micro *m, const uint8_t *plane, const size_t from[3], size_t planes, size_t by)
{
    const size_t ny = m->slab.dims[1], nx = m->slab.dims[2];
    const int odd = (int)(from[0] / by + from[1] / by + from[2] / by) & 1;
    size_t count[MF_PHASES_MAX] = {0}, best = 0;

    for (size_t z = 0; z < planes; ++z)
        for (size_t y = from[1]; y < from[1] + by && y < ny; ++y)
            for (size_t x = from[2]; x < from[2] + by && x < nx; ++x) ++count[plane[(z * ny + y) * nx + x]];
    for (int p = 1; p < m->phases; ++p)
        if (count[p] > count[best] || (count[p] == count[best] && odd)) best = (size_t)p;
    return (uint8_t)best;
}

static void coarsen(const struct mf_micro *fine, const uint8_t *voxels, size_t first, size_t planes, size_t by,
                    const struct mf_micro *coarse)
{
    const size_t *n = coarse->slab.dims, deep = fine->ndim == 2 ? 1 : by;
    uint8_t *to = coarse->phase;

    for (size_t z = 0; z < coarse->slab.count; ++z)
        for (size_t y = 0; y < n[1]; ++y)
            for (size_t x = 0; x < n[2]; ++x) {
                const size_t from[3] = {first + z * deep, y * by, x * by}, left = planes - z * deep;

                *to++ = majority(fine, voxels + z * deep * fine->slab.dims[1] * fine->slab.dims[2], from,
                                 left < deep ? left : deep, by);
            }
}

/** Conducts with blocks of @p by voxels along each axis as one. *k is NAN where too few are left. */
static int conduct_coarse(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                          const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts, size_t by,
                          double *k)
{
    const size_t *n = micro->slab.dims, plane = n[1] * n[2], deep = micro->ndim == 2 ? 1 : by;
    const size_t dims[3] = {(n[0] + deep - 1) / deep, (n[1] + by - 1) / by, (n[2] + by - 1) / by};
    struct mf_micro coarse = like(micro, comm, dims, NULL);
    const size_t first = coarse.slab.first * deep, end = (coarse.slab.first + coarse.slab.count) * deep;
    const size_t planes = coarse.slab.count ? (end < n[0] ? end : n[0]) - first : 0;
    uint8_t *voxels;
    struct mf_conduct got;
    int rc;

    *k = NAN;
    if (dims[axis] < least(opts)) return MF_OK;
    coarse.phase = mf_arena_take(arena, mf_slab_voxels(&coarse.slab), "coarse voxels");
    voxels = coarse.phase ? mf_arena_take(arena, planes * plane, "coarse voxels") : NULL;
    rc = mf_agree(comm, voxels ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) rc = mf_slab_fetch(comm, &micro->slab, micro->phase, plane, (ptrdiff_t)first, planes, voxels);
    if (rc == MF_OK && planes) coarsen(micro, voxels, first, planes, by, &coarse);
    mf_arena_give(arena, voxels);
    if (rc == MF_OK) rc = mf_conduct(comm, queue, arena, &coarse, axis, opts, &got);
    mf_arena_give(arena, coarse.phase);
    if (rc == MF_OK) *k = got.k;
    return rc;
}

int mf_conduct_grid_error(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                          const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts, double k,
                          double *error)
{
    double k2, k4;

    MF_TRY(conduct_coarse(comm, queue, arena, micro, axis, opts, 2, &k2));
    MF_TRY(conduct_coarse(comm, queue, arena, micro, axis, opts, 4, &k4));
    *error = 1.5 * fmax(fabs(k - k2), fabs(k2 - k4) / 2);
    return MF_OK;
}

/* -- the sample -- */

/** A part of a volume, and this rank's memory for it. */
struct part {
    struct mf_span at[3];
    uint8_t *planes, *voxels;
};

static void find_part(const struct mf_micro *m, size_t cuts, size_t i, struct part *p)
{
    for (int a = 2; a >= 0; --a) {
        const size_t of = a == 0 && m->ndim == 2 ? 1 : cuts;

        p->at[a] = mf_cut(m->slab.dims[a], of, i % of);
        i /= of;
    }
}

static void crop(const struct mf_micro *m, const struct part *p)
{
    uint8_t *to = p->voxels;

    for (size_t z = 0; z < p->at[0].count; ++z)
        for (size_t y = 0; y < p->at[1].count; ++y, to += p->at[2].count)
            memcpy(to, p->planes + ((z * m->slab.dims[1]) + p->at[1].first + y) * m->slab.dims[2] + p->at[2].first,
                   p->at[2].count);
}

/* Which part it is: what it has of each axis. */
static int refuse_part(int rc, const struct part *p)
{
    char why[MF_ERR_TEXT / 2];

    if (rc != MF_NUMERIC) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(rc, "the part at voxel (%zu, %zu, %zu) with %zu x %zu x %zu voxels: %s", p->at[0].first,
                   p->at[1].first, p->at[2].first, p->at[0].count, p->at[1].count, p->at[2].count, why);
}

static int conduct_part(struct mf_queue *queue, struct mf_arena *arena, const struct mf_micro *micro, int axis,
                        const struct mf_conduct_opts *opts, struct part *p, double *k)
{
    const size_t dims[3] = {p->at[0].count, p->at[1].count, p->at[2].count};
    struct mf_conduct_opts own = *opts;
    struct mf_conduct got;
    struct mf_comm self;
    struct mf_micro m;

    mf_comm_self(&self);
    crop(micro, p);
    m = like(micro, &self, dims, p->voxels);
    if (own.boundary == MF_CONDUCT_PERIODIC) own.boundary = MF_CONDUCT_PLATES;
    MF_TRY(refuse_part(mf_conduct(&self, queue, arena, &m, axis, &own, &got), p));
    *k = got.k;
    return MF_OK;
}

/** Conductivities of all parts, on all ranks. In each round every rank has one. */
static int conduct_parts(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                         const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts, size_t cuts,
                         size_t parts, double *k)
{
    const size_t *n = micro->slab.dims, plane = n[1] * n[2], ranks = (size_t)comm->size;
    const size_t deep = (n[0] + cuts - 1) / cuts;
    struct part p = {.planes = mf_arena_take(arena, (micro->ndim == 2 ? 1 : deep) * plane, "a part")};
    int rc;

    p.voxels = p.planes ? mf_arena_take(arena, deep * plane, "a part") : NULL;
    rc = mf_agree(comm, p.voxels ? MF_OK : MF_MEMORY);
    for (size_t from = 0; rc == MF_OK && from < parts; from += ranks) {
        const size_t i = from + (size_t)comm->rank;
        const int works = i < parts;

        if (works) find_part(micro, cuts, i, &p);
        rc = mf_slab_fetch(comm, &micro->slab, micro->phase, plane, works ? (ptrdiff_t)p.at[0].first : 0,
                           works ? p.at[0].count : 0, p.planes);
        if (rc == MF_OK) rc = mf_agree(comm, works ? conduct_part(queue, arena, micro, axis, opts, &p, &k[i]) : MF_OK);
    }
    mf_arena_give(arena, p.voxels);
    mf_arena_give(arena, p.planes);
    if (rc == MF_OK) mf_comm_sum(comm, parts, k);
    return rc;
}

/* The edge of a cube with as many voxels as one of @p parts; of an image that of a square. */
static double edge_of(const struct mf_micro *m, double parts)
{
    const double voxels = (double)m->slab.dims[0] * (double)m->slab.dims[1] * (double)m->slab.dims[2] / parts;

    return m->ndim == 2 ? sqrt(voxels) : cbrt(voxels);
}

static void summarise(const struct mf_micro *m, size_t parts, const double *k, struct mf_conduct_parts *out)
{
    double sum = 0;

    *out = (struct mf_conduct_parts){.count = parts, .edge = edge_of(m, (double)parts)};
    for (size_t i = 0; i < parts; ++i) out->mean += k[i] / (double)parts;
    for (size_t i = 0; i < parts; ++i) sum += (k[i] - out->mean) * (k[i] - out->mean);
    out->deviation = sqrt(sum / (double)(parts - 1));
}

/* Parts have a few voxels along each axis, or say nothing. */
static int is_large(const struct mf_micro *m, size_t cuts)
{
    for (int a = 3 - m->ndim; a < 3; ++a)
        if (m->slab.dims[a] < 4 * cuts) return 0;
    return 1;
}

/* Deviations fall as edge^-rate; independent parts have rate d / 2. */
static void extrapolate(struct mf_conduct_sample *s, int ndim)
{
    const struct mf_conduct_parts *large = &s->parts[0], *small = &s->parts[1];

    s->rate = ndim / 2.;
    s->deviation = NAN;
    if (large->count == 0 || !(large->mean > 0)) return; /* parts that do not conduct tell nothing */
    if (small->count && large->deviation > 0)
        s->rate = fmin(s->rate, fmax(0, log2(small->deviation / large->deviation)));
    s->deviation = large->deviation * pow(large->edge / s->edge, s->rate);
}

int mf_conduct_sample_error(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                            const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts,
                            struct mf_conduct_sample *out)
{
    *out = (struct mf_conduct_sample){.edge = edge_of(micro, 1)};
    for (size_t c = 0, cuts = 2; c < MF_CONDUCT_CUTS && is_large(micro, cuts); ++c, cuts *= 2) {
        const size_t parts = micro->ndim == 2 ? cuts * cuts : cuts * cuts * cuts;
        double k[64] = {0};

        MF_TRY(conduct_parts(comm, queue, arena, micro, axis, opts, cuts, parts, k));
        summarise(micro, parts, k, &out->parts[c]);
    }
    extrapolate(out, micro->ndim);
    return MF_OK;
}

double mf_conduct_edge_for(const struct mf_conduct_sample *sample, double k, double share)
{
    double least;

    if (!(k > 0 && sample->rate > 0 && sample->deviation >= 0)) return NAN;
    least = sample->parts[1].count ? sample->parts[1].edge : sample->parts[0].edge;
    return fmax(least, sample->edge * pow(sample->deviation / (k * share), 1 / sample->rate));
}
