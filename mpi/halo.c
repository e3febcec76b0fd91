/* See halo.h. Every rank computes all requests between ranks, in one order, so messages need no labels. */
#include "mpi/halo.h"

#include <stdlib.h>

#include "mpi/comm_priv.h"
#include "mpi/phases.h"
#include "src/base/err.h"

/* Consecutive planes of one field that one rank has and another one, or the same, wants. */
struct run {
    int owner, asker;
    size_t field, plane, count; /* plane: the owner's, from its first on */
    size_t row;                 /* of the asker: its place among reach + own + reach */
};

struct mf_halo {
    const struct mf_comm *comm;
    struct mf_slab slab;
    size_t reach, n;
    int periodic;
    struct mf_halo_field *field;
    struct mf_arena *arena;
    struct run *run; /* those that this rank takes part in */
    size_t runs;
    float *planes; /* of others, run by run */
    MPI_Request *request;
    size_t posted;
};

int mf_halo_fits(const struct mf_comm *comm, const size_t dims[3], size_t grain)
{
    for (int r = 0; r < comm->size; ++r)
        if (mf_slab_of(comm, dims, r).first % grain) return 0;
    return dims[0] % grain == 0;
}

static void keep(struct mf_halo *h, const struct run *run)
{
    struct run *last = h->runs ? &h->run[h->runs - 1] : NULL;

    if (run->owner != h->comm->rank && run->asker != h->comm->rank) return;
    if (last && last->owner == run->owner && last->asker == run->asker && last->field == run->field &&
        last->plane + last->count == run->plane && last->row + last->count == run->row) {
        last->count += run->count;
        return;
    }
    if (h->runs % 64 == 0) h->run = MF_MUST(realloc(h->run, (h->runs + 64) * sizeof *run), "planes beside slabs");
    h->run[h->runs++] = *run;
}

/* Rank @p asker wants @p count rows of field @p f, from row @p from on. */
static void want(struct mf_halo *h, int asker, size_t f, size_t from, size_t count)
{
    const size_t grain = h->field[f].grain, nz = h->slab.dims[0] / grain;
    const struct mf_slab its = mf_slab_of(h->comm, h->slab.dims, asker);

    for (size_t row = from; row < from + count; ++row) {
        const ptrdiff_t z = (ptrdiff_t)(its.first / grain + row) - (ptrdiff_t)h->reach, n = (ptrdiff_t)nz;
        const size_t at = (size_t)((z % n + n) % n);
        struct run one = {.asker = asker, .field = f, .count = 1, .row = row};

        if (!h->periodic && (z < 0 || z >= n)) continue;
        one.owner = mf_slab_owner(h->comm, h->slab.dims, at * grain);
        one.plane = at - mf_slab_of(h->comm, h->slab.dims, one.owner).first / grain;
        keep(h, &one);
    }
}

static void list(struct mf_halo *h)
{
    for (int r = 0; r < h->comm->size; ++r) {
        const struct mf_slab its = mf_slab_of(h->comm, h->slab.dims, r);

        for (size_t f = 0; its.count && f < h->n; ++f) {
            want(h, r, f, 0, h->reach);
            want(h, r, f, h->reach + its.count / h->field[f].grain, h->reach);
        }
    }
}

static size_t floats_of(const struct mf_halo *h)
{
    size_t floats = 0;

    for (size_t i = 0; i < h->runs; ++i)
        if (h->run[i].owner != h->comm->rank) floats += h->run[i].count * h->field[h->run[i].field].plane;
    return floats;
}

void mf_halo_free(struct mf_halo *h)
{
    if (!h) return;
    mf_arena_give(h->arena, h->planes);
    free(h->request);
    free(h->field);
    free(h->run);
    free(h);
}

