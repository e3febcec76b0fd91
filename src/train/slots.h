/* The same weights to the bit on any number of ranks and threads: --deterministic.
 *
 * A step's window is cut into slots, a power of two of them, whatever ranks there are. A slot is passed by itself, in
 * one shape, and its gradient is a leaf of a binary tree: neighbours are added, then neighbours of sums, up to the
 * root. A rank owns a run of slots and adds the neighbours among them. Ranks exchange the sums that remain. So every
 * addition has the same operands on any number of ranks. Kernels give the same bits on any number of threads. */
#ifndef MF_TRAIN_SLOTS_H
#define MF_TRAIN_SLOTS_H

#include "src/train/train.h"

/** Slots for an effective batch, of about eight samples. */
size_t mf_slots_usual(size_t effective);

struct mf_slots;

/** Bytes that mf_slots_open() takes from the arena. Local. */
size_t mf_slots_bytes(const struct mf_network *network, size_t slots, size_t ranks, size_t rank);

/** Takes memory for the sums. Refuses (agreed) with MF_MEMORY. NULL is closed, too. */
int mf_slots_open(const struct mf_trainer *trainer, size_t slots, struct mf_slots **tree);
void mf_slots_close(struct mf_slots *tree);

/** The gradients of the network are those of the next own slot: adds them to the tree. Local. */
void mf_slots_add(struct mf_slots *tree);

/** All own slots were added: the gradients of the network become the root, on every rank. Collective, agreed:
 * MF_MEMORY.
 */
int mf_slots_sum(struct mf_slots *tree);

#endif
