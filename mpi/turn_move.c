/* How planes travel between slabs and round buffers. With shared memory a rank writes its planes straight into the
 * buffers of all, and reads gradients straight out of them; else by a message to and from every rank. Slabs are
 * device memory, the buffers of both ways the host's; where there is a wire (wire.h) they are the device's. */
#include "kernels/move.h"
#include "mpi/turn_priv.h"
#include "src/base/phase.h"

/* One rank's slices of a round in the own planes; normal to z: its own. */
static struct mf_block block_of(const struct mf_turn *t, struct mf_span span)
{
    size_t ny = t->slab.dims[1], nx = t->slab.dims[2];

    if (t->normal == MF_Z) return (struct mf_block){span.count * ny, nx, nx, (span.first - t->slab.first) * ny * nx};
    if (t->normal == MF_Y) return (struct mf_block){t->slab.count, span.count * nx, ny * nx, span.first * nx};
    return (struct mf_block){t->slab.count * ny, span.count, nx, span.first};
}

/* Between slabs, wherever they are, and packed rows on the host. */
static void pack(const struct mf_turn *t, struct mf_block block, const float *slab, float *packed)
{
    t->home->backend->move->pack(t->home, &block, slab, packed);
}

static void add(const struct mf_turn *t, struct mf_block block, const float *packed, float *slab)
{
    t->home->backend->move->add(t->home, &block, packed, slab);
}

/* Where the planes of the slab that begins at plane @p first stand in a round buffer of @p count slices. */
static size_t place(const struct mf_turn *t, size_t first, size_t count) { return first * t->wide * count; }

/* First come the buffers of fields, then those of gradients. */
float *mf_turn_shared_at(const struct mf_turn *t, int r, size_t round, int grads)
{
    size_t bytes = (t->share->bytes[r] - MF_TURN_TAIL) / 2;

    return (float *)(t->share->at[r] + (grads ? bytes : 0) + mf_turn_slot(t, round) * (bytes / t->depth));
}

/* The part of a block that lies in some of the own planes. */
static struct mf_block part_of(const struct mf_turn *t, struct mf_block block, struct mf_span planes)
{
    const size_t rows = t->slab.count ? block.rows / t->slab.count : 0;

    block.rows = rows * planes.count;
    block.first += planes.first * t->slab.dims[1] * t->slab.dims[2];
    return block;
}

void mf_turn_pack(struct mf_turn *t, size_t round, struct mf_span planes, const float *x)
{
    for (int i = 0; i < t->comm.size; ++i) {
        int r = mf_turn_nth(t, i);
        struct mf_span span = mf_turn_span_of(t, round, r);

        pack(t, part_of(t, block_of(t, span), planes), x,
             mf_turn_shared_at(t, r, round, 0) + place(t, t->slab.first + planes.first, span.count));
    }
}

void mf_turn_unpack(struct mf_turn *t, size_t round, struct mf_span planes, float *g)
{
    for (int i = 0; i < t->comm.size; ++i) {
        int r = mf_turn_nth(t, i);
        struct mf_span span = mf_turn_span_of(t, round, r);

        add(t, part_of(t, block_of(t, span), planes),
            mf_turn_shared_at(t, r, round, 1) + place(t, t->slab.first + planes.first, span.count), g);
    }
}

static void out_shared(struct mf_turn *t, size_t round, const float *x)
{
    mf_share_meet(&t->comm); /* nobody uses this buffer's last slices any more */
    mf_turn_pack(t, round, (struct mf_span){0, t->slab.count}, x);
    mf_share_meet(&t->comm);
}

static void back_shared(struct mf_turn *t, size_t round, float *g)
{
    mf_share_meet(&t->comm); /* all gradients are written */
    mf_turn_unpack(t, round, (struct mf_span){0, t->slab.count}, g);
    mf_share_meet(&t->comm); /* and read: they may be cleared */
}

/* -- by messages -- */

enum { OUT = 1, BACK = 2 }; /* tags */

/* In units of a row of planes: my planes of a rank's slices, and its planes of mine. */
static size_t given(const struct mf_turn *t, size_t round, int r)
{
    return t->slab.count * mf_turn_span_of(t, round, r).count;
}

