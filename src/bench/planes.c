/* Exchanges of planes and slices as in runs, compared with MPI's call for as many bytes. See net.h. */
#include "src/bench/planes.h"
#include "mpi/redistribute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/field.h"
#include "kernels/stage.h"
#include "mpi/raw.h"
#include "src/base/err.h"

enum { TOGETHER = 16 /* slices that are taken at once */ };

/* One field in slabs, what is fetched of it, and buffers for the bare call. */
struct work {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_slab slab;
    struct mf_redistribution *redistribution[2]; /* slices normal to y; and to x */
    float *x, *g;                                /* device: own planes; what comes back, for both directions */
    float *out;                                  /* host: planes of others */
    float *from, *to;                            /* host: for the bare call */
    size_t floats;                               /* of each of these */
    enum mf_raw raw;
    int failed;
};

static float value(size_t z, size_t y, size_t x) { return (float)((z * 31 + y * 7 + x) % 4096); }

static size_t plane_of(const struct work *w) { return w->slab.dims[1] * w->slab.dims[2]; }

static void fill(struct work *w, float *host)
{
    const size_t *dims = w->slab.dims, bytes = mf_slab_voxels(&w->slab) * sizeof *host;

    for (size_t z = 0, i = 0; z < w->slab.count; ++z)
        for (size_t y = 0; y < dims[1]; ++y)
            for (size_t x = 0; x < dims[2]; ++x, ++i) host[i] = value(w->slab.first + z, y, x);
    w->queue->backend->put(w->queue, w->x, host, bytes);
    w->queue->backend->sync(w->queue);
}

static int take(struct work *w)
{
    struct mf_arena *arena = w->queue->arena, *host = w->queue->host;
    size_t own = mf_slab_voxels(&w->slab);
    float **buffer[] = {&w->x, &w->g, &w->out, &w->from, &w->to};
    int rc = MF_OK;

    for (int i = 0; i < 5 && rc == MF_OK; ++i) {
        size_t floats = i < 2 || own > w->floats ? own : w->floats;

        *buffer[i] = mf_arena_take(i < 2 ? arena : host, floats * sizeof(float), "benchmark");
        if (!*buffer[i]) rc = MF_MEMORY;
    }
    rc = mf_agree(w->comm, rc);
    if (rc == MF_OK) {
        fill(w, w->out);
        w->queue->backend->field->fill(w->queue, own, 0, w->g);
        memset(w->from, 0, w->floats * sizeof *w->from);
    }
    return rc;
}

static void give(struct work *w)
{
    for (int d = 0; d < 2; ++d) mf_redistribute_free(w->redistribution[d]);
    mf_arena_give(w->queue->host, w->to);
    mf_arena_give(w->queue->host, w->from);
    mf_arena_give(w->queue->host, w->out);
    mf_arena_give(w->queue->arena, w->g);
    mf_arena_give(w->queue->arena, w->x);
}

static void bare(void *context)
{
    struct work *w = context;

    mf_raw(w->comm, w->raw, w->floats, w->from, w->to);
}

static void fetch(struct work *w, ptrdiff_t first, float *to)
{
    size_t bytes = plane_of(w) * sizeof(float);
    int rc = mf_apart(w->queue) ? mf_slab_fetch_device(w->comm, w->queue, &w->slab, w->x, bytes, first, 1, to)
                                : mf_slab_fetch(w->comm, &w->slab, w->x, bytes, first, 1, to);

    if (rc != MF_OK) w->failed = rc;
}

static void halo(void *context)
{
    struct work *w = context;

    fetch(w, (ptrdiff_t)w->slab.first - 1, w->out);
    fetch(w, (ptrdiff_t)(w->slab.first + w->slab.count), w->out + plane_of(w));
}

static void slices(void *context)
{
    struct work *w = context;
    struct mf_view view;

    for (size_t r = 0; r < mf_redistribute_rounds(w->redistribution[0]); ++r)
        mf_redistribute_fetch(w->redistribution[0], r, w->x, &view);
    w->queue->backend->sync(w->queue);
}

