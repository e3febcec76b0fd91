/* The board holds the records of all ranks, in memory that the ranks of a node share. This module opens it and asks the
 * operating system about processes. Inner header of this folder. */
#ifndef MF_MPI_BOARD_H
#define MF_MPI_BOARD_H

#include "mpi/flight.h"
#include "mpi/watch.h"

/**
 * Opens the board of this node. A rank that cannot share memory opens its own board. The list @p post [size] says which
 * board each rank uses, and how other nodes reach it. Collective.
 */
struct mf_board *mf_board_open(const struct mf_comm *comm, int leader, struct mf_post *post);
void mf_board_close(struct mf_board *board, int size);

/** The last collectives of rank @p rank of @p size, on this node. */
struct mf_flight *mf_board_flight(const struct mf_board *board, int size, int rank);

/** State of a process, from the operating system. */
struct mf_process {
    char state;   /* as in /proc: R, S, D, T, Z ...; 0: not known */
    int64_t born; /* clock ticks since the machine began */
    int end;      /* of a zombie (Z): its exit status, where that may be read; else 0 */
};

/** Looks up a process of this node in /proc; all 0 if there is none. Not collective, never waits. */
struct mf_process mf_process_look(int64_t process);

/** Has the process of a rank on this node ended? A zombie has. So has one whose number now belongs to another
 * process. */
int mf_process_gone(const struct mf_post *post);

#endif
