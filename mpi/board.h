/* Where the watch finds what it looks at: the board that the ranks of a node share, and the machine's word on a
 * process. Inner header of this room. */
#ifndef MF_MPI_BOARD_H
#define MF_MPI_BOARD_H

#include "mpi/flight.h"
#include "mpi/watch.h"

/**
 * Opens the board of this node, or one for this rank alone where there is none to share, and tells everybody who stands
 * where: @p post [size]. Collective.
 */
struct mf_board *mf_board_open(const struct mf_comm *comm, int leader, struct mf_post *post);
void mf_board_close(struct mf_board *board, int size);

/** What rank @p rank of @p size, on this node, came to last. */
struct mf_flight *mf_board_flight(const struct mf_board *board, int size, int rank);

/** What the machine says of a process. */
struct mf_process {
    char state;   /* as in /proc: R, S, D, T, Z ...; 0: it says nothing */
    int64_t born; /* clock ticks since the machine began */
    int end;      /* of a Z: its status, where that may be read; else 0 */
};

/** By its number on this node, from /proc; all 0 where there is none. Not collective, never waits. */
struct mf_process mf_process_look(int64_t process);

/** Is the process of a rank on this node gone? One that has ended and waits for its parent is, and so is one whose
 * number belongs to another now. */
int mf_process_gone(const struct mf_post *post);

#endif
