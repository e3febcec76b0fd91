/* See redistribute.h: the memory of a redistribution, and the steps of a round. */
#include <stdlib.h>
#include <string.h>

#include "kernels/field.h"
#include "mpi/phases.h"
#include "mpi/redistribute_priv.h"
#include "src/base/err.h"

/* Own planes of all slices of a round. */
static size_t packed_floats(const struct mf_redistribution *p)
{
    size_t all = 0;

    for (int r = 0; r < p->comm.size; ++r)
        if (!mf_redistribute_is_direct(p, r)) all += mf_redistribute_span_of(p, 0, r).count;
    return p->slab.count * p->wide * all;
}

/* Local: without shared memory all is the arena's. */
static int take_own(struct mf_redistribution *p, struct mf_arena *arena, float **fields, float **grads)
{
    const size_t bytes = p->depth * mf_redistribute_buffer_bytes(p);

    *fields = mf_arena_take(arena, bytes, "slices");
    if (p->ways == MF_OUT) return *fields ? MF_OK : MF_MEMORY;
    *grads = mf_arena_take(arena, bytes, "slices");
    return *fields && *grads ? MF_OK : MF_MEMORY;
}

/* Own planes of a round's slices for the ranks that get messages; no rank has more slices than rank 0. */
static size_t sent_floats(const struct mf_redistribution *p)
{
    const size_t far = (size_t)(p->comm.size - (p->shared ? p->comm.local_size : 1));

    return p->slab.count * p->wide * far * mf_redistribute_span_of(p, 0, 0).count;
}

static int take_for_messages(struct mf_redistribution *p)
{
    const size_t floats = sent_floats(p);

    p->request = calloc(2 * (size_t)p->comm.size, sizeof(MPI_Request));
    if (!p->request) return mf_fail(MF_MEMORY, "no memory for messages of %d ranks", p->comm.size);
    if (floats) p->packed = mf_arena_take(p->queue->host, floats * sizeof(float), "slices packed");
    if (floats && !p->packed) return MF_MEMORY;
    return p->shared ? MF_OK : take_own(p, p->queue->host, &p->fields, &p->grads);
}

/* The round buffers in memory that the ranks of a node see, or none of it is booked. */
static void share_buffers(struct mf_redistribution *p)
{
    const size_t bytes = p->booked;

    mf_share_new(&p->comm, bytes + MF_REDISTRIBUTE_TAIL, &p->share);
    if (p->share) {
        p->fields = (float *)p->share->own;
        if (p->ways == MF_OUT_AND_BACK) p->grads = (float *)(p->share->own + bytes / 2);
        if (p->queue->backend->pin) p->queue->backend->pin(p->queue, p->share->own, bytes);
        return;
    }
    mf_arena_book(p->queue->host, -(ptrdiff_t)bytes, MF_SHARED_TAG);
    p->booked = 0;
    p->shared = 0;
}

/* Shared memory where ranks have it in common (booked in the arena first), and what messages to others need. */
static int take_buffers(struct mf_redistribution *p)
{
    size_t bytes = (size_t)p->ways * p->depth * mf_redistribute_buffer_bytes(p);
    int rc;

    if (p->alone) return mf_agree(&p->comm, take_own(p, p->queue->host, &p->fields, &p->grads));
    rc = mf_arena_book(p->queue->host, (ptrdiff_t)bytes, MF_SHARED_TAG);
    if (rc == MF_OK) p->booked = bytes;
    p->shared = 1;
    MF_TRY(mf_agree(&p->comm, rc));
    if (p->comm.impl || !mf_share_wanted(&p->comm)) share_buffers(p); /* else it is a rank that is not there */
    if (p->comm.impl) {
        MPI_Type_contiguous((int)p->wide, MPI_FLOAT, &p->unit);
        MPI_Type_commit(&p->unit);
    }
    return mf_agree(&p->comm, take_for_messages(p));
}

/* By NCCL all of it is device memory. Local. */
static int take_by_nccl(struct mf_redistribution *p)
{
    p->packed = mf_arena_take(p->queue->arena, packed_floats(p) * sizeof(float), "slices packed");
    if (!p->packed) return MF_MEMORY;
    return take_own(p, p->queue->arena, &p->on_fields, &p->on_grads);
}

/* Round buffers, and where kernels see them. */
static int take_all(struct mf_redistribution *p)
{
    if (p->by_nccl) return mf_agree(&p->comm, take_by_nccl(p));
    MF_TRY(take_buffers(p));
    p->on_fields = p->fields;
    p->on_grads = p->grads;
    if (!mf_apart(p->queue)) return MF_OK;
    return mf_agree(&p->comm, take_own(p, p->queue->arena, &p->on_fields, &p->on_grads));
}

int mf_redistribute_new(const struct mf_comm *comm, const struct mf_slab *slab, enum mf_normal normal,
                        enum mf_ways ways, size_t batch, struct mf_queue *queue, struct mf_redistribution **plan)
{
    struct mf_redistribution *p = calloc(1, sizeof *p);
    int rc;

    if (!p) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a redistribution");
    p->comm = *comm;
    p->slab = *slab;
    p->ways = ways;
    p->home = queue;
    p->queue = mf_slices_queue(queue);
    if (!mf_apart(p->queue)) p->comm.transport = NULL;
    mf_redistribute_lay_out(p, normal, p->queue != p->home, batch);
    p->unit = MPI_DATATYPE_NULL;
    mf_comm_enter(comm, "plan of slices", batch);
    rc = p->alias ? MF_OK : take_all(p);
    mf_comm_leave(comm);
    if (rc != MF_OK) {
        mf_redistribute_free(p);
        return rc;
    }
    *plan = p;
    return MF_OK;
}