/* Fields stand for gradients. */
static void send_back(const struct mf_view *from, const struct mf_view *to)
{
    for (size_t s = 0; s < to->count; ++s)
        for (size_t u = 0; u < to->nu; ++u)
            for (size_t v = 0; v < to->nv; ++v)
                to->base[s * to->ss + u * to->su + v * to->sv] +=
                    from->base[s * from->ss + u * from->su + v * from->sv];
}

/* As an evaluation does with dynamic distribution, but for the work on them; @p echo: something is sent back. */
static void evaluate_dynamic(struct work *w, size_t first, size_t end, size_t round, int echo)
{
    float *const x[2] = {w->x, w->x}, *const g[2] = {w->g, w->g};
    struct mf_view from, to;
    struct mf_taken taken;

    mf_redistribute_spread(w->redistribution + first, end - first, round, x);
    for (size_t d = first; d < end; ++d)
        while (mf_redistribute_take(w->redistribution[d], round, TOGETHER, &taken)) {
            mf_redistribute_taken(w->redistribution[d], round, &taken, &from, &to);
            if (echo) send_back(&from, &to);
        }
    mf_redistribute_gather(w->redistribution + first, end - first, round, g);
}

/* Elsewhere. */
static void pass(struct work *w, size_t d, int echo)
{
    struct mf_view from, to;

    for (size_t r = 0; r < mf_redistribute_rounds(w->redistribution[d]); ++r) {
        mf_redistribute_fetch(w->redistribution[d], r, w->x, &from);
        mf_redistribute_open(w->redistribution[d], r, w->g, &to);
        if (echo) send_back(&from, &to);
        mf_redistribute_add(w->redistribution[d], r, w->g);
    }
}

static void both_ways(struct work *w, int echo)
{
    const int dynamic = mf_redistribute_is_dynamic(w->redistribution[0]),
              once = mf_redistribute_rounds(w->redistribution[0]) == 1 &&
                     mf_redistribute_rounds(w->redistribution[1]) == 1;

    if (dynamic && once) evaluate_dynamic(w, 0, 2, 0, echo);
    for (size_t d = 0; d < 2 && !(dynamic && once); ++d)
        for (size_t r = 0; dynamic && r < mf_redistribute_rounds(w->redistribution[d]); ++r)
            evaluate_dynamic(w, d, d + 1, r, echo);
    for (size_t d = 0; d < 2 && !dynamic; ++d) pass(w, d, echo && !mf_apart(w->queue));
    w->queue->backend->sync(w->queue);
}

static void evaluation(void *context) { both_ways(context, 0); }

static void bare_evaluation(void *context)
{
    for (int i = 0; i < 4; ++i) bare(context);
}

/* Both directions have given the field back; nothing where the host cannot touch slices. */
static size_t wrong_back(struct work *w)
{
    const size_t *dims = w->slab.dims, own = mf_slab_voxels(&w->slab);
    const float times = mf_apart(w->queue) ? 0 : 2;
    size_t wrong = 0;

    both_ways(w, 1);
    w->queue->backend->get(w->queue, w->out, w->g, own * sizeof *w->out);
    w->queue->backend->sync(w->queue);
    for (size_t z = 0, i = 0; z < w->slab.count; ++z)
        for (size_t y = 0; y < dims[1]; ++y)
            for (size_t x = 0; x < dims[2]; ++x, ++i) wrong += w->out[i] != times * value(w->slab.first + z, y, x);
    return wrong;
}

static size_t wrong_planes(struct work *w)
{
    const size_t *dims = w->slab.dims, end = w->slab.first + w->slab.count;
    size_t wrong = 0, z[2] = {(w->slab.first + dims[0] - 1) % dims[0], end % dims[0]};

    for (size_t k = 0, i = 0; k < 2; ++k)
        for (size_t y = 0; y < dims[1]; ++y)
            for (size_t x = 0; x < dims[2]; ++x, ++i) wrong += w->out[i] != value(z[k], y, x);
    return wrong;
}

