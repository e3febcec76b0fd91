/* Datagrams by which the nodes of a run tell each other the state of their ranks. Once a second every board sends to
 * every other. Lost datagrams are not repeated: the next one replaces them. Inner header of this folder.
 *
 * A rank that is in the world alone takes about 104 bytes, one in four groups 176. A datagram of 1384 bytes
 * holds 13 or 7 of them. Each second a node sends, and receives:
 *   1000 nodes of 4 ranks: 999 datagrams of 448 or 736 bytes, 0.45 or 0.74 MB (6 Mbit/s, and some 3 ms of one core)
 *   64 nodes of 128 ranks: 63 times 10 or 19 datagrams, 0.86 or 1.5 MB (12 Mbit/s)
 * The kernel of the receiver counts up to 2304 bytes for every waiting datagram, whatever its size. That is 2.3 or 2.8
 * MB a second, while a system without tuning grants 0.4 MB. So a node sends to a twentieth of the boards at a time, and
 * reads what has arrived as often. */
#ifndef MF_MPI_HEARTBEAT_H
#define MF_MPI_HEARTBEAT_H

#include "mpi/watch.h"

/** Opens the socket of a rank that made a board, and writes its address into @p own (port 0: none). Not collective,
 * like all functions here. */
void mf_heartbeat_open(struct mf_post *own);
void mf_heartbeat_close(void);

/** One after the other, by the watch of rank @p rank of @p size. @p post [size]: of all ranks. */
struct mf_heartbeat {
    struct mf_board *board;
    const struct mf_post *post;
    int rank, size;
};

/** Reads the datagrams that have arrived and updates the board. Only for the rank that made the board. */
void mf_heartbeat_receive(const struct mf_heartbeat *heartbeat);

/** Composes the datagrams from what the board says now of the ranks that share it. */
void mf_heartbeat_compose(const struct mf_heartbeat *heartbeat);

/** Sends the datagrams to the boards of part @p part of @p parts in a second; to all: part 0 of 1. Few boards need only
 * the first parts. */
void mf_heartbeat_send(const struct mf_heartbeat *heartbeat, unsigned part, unsigned parts);

#endif
