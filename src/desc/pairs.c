/* See pairs.h. */
#include "src/desc/pairs.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/pulse.h"

enum { RUN = 240 }; /* so many ones fit a byte */

int mf_reach_fetch(const struct mf_measure_job *job, size_t before, size_t after, struct mf_reach *reach)
{
    const struct mf_slab *slab = &job->micro->slab;
    const size_t plane = slab->dims[1] * slab->dims[2], end = slab->first + slab->count;
    const int none = slab->count == 0 || job->micro->ndim == 2;
    size_t planes;
    int rc;

    if (none || (!job->periodic && slab->first < before)) before = none ? 0 : slab->first;
    if (none || (!job->periodic && slab->dims[0] - end < after)) after = none ? 0 : slab->dims[0] - end;
    planes = before + slab->count + after;
    *reach = (struct mf_reach){mf_arena_take(job->arena, planes * plane, "planes"), before, slab->count, after};
    rc = mf_agree(job->comm, reach->label ? MF_OK : MF_MEMORY);
    if (rc == MF_OK)
        rc = mf_slab_fetch(job->comm, slab, job->micro->phase, plane, (ptrdiff_t)slab->first - (ptrdiff_t)before,
                           planes, reach->label);
    if (rc != MF_OK) mf_reach_free(job, reach);
    return rc;
}

void mf_reach_free(const struct mf_measure_job *job, struct mf_reach *reach)
{
    mf_arena_give(job->arena, reach->label);
    reach->label = NULL;
}

/** @p i modulo n where fields repeat; -1: outside. At most one field away. */
static ptrdiff_t inside(ptrdiff_t i, size_t n, int periodic)
{
    if (i >= 0 && i < (ptrdiff_t)n) return i;
    if (!periodic) return -1;
    return i < 0 ? i + (ptrdiff_t)n : i - (ptrdiff_t)n;
}

int mf_reach_label(const struct mf_measure_job *job, const struct mf_reach *reach, ptrdiff_t z, ptrdiff_t y,
                   ptrdiff_t x)
{
    const size_t ny = job->micro->slab.dims[1], nx = job->micro->slab.dims[2];

    z += (ptrdiff_t)reach->before;
    y = inside(y, ny, job->periodic);
    x = inside(x, nx, job->periodic);
    if (z < 0 || y < 0 || x < 0 || z >= (ptrdiff_t)(reach->before + reach->own + reach->after)) return -1;
    return reach->label[((size_t)z * ny + (size_t)y) * nx + (size_t)x];
}

int mf_pairs_open(struct mf_pairs *pairs, const struct mf_measure_job *job, size_t margin)
{
    const size_t plane = job->micro->slab.dims[1] * job->micro->slab.dims[2], ahead = job->lag - 1;
    int rc;

    *pairs = (struct mf_pairs){.job = job};
    MF_TRY(mf_reach_fetch(job, margin, ahead + margin, &pairs->reach));
    pairs->planes = pairs->reach.own + (pairs->reach.after < ahead ? pairs->reach.after : ahead);
    pairs->kind = mf_arena_take(job->arena, pairs->planes * plane, "kinds");
    pairs->count = mf_arena_zeros(job->arena, 3 * job->lag, sizeof *pairs->count, "pairs");
    rc = mf_agree(job->comm, pairs->kind && pairs->count ? MF_OK : MF_MEMORY);
    if (rc != MF_OK) mf_pairs_close(pairs);
    return rc;
}

void mf_pairs_close(struct mf_pairs *pairs)
{
    mf_arena_give(pairs->job->arena, pairs->count);
    mf_arena_give(pairs->job->arena, pairs->kind);
    mf_reach_free(pairs->job, &pairs->reach);
}

void mf_pairs_phase(struct mf_pairs *pairs, int phase)
{
    const size_t plane = pairs->job->micro->slab.dims[1] * pairs->job->micro->slab.dims[2];
    const uint8_t *label = pairs->reach.label + pairs->reach.before * plane;

    for (size_t i = 0; i < pairs->planes * plane; ++i)
        pairs->kind[i] = label[i] == phase ? MF_PAIRS_ONE : MF_PAIRS_OTHER;
}

