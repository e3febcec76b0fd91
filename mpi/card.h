/* A card tells other processes of the node where to find one rank's memory. Inner header of this folder. */
#ifndef MF_MPI_CARD_H
#define MF_MPI_CARD_H

#include <stddef.h>
#include <stdint.h>

/** All members have 64 bits, so MPI can send a card as integers. descriptor < 0: there is no memory. */
struct mf_card {
    int64_t process, descriptor, device, inode, bytes;
};

enum { MF_CARD_WORDS = sizeof(struct mf_card) / sizeof(int64_t) };

/** Makes cleared memory and its card. Others can open it until the descriptor is closed. Not collective. */
struct mf_card mf_card_new(size_t bytes, char **own);

/** Opens the memory of another rank's card; NULL: it cannot be reached from here. Not collective. */
char *mf_card_open(const struct mf_card *card);

#endif
