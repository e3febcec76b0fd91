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

/** Has another rank the same losses, or losses where this one has none? Local. */
int mf_trainer_silent(const struct mf_trainer *trainer);

/** Makes the last pass of a step again, without its gradients. Collective where ranks exchange activations. */
void mf_trainer_repeat(const struct mf_trainer *trainer);

/** How many sums of a step stand before the loads. */
size_t mf_trainer_sums(const struct mf_trainer *trainer);

/** Asks the reader for the next passes, as many as it has room for. */
void mf_trainer_read_ahead(struct mf_trainer *trainer);

/** Puts the samples of micro-batch @p micro of the next step where @p pass reads them. MF_INPUT. */
int mf_trainer_next(struct mf_trainer *trainer, size_t micro, const struct mf_pass_list *pass);

/** Puts a batch where @p pass reads it; NULL: none. Rows behind its samples do not count. The copies may go on, so the
 * batch's arrays stay until mf_feed_settle() has given it back to @p reader; NULL: until that has waited for all. */
void mf_feed(struct mf_scorer *scorer, const struct mf_pass_list *pass, const struct mf_batch *batch,
             struct mf_reader *reader);

/** Gives back the batches whose copies are complete, oldest first. Waits until at most @p most are on their way. With
 * mf_feed_most() there is room for another. */
void mf_feed_settle(struct mf_scorer *scorer, size_t most);
size_t mf_feed_most(const struct mf_scorer *scorer);

/** Takes and frees the memory of that, which is small. */
int mf_feed_open(struct mf_scorer *scorer);
void mf_feed_close(struct mf_scorer *scorer);

/** What the host reads in a step: the results of pass 0, 1, .. of it; then norms; then the biases of experts. */
enum mf_fetch { MF_FETCH_NORMS, MF_FETCH_BIASES, MF_FETCH_PASSES };

/** Bytes of that where device memory is not the host's, so that copies can be on their way. */
size_t mf_fetched_bytes(const struct mf_network *network, size_t passes);

/** Begins to copy an array of joined values to place @p k (enum mf_fetch), after its list was walked: one copy. Lists
 * that are walked later may write the array. @p array -1: nothing. */
void mf_trainer_fetch(struct mf_trainer *trainer, const struct mf_list *list, int array, size_t k);

/** Waits for all of these copies, once. Then a value of place @p k stands at mf_trainer_fetched(). */
void mf_trainer_await(struct mf_trainer *trainer);
void *mf_trainer_fetched(const struct mf_trainer *trainer, int value, size_t k);

#endif
