/* See slab.h: which slices a rank holds in which round, and the views of them. */
#include <stdlib.h>
#include <string.h>

#include "kernels/field.h"
#include "mpi/turn_priv.h"
#include "src/base/err.h"
#include "src/base/phase.h"

enum { LEAST_BATCH = 16 };
static const size_t ROUND_BYTES = (size_t)16 << 20; /* of all ranks together, at batch 0 */

static size_t even(size_t n) { return n + n % 2; }

/* Rank 0 has the longest share. */
static size_t longest_share(const struct mf_turn *t)
{
    return mf_cut_grain(t->slices, 2, (size_t)t->comm.size, 0).count;
}

static size_t choose_batch(const struct mf_turn *t, size_t asked)
{
    size_t slice = t->slab.dims[0] * t->wide * sizeof(float), share = longest_share(t), batch = asked;

    if (batch == 0) batch = ROUND_BYTES / (size_t)t->comm.size / (slice ? slice : 1);
    if (asked == 0 && batch < LEAST_BATCH) batch = LEAST_BATCH;
    if (batch > share || (asked == 0 && t->alias)) batch = share;
    return batch ? even(batch) : 2;
}

static void plan(struct mf_turn *t, size_t asked)
{
    t->alias = t->comm.size == 1 || t->normal == MF_Z;
    t->slices = t->slab.dims[t->normal];
    t->wide = t->slab.dims[t->normal == MF_X ? 1 : 2];
    t->batch = choose_batch(t, asked);
    t->rounds = t->normal == MF_Z ? 1 : (longest_share(t) + t->batch - 1) / t->batch;
}

void mf_turn_shape(const struct mf_comm *comm, const size_t dims[3], enum mf_normal normal, size_t asked, size_t *batch,
                   size_t *rounds)
{
    struct mf_turn t = {.comm = *comm, .slab = mf_slab_of(comm, dims, 0), .normal = normal};

    plan(&t, asked);
    *batch = t.batch;
    *rounds = t.rounds;
}

/* Floats of a round buffer of this rank, and of its planes of all slices of a round. */
static size_t round_floats(const struct mf_turn *t)
{
    return t->slab.dims[0] * t->wide * mf_turn_span_of(t, 0, t->comm.rank).count;
}

static size_t packed_floats(const struct mf_turn *t)
{
    size_t all = 0;

    for (int r = 0; r < t->comm.size; ++r) all += mf_turn_span_of(t, 0, r).count;
    return t->slab.count * t->wide * all;
}

/* Whole lines of 64 bytes, so that the second buffer is aligned too. */
static size_t buffer_bytes(const struct mf_turn *t) { return (round_floats(t) * sizeof(float) + 63) / 64 * 64; }

/* Local. Without shared memory all is the arena's. */
static int take(struct mf_turn *t)
{
    t->counts = calloc(4 * (size_t)t->comm.size, sizeof *t->counts);
    if (!t->counts) return mf_fail(MF_MEMORY, "no memory for the counts of %d ranks", t->comm.size);
    t->fields = mf_arena_take(t->queue->host, buffer_bytes(t), "slices");
    t->grads = mf_arena_take(t->queue->host, buffer_bytes(t), "slices");
    t->packed = mf_arena_take(t->queue->host, packed_floats(t) * sizeof(float), "slices packed");
    return t->fields && t->grads && t->packed ? MF_OK : MF_MEMORY;
}

/* Shared memory where ranks have it in common (booked in the arena first), else buffers for messages. */
static int take_buffers(struct mf_turn *t)
{
    size_t bytes = 2 * buffer_bytes(t);
    int rc = mf_arena_book(t->queue->host, (ptrdiff_t)bytes, "slices");

    if (rc == MF_OK) t->booked = bytes;
    MF_TRY(mf_agree(&t->comm, rc));
    if (!t->comm.impl && mf_share_wanted(&t->comm)) return MF_OK; /* a rank that is not there */
    mf_share_new(&t->comm, bytes, &t->share);
    if (t->share) {
        t->fields = (float *)t->share->own;
        t->grads = (float *)(t->share->own + bytes / 2);
        return MF_OK;
    }
    mf_arena_book(t->queue->host, -(ptrdiff_t)bytes, "slices");
    t->booked = 0;
    if (t->comm.impl) {
        MPI_Type_contiguous((int)t->wide, MPI_FLOAT, &t->unit);
        MPI_Type_commit(&t->unit);
    }
    return mf_agree(&t->comm, take(t));
}