static size_t taken(const struct mf_turn *t, size_t round, int r)
{
    return mf_slab_of(&t->comm, t->slab.dims, r).count * mf_turn_span_of(t, round, t->comm.rank).count;
}

/* Planes of rank @p r in a round buffer of mine. */
static float *part_of_buffer(const struct mf_turn *t, float *buffer, size_t round, int r)
{
    size_t first = mf_slab_of(&t->comm, t->slab.dims, r).first;

    return buffer + place(t, first, mf_turn_span_of(t, round, t->comm.rank).count);
}

static MPI_Request *receives(const struct mf_turn *t, int r) { return &t->request[r]; }
static MPI_Request *sends(const struct mf_turn *t, int r) { return &t->request[t->comm.size + r]; }

static void receive(const struct mf_turn *t, float *to, size_t units, int r, int tag)
{
    MPI_Irecv(to, (int)units, t->unit, r, tag, t->comm.impl->world, receives(t, r));
}

static void send(const struct mf_turn *t, const float *from, size_t units, int r, int tag)
{
    MPI_Isend(from, (int)units, t->unit, r, tag, t->comm.impl->world, sends(t, r));
}

/* Until these are there, of which a rank has none with itself. */
static void wait_for(MPI_Request *request, int n)
{
    MF_PHASE(MF_PHASE_WAITING);

    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

/* The own part is copied by itself, while those of others travel. */
static void out_by_message(struct mf_turn *t, size_t round, const float *x)
{
    float *fields = mf_turn_at(t, t->fields, round), *at = t->packed;

    *receives(t, t->comm.rank) = *sends(t, t->comm.rank) = MPI_REQUEST_NULL;
    for (int i = 1, r; i < t->comm.size; ++i) {
        r = mf_turn_nth(t, i);
        receive(t, part_of_buffer(t, fields, round, r), taken(t, round, r), r, OUT);
    }
    for (int i = 1, r; i < t->comm.size; ++i, at += given(t, round, r) * t->wide) {
        r = mf_turn_nth(t, i);
        pack(t, block_of(t, mf_turn_span_of(t, round, r)), x, at);
        send(t, at, given(t, round, r), r, OUT);
    }
    pack(t, block_of(t, mf_turn_span_of(t, round, t->comm.rank)), x, part_of_buffer(t, fields, round, t->comm.rank));
    wait_for(t->request, 2 * t->comm.size);
}

/* No two ranks have gradients of one slice, so the order in which they are added does not matter. */
static void back_by_message(struct mf_turn *t, size_t round, float *g)
{
    float *grads = mf_turn_at(t, t->grads, round), *at = t->packed;

    *receives(t, t->comm.rank) = *sends(t, t->comm.rank) = MPI_REQUEST_NULL;
    for (int i = 1, r; i < t->comm.size; ++i, at += given(t, round, r) * t->wide) {
        r = mf_turn_nth(t, i);
        receive(t, at, given(t, round, r), r, BACK);
        send(t, part_of_buffer(t, grads, round, r), taken(t, round, r), r, BACK);
    }
    add(t, block_of(t, mf_turn_span_of(t, round, t->comm.rank)), part_of_buffer(t, grads, round, t->comm.rank), g);
    at = t->packed;
    for (int i = 1, r; i < t->comm.size; ++i, at += given(t, round, r) * t->wide) {
        r = mf_turn_nth(t, i);
        wait_for(receives(t, r), 1);
        add(t, block_of(t, mf_turn_span_of(t, round, r)), at, g);
    }
    wait_for(t->request, 2 * t->comm.size);
}

/* -- by the wire -- */

/* Own planes of the slices of @p span; packed has those of the ranks one after the other. */
static size_t span_bytes(const struct mf_turn *t, struct mf_span span)
{
    return t->slab.count * t->wide * span.count * sizeof(float);
}

/* My slices' planes of rank @p rank in a round buffer. */
static float *planes_of(const struct mf_turn *t, float *buffer, struct mf_slab theirs, size_t round, size_t *bytes)
{
    const size_t mine = mf_turn_span_of(t, round, t->comm.rank).count;

    *bytes = theirs.count * t->wide * mine * sizeof(float);
    return buffer + place(t, theirs.first, mine);
}

static void pack_wired(struct mf_turn *t, size_t round, const float *x)
{
    const struct mf_move_ops *move = t->queue->backend->move;
    float *to = t->packed;

    for (int r = 0; r < t->comm.size; ++r) {
        struct mf_span span = mf_turn_span_of(t, round, r);
        struct mf_block block = block_of(t, span);
        size_t bytes;

        if (mf_turn_is_direct(t, r)) {
            move->pack_device(t->queue, &block, x, planes_of(t, t->on_fields, t->slab, round, &bytes));
        } else {
            move->pack_device(t->queue, &block, x, to);
            to += span_bytes(t, span) / sizeof *to;
        }
    }
}

static void add_wired(struct mf_turn *t, size_t round, float *g)
{
    const struct mf_move_ops *move = t->queue->backend->move;
    const float *from = t->packed;

    for (int r = 0; r < t->comm.size; ++r) {
        struct mf_span span = mf_turn_span_of(t, round, r);
        struct mf_block block = block_of(t, span);
        size_t bytes;

        if (mf_turn_is_direct(t, r)) {
            move->add_device(t->queue, &block, planes_of(t, t->on_grads, t->slab, round, &bytes), g);
        } else {
            move->add_device(t->queue, &block, from, g);
            from += span_bytes(t, span) / sizeof *from;
        }
    }
}

/* One group: my planes of their slices against their planes of mine; @p back: the other way round. */
static void cross(struct mf_turn *t, size_t round, float *whole, int back)
{
    char *packed = (char *)t->packed;

    mf_wire_begin(&t->comm);
    for (int r = 0; r < t->comm.size; ++r) {
        size_t mine = span_bytes(t, mf_turn_span_of(t, round, r)), theirs;
        float *planes = planes_of(t, whole, mf_slab_of(&t->comm, t->slab.dims, r), round, &theirs);

        if (mf_turn_is_direct(t, r)) continue;
        if (back) {
            mf_wire_send(&t->comm, t->queue, planes, theirs, r);
            mf_wire_receive(&t->comm, t->queue, packed, mine, r);
        } else {
            mf_wire_send(&t->comm, t->queue, packed, mine, r);
            mf_wire_receive(&t->comm, t->queue, planes, theirs, r);
        }
        packed += mine;
    }
    mf_wire_end(&t->comm);
}

static void out_wired(struct mf_turn *t, size_t round, const float *x)
{
    mf_comm_enter(&t->comm, "fetch of slices, round", round + 1);
    pack_wired(t, round, x);
    cross(t, round, t->on_fields, 0);
    mf_comm_leave(&t->comm);
    mf_wire_wait(&t->comm, t->queue, "wait for slices by NCCL, round", round + 1);
}

static void back_wired(struct mf_turn *t, size_t round, float *g)
{
    mf_comm_enter(&t->comm, "sum of gradients, round", round + 1);
    cross(t, round, t->on_grads, 1);
    mf_comm_leave(&t->comm);
    mf_wire_wait(&t->comm, t->queue, "wait for gradients by NCCL, round", round + 1);
    add_wired(t, round, g);
}

void mf_turn_out(struct mf_turn *turn, size_t round, const float *x)
{
    if (turn->alone) {
        pack(turn, block_of(turn, mf_turn_span(turn, round)), x, mf_turn_at(turn, turn->fields, round));
        return;
    }
    if (turn->wired) {
        out_wired(turn, round, x);
        return;
    }
    mf_comm_enter(&turn->comm, "fetch of slices, round", round + 1);
    if (turn->share)
        out_shared(turn, round, x);
    else
        out_by_message(turn, round, x);
    mf_comm_leave(&turn->comm);
}

void mf_turn_back(struct mf_turn *turn, size_t round, float *g)
{
    if (turn->alone) {
        add(turn, block_of(turn, mf_turn_span(turn, round)), mf_turn_at(turn, turn->grads, round), g);
        return;
    }
    if (turn->wired) {
        back_wired(turn, round, g);
        return;
    }
    mf_comm_enter(&turn->comm, "sum of gradients, round", round + 1);
    if (turn->share)
        back_shared(turn, round, g);
    else
        back_by_message(turn, round, g);
    mf_comm_leave(&turn->comm);
}
