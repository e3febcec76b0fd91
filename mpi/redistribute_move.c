/* How planes move between slabs and round buffers. A rank writes its planes directly into the buffers of the ranks of
 * its node. It reads gradients directly from them. With every other rank it exchanges messages. Slabs are in device
 * memory, and buffers in host memory. With the NCCL transport (nccl_transport.h) buffers are in device memory too. */
#include <stdatomic.h>

#include "kernels/move.h"
#include "mpi/phases.h"
#include "mpi/redistribute_priv.h"
#include "src/base/err.h"

/* One rank's slices of a round in the own planes; normal to z: its own. */
static struct mf_block block_of(const struct mf_redistribution *p, struct mf_span span)
{
    size_t ny = p->slab.dims[1], nx = p->slab.dims[2];

    if (p->normal == MF_Z) return (struct mf_block){span.count * ny, nx, nx, (span.first - p->slab.first) * ny * nx};
    if (p->normal == MF_Y) return (struct mf_block){p->slab.count, span.count * nx, ny * nx, span.first * nx};
    return (struct mf_block){p->slab.count * ny, span.count, nx, span.first};
}

/* Between slabs, wherever they are, and packed rows on the host. */
static void pack(const struct mf_redistribution *p, struct mf_block block, const float *slab, float *packed)
{
    p->home->backend->move->pack(p->home, &block, slab, packed);
}

static void add(const struct mf_redistribution *p, struct mf_block block, const float *packed, float *slab)
{
    p->home->backend->move->add(p->home, &block, packed, slab);
}

/* Offset of planes in a round buffer of @p count slices. Their slab begins at plane @p first. */
static size_t place(const struct mf_redistribution *p, size_t first, size_t count) { return first * p->wide * count; }

/* First come the buffers of fields, then those of gradients. */
float *mf_redistribute_seen(const struct mf_redistribution *p, int r, size_t round, int grads)
{
    size_t bytes;

    MF_ASSERT(!grads || p->ways == MF_OUT_AND_BACK);
    if (r == p->comm.rank) return mf_redistribute_at(p, grads ? p->grads : p->fields, round);
    if (!p->share || !p->share->at[r]) return NULL;
    bytes = (p->share->bytes[r] - MF_REDISTRIBUTE_TAIL) / (size_t)p->ways;
    return (float *)(p->share->at[r] + (grads ? bytes : 0) + mf_redistribute_slot(p, round) * (bytes / p->depth));
}

/* -- through the host: memory that a node's ranks share, messages between nodes -- */

enum { OUT = 1, BACK = 2 }; /* tags */

/* The buffers of this node's ranks change hands. */
static void meet(const struct mf_redistribution *p)
{
    if (p->share) mf_comm_meet(&p->comm);
}

static int is_far(const struct mf_redistribution *p, int r) { return mf_redistribute_seen(p, r, 0, 0) == NULL; }

/* Own planes into the buffers that this rank sees. */
static void pack_near(const struct mf_redistribution *p, size_t round, const float *x)
{
    for (int i = 0; i < p->comm.size; ++i) {
        int r = mf_redistribute_nth(p, i);
        struct mf_span span = mf_redistribute_span_of(p, round, r);
        float *to = mf_redistribute_seen(p, r, round, 0);

        if (to) pack(p, block_of(p, span), x, to + place(p, p->slab.first, span.count));
    }
}

/* Gradients out of them. */
static void add_near(const struct mf_redistribution *p, size_t round, float *g)
{
    for (int i = 0; i < p->comm.size; ++i) {
        int r = mf_redistribute_nth(p, i);
        struct mf_span span = mf_redistribute_span_of(p, round, r);
        const float *from = mf_redistribute_seen(p, r, round, 1);

        if (from) add(p, block_of(p, span), from + place(p, p->slab.first, span.count), g);
    }
}

/* In units of a row of planes: my planes of a rank's slices, and its planes of mine. */
static size_t given(const struct mf_redistribution *p, size_t round, int r)
{
    return p->slab.count * mf_redistribute_span_of(p, round, r).count;
}

static size_t taken(const struct mf_redistribution *p, size_t round, int r)
{
    return mf_slab_of(&p->comm, p->slab.dims, r).count * mf_redistribute_span_of(p, round, p->comm.rank).count;
}

/* Planes of rank @p r in a round buffer of mine. */
static float *part_of_buffer(const struct mf_redistribution *p, float *buffer, size_t round, int r)
{
    size_t first = mf_slab_of(&p->comm, p->slab.dims, r).first;

    return buffer + place(p, first, mf_redistribute_span_of(p, round, p->comm.rank).count);
}

