/* See slab.h: the owners of planes, and copies of planes by global index. */
#include "mpi/slab.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/comm_priv.h"
#include "mpi/nccl_transport.h"
#include "mpi/phases.h"
#include "src/base/err.h"

struct mf_slab mf_slab_of(const struct mf_comm *comm, const size_t dims[3], int rank)
{
    struct mf_span own = mf_cut_grain(dims[0], 2, (size_t)comm->size, (size_t)rank);

    return (struct mf_slab){{dims[0], dims[1], dims[2]}, own.first, own.count};
}

/* The inverse of mf_cut_grain(nz, 2, size, rank). */
int mf_slab_owner(const struct mf_comm *comm, const size_t dims[3], size_t plane)
{
    const size_t pairs = (dims[0] + 1) / 2, ranks = (size_t)comm->size, pair = plane / 2;
    const size_t base = pairs / ranks, extra = pairs % ranks, longer = extra * (base + 1);

    return (int)(pair < longer ? pair / (base + 1) : extra + (pair - longer) / base);
}

size_t mf_slab_voxels(const struct mf_slab *slab) { return slab->count * slab->dims[1] * slab->dims[2]; }

/* Request of one rank: planes [first, first + count), first may be negative. Travels as 64-bit integers. */
struct want {
    int64_t first, count;
};

/* A run of consecutive planes that one rank requests and one rank owns. Plane @p plane of the volume is plane @p at of
 * the requester's output. */
struct run {
    int owner;
    size_t plane, at, count;
};

/* Purpose of a walk over all runs. */
enum walk { COUNT, SEND, LAND };

struct fetch {
    enum walk walk;
    const struct mf_comm *comm;
    const struct mf_slab *slab;
    size_t plane_bytes;
    const char *own;
    char *out;
    MPI_Request *requests;
    size_t posted;
    struct mf_queue *queue;   /* of @p own; NULL: host memory */
    char *sent;               /* host memory for the planes that others ask for, where the host may not touch own */
    size_t sending;           /* bytes of them */
    struct mf_queue *by_nccl; /* planes go from device to device: queue; else NULL */
    char *landed;             /* NCCL: device memory for the planes of others */
    size_t landing;           /* bytes of them */
};

/* The run of @p want that begins at its plane @p at. The owner's slab bounds its length. */
static struct run run_at(const struct fetch *f, struct want want, size_t at)
{
    int64_t nz = (int64_t)f->slab->dims[0], plane = (want.first % nz + (int64_t)at) % nz;
    struct run run = {0, (size_t)(plane < 0 ? plane + nz : plane), at, (size_t)want.count - at};
    struct mf_slab has;

    run.owner = mf_slab_owner(f->comm, f->slab->dims, run.plane);
    has = mf_slab_of(f->comm, f->slab->dims, run.owner);
    if (run.count > has.first + has.count - run.plane) run.count = has.first + has.count - run.plane;
    return run;
}

static void send(struct fetch *f, int asker, const char *from, size_t bytes)
{
    mf_phase_sent(bytes);
    MPI_Isend(from, (int)bytes, MPI_BYTE, asker, 0, f->comm->impl->ranks, &f->requests[f->posted]);
}

static const char *own_planes(const struct fetch *f, const struct run *run)
{
    return f->own + (run->plane - f->slab->first) * f->plane_bytes;
}

/* Where the host sees own planes that another rank asks for. */
static const char *sent_from(struct fetch *f, const struct run *run)
{
    const size_t bytes = run->count * f->plane_bytes;
    char *at;

    if (!f->queue) return own_planes(f, run);
    f->sending += bytes;
    if (f->walk == COUNT) return NULL;
    at = f->sent + f->sending - bytes;
    f->queue->backend->get(f->queue, at, own_planes(f, run), bytes);
    return at;
}