/* Slices normal to y: u is z, v is x. */
static size_t wrong_view(struct work *w, const struct mf_view *view, size_t first)
{
    struct mf_queue *at = mf_slices_queue(w->queue);
    size_t wrong = 0, reach = view->count ? (view->count - 1) * view->ss + (view->nu - 1) * view->su +
                                                (view->nv - 1) * view->sv + 1
                                          : 0;
    float *host = MF_MUST(malloc(reach * sizeof *host + 1), "slices to check");

    at->backend->get(at, host, view->base, reach * sizeof *host);
    at->backend->sync(at);
    for (size_t s = 0; s < view->count; ++s)
        for (size_t u = 0; u < view->nu; ++u)
            for (size_t v = 0; v < view->nv; ++v)
                wrong += host[s * view->ss + u * view->su + v * view->sv] != value(u, first + s, v);
    free(host);
    return wrong;
}

static size_t wrong_slices(struct work *w)
{
    struct mf_view view;
    size_t wrong = 0;

    for (size_t r = 0; r < mf_redistribute_rounds(w->redistribution[0]); ++r) {
        mf_redistribute_fetch(w->redistribution[0], r, w->x, &view);
        wrong += wrong_view(w, &view, mf_redistribute_span(w->redistribution[0], r).first);
    }
    return wrong;
}

static int compare(struct work *w, const struct mf_bench_enough *enough, void (*own)(void *), void (*other)(void *),
                   struct mf_bench_row *row)
{
    struct mf_bench_call calls[2] = {{own, w, NULL}, {other, w, "bare exchange"}};
    struct mf_bench_time times[2];

    mf_bench_measure(w->comm, enough, 2, calls, times);
    row->count = w->floats;
    row->bytes = w->floats * sizeof(float);
    row->has_own = 1;
    row->own = times[0];
    row->bare = times[1];
    return mf_agree(w->comm, w->failed);
}

int mf_bench_halo(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough,
                  size_t bytes, struct mf_bench_row *row)
{
    size_t n = (size_t)fmax(1, round(sqrt((double)bytes / 8)));
    const size_t dims[3] = {2 * (size_t)comm->size, n, n};
    struct work w = {.comm = comm,
                     .queue = queue,
                     .slab = mf_slab_of(comm, dims, comm->rank),
                     .floats = 2 * n * n,
                     .raw = MF_RAW_RING};
    int rc = take(&w);

    if (rc == MF_OK) {
        halo(&w);
        row->wrong = wrong_planes(&w);
        rc = compare(&w, enough, halo, bare, row);
    }
    give(&w);
    return rc;
}

/* A volume of which a slab has @p bytes, near enough. */
static struct work volume(const struct mf_comm *comm, struct mf_queue *queue, size_t bytes)
{
    size_t ranks = (size_t)comm->size, n = 2 * (size_t)fmax(1, round(cbrt((double)(bytes * ranks) / 4) / 2));
    const size_t dims[3] = {n > 2 * ranks ? n / (2 * ranks) * (2 * ranks) : 2 * ranks, n, n};
    struct work w = {
        .comm = comm, .queue = queue, .slab = mf_slab_of(comm, dims, comm->rank), .raw = MF_RAW_ALL_TO_ALL};

    w.floats = dims[0] / ranks * n * n;
    w.floats += (2 * ranks - w.floats % (2 * ranks)) % (2 * ranks);
    return w;
}

int mf_bench_slices(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough,
                    size_t bytes, struct mf_bench_row *row)
{
    struct work w = volume(comm, queue, bytes);
    int rc = take(&w);

    if (rc == MF_OK) rc = mf_redistribute_new(comm, &w.slab, MF_Y, MF_OUT, 0, queue, &w.redistribution[0]);
    if (rc == MF_OK) {
        row->wrong = wrong_slices(&w);
        rc = compare(&w, enough, slices, bare, row);
    }
    give(&w);
    return rc;
}

int mf_bench_evaluation(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough,
                        size_t bytes, struct mf_bench_row *row)
{
    struct work w = volume(comm, queue, bytes);
    int rc = take(&w);

    if (rc == MF_OK) rc = mf_redistribute_new(comm, &w.slab, MF_Y, MF_OUT_AND_BACK, 0, queue, &w.redistribution[0]);
    if (rc == MF_OK) rc = mf_redistribute_new(comm, &w.slab, MF_X, MF_OUT_AND_BACK, 0, queue, &w.redistribution[1]);
    if (rc == MF_OK) {
        row->wrong = wrong_back(&w);
        rc = compare(&w, enough, evaluation, bare_evaluation, row);
    }
    give(&w);
    return rc;
}
