/* Inner header of this folder: samples on their way to the network. All functions are local. */
#ifndef MF_TRAIN_TRAIN_PRIV_H
#define MF_TRAIN_TRAIN_PRIV_H

#include "src/net/walk.h"
#include "src/train/train.h"

enum { MF_AHEAD_TRAIN = 3, MF_AHEAD_SCORE = 2 }; /* batches that are read ahead */

/** A reader for a task. */
static inline struct mf_reader_wish mf_learn_reading(const struct mf_learn *learn, size_t threads, size_t batch,
                                                     size_t ahead)
{
    return (struct mf_reader_wish){.threads = (int)threads,
                                   .ahead = ahead,
                                   .batch = batch,
                                   .raw = (learn->reads & MF_READS_X) != 0,
                                   .input = (learn->reads & MF_READS_INPUT) != 0};
}

/** How many sums of a step stand before the loads. */
size_t mf_trainer_sums(const struct mf_trainer *trainer);

/** Asks the reader for the next passes, as many as it has room for. */
void mf_trainer_read_ahead(struct mf_trainer *trainer);

/** Puts the samples of micro-batch @p micro of the next step where @p pass reads them. MF_INPUT. */
int mf_trainer_next(struct mf_trainer *trainer, size_t micro, const struct mf_pass_list *pass);

/** Puts a batch where @p pass reads it; NULL: none. Rows behind its samples do not count. */
void mf_feed(struct mf_scorer *scorer, const struct mf_pass_list *pass, const struct mf_batch *batch);

/** Takes and frees the memory of that, which is small. */
void mf_feed_open(struct mf_scorer *scorer);
void mf_feed_close(struct mf_scorer *scorer);

/** Copies an array of joined values from the device, after its list was walked: one copy. Then a value stands at
 * mf_trainer_fetched() until the next array is fetched. @p array -1: nothing. */
void mf_trainer_fetch(struct mf_trainer *trainer, const struct mf_list *list, int array);
void *mf_trainer_fetched(const struct mf_trainer *trainer, int value);

/** Copies it back. */
void mf_trainer_return(const struct mf_trainer *trainer, const struct mf_list *list, int array);

#endif
