/* A network of which every rank has a stage: its lists, and the order in which it walks them.
 *
 * A micro-batch passes the stages forward, and its gradients pass them backward. Each stage does forward of as many
 * micro-batches as are behind it, then one backward after each forward (D. Narayanan et al., "PipeDream",
 * arXiv:1806.03377, 2019, section 3.2). So the first of p stages keeps activations of p micro-batches, the last of one.
 */
#ifndef MF_TRAIN_PIPELINE_H
#define MF_TRAIN_PIPELINE_H

#include "src/train/network.h"

/** Sets of activations that a stage keeps, for so many micro-batches. Local. */
size_t mf_pipeline_slots(size_t micro, size_t stages, size_t stage);

/** Says which stage each node of a forward list belongs to (node.stage). @p given [parts] says where blocks are cut.
 * If it is NULL, the first list decides: the most operations of a stage are the least possible. Refuses with MF_USAGE a
 * network of too few blocks, and a trained weight of two stages. Local. */
int mf_pipeline_mark(struct mf_network *network, const size_t *given, struct mf_list *list);

/** Leaves a list of micro-batches its nodes on this rank, as the four lists of a slot. The ranks @p among keep what
 * they have alike in pieces; NULL: none do. Local. */
void mf_pipeline_divide(struct mf_network *network, const struct mf_partners *among, struct mf_pipe_slot *slot);

/** Leaves a forward list its nodes on this rank. Local. */
void mf_pipeline_leave(struct mf_network *network, struct mf_list *list);

/** The weights that slot 0 does not read are those of other stages. Local. */
void mf_pipeline_leave_weights(struct mf_network *network);

/** What a stage does next. */
enum mf_pipe_do { MF_PIPE_TAKE, MF_PIPE_FORWARD, MF_PIPE_BACKWARD, MF_PIPE_GIVE };

/** Calls @p act for all that stage @p stage of @p stages does in a step, with the number of the micro-batch. Two stages
 * have messages in the same order. Local. */
void mf_pipeline_order(size_t micro, size_t stages, size_t stage, void *context,
                       void (*act)(void *context, enum mf_pipe_do what, size_t micro));

#endif