void mf_redistribute_free(struct mf_redistribution *plan)
{
    if (!plan) return;
    for (size_t slot = 0; slot < plan->depth; ++slot) {
        if (plan->put[slot]) plan->queue->backend->finish(plan->queue, plan->put[slot]);
        if (plan->got[slot]) plan->queue->backend->finish(plan->queue, plan->got[slot]);
    }
    if (plan->on_fields != plan->fields) mf_arena_give(plan->queue->arena, plan->on_fields);
    if (plan->on_grads != plan->grads) mf_arena_give(plan->queue->arena, plan->on_grads);
    if (plan->share) {
        if (plan->queue->backend->unpin) plan->queue->backend->unpin(plan->queue, plan->share->own);
        mf_share_free(plan->share);
    } else {
        mf_arena_give(plan->queue->host, plan->fields);
        mf_arena_give(plan->queue->host, plan->grads);
    }
    mf_arena_give(plan->by_nccl ? plan->queue->arena : plan->queue->host, plan->packed);
    if (plan->booked) mf_arena_book(plan->queue->host, -(ptrdiff_t)plan->booked, MF_SHARED_TAG);
    if (plan->unit != MPI_DATATYPE_NULL) MPI_Type_free(&plan->unit);
    free(plan->request);
    free(plan);
}

/* Do rounds come together on the host, for a device that it cannot touch? */
static int crosses(const struct mf_redistribution *p) { return mf_apart(p->queue) && !p->by_nccl; }

/* Where the copy of a round's buffer is noted. */
static size_t *copy_of(const struct mf_redistribution *p, size_t copy[2], size_t round)
{
    return &copy[mf_redistribute_slot(p, round)];
}

/* Collects a round's slices. On the host it also starts their copy to the device, after the previous copy from these
 * buffers is complete. */
static void send(struct mf_redistribution *p, size_t round, float *x)
{
    const struct mf_backend *be = p->queue->backend;
    size_t *copy = copy_of(p, p->put, round), bytes = mf_redistribute_held_bytes(p, mf_redistribute_span(p, round));

    mf_redistribute_count_out(p, round);
    if (crosses(p)) be->finish(p->queue, *copy);
    mf_redistribute_out(p, round, x);
    if (!crosses(p)) return;
    *copy = be->put_start(p->queue, mf_redistribute_at(p, p->on_fields, round), mf_redistribute_at(p, p->fields, round),
                          bytes);
}

/* With two buffers of a kind the next round is on its way before work on this one begins. */
void mf_redistribute_fetch(struct mf_redistribution *plan, size_t round, float *x, struct mf_view *view)
{
    struct mf_span span = mf_redistribute_span(plan, round);

    if (plan->alias) {
        *view = mf_redistribute_view_of_slab(plan, span, x);
        return;
    }
    MF_PHASE(&mf_phase_exchange);

    if (round == 0 || plan->depth == 1) plan->sent = round;
    for (; plan->sent < plan->rounds && plan->sent < round + plan->depth; ++plan->sent) send(plan, plan->sent, x);
    if (crosses(plan)) plan->queue->backend->follow(plan->queue, *copy_of(plan, plan->put, round));
    *view = mf_redistribute_view(plan, span.count, mf_redistribute_at(plan, plan->on_fields, round));
}

void mf_redistribute_open(struct mf_redistribution *plan, size_t round, float *g, struct mf_view *view)
{
    struct mf_span span = mf_redistribute_span(plan, round);
    float *buffer;

    MF_ASSERT(plan->ways == MF_OUT_AND_BACK);
    if (plan->alias) {
        *view = mf_redistribute_view_of_slab(plan, span, g);
        return;
    }
    MF_PHASE(&mf_phase_exchange);

    buffer = mf_redistribute_at(plan, plan->on_grads, round);
    if (mf_apart(plan->queue))
        plan->queue->backend->field->fill(plan->queue, mf_redistribute_held_bytes(plan, span) / sizeof *buffer, 0,
                                          buffer);
    else
        memset(buffer, 0, mf_redistribute_held_bytes(plan, span));
    *view = mf_redistribute_view(plan, span.count, buffer);
}

/* A round's gradients, once they are on the host, to the slabs. */
static void receive(struct mf_redistribution *p, size_t round, float *g)
{
    mf_redistribute_count_back(p, round);
    if (crosses(p)) p->queue->backend->finish(p->queue, *copy_of(p, p->got, round));
    mf_redistribute_back(p, round, g);
}

/* With two buffers of a kind, a round's gradients are added while the device works on the next. It waits for the last
 * round. */
void mf_redistribute_add(struct mf_redistribution *plan, size_t round, float *g)
{
    size_t end = round + 1 == plan->rounds ? plan->rounds : round + 2 - plan->depth;

    MF_ASSERT(plan->ways == MF_OUT_AND_BACK);
    if (plan->alias) return;
    MF_PHASE(&mf_phase_exchange);

    if (crosses(plan))
        *copy_of(plan, plan->got, round) = plan->queue->backend->get_start(
            plan->queue, mf_redistribute_at(plan, plan->grads, round), mf_redistribute_at(plan, plan->on_grads, round),
            mf_redistribute_held_bytes(plan, mf_redistribute_span(plan, round)));
    if (round == 0 || plan->depth == 1) plan->added = round;
    for (; plan->added < end; ++plan->added) receive(plan, plan->added, g);
}