/* Where kernels see round buffers. */
static int take_device(struct mf_turn *t)
{
    t->on_fields = t->fields;
    t->on_grads = t->grads;
    if (!mf_apart(t->queue)) return MF_OK;
    t->on_fields = mf_arena_take(t->queue->arena, buffer_bytes(t), "slices");
    t->on_grads = mf_arena_take(t->queue->arena, buffer_bytes(t), "slices");
    return mf_agree(&t->comm, t->on_fields && t->on_grads ? MF_OK : MF_MEMORY);
}

int mf_turn_new(const struct mf_comm *comm, const struct mf_slab *slab, enum mf_normal normal, size_t batch,
                struct mf_queue *queue, struct mf_turn **turn)
{
    struct mf_turn *t = calloc(1, sizeof *t);
    int rc;

    if (!t) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a turn");
    t->comm = *comm;
    t->slab = *slab;
    t->normal = normal;
    t->queue = queue;
    t->unit = MPI_DATATYPE_NULL;
    mf_comm_enter(comm, "plan of slices", batch);
    plan(t, batch);
    rc = t->alias ? MF_OK : take_buffers(t);
    if (rc == MF_OK && !t->alias) rc = take_device(t);
    mf_comm_leave(comm);
    if (rc != MF_OK) {
        mf_turn_free(t);
        return rc;
    }
    *turn = t;
    return MF_OK;
}

void mf_turn_free(struct mf_turn *turn)
{
    if (!turn) return;
    if (turn->on_fields != turn->fields) mf_arena_give(turn->queue->arena, turn->on_fields);
    if (turn->on_grads != turn->grads) mf_arena_give(turn->queue->arena, turn->on_grads);
    if (turn->share) {
        mf_share_free(turn->share);
    } else {
        mf_arena_give(turn->queue->host, turn->fields);
        mf_arena_give(turn->queue->host, turn->grads);
        mf_arena_give(turn->queue->host, turn->packed);
    }
    if (turn->booked) mf_arena_book(turn->queue->host, -(ptrdiff_t)turn->booked, "slices");
    if (turn->unit != MPI_DATATYPE_NULL) MPI_Type_free(&turn->unit);
    free(turn->counts);
    free(turn);
}

size_t mf_turn_rounds(const struct mf_turn *turn) { return turn->rounds; }

size_t mf_turn_batch(const struct mf_turn *turn) { return mf_turn_span(turn, 0).count; }

struct mf_span mf_turn_span_of(const struct mf_turn *turn, size_t round, int rank)
{
    struct mf_span share = mf_cut_grain(turn->slices, 2, (size_t)turn->comm.size, (size_t)rank);
    size_t done = round * turn->batch < share.count ? round * turn->batch : share.count, left = share.count - done;

    return (struct mf_span){share.first + done, left < turn->batch ? left : turn->batch};
}

struct mf_span mf_turn_span(const struct mf_turn *turn, size_t round)
{
    if (turn->normal == MF_Z) return (struct mf_span){turn->slab.first, turn->slab.count};
    return mf_turn_span_of(turn, round, turn->comm.rank);
}

/* Bytes of a round buffer that holds the slices of @p span. */
static size_t held_bytes(const struct mf_turn *t, struct mf_span span)
{
    return t->slab.dims[0] * t->wide * span.count * sizeof(float);
}

/* Slices of @p span inside the slab @p x. */
static struct mf_view view_of_slab(const struct mf_turn *t, struct mf_span span, float *x)
{
    size_t nz = t->slab.dims[0], ny = t->slab.dims[1], nx = t->slab.dims[2];

