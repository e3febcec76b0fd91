/* Shared by the files of mpi/. No other header includes mpi.h. */
#ifndef MF_MPI_COMM_PRIV_H
#define MF_MPI_COMM_PRIV_H

#include <mpi.h>

#include "mpi/comm.h"
#include "mpi/node_reduce.h"
#include "mpi/watch.h"
#include "src/base/bounds.h"

enum { MF_COMM_NAME = 64, MF_MEET_WORDS = 3 };

/** The inside of a communicator. struct mf_comm holds NULL instead where one rank runs alone. */
struct mf_comm_impl {
    MPI_Comm ranks;                     /* ours alone: no library's message can meet one of ours */
    MPI_Comm files;                     /* handed out by mf_comm_native() */
    MPI_Comm check;                     /* names of collectives (MF_CHECK_COLLECTIVES) */
    MPI_Comm node;                      /* the ranks of this node */
    char (*names)[MF_COMM_NAME];        /* [size] */
    struct mf_watch_group group;        /* as the watch knows it */
    int *world_rank;                    /* [size]; NULL: this is the world */
    int depth;                          /* of collectives of it that this rank is in */
    int leader;                         /* its first rank on this node */
    int node_leader, node_ranks;        /* of the world: the first rank on this node, and how many there are */
    struct mf_node_reduce *node_reduce; /* sums by memory that ranks share; NULL: by MPI */
    int lost;                           /* a rank did not come (adopt.h): no collective can follow */
    int meetings;                       /* that this rank has begun (meet.h) */
    int word[MF_MEET_WORDS][3];         /* what it said in the last one: number of the meeting, word, whose */
    MPI_Request *said;                  /* [MF_MEET_WORDS][size] of these; NULL: there was none */
};

/** Most bytes (or elements, in a reduction) of one MPI call, because MPI counts with int. A test may lower it. */
extern size_t mf_comm_most;

/** Number of bytes (or elements) from @p at on that the next call moves; 0: none is left. */
static inline size_t mf_piece(size_t bytes, size_t at) { return bytes > at ? mf_min(bytes - at, mf_comm_most) : 0; }

/** mf_impl_new() for a world: errors of MPI on it end the job. Collective. */
struct mf_comm_impl *mf_impl_world(MPI_Comm ranks);

/** Makes comm->impl->node, and sets local ranks and leader. Collective. */
void mf_impl_meet_node(struct mf_comm *comm);

/** Makes the inside of a communicator for the ranks of @p ranks, which it takes over. Collective. */
struct mf_comm_impl *mf_impl_new(MPI_Comm ranks);

/** mf_impl_close() ends what the inside has of MPI (collective); then mf_impl_free() frees its memory. */
void mf_impl_close(struct mf_comm_impl *impl);
void mf_impl_free(struct mf_comm_impl *impl);

/** Sets local ranks and leader, once comm->impl->node exists. Collective. */
void mf_impl_on_node(struct mf_comm *comm);

/** The rank in the world of @p rank of a real communicator. */
static inline int mf_world_rank(const struct mf_comm *comm, int rank)
{
    return comm->impl->world_rank ? comm->impl->world_rank[rank] : rank;
}

/** Enclose the wait for a message to (@p sends) or from rank @p peer, which the watch then names. Not collective. */
void mf_message_enter(const struct mf_comm *comm, int peer, int sends);
void mf_message_leave(void);

/** The last agreement of ranks that close their communicator. Collective. */
void mf_agree_last(const struct mf_comm *comm);

/** A barrier and memory fence of one node. All its ranks see after it what one of them wrote before. Collective. */
void mf_comm_meet(const struct mf_comm *comm);

#endif