/* A run that goes from device to device: put into the group, and after it taken to its place. */
static void post_by_nccl(struct fetch *f, const struct run *run, int asker)
{
    const size_t bytes = run->count * f->plane_bytes, at = f->landing;

    if (asker == f->comm->rank) f->landing += bytes;
    if (f->walk == SEND && run->owner == f->comm->rank)
        mf_transport_send(f->comm, f->by_nccl, own_planes(f, run), bytes, asker);
    if (f->walk == SEND && asker == f->comm->rank)
        mf_transport_receive(f->comm, f->by_nccl, f->landed + at, bytes, run->owner);
    if (f->walk == LAND && asker == f->comm->rank)
        f->by_nccl->backend->get(f->by_nccl, f->out + run->at * f->plane_bytes, f->landed + at, bytes);
    if (f->walk == SEND && asker != f->comm->rank) mf_phase_sent(bytes);
}

/* Pieces of at most mf_comm_most bytes: both sides cut a run alike. */
static void post(struct fetch *f, const struct run *run, int asker)
{
    size_t bytes = run->count * f->plane_bytes, many;
    const char *from = asker == f->comm->rank ? NULL : sent_from(f, run);
    char *to = f->out + run->at * f->plane_bytes;

    MF_ASSERT(f->comm->impl);
    for (size_t at = 0; at < bytes; at += many, ++f->posted) {
        many = bytes - at < mf_comm_most ? bytes - at : mf_comm_most;
        if (f->walk == COUNT) continue;
        if (asker == f->comm->rank)
            MPI_Irecv(to + at, (int)many, MPI_BYTE, run->owner, 0, f->comm->impl->ranks, &f->requests[f->posted]);
        else
            send(f, asker, from + at, many);
    }
}

/* A run of this rank's own planes. */
static void copy(const struct fetch *f, const struct run *run)
{
    if (f->walk != (f->by_nccl ? LAND : SEND)) return;
    if (f->queue)
        f->queue->backend->get(f->queue, f->out + run->at * f->plane_bytes, own_planes(f, run),
                               run->count * f->plane_bytes);
    else
        memcpy(f->out + run->at * f->plane_bytes, own_planes(f, run), run->count * f->plane_bytes);
}

/* All runs of all ranks in which this rank takes part, in the same order on both sides. */
static void each_run(struct fetch *f, enum walk walk, int ranks, const struct want *wants)
{
    int me = f->comm->rank;
    struct run run;

    f->walk = walk;
    f->posted = f->sending = f->landing = 0;
    for (int asker = 0; asker < ranks; ++asker)
        for (size_t at = 0; at < (size_t)wants[asker].count; at += run.count) {
            run = run_at(f, wants[asker], at);
            if (run.owner == me && asker == me && !(f->by_nccl && ranks == 1))
                copy(f, &run);
            else if (run.owner == me || asker == me)
                (f->by_nccl ? post_by_nccl : post)(f, &run, asker);
        }
}

/* Waits in portions: MPI counts requests with int too. */
static void wait_all(struct fetch *f)
{
    for (size_t at = 0, many; at < f->posted; at += many) {
        many = f->posted - at < 1 << 20 ? f->posted - at : 1 << 20;
        MPI_Waitall((int)many, f->requests + at, MPI_STATUSES_IGNORE);
    }
}

/* Takes the memory that the count has found to be needed. Local. */
static int take(struct fetch *f)
{
    if (f->by_nccl) {
        f->landed = mf_arena_take(f->by_nccl->arena, f->landing, "planes received");
        return f->landed ? MF_OK : MF_MEMORY;
    }
    f->requests = malloc((f->posted + 1) * sizeof *f->requests);
    if (!f->requests) return mf_fail(MF_MEMORY, "no memory for %zu requests", f->posted);
    if (!f->queue) return MF_OK;
    f->sent = mf_arena_take(f->queue->host, f->sending, "planes sent");
    return f->sent ? MF_OK : MF_MEMORY;
}

static void give(struct fetch *f)
{
    if (f->queue) mf_arena_give(f->queue->host, f->sent);
    if (f->by_nccl) mf_arena_give(f->by_nccl->arena, f->landed);
    free(f->requests);
}

