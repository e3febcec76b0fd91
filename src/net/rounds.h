/* Rounds of a walk. Rows of a mixture of experts go to the ranks of their experts. Where more come than have room,
 * they go in several rounds, as many as the fullest rank needs. The ranks that share experts tell each other the rows
 * of every expert, once for each region and pass; then all know the rounds, and all sizes.
 *
 * A rank has a stretch of rows for each rank. In round i it sends the i-th of as many nearly equal pieces of each
 * stretch. Forward counts rounds up; backward counts down, since the activations of the last round are still there. */
#ifndef MF_NET_ROUNDS_H
#define MF_NET_ROUNDS_H

#include "kernels/backend.h"
#include "src/net/list.h"

struct mf_rounds;

/** Of all lists of the net, whose memory is taken here. */
struct mf_rounds *mf_rounds_new(const struct mf_net *net, struct mf_queue *queue);
void mf_rounds_free(struct mf_rounds *rounds);

/** The node of list @p k that is executed next, where @p i follows in the list; nodes: none. */
size_t mf_rounds_next(struct mf_rounds *rounds, size_t k, size_t i);

/** The walk goes on node by node at least up to here. */
size_t mf_rounds_border(const struct mf_rounds *rounds, size_t k, size_t i);

/** Is the node left out in this round? */
int mf_rounds_skips(const struct mf_rounds *rounds, const struct mf_node *node);

/** Rounds of this stretch that are over, and whether another one comes behind node @p i. Outside of stretches 0. */
size_t mf_rounds_over(const struct mf_rounds *rounds);
int mf_rounds_more(const struct mf_rounds *rounds, size_t i);

/** What the node adds to in this round, as mf_call.add: gradients of parameters, if a round is over. */
unsigned mf_rounds_adds(const struct mf_rounds *rounds, const struct mf_node *node);

/** Executes a node trade or trade_back, forward or backward. Collective in its group. The host waits for the
 * device where a trade is forward: it reads counts, and writes offsets. */
void mf_rounds_trade(struct mf_rounds *rounds, const struct mf_exchanges *by, const struct mf_node *node,
                     const struct mf_call *call);

/** The most rounds that the last walk of list @p k took for a region; 0: none. */
size_t mf_rounds_taken(const struct mf_rounds *rounds, size_t k);

/** The rows that a rank with @p own of @p experts has room for: @p slack (1.25) times its even share. Each of @p ways
 * ranks sends @p rows. At least one of each rank, at most all. */
size_t mf_rounds_room(size_t rows, size_t ways, size_t own, size_t experts, double slack);

#endif
