/* See redistribute.h: which slices a rank holds in a round, their position in buffers, and the bytes. All of it follows
 * from extents and ranks; nothing here takes memory or moves data. */
#include "mpi/redistribute_priv.h"
#include "src/base/phase.h"

enum { LEAST_BATCH = 16, LEAST_ROUNDS = 4 }; /* rounds: where work on one hides the copies of another */
/* Bytes of all ranks' buffers, at batch 0: both kinds fit into the last-level cache. A redistribution that only goes
 * outwards exists for few rounds. It takes less memory, because the host must clear it. */
static const size_t ROUND_BYTES = (size_t)8 << 20, FEW_BYTES = (size_t)2 << 20;

static size_t even(size_t n) { return n + n % 2; }

/* A slice is a view of the slab itself, but for one spread over ranks or meant for a device. */
static void orient(struct mf_redistribution *p, enum mf_normal normal, int passes)
{
    p->normal = normal;
    p->slices = p->slab.dims[normal];
    p->wide = p->slab.dims[mf_slice_v(normal)];
    p->by_nccl = p->comm.transport && !passes;
    p->alone = (p->comm.size == 1 && !p->by_nccl) || normal == MF_Z;
    p->alias = p->alone && !passes;
    p->depth = passes ? 2 : 1;
}

static size_t slice_floats(const struct mf_redistribution *p) { return p->slab.dims[mf_slice_u(p->normal)] * p->wide; }

/* Rank 0 has the longest share. */
static size_t longest_share(const struct mf_redistribution *p)
{
    return mf_cut_grain(p->slices, 2, (size_t)p->comm.size, 0).count;
}

static size_t choose_batch(const struct mf_redistribution *p, size_t asked)
{
    size_t slice = slice_floats(p) * sizeof(float), share = longest_share(p), batch = asked;
    const size_t bytes = p->ways == MF_OUT && !p->by_nccl && p->depth == 1 ? FEW_BYTES : ROUND_BYTES;

    if (batch == 0) batch = bytes / (size_t)p->comm.size / (slice ? slice : 1);
    if (asked == 0 && p->depth > 1 && batch > share / LEAST_ROUNDS) batch = share / LEAST_ROUNDS;
    if (asked == 0 && batch < LEAST_BATCH) batch = LEAST_BATCH;
    if (batch > share || (asked == 0 && p->alias)) batch = share;
    return batch ? even(batch) : 2;
}

void mf_redistribute_lay_out(struct mf_redistribution *p, enum mf_normal normal, int passes, size_t asked)
{
    orient(p, normal, passes);
    p->batch = choose_batch(p, asked);
    p->rounds = p->normal == MF_Z && p->alias ? 1 : (longest_share(p) + p->batch - 1) / p->batch;
}

void mf_redistribute_shape(const struct mf_comm *comm, const size_t dims[3], enum mf_normal normal, int passes,
                           size_t asked, size_t *batch, size_t *rounds)
{
    struct mf_redistribution p = {.comm = *comm, .slab = mf_slab_of(comm, dims, 0), .ways = MF_OUT_AND_BACK};

    mf_redistribute_lay_out(&p, normal, passes, asked);
    *batch = p.batch;
    *rounds = p.rounds;
}

/* Floats in a round buffer of this rank. */
static size_t round_floats(const struct mf_redistribution *p)
{
    return slice_floats(p) * mf_redistribute_span_of(p, 0, p->comm.rank).count;
}

/* Whole lines of 64 bytes, so that the second buffer is aligned too. */
size_t mf_redistribute_buffer_bytes(const struct mf_redistribution *p)
{
    return (round_floats(p) * sizeof(float) + 63) / 64 * 64;
}

float *mf_redistribute_at(const struct mf_redistribution *p, float *buffers, size_t round)
{
    return buffers + mf_redistribute_slot(p, round) * (mf_redistribute_buffer_bytes(p) / sizeof *buffers);
}

size_t mf_redistribute_rounds(const struct mf_redistribution *plan) { return plan->rounds; }

