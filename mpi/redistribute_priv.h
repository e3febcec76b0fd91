/* Shared by the files of a redistribution: geometry (redistribute_shape.c), memory and rounds (redistribute.c),
 * transport of planes (redistribute_move.c). The file redistribute_dynamic.c distributes slices dynamically within a
 * node. */
#ifndef MF_MPI_REDISTRIBUTE_PRIV_H
#define MF_MPI_REDISTRIBUTE_PRIV_H

#include "mpi/comm_priv.h"
#include "mpi/nccl_transport.h"
#include "mpi/redistribute.h"
#include "mpi/share.h"

enum { MF_REDISTRIBUTE_TAIL = 64 /* bytes behind the buffers in shared memory, see mf_redistribute_begun() */ };

/* Round buffers are [nz][batch of this round][nx] for slices normal to y, and [nz][ny][batch] for x. The planes of one
 * rank are one consecutive part of them, in rank order. `wide` is the extent beside the cut one: nx, or ny. */
struct mf_redistribution {
    struct mf_comm comm;
    struct mf_slab slab;
    enum mf_normal normal;
    enum mf_ways ways;
    int alias;   /* views of the slab itself */
    int alone;   /* the slices are of this rank's own planes: nothing is exchanged */
    int by_nccl; /* device memory travels by comm.transport: there are no round buffers on the host */
    size_t slices, wide, batch, rounds;

    struct mf_queue *home;       /* of the slab */
    struct mf_queue *queue;      /* of the slices */
    struct mf_share *share;      /* round buffers that the ranks of a node see; NULL: messages only */
    int shared;                  /* they are planned to be shared */
    size_t depth;                /* round buffers of a kind: 2 where the host works ahead of the device */
    float *fields, *grads;       /* [depth] round buffers on the host; MF_OUT: no grads */
    float *on_fields, *on_grads; /* the same on the device where its memory is apart; else those of the host */
    size_t sent, added;          /* rounds on their way to the device, and added to the slab */
    size_t put[2], got[2];       /* copies of the buffers to and from the device */
    size_t booked;               /* bytes of shared memory */
    int helped;                  /* so many ranks, counted from this one on, have all their slices begun */
    float *packed;               /* messages, NCCL: own planes of the slices of other ranks in one round */
    MPI_Request *request;        /* messages: [2][size] */
    MPI_Datatype unit;           /* messages: `wide` floats */
};

/** Index of the buffer that a round uses. */
static inline size_t mf_redistribute_slot(const struct mf_redistribution *plan, size_t round)
{
    return plan->depth > 1 ? round % plan->depth : 0;
}

/** Sets what follows from communicator, slab and transport; see mf_redistribute_shape(). */
void mf_redistribute_lay_out(struct mf_redistribution *plan, enum mf_normal normal, int passes, size_t asked);

/** Bytes of one round buffer of this rank, and the bytes of it that the slices of @p span fill. */
size_t mf_redistribute_buffer_bytes(const struct mf_redistribution *plan);
size_t mf_redistribute_held_bytes(const struct mf_redistribution *plan, struct mf_span span);

/** The buffer of @p round among those at @p buffers. */
float *mf_redistribute_at(const struct mf_redistribution *plan, float *buffers, size_t round);

/** Slices of @p rank in @p round. */
struct mf_span mf_redistribute_span_of(const struct mf_redistribution *plan, size_t round, int rank);

/** NCCL: are @p rank's slices on this rank's device, so that they are copied there without a send? One rank alone sends
 * to itself nevertheless. */
static inline int mf_redistribute_is_direct(const struct mf_redistribution *plan, int rank)
{
    return plan->by_nccl && plan->comm.size > 1 && rank == plan->comm.rank;
}

/** The view of a buffer with @p count slices. The view of slices @p span in the slab @p x itself. */
struct mf_view mf_redistribute_view(const struct mf_redistribution *plan, size_t count, float *buffer);
struct mf_view mf_redistribute_view_of_slab(const struct mf_redistribution *plan, struct mf_span span, float *x);

/** Counts for --log-view what a round moves outwards, or back. */
void mf_redistribute_count_out(const struct mf_redistribution *plan, size_t round);
void mf_redistribute_count_back(const struct mf_redistribution *plan, size_t round);

/** The rank to serve as the i-th. Each rank begins with itself, so no two use the same buffer at once. */
static inline int mf_redistribute_nth(const struct mf_redistribution *plan, int i)
{
    return (plan->comm.rank + i) % plan->comm.size;
}

/** Rank @p r's buffer of a round. NULL: this rank does not share memory with it and sends messages. */
float *mf_redistribute_seen(const struct mf_redistribution *plan, int r, size_t round, int grads);

/** Exchange through host memory. The first function fills this round's buffers of the plans [n] with their slices of x
 * [n]. The second adds the gradients of these slices to g [n], one plan after the other. Collective. */
void mf_redistribute_bring(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *x);
void mf_redistribute_return(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *g);

/** How many slices of rank @p r of this node have been begun in this round. The counter is behind that rank's
 * buffers. */
static inline _Atomic uint64_t *mf_redistribute_begun(const struct mf_redistribution *plan, int r)
{
    return (_Atomic uint64_t *)(void *)(plan->share->at[r] + plan->share->bytes[r] - MF_REDISTRIBUTE_TAIL);
}

/** The first function fills this round's buffer of fields. The second adds its buffer of gradients to the slabs of all
 * ranks. NCCL uses the buffers on the device, other exchanges those of the host. */
void mf_redistribute_out(struct mf_redistribution *plan, size_t round, float *x);
void mf_redistribute_back(struct mf_redistribution *plan, size_t round, float *g);

#endif