static MPI_Request *receives(const struct mf_redistribution *p, int r) { return &p->request[r]; }
static MPI_Request *sends(const struct mf_redistribution *p, int r) { return &p->request[p->comm.size + r]; }

static void receive(const struct mf_redistribution *p, float *to, size_t units, int r, int tag)
{
    MPI_Irecv(to, (int)units, p->unit, r, tag, p->comm.impl->ranks, receives(p, r));
}

static void send(const struct mf_redistribution *p, const float *from, size_t units, int r, int tag)
{
    MPI_Isend(from, (int)units, p->unit, r, tag, p->comm.impl->ranks, sends(p, r));
}

/* Until these are there, of which a rank has none with those whose buffers it sees. */
static void wait_for(MPI_Request *request, int n)
{
    MF_PHASE(&mf_phase_waiting);

    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

static void no_messages(const struct mf_redistribution *p)
{
    for (int i = 0; i < 2 * p->comm.size; ++i) p->request[i] = MPI_REQUEST_NULL;
}

/* Messages go first: they travel while planes are copied within this node. */
static void start_out(const struct mf_redistribution *p, size_t round, const float *x)
{
    float *fields = mf_redistribute_at(p, p->fields, round), *at = p->packed;

    no_messages(p);
    for (int i = 1, r; i < p->comm.size; ++i) {
        r = mf_redistribute_nth(p, i);
        if (is_far(p, r)) receive(p, part_of_buffer(p, fields, round, r), taken(p, round, r), r, OUT);
    }
    for (int i = 1, r; i < p->comm.size; ++i) {
        r = mf_redistribute_nth(p, i);
        if (!is_far(p, r)) continue;
        pack(p, block_of(p, mf_redistribute_span_of(p, round, r)), x, at);
        send(p, at, given(p, round, r), r, OUT);
        at += given(p, round, r) * p->wide;
    }
}

static void start_back(const struct mf_redistribution *p, size_t round)
{
    float *grads = mf_redistribute_at(p, p->grads, round), *at = p->packed;

    no_messages(p);
    for (int i = 1, r; i < p->comm.size; ++i) {
        r = mf_redistribute_nth(p, i);
        if (!is_far(p, r)) continue;
        receive(p, at, given(p, round, r), r, BACK);
        send(p, part_of_buffer(p, grads, round, r), taken(p, round, r), r, BACK);
        at += given(p, round, r) * p->wide;
    }
}

/* As they come. */
static void add_far(const struct mf_redistribution *p, size_t round, float *g)
{
    const float *at = p->packed;

    for (int i = 1, r; i < p->comm.size; ++i) {
        r = mf_redistribute_nth(p, i);
        if (!is_far(p, r)) continue;
        wait_for(receives(p, r), 1);
        add(p, block_of(p, mf_redistribute_span_of(p, round, r)), at, g);
        at += given(p, round, r) * p->wide;
    }
}

/* No slice of the round that comes is begun. Between meetings, so that nobody takes any. */
static void start_dynamic(struct mf_redistribution *p)
{
    if (p->share) atomic_store_explicit(mf_redistribute_begun(p, p->comm.rank), 0, memory_order_relaxed);
    p->helped = 0;
}

void mf_redistribute_bring(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *x)
{
    mf_comm_enter(&plan[0]->comm, "fetch of slices, round", round + 1);
    meet(plan[0]); /* nobody uses what these buffers had, or takes slices */
    for (size_t i = 0; i < n; ++i) start_out(plan[i], round, x[i]);
    for (size_t i = 0; i < n; ++i) {
        pack_near(plan[i], round, x[i]);
        start_dynamic(plan[i]);
    }
    for (size_t i = 0; i < n; ++i) wait_for(plan[i]->request, 2 * plan[i]->comm.size);
    meet(plan[0]);
    mf_comm_leave(&plan[0]->comm);
}

/* No two ranks have gradients of one slice, so only the order of the plans matters. */
void mf_redistribute_return(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *g)
{
    mf_comm_enter(&plan[0]->comm, "sum of gradients, round", round + 1);
    meet(plan[0]); /* all are written; they are read before a rank comes to the next meeting */
    for (size_t i = 0; i < n; ++i) start_back(plan[i], round);
    for (size_t i = 0; i < n; ++i) {
        add_near(plan[i], round, g[i]);
        add_far(plan[i], round, g[i]);
    }
    for (size_t i = 0; i < n; ++i) wait_for(plan[i]->request, 2 * plan[i]->comm.size);
    mf_comm_leave(&plan[0]->comm);
}

/* -- by NCCL -- */

/* Own planes of the slices of @p span; packed has those of the ranks one after the other. */
static size_t span_bytes(const struct mf_redistribution *p, struct mf_span span)
{
    return p->slab.count * p->wide * span.count * sizeof(float);
}

/* My slices' planes of rank @p rank in a round buffer. */
static float *planes_of(const struct mf_redistribution *p, float *buffer, struct mf_slab theirs, size_t round,
                        size_t *bytes)
{
    const size_t mine = mf_redistribute_span_of(p, round, p->comm.rank).count;

    *bytes = theirs.count * p->wide * mine * sizeof(float);
    return buffer + place(p, theirs.first, mine);
}

static void pack_by_nccl(struct mf_redistribution *p, size_t round, const float *x)
{
    const struct mf_move_ops *move = p->queue->backend->move;
    float *to = p->packed;

    for (int r = 0; r < p->comm.size; ++r) {
        struct mf_span span = mf_redistribute_span_of(p, round, r);
        struct mf_block block = block_of(p, span);
        size_t bytes;

        if (mf_redistribute_is_direct(p, r)) {
            move->pack_device(p->queue, &block, x, planes_of(p, p->on_fields, p->slab, round, &bytes));
        } else {
            move->pack_device(p->queue, &block, x, to);
            to += span_bytes(p, span) / sizeof *to;
        }
    }
}

static void add_by_nccl(struct mf_redistribution *p, size_t round, float *g)
{
    const struct mf_move_ops *move = p->queue->backend->move;
    const float *from = p->packed;

    for (int r = 0; r < p->comm.size; ++r) {
        struct mf_span span = mf_redistribute_span_of(p, round, r);
        struct mf_block block = block_of(p, span);
        size_t bytes;

        if (mf_redistribute_is_direct(p, r)) {
            move->add_device(p->queue, &block, planes_of(p, p->on_grads, p->slab, round, &bytes), g);
        } else {
            move->add_device(p->queue, &block, from, g);
            from += span_bytes(p, span) / sizeof *from;
        }
    }
}

/* One group: my planes of their slices against their planes of mine; @p back: the other way round. */
static void cross(struct mf_redistribution *p, size_t round, float *whole, int back)
{
    char *packed = (char *)p->packed;

    mf_transport_begin(&p->comm);
    for (int r = 0; r < p->comm.size; ++r) {
        size_t mine = span_bytes(p, mf_redistribute_span_of(p, round, r)), theirs;
        float *planes = planes_of(p, whole, mf_slab_of(&p->comm, p->slab.dims, r), round, &theirs);

        if (mf_redistribute_is_direct(p, r)) continue;
        if (back) {
            mf_transport_send(&p->comm, p->queue, planes, theirs, r);
            mf_transport_receive(&p->comm, p->queue, packed, mine, r);
        } else {
            mf_transport_send(&p->comm, p->queue, packed, mine, r);
            mf_transport_receive(&p->comm, p->queue, planes, theirs, r);
        }
        packed += mine;
    }
    mf_transport_end(&p->comm);
}

static void out_by_nccl(struct mf_redistribution *p, size_t round, const float *x)
{
    mf_comm_enter(&p->comm, "fetch of slices, round", round + 1);
    pack_by_nccl(p, round, x);
    cross(p, round, p->on_fields, 0);
    mf_comm_leave(&p->comm);
    mf_transport_wait(&p->comm, p->queue, "wait for slices by NCCL, round", round + 1);
}

static void back_by_nccl(struct mf_redistribution *p, size_t round, float *g)
{
    mf_comm_enter(&p->comm, "sum of gradients, round", round + 1);
    cross(p, round, p->on_grads, 1);
    mf_comm_leave(&p->comm);
    mf_transport_wait(&p->comm, p->queue, "wait for gradients by NCCL, round", round + 1);
    add_by_nccl(p, round, g);
}

void mf_redistribute_out(struct mf_redistribution *plan, size_t round, float *x)
{
    if (plan->alone) {
        pack(plan, block_of(plan, mf_redistribute_span(plan, round)), x, mf_redistribute_at(plan, plan->fields, round));
        return;
    }
    if (plan->by_nccl) {
        out_by_nccl(plan, round, x);
        return;
    }
    mf_redistribute_bring(&plan, 1, round, &x);
}

void mf_redistribute_back(struct mf_redistribution *plan, size_t round, float *g)
{
    if (plan->alone) {
        add(plan, block_of(plan, mf_redistribute_span(plan, round)), mf_redistribute_at(plan, plan->grads, round), g);
        return;
    }
    if (plan->by_nccl) {
        back_by_nccl(plan, round, g);
        return;
    }
    mf_redistribute_return(&plan, 1, round, &g);
    if (plan->share) mf_comm_meet(&plan->comm); /* they may be cleared */
}
