/* See space.h. Spectra on a rank: L - 1 planes below its own (for a gradient), its own, L - 1 above. */
#include "src/desc/space.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/field.h"
#include "src/base/err.h"

struct mf_space {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_slab slab;
    struct mf_space_opts opts;
    const struct mf_space_ops *ops;
    struct mf_space_plan *plan;
    size_t plane, below, planes; /* floats of a spectrum; planes below the own ones, planes of a field */
    float *spectra;              /* [fields][planes][plane], device */
    float *landed;               /* [L - 1][plane]: planes of others on their way to a device, queue->host */
    double *sums;                /* [L][plane], queue->host */
    double *window;              /* of S2_3D; of pairs two with all lags, queue->host */
};

/* Largest L of a volume: half its shortest edge. 0: an image has none. */
static size_t largest_lag(const size_t dims[3])
{
    size_t edge = dims[1] < dims[2] ? dims[1] : dims[2];

    return dims[0] == 1 ? 0 : (dims[0] < edge ? dims[0] : edge) / 2;
}

static int check(const struct mf_space *s)
{
    const size_t *n = s->slab.dims, most = largest_lag(n);

    if (!s->ops)
        return mf_fail(MF_DEVICE, "the %s back end has no kernels for %s", s->queue->backend->name, s->opts.name);
    if (n[0] == 1)
        return mf_fail(MF_USAGE, "%s is of volumes, and the result is to be an image; try: %s", s->opts.name,
                       strcmp(s->opts.name, "S2_3D") == 0 ? "S2" : "FFTCrossCorrelations");
    if (s->opts.lag > most)
        return mf_fail(MF_USAGE, "%s: --limit_to %zu is too large for %zu x %zu x %zu: at most %zu", s->opts.name,
                       s->opts.lag, n[0], n[1], n[2], most);
    return MF_OK;
}

size_t mf_space_staged(const struct mf_space *s)
{
    if (!mf_apart(s->queue)) return 0;
    return mf_slab_asked(s->comm, &s->slab, s->opts.lag - 1, s->opts.periodic) * s->plane * sizeof *s->spectra;
}

static int book_sent(const struct mf_space *s)
{
    const ptrdiff_t bytes = (ptrdiff_t)mf_space_staged(s);

    return mf_arena_book_once(s->queue->host, bytes, "planes sent");
}

static int take(struct mf_space *s)
{
    const size_t *n = s->slab.dims, halo = s->opts.lag - 1;
    const size_t window =
        s->opts.pairs ? 2 * mf_whole_entries(MF_WHOLE_CROSS, s->opts.lag) : mf_whole_entries(MF_WHOLE_S2, s->opts.lag);
    struct mf_space_desc desc = {
        .nz = n[0], .ny = n[1], .nx = n[2], .lag = s->opts.lag, .periodic = s->opts.periodic, .pairs = s->opts.pairs};

    s->below = s->opts.gradient ? halo : 0;
    s->planes = desc.planes = s->slab.count ? s->below + s->slab.count + halo : 0;
    s->plane = s->ops->plane(&desc);
    s->spectra =
        mf_arena_take(s->queue->arena, s->opts.fields * s->planes * s->plane * sizeof *s->spectra, "S2_3D spectra");
    s->sums = mf_arena_take(s->queue->host, s->opts.lag * s->plane * sizeof *s->sums, "S2_3D sums");
    s->window = mf_arena_take(s->queue->host, window * sizeof *s->window, "S2_3D window");
    if (!s->spectra || !s->sums || !s->window) return MF_MEMORY;
    if (mf_apart(s->queue)) {
        s->landed = mf_arena_take(s->queue->host, halo * s->plane * sizeof *s->landed, "S2_3D planes received");
        if (!s->landed) return MF_MEMORY;
    }
    MF_TRY(s->ops->plan(s->queue, &desc, &s->plan));
    return book_sent(s);
}

int mf_space_new(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                 const struct mf_space_opts *opts, struct mf_space **space)
{
    struct mf_space *s = mf_fault("desc.space") ? NULL : calloc(1, sizeof *s);
    int rc = s ? MF_OK : mf_fail(MF_MEMORY, "no memory for S2_3D");

    if (s) {
        *s = (struct mf_space){
            .comm = comm, .queue = queue, .slab = *slab, .opts = *opts, .ops = queue->backend->slices->space};
        rc = check(s);
        if (rc == MF_OK) rc = take(s);
    }
    rc = mf_agree(comm, rc);
    if (rc != MF_OK) {
        mf_space_free(s);
        return rc;
    }
    *space = s;
    return MF_OK;
}

void mf_space_free(struct mf_space *s)
{
    if (!s) return;
    if (s->plan) s->ops->free(s->plan);
    mf_arena_give(s->queue->host, s->landed);
    mf_arena_give(s->queue->host, s->window);
    mf_arena_give(s->queue->host, s->sums);
    mf_arena_give(s->queue->arena, s->spectra);
    free(s);
}