static int take(struct mf_halo *h)
{
    size_t requests = 1;

    for (size_t i = 0; i < h->runs; ++i)
        requests += h->run[i].count * h->field[h->run[i].field].plane * sizeof(float) / (mf_comm_most / 4 * 4) + 1;
    h->request = malloc(requests * sizeof(MPI_Request));
    if (!h->request) return mf_fail(MF_MEMORY, "no memory for %zu requests", requests);
    h->planes = mf_arena_take(h->arena, floats_of(h) * sizeof *h->planes, "planes beside slabs");
    return h->planes ? MF_OK : MF_MEMORY;
}

int mf_halo_new(const struct mf_comm *comm, const struct mf_slab *slab, size_t reach, int periodic, size_t n,
                const struct mf_halo_field *field, struct mf_arena *arena, struct mf_halo **halo)
{
    struct mf_halo *h = calloc(1, sizeof *h);
    int rc;

    if (!h) return mf_fail(MF_MEMORY, "no memory for the planes beside slabs");
    *h = (struct mf_halo){.comm = comm, .slab = *slab, .reach = reach, .n = n, .periodic = periodic, .arena = arena};
    h->field = malloc(n * sizeof *field);
    for (size_t f = 0; h->field && f < n; ++f) h->field[f] = field[f];
    if (h->field) list(h);
    rc = h->field ? take(h) : mf_fail(MF_MEMORY, "no memory for the planes beside slabs");
    if (rc == MF_OK)
        *halo = h;
    else
        mf_halo_free(h);
    return rc;
}

/* In pieces that MPI can count. */
static void post(struct mf_halo *h, const struct run *run, float *in, const float *out)
{
    const size_t floats = run->count * h->field[run->field].plane, most = mf_comm_most / sizeof(float);
    MPI_Comm world = h->comm->impl->ranks;

    if (out) mf_phase_sent(floats * sizeof(float));
    for (size_t at = 0, many; at < floats; at += many) {
        many = floats - at < most ? floats - at : most;
        if (in)
            MPI_Irecv(in + at, (int)(many * sizeof *in), MPI_BYTE, run->owner, 0, world, &h->request[h->posted++]);
        else
            MPI_Isend(out + at, (int)(many * sizeof *out), MPI_BYTE, run->asker, 0, world, &h->request[h->posted++]);
    }
}

void mf_halo_start(struct mf_halo *h, const float *const *own)
{
    float *in = h->planes;
    MF_PHASE(&mf_phase_exchange);

    h->posted = 0;
    if (!h->comm->impl) return;
    for (size_t i = 0; i < h->runs; ++i) {
        const struct run *run = &h->run[i];
        const size_t plane = h->field[run->field].plane;

        if (run->owner == run->asker) continue;
        if (run->asker == h->comm->rank) {
            post(h, run, in, NULL);
            in += run->count * plane;
        } else
            post(h, run, NULL, own[run->field] + run->plane * plane);
    }
}

void mf_halo_finish(struct mf_halo *h)
{
    MF_PHASE(&mf_phase_exchange);

    if (!h->comm->impl) return;
    mf_comm_enter(h->comm, "exchange of planes beside slabs", 0);
    MPI_Waitall((int)h->posted, h->request, MPI_STATUSES_IGNORE); /* a few for each field and neighbour */
    mf_comm_leave(h->comm);
}

void mf_halo_rows(const struct mf_halo *h, size_t f, const float *own, const float **row)
{
    const size_t plane = h->field[f].plane, count = h->slab.count / h->field[f].grain;
    const float *in = h->planes;

    for (size_t u = 0; u < count + 2 * h->reach; ++u)
        row[u] = u >= h->reach && u < h->reach + count ? own + (u - h->reach) * plane : NULL;
    for (size_t i = 0; i < h->runs; ++i) {
        const struct run *run = &h->run[i];

        if (run->asker != h->comm->rank) continue;
        for (size_t k = 0; run->field == f && k < run->count; ++k)
            row[run->row + k] = run->owner == run->asker ? own + (run->plane + k) * plane : in + k * plane;
        if (run->owner != run->asker) in += run->count * h->field[run->field].plane;
    }
}