/* One group, and then what has landed. */
static void move_by_nccl(struct fetch *f, const struct want *wants)
{
    mf_comm_enter(f->comm, "fetch of planes of bytes,", f->plane_bytes);
    mf_transport_begin(f->comm);
    each_run(f, SEND, f->comm->size, wants);
    mf_transport_end(f->comm);
    mf_comm_leave(f->comm);
    mf_transport_wait(f->comm, f->by_nccl, "wait for planes by NCCL, of bytes,", f->plane_bytes);
    each_run(f, LAND, f->comm->size, wants);
}

static void move(struct fetch *f, const struct want *wants)
{
    if (f->by_nccl) {
        move_by_nccl(f, wants);
        return;
    }
    mf_comm_enter(f->comm, "fetch of planes of bytes,", f->plane_bytes);
    each_run(f, SEND, f->comm->size, wants);
    wait_all(f);
    mf_comm_leave(f->comm);
}

/* Gathers the requests of all ranks. */
static void ask(const struct fetch *f, struct want want, struct want *wants)
{
    wants[f->comm->rank] = want;
    if (!f->comm->impl) return;
    mf_comm_enter(f->comm, "requests of planes of bytes,", f->plane_bytes);
    MPI_Allgather(&want, 2, MPI_INT64_T, wants, 2, MPI_INT64_T, f->comm->impl->ranks);
    mf_comm_leave(f->comm);
}

static int exchange(struct fetch *f, struct want want)
{
    struct want *wants = calloc((size_t)f->comm->size, sizeof *wants);
    int rc;

    if (!wants) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", f->comm->size);
    ask(f, want, wants);
    each_run(f, COUNT, f->comm->size, wants);
    rc = mf_agree(f->comm, take(f));
    if (rc == MF_OK) move(f, wants);
    give(f);
    free(wants);
    return rc;
}

static int fetch(struct fetch *f, ptrdiff_t first, size_t count)
{
    struct want want = {first, (int64_t)count};

    MF_ASSERT(count == 0 || f->slab->dims[0] > 0);
    if (!f->comm->impl && !f->by_nccl) {
        each_run(f, SEND, 1, &want);
        return MF_OK;
    }
    MF_PHASE(&mf_phase_exchange);

    return exchange(f, want);
}

int mf_slab_fetch(const struct mf_comm *comm, const struct mf_slab *slab, const void *own, size_t plane_bytes,
                  ptrdiff_t first, size_t count, void *out)
{
    struct fetch f = {.comm = comm, .slab = slab, .plane_bytes = plane_bytes, .own = own, .out = out};

    return fetch(&f, first, count);
}

int mf_slab_fetch_device(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                         const void *own, size_t plane_bytes, ptrdiff_t first, size_t count, void *out)
{
    struct fetch f = {.comm = comm, .slab = slab, .plane_bytes = plane_bytes, .own = own, .out = out};

    if (mf_apart(queue)) f.queue = queue;
    if (mf_transport_carries(comm, queue)) f.by_nccl = queue;
    return fetch(&f, first, count);
}

/* Planes that @p from asks for on one side. */
static size_t asked_by(const struct mf_slab *from, const struct mf_slab *slab, size_t deep, int above, int periodic)
{
    const ptrdiff_t nz = (ptrdiff_t)slab->dims[0];
    const ptrdiff_t first = (ptrdiff_t)from->first + (above ? (ptrdiff_t)from->count : -(ptrdiff_t)deep);
    size_t planes = 0;

    for (size_t k = 0; from->count && k < deep; ++k) {
        ptrdiff_t at = first + (ptrdiff_t)k;
        size_t z = (size_t)((at % nz + nz) % nz);

        planes += (periodic || (at >= 0 && at < nz)) && z >= slab->first && z < slab->first + slab->count;
    }
    return planes;
}

size_t mf_slab_asked(const struct mf_comm *comm, const struct mf_slab *slab, size_t deep, int periodic)
{
    size_t below = 0, above = 0;

    for (int r = 0; r < comm->size; ++r) {
        struct mf_slab from = mf_slab_of(comm, slab->dims, r);

        if (r == comm->rank) continue;
        below += asked_by(&from, slab, deep, 0, periodic);
        above += asked_by(&from, slab, deep, 1, periodic);
    }
    return below > above ? below : above;
}
