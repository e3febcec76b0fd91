/* Memory of one process that others of its node can open. Inner header of this room. */
#ifndef MF_MPI_CARD_H
#define MF_MPI_CARD_H

#include <stddef.h>
#include <stdint.h>

/** How others of this node find a rank's memory; all 64 bit, so it travels as such. descriptor < 0: there is none. */
struct mf_card {
    int64_t process, descriptor, device, inode, bytes;
};

enum { MF_CARD_WORDS = sizeof(struct mf_card) / sizeof(int64_t) };

/** Cleared memory of this rank and its card, which is good until its descriptor is closed. Not collective. */
struct mf_card mf_card_new(size_t bytes, char **own);

/** The memory of another rank's card; NULL: it cannot be reached from here. Not collective. */
char *mf_card_open(const struct mf_card *card);

#endif
