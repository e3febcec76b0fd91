/* What the nodes of a run tell each other about their ranks: datagrams of the watches, once a second, from every board
 * to every other. A lost one is made up for by the next. Inner header of this room. */
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

/** Tells the others what stands on the board of the ranks that share it. */
void mf_news_tell(const struct mf_news *news);

#endif