/* Copies planes [first, first + count) of all ranks' spectra to @p to. Planes outside of a field that is not periodic
 * are zero. Collective. */
static int fetch(const struct mf_space *s, const float *own, ptrdiff_t first, size_t count, float *to)
{
    const ptrdiff_t nz = (ptrdiff_t)s->slab.dims[0];
    ptrdiff_t end = first + (ptrdiff_t)count, from = first;
    const struct mf_backend *be = s->queue->backend;
    size_t bytes = s->plane * sizeof *to;
    float *land;

    if (!s->opts.periodic) {
        if (from < 0) from = 0;
        if (end > nz) end = nz;
        if (end < from) end = from;
        if (count) be->field->fill(s->queue, count * s->plane, 0, to);
    }
    to += (size_t)(from - first) * s->plane;
    land = s->landed ? s->landed : to;
    count = (size_t)(end - from);
    MF_TRY(mf_slab_fetch_device(s->comm, s->queue, &s->slab, own, bytes, from, count, land));
    if (s->landed) be->put(s->queue, to, land, count * bytes);
    return MF_OK;
}

static float *spectra_of(const struct mf_space *s, size_t field) { return s->spectra + field * s->planes * s->plane; }

/* A rank without planes takes part in the exchanges, and asks for nothing. */
static int bring(const struct mf_space *s, size_t field)
{
    const size_t halo = s->slab.count ? s->opts.lag - 1 : 0;
    const ptrdiff_t first = (ptrdiff_t)s->slab.first;
    float *all = spectra_of(s, field), *own = all + s->below * s->plane;

    if (s->opts.gradient) MF_TRY(fetch(s, own, first - (ptrdiff_t)halo, halo, all));
    return fetch(s, own, first + (ptrdiff_t)s->slab.count, halo, own + s->slab.count * s->plane);
}

static float *own_of(const struct mf_space *s, size_t field) { return spectra_of(s, field) + s->below * s->plane; }

int mf_space_hold(struct mf_space *s, size_t field, const float *x)
{
    s->ops->transform(s->plan, s->slab.count, x, own_of(s, field));
    s->queue->backend->sync(s->queue);
    return bring(s, field);
}

/* Lags d >= 0 of one field behind another (or itself) into s->window. Collective. */
static void half(struct mf_space *s, size_t first, size_t second)
{
    const size_t n = s->opts.lag * s->plane;

    if (s->slab.count)
        s->ops->products(s->plan, s->slab.count, own_of(s, first), own_of(s, second), s->sums);
    else
        memset(s->sums, 0, n * sizeof *s->sums);
    s->queue->backend->sync(s->queue);
    mf_comm_sum(s->comm, n, s->sums);
    s->ops->window(s->plan, s->sums, s->window);
    s->queue->backend->sync(s->queue);
}

void mf_space_window(struct mf_space *s, size_t field, double *window)
{
    half(s, field, field);
    memcpy(window, s->window, mf_whole_entries(MF_WHOLE_S2, s->opts.lag) * sizeof *window);
}

/* A voxel of b at lag r from a voxel of a is at lag -r in the pair b, a. */
void mf_space_cross(struct mf_space *s, size_t a, size_t b, double *window)
{
    const size_t n = mf_whole_entries(MF_WHOLE_S2, s->opts.lag), all = mf_whole_entries(MF_WHOLE_CROSS, s->opts.lag);

    half(s, b, a);
    for (size_t i = 0; i < n; ++i) window[n - 1 - i] = s->window[i];
    half(s, a, b);
    memcpy(window + (all - n), s->window, n * sizeof *window);
}

void mf_space_adjoint(struct mf_space *s, size_t field, const double *slope, float *g)
{
    s->queue->backend->sync(s->queue); /* an earlier slope has been read */
    memcpy(s->window, slope, mf_whole_entries(MF_WHOLE_S2, s->opts.lag) * sizeof *slope);
    if (s->slab.count) s->ops->adjoint(s->plan, s->slab.count, s->window, spectra_of(s, field), g);
}

void mf_space_cross_adjoint(struct mf_space *s, size_t a, size_t b, const double *slope, float *ga, float *gb)
{
    const size_t n = mf_whole_entries(MF_WHOLE_CROSS, s->opts.lag);
    double *turned = s->window + n;

    s->queue->backend->sync(s->queue); /* an earlier slope has been read */
    memcpy(s->window, slope, n * sizeof *slope);
    for (size_t i = 0; i < n; ++i) turned[i] = slope[n - 1 - i];
    if (s->slab.count == 0) return;
    s->ops->across(s->plan, s->slab.count, s->window, spectra_of(s, b), ga);
    s->ops->across(s->plan, s->slab.count, turned, spectra_of(s, a), gb);
}
