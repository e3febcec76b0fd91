/* The board holds the records of all ranks, in memory that the ranks of a node share. This module opens it and asks the
 * operating system about processes. Inner header of this room. */
#ifndef MF_MPI_BOARD_H
#define MF_MPI_BOARD_H

#include "mpi/flight.h"
#include "mpi/watch.h"

/**
 * Opens the board of this node. A rank that cannot share one opens its own. @p post [size] tells which board each rank
 * uses, and how other nodes reach it. Collective.
 */
struct mf_board *mf_board_open(const struct mf_comm *comm, int leader, struct mf_post *post);
void mf_board_close(struct mf_board *board, int size);

/** The last collectives of rank @p rank of @p size, on this node. */
struct mf_flight *mf_board_flight(const struct mf_board *board, int size, int rank);

/** What the machine says of a process. */
struct mf_process {
    char state;   /* as in /proc: R, S, D, T, Z ...; 0: it says nothing */
    int64_t born; /* clock ticks since the machine began */
    int end;      /* of a Z: its status, where that may be read; else 0 */
};

/** Looks up a process of this node in /proc; all 0 if there is none. Not collective, never waits. */
struct mf_process mf_process_look(int64_t process);

/** Is the process of a rank on this node gone? A zombie is gone. So is a process whose number now belongs to another.
 */
int mf_process_gone(const struct mf_post *post);

#endif
