/* What the nodes of a run tell each other about their ranks: datagrams of the watches, once a second, from every board
 * to every other. The next one makes up for one that is lost. Inner header of this room.
 *
 * A rank of the world alone takes about 104 bytes, in four groups 176; 13 or 7 of them go into a letter of 1384. Each
 * second a node sends, and gets:
 *   1000 nodes of 4 ranks: 999 letters of 448 or 736 bytes, 0.45 or 0.74 MB (6 Mbit/s, and some 3 ms of one core)
 *   64 nodes of 128 ranks: 63 times 10 or 19 letters, 0.86 or 1.5 MB (12 Mbit/s)
 * While a letter waits to be taken the kernel counts up to 2304 bytes for it, whatever it holds: 2.3 and 2.8 MB in a
 * second, where a system that nobody has tuned grants 0.4 MB. So letters go out in parts, to a twentieth of the boards
 * at a time, and what has come is taken as often. */
#ifndef MF_MPI_NEWS_H
#define MF_MPI_NEWS_H

#include "mpi/watch.h"

/** Opens the way in of a rank that has made a board, and writes into @p own how others find it (port 0: they cannot).
 * Not collective, as all of these. */
void mf_news_open(struct mf_post *own);
void mf_news_close(void);

/** One after the other, by the watch of rank @p rank of @p size. @p post [size]: of all ranks. */
struct mf_news {
    struct mf_board *board;
    const struct mf_post *post;
    int rank, size;
};

/** Takes what has come onto the board; only for the rank that has made it. */
void mf_news_hear(const struct mf_news *news);

/** Writes down what stands on the board of the ranks that share it, as it is now. */
void mf_news_write(const struct mf_news *news);

/** Tells that to the others whose turn it is in part @p part of @p parts of a second; to all: part 0 of 1.
 * Of few boards the first parts do. */
void mf_news_send(const struct mf_news *news, unsigned part, unsigned parts);

#endif
