/* The weights of a network by name: what they start with, files, checkpoints.
 * Rule: a name and its extents say all. Files and checkpoints know nothing of buckets, ranks or stages of ZeRO. */
#ifndef MF_TRAIN_WEIGHTS_H
#define MF_TRAIN_WEIGHTS_H

#include "io/safetensors.h"
#include "mpi/comm.h"
#include "src/base/cut.h"
#include "src/net/walk.h"
#include "src/run/checkpoint.h"
#include "src/train/network.h"

/** Sets all weights to what they start with. They depend on their names, extents and @p seed. Local. */
void mf_weights_start(const struct mf_network *network, struct mf_walk *walk, uint64_t seed);

/** Reads all weights from a file of ours or of PyTorch. Refuses with MF_INPUT, naming up to ten arrays that are
 * missing, differ in extents, or are unknown; with MF_NUMERIC the first one that is not finite. @p but: parts of the
 * network that keep their weights (mf_name_in()), whatever the file has; NULL: none. Local. */
int mf_weights_load(const struct mf_network *network, struct mf_walk *walk, struct mf_safetensors *file,
                    const char *but);

/** Gives the numbers of weight @p value to @p see, in order and in pieces, where this rank has all of them: 1. Local.
 */
int mf_weights_visit(const struct mf_network *network, const struct mf_walk *walk, int value,
                     void (*see)(void *context, size_t n, const float *numbers), void *context);

/** Copies a part of the numbers of weight @p value to @p to [part.count], on every rank. Collective in stage 3 of ZeRO,
 * else local. */
void mf_weights_get(const struct mf_network *network, const struct mf_walk *walk, const struct mf_comm *comm, int value,
                    struct mf_span part, float *to);

/** What belongs to a weight. */
enum mf_state { MF_STATE_WEIGHT, MF_STATE_FIRST, MF_STATE_SECOND /* moments */, MF_STATES };

/** Is there such a thing? Optimisers have two moments, one or none. Local. */
int mf_weights_has(const struct mf_network *network, int value, enum mf_state state);

/** Copies all numbers of a weight, or of its moment, to @p to on every rank. Collective. */
void mf_weights_take(const struct mf_network *network, const struct mf_walk *walk, const struct mf_comm *comm,
                     int value, enum mf_state state, float *to);

/** Sets the part of these numbers that this rank has. The caller ends with mf_weights_masters(), which gives an
 * offloaded optimiser the weights of the device. Local. */
void mf_weights_put(const struct mf_network *network, const struct mf_walk *walk, int value, enum mf_state state,
                    const float *from);
void mf_weights_masters(const struct mf_network *network, const struct mf_walk *walk);

/** Rank 0 writes all weights. @p metadata: as mf_safetensors_write(). Collective; MF_OUTPUT (agreed). */
int mf_weights_save(const struct mf_network *network, const struct mf_walk *walk, const struct mf_comm *comm,
                    const char *path, const char *const *metadata);

/** Lists weights and moments in a checkpoint, or fills them from one. On back ends whose memory is the host's,
 * or with offload. */
void mf_weights_keep(const struct mf_network *network, const struct mf_walk *walk, struct mf_checkpoint *checkpoint);

#endif