    if (t->normal == MF_Z) return (struct mf_view){x, span.count, ny, nx, ny * nx, nx, 1};
    if (t->normal == MF_Y) return (struct mf_view){x + span.first * nx, span.count, nz, nx, nx, ny * nx, 1};
    return (struct mf_view){x + span.first, span.count, nz, ny, 1, ny * nx, nx};
}

/* The same in a round buffer. */
static struct mf_view view_of_buffer(const struct mf_turn *t, size_t count, float *buffer)
{
    size_t nz = t->slab.dims[0];

    if (t->normal == MF_Y) return (struct mf_view){buffer, count, nz, t->wide, t->wide, count * t->wide, 1};
    return (struct mf_view){buffer, count, nz, t->wide, 1, count * t->wide, count};
}

/* Bytes of the own planes of a round's slices, all ranks' or (@p others) those of other ranks. */
static size_t round_bytes(const struct mf_turn *t, size_t round, int others)
{
    size_t slices = 0;

    for (int r = 0; r < t->comm.size; ++r)
        if (!others || r != t->comm.rank) slices += mf_turn_span_of(t, round, r).count;
    return t->slab.count * t->wide * slices * sizeof(float);
}

/* A round: what is packed is read and written, what is added is read twice and written. Planes of other ranks' slices
 * leave this rank on the way out; on the way back this rank gives its slices' planes away. */
static struct mf_cost round_cost(const struct mf_turn *t, size_t round, int back)
{
    double bytes = (double)round_bytes(t, round, 0);

    return back ? (struct mf_cost){3 * bytes, bytes / sizeof(float)} : (struct mf_cost){2 * bytes, 0};
}

static size_t back_bytes(const struct mf_turn *t, size_t round)
{
    return (t->slab.dims[0] - t->slab.count) * t->wide * mf_turn_span(t, round).count * sizeof(float);
}

void mf_turn_fetch(struct mf_turn *turn, size_t round, float *x, struct mf_view *view)
{
    struct mf_span span = mf_turn_span(turn, round);

    if (turn->alias) {
        *view = view_of_slab(turn, span, x);
        return;
    }
    MF_PHASE(MF_PHASE_EXCHANGE);

    mf_phase_count(round_cost(turn, round, 0));
    mf_phase_sent(round_bytes(turn, round, 1));
    mf_comm_enter(&turn->comm, "fetch of slices, round", round + 1);
    mf_turn_out(turn, round, x);
    mf_comm_leave(&turn->comm);
    mf_mirror_put(turn->queue, turn->on_fields, turn->fields, held_bytes(turn, span));
    *view = view_of_buffer(turn, span.count, turn->on_fields);
}

void mf_turn_open(struct mf_turn *turn, size_t round, float *g, struct mf_view *view)
{
    struct mf_span span = mf_turn_span(turn, round);

    if (turn->alias) {
        *view = view_of_slab(turn, span, g);
        return;
    }
    MF_PHASE(MF_PHASE_EXCHANGE);

    if (mf_apart(turn->queue))
        turn->queue->backend->field->fill(turn->queue, held_bytes(turn, span) / sizeof(float), 0, turn->on_grads);
    else
        memset(turn->grads, 0, held_bytes(turn, span));
    *view = view_of_buffer(turn, span.count, turn->on_grads);
}

void mf_turn_add(struct mf_turn *turn, size_t round, float *g)
{
    if (turn->alias) return;
    MF_PHASE(MF_PHASE_EXCHANGE);

    mf_phase_count(round_cost(turn, round, 1));
    mf_phase_sent(back_bytes(turn, round));
    mf_mirror_get(turn->queue, turn->grads, turn->on_grads, held_bytes(turn, mf_turn_span(turn, round)));
    mf_comm_enter(&turn->comm, "sum of gradients, round", round + 1);
    mf_turn_back(turn, round, g);
    mf_comm_leave(&turn->comm);
}
