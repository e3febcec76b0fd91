/* The inside of a turn: geometry (turn.c), and the two ways planes travel (turn_move.c). */
#ifndef MF_MPI_TURN_PRIV_H
#define MF_MPI_TURN_PRIV_H

#include "mpi/comm_priv.h"
#include "mpi/share.h"
#include "mpi/slab.h"

/* Round buffers are [nz][batch of this round][nx] for slices normal to y, [nz][ny][batch] for x: the planes of one rank
 * are one consecutive part of them, in rank order. `wide` is the extent beside the cut one: nx, or ny. */
struct mf_turn {
    struct mf_comm comm;
    struct mf_slab slab;
    enum mf_normal normal;
    int alias; /* views of the slab itself */
    size_t slices, wide, batch, rounds;

    struct mf_queue *queue;
    struct mf_share *share;      /* NULL: messages */
    float *fields, *grads;       /* round buffers on the host */
    float *on_fields, *on_grads; /* the same on the device, where that is apart; else those of the host */
    size_t booked;               /* bytes of shared memory */
    float *packed;               /* messages: own planes of everybody's slices of one round */
    int *counts;                 /* messages: [4][size] send counts and offsets, receive counts and offsets */
    MPI_Datatype unit;           /* messages: `wide` floats */
};

/** Slices of @p rank in @p round. */
struct mf_span mf_turn_span_of(const struct mf_turn *turn, size_t round, int rank);

/** Fills turn->fields with this round's slices of all planes; turn->grads back into everybody's slab. */
void mf_turn_out(struct mf_turn *turn, size_t round, const float *x);
void mf_turn_back(struct mf_turn *turn, size_t round, float *g);

#endif