size_t mf_redistribute_batch(const struct mf_redistribution *plan) { return mf_redistribute_span(plan, 0).count; }

struct mf_span mf_redistribute_span_of(const struct mf_redistribution *plan, size_t round, int rank)
{
    struct mf_span share = mf_cut_grain(plan->slices, 2, (size_t)plan->comm.size, (size_t)rank);
    size_t done = round * plan->batch < share.count ? round * plan->batch : share.count, left = share.count - done;

    return (struct mf_span){share.first + done, left < plan->batch ? left : plan->batch};
}

struct mf_span mf_redistribute_span(const struct mf_redistribution *plan, size_t round)
{
    if (plan->normal == MF_Z && plan->alias) return (struct mf_span){plan->slab.first, plan->slab.count};
    return mf_redistribute_span_of(plan, round, plan->comm.rank);
}

struct mf_span mf_redistribute_share(const struct mf_redistribution *p)
{
    if (p->normal == MF_Z && p->alias) return (struct mf_span){p->slab.first, p->slab.count};
    return mf_cut_grain(p->slices, 2, (size_t)p->comm.size, (size_t)p->comm.rank);
}

size_t mf_redistribute_held_bytes(const struct mf_redistribution *p, struct mf_span span)
{
    return slice_floats(p) * span.count * sizeof(float);
}

struct mf_view mf_redistribute_view_of_slab(const struct mf_redistribution *p, struct mf_span span, float *x)
{
    size_t nz = p->slab.dims[0], ny = p->slab.dims[1], nx = p->slab.dims[2];

    if (p->normal == MF_Z) return (struct mf_view){x, span.count, ny, nx, ny * nx, nx, 1};
    if (p->normal == MF_Y) return (struct mf_view){x + span.first * nx, span.count, nz, nx, nx, ny * nx, 1};
    return (struct mf_view){x + span.first, span.count, nz, ny, 1, ny * nx, nx};
}

struct mf_view mf_redistribute_view(const struct mf_redistribution *p, size_t count, float *buffer)
{
    size_t nz = p->slab.dims[0];

    if (p->normal == MF_Z)
        return (struct mf_view){buffer, count, p->slab.dims[1], p->wide, slice_floats(p), p->wide, 1};
    if (p->normal == MF_Y) return (struct mf_view){buffer, count, nz, p->wide, p->wide, count * p->wide, 1};
    return (struct mf_view){buffer, count, nz, p->wide, 1, count * p->wide, count};
}

/* Bytes of the own planes of a round's slices, all ranks' or (@p others) those of other ranks. */
static size_t round_bytes(const struct mf_redistribution *p, size_t round, int others)
{
    size_t slices = 0;

    if (p->alone) return others ? 0 : mf_redistribute_held_bytes(p, mf_redistribute_span(p, round));
    for (int r = 0; r < p->comm.size; ++r)
        if (!others || r != p->comm.rank) slices += mf_redistribute_span_of(p, round, r).count;
    return p->slab.count * p->wide * slices * sizeof(float);
}

/* Cost of a round. Packed planes are read and written; added planes are read twice and written. Outwards this rank
 * sends its planes of other ranks' slices; back it sends the planes of its slices. */
static struct mf_cost round_cost(const struct mf_redistribution *p, size_t round, int back)
{
    double bytes = (double)round_bytes(p, round, 0);

    return back ? (struct mf_cost){3 * bytes, bytes / sizeof(float)} : (struct mf_cost){2 * bytes, 0};
}

static size_t back_bytes(const struct mf_redistribution *p, size_t round)
{
    if (p->alone) return 0;
    return (p->slab.dims[0] - p->slab.count) * p->wide * mf_redistribute_span(p, round).count * sizeof(float);
}

void mf_redistribute_count_out(const struct mf_redistribution *p, size_t round)
{
    mf_phase_count(round_cost(p, round, 0));
    mf_phase_sent(round_bytes(p, round, 1));
}

void mf_redistribute_count_back(const struct mf_redistribution *p, size_t round)
{
    mf_phase_count(round_cost(p, round, 1));
    mf_phase_sent(back_bytes(p, round));
}
