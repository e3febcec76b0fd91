/* How planes travel between slabs and round buffers. With shared memory a rank writes its planes straight into the
 * buffers of all, and reads gradients straight out of them; else by one all-to-all, which lands in order. Slabs are
 * device memory, the buffers of this file the host's. */
#include "kernels/move.h"
#include "mpi/turn_priv.h"

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

/* The rank to serve as the i-th: each rank begins with itself, so no two meet at the same buffer. */
static int turn_of(const struct mf_turn *t, int i) { return (t->comm.rank + i) % t->comm.size; }

/* Rank @p r's buffer of a round: first come those of fields, then those of gradients. */
static float *shared_at(const struct mf_turn *t, int r, size_t round, int grads)
{
    size_t bytes = t->share->bytes[r] / 2;

    return (float *)(t->share->at[r] + (grads ? bytes : 0) + mf_turn_slot(t, round) * (bytes / t->depth));
}

static void out_shared(struct mf_turn *t, size_t round, const float *x)
{
    mf_share_meet(&t->comm); /* nobody uses this buffer's last slices any more */
    for (int i = 0; i < t->comm.size; ++i) {
        int r = turn_of(t, i);
        struct mf_span span = mf_turn_span_of(t, round, r);

        pack(t, block_of(t, span), x, shared_at(t, r, round, 0) + place(t, t->slab.first, span.count));
    }
    mf_share_meet(&t->comm);
}

static void back_shared(struct mf_turn *t, size_t round, float *g)
{
    mf_share_meet(&t->comm); /* all gradients are written */
    for (int i = 0; i < t->comm.size; ++i) {
        int r = turn_of(t, i);
        struct mf_span span = mf_turn_span_of(t, round, r);

        add(t, block_of(t, span), shared_at(t, r, round, 1) + place(t, t->slab.first, span.count), g);
    }
    mf_share_meet(&t->comm); /* and read: they may be cleared */
}

/* Counts and offsets in units: of the packed planes (to or from rank r: its slices, my planes) and of the round buffer
 * (my slices, its planes). A rank's own part is copied by itself. */
static void count(struct mf_turn *t, size_t round)
{
    int size = t->comm.size, *packed = t->counts, *packed_at = packed + size, *whole = packed_at + size;
    int *whole_at = whole + size;
    size_t mine = mf_turn_span_of(t, round, t->comm.rank).count, at = 0;

    for (int r = 0; r < size; ++r) {
        struct mf_slab theirs = mf_slab_of(&t->comm, t->slab.dims, r);
        size_t units = t->slab.count * mf_turn_span_of(t, round, r).count;

        packed[r] = r == t->comm.rank ? 0 : (int)units;
        packed_at[r] = (int)at;
        at += units;
        whole[r] = r == t->comm.rank ? 0 : (int)(theirs.count * mine);
        whole_at[r] = (int)(theirs.first * mine);
    }
}

static void out_by_message(struct mf_turn *t, size_t round, const float *x)
{
    int size = t->comm.size, *n = t->counts;
    float *fields = mf_turn_at(t, t->fields, round);

    count(t, round);
    for (int r = 0; r < size; ++r) {
        struct mf_span span = mf_turn_span_of(t, round, r);
        float *to = r == t->comm.rank ? fields + place(t, t->slab.first, span.count)
                                      : t->packed + (size_t)n[size + r] * t->wide;

        pack(t, block_of(t, span), x, to);
    }
    MPI_Alltoallv(t->packed, n, n + size, t->unit, fields, n + 2 * size, n + 3 * size, t->unit, t->comm.impl->world);
}

static void back_by_message(struct mf_turn *t, size_t round, float *g)
{
    int size = t->comm.size, *n = t->counts;
    float *grads = mf_turn_at(t, t->grads, round);

    count(t, round);
    MPI_Alltoallv(grads, n + 2 * size, n + 3 * size, t->unit, t->packed, n, n + size, t->unit, t->comm.impl->world);
    for (int r = 0; r < size; ++r) {
        struct mf_span span = mf_turn_span_of(t, round, r);
        const float *from =
            r == t->comm.rank ? grads + place(t, t->slab.first, span.count) : t->packed + (size_t)n[size + r] * t->wide;

        add(t, block_of(t, span), from, g);
    }
}

void mf_turn_out(struct mf_turn *turn, size_t round, const float *x)
{
    if (turn->alone) {
        pack(turn, block_of(turn, mf_turn_span(turn, round)), x, mf_turn_at(turn, turn->fields, round));
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
    mf_comm_enter(&turn->comm, "sum of gradients, round", round + 1);
    if (turn->share)
        back_shared(turn, round, g);
    else
        back_by_message(turn, round, g);
    mf_comm_leave(&turn->comm);
}