/** How many of @p n pairs meet: 1 and 1, or 1 and 2. */
static int64_t meets(const uint8_t *a, const uint8_t *b, size_t n, enum mf_meet meet)
{
    int64_t total = 0;

    for (size_t i = 0; i < n; i += RUN) {
        const size_t end = i + RUN < n ? i + RUN : n;
        uint8_t run = 0;

        if (meet == MF_MEET_ALIKE)
            for (size_t k = i; k < end; ++k) run = (uint8_t)(run + (a[k] & b[k] & MF_PAIRS_ONE));
        else
            for (size_t k = i; k < end; ++k) run = (uint8_t)(run + ((a[k] | b[k]) == (MF_PAIRS_ONE | MF_PAIRS_OTHER)));
        total += run;
    }
    return total;
}

void mf_pairs_walk(const struct mf_measure_job *job, size_t planes,
                   void (*visit)(void *context, size_t slot, size_t a, size_t b, size_t n), void *context)
{
    const size_t ny = job->micro->slab.dims[1], nx = job->micro->slab.dims[2], lag = job->lag;
    const int wraps = job->periodic;

    for (size_t z = 0; z < job->micro->slab.count && mf_pulse("pairs") == MF_OK; ++z)
        for (size_t r = 0; r < lag; ++r) {
            const size_t at = z * ny * nx;

            if (job->micro->ndim == 3 && z + r < planes) visit(context, r, at, at + r * ny * nx, ny * nx);
            visit(context, lag + r, at, at + r * nx, (ny - r) * nx);
            if (wraps) visit(context, lag + r, at + (ny - r) * nx, at, r * nx);
            for (size_t row = at; row < at + ny * nx; row += nx) {
                visit(context, 2 * lag + r, row, row + r, nx - r);
                if (wraps) visit(context, 2 * lag + r, row + nx - r, row, r);
            }
        }
}

static void add_alike(void *context, size_t slot, size_t a, size_t b, size_t n)
{
    struct mf_pairs *p = context;

    p->count[slot] += meets(p->kind + a, p->kind + b, n, MF_MEET_ALIKE);
}

static void add_unlike(void *context, size_t slot, size_t a, size_t b, size_t n)
{
    struct mf_pairs *p = context;

    p->count[slot] += meets(p->kind + a, p->kind + b, n, MF_MEET_UNLIKE);
}

void mf_pairs_count(struct mf_pairs *pairs, enum mf_meet meet)
{
    memset(pairs->count, 0, 3 * pairs->job->lag * sizeof *pairs->count);
    mf_pairs_walk(pairs->job, pairs->planes, meet == MF_MEET_ALIKE ? add_alike : add_unlike, pairs);
    mf_comm_sum_int(pairs->job->comm, 3 * pairs->job->lag, pairs->count);
}

/* How many pairs of voxels at distance r along an axis there are. */
static double places(const struct mf_measure_job *job, int axis, size_t r)
{
    const size_t *n = job->micro->slab.dims;

    return (double)n[0] * (double)n[1] * (double)n[2] / (double)n[axis] * (double)(n[axis] - (job->periodic ? 0 : r));
}

double mf_pairs_share(const struct mf_pairs *pairs)
{
    return (double)pairs->count[2 * pairs->job->lag] / places(pairs->job, 2, 0);
}

struct mf_json *mf_pairs_json(const struct mf_measure_job *job, const int64_t *count, size_t stride, double factor,
                              double offset)
{
    struct mf_json *all = mf_json_object();

    for (int axis = mf_axis_first(job->micro); axis < 3; ++axis) {
        struct mf_json *one = mf_json_array();

        for (size_t r = 0; r < job->lag; ++r) {
            const double number = (double)count[((size_t)axis * job->lag + r) * stride];

            mf_json_real(one, NULL, factor * number / places(job, axis, r) - offset);
        }
        mf_json_put(all, mf_axis_name(axis), one);
    }
    return all;
}

void mf_pairs_text(FILE *to, const char *what, const struct mf_json *curves)
{
    enum { SHOWN = 8 };

    for (int axis = 0; axis < 3; ++axis) {
        const struct mf_json *one = mf_json_get(curves, mf_axis_name(axis));
        const size_t n = mf_json_count(one);

        if (!one) continue;
        fprintf(to, "  %s along %s:", what, mf_axis_name(axis));
        for (size_t r = 0; r < n && r < SHOWN; ++r) fprintf(to, " %.4g", mf_json_to_real(mf_json_item(one, r)));
        fprintf(to, "%s\n", n > SHOWN ? " .." : "");
    }
}
