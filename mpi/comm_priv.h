/* What the files of this room share. The only header of ours that includes mpi.h. */
#ifndef MF_MPI_COMM_PRIV_H
#define MF_MPI_COMM_PRIV_H

#include <mpi.h>

#include "mpi/comm.h"
#include "mpi/near.h"

enum { MF_COMM_NAME = 64 };

/** NULL in struct mf_comm: a rank by itself. */
struct mf_comm_impl {
    MPI_Comm world;              /* ours alone: no library's message can meet one of ours */
    MPI_Comm files;              /* handed out by mf_comm_native() */
    MPI_Comm check;              /* names of collectives (MF_CHECK_COLLECTIVES) */
    MPI_Comm node;               /* the ranks of this node */
    char (*names)[MF_COMM_NAME]; /* [size] */
    int depth;                   /* of collectives this rank is in */
    int leader;                  /* first rank of this node */
    struct mf_near *near;        /* sums by memory that ranks share; NULL: by MPI */
};

/** Most bytes (or elements, in a reduction) of one MPI call: MPI counts with int. A test may lower it. */
extern size_t mf_comm_most;

/** The last agreement, of ranks that close. Collective. */
void mf_agree_last(const struct mf_comm *comm);

/** Everything written by any rank of this node before is seen by every rank of it after. Collective. */
void mf_comm_meet(const struct mf_comm *comm);

#endif
