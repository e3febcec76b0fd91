/* Parts of a network that options name. Some are not trained; some have a learning rate of their own, or no weight
 * decay. A part is the beginning of names (mf_name_in()). All functions are local, and refuse with MF_USAGE. */
#ifndef MF_TRAIN_PARTS_H
#define MF_TRAIN_PARTS_H

#include "src/net/list.h"

/** Has the network each part of @p freeze ("stem,stages.0"; NULL: none), and is something left to train? */
int mf_parts_frozen(const struct mf_net *net, const char *freeze);

/** Gives parameters their factor of the learning rate: @p rate_of is "text=0.1,image.stem=0.5"; NULL: all have 1. The
 * longest name counts. Refuses a part of which nothing is trained. For a list without backward. */
int mf_parts_rates(const struct mf_net *net, const char *rate_of);

/** Takes weight decay off norms, biases, embeddings and positions: off all that no product of @p list multiplies by.
 * For a list before pass cast. */
void mf_parts_plain(const struct mf_list *list);

#endif
