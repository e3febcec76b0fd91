/* The weights of a network by name: what they start with, and files.
 * Rule: a name and its extents say all. Files know nothing of buckets, ranks or stages of ZeRO. Their arrays are whole,
 * also where ranks share layers. */
#ifndef MF_MODEL_WEIGHTS_H
#define MF_MODEL_WEIGHTS_H

#include "io/safetensors.h"
#include "mpi/comm.h"
#include "src/base/cut.h"
#include "src/net/pass.h"
#include "src/net/walk.h"

/** The weights of a net that is walked. Ranks may hold parts of them. */
struct mf_weights {
    const struct mf_net *net;
    const struct mf_walk *walk;
    const struct mf_list *list; /* any of the net: it says where they are */
    struct mf_queue *queue;
    const struct mf_layout *layout; /* of a network that is not trained: all zero */
    const struct mf_comm *comm;     /* ranks with parts of them; NULL: this rank has all */
    size_t ways;                    /* ranks that share the experts; 1: they do not */
    /* ranks that share layers, and ranks with the same part of them; NULL: nobody shares, and all ranks have it.
     * stages: ranks of a pipeline; NULL: there is none */
    const struct mf_comm *tensor, *data, *stages;
};

/** Numbers of all weights of a net, or of those that are not trained. Local. */
size_t mf_weights_count(const struct mf_net *net, int frozen);

/** Sets all weights to what they start with. They depend on their names, extents and @p seed. Local. */
void mf_weights_start(const struct mf_weights *weights, uint64_t seed);

/** Reads all weights from a file of ours or of PyTorch. Refuses with MF_INPUT, naming up to ten arrays that are
 * missing, differ in extents, or are unknown; with MF_NUMERIC the first one that is not finite. @p but: parts of the
 * network that keep their weights (mf_name_in()), whatever the file has; NULL: none. Local. */
int mf_weights_load(const struct mf_weights *weights, struct mf_safetensors *file, const char *but);

/** Rank 0 writes all weights. @p metadata: as mf_safetensors_write(). Collective; MF_OUTPUT (agreed). */
int mf_weights_save(const struct mf_weights *weights, const char *path, const char *const *metadata);

/** Gives the numbers of weight @p value to @p see, in order and in pieces, where this rank has all of them: 1. A part
 * of a layer that ranks share is enough. Local. */
int mf_weights_visit(const struct mf_weights *weights, int value,
                     void (*see)(void *context, size_t n, const float *numbers), void *context);

/** Has this rank any number of weight @p value? Local. */
int mf_weights_here(const struct mf_weights *weights, int value);

/** Does a list of this rank read the weight? Else it is another stage's. Ranks may have parts of it. Local. */
int mf_weights_used(const struct mf_weights *weights, int value);

/** Copies a part of the numbers of weight @p value to @p to [part.count], on every rank. Collective in stage 3 of ZeRO,
 * and where ranks share layers; else local. */
void mf_weights_get(const struct mf_weights *weights, int value, struct mf_span part, float *to);

/** Copies all weights of @p from to the network of this name within @p to. NULL: to its own weights. Both have the
 * same architecture, and weights of f32. Collective in stage 3 of ZeRO, else local. */
void mf_weights_copy(const struct mf_weights *from, const char *network, const struct mf_weights *to);

/** What belongs to a weight. */
enum mf_state { MF_STATE_WEIGHT, MF_STATE_FIRST, MF_STATE_SECOND /* moments */, MF_STATE_AVERAGE, MF_STATES };

/** Is there such a thing? Optimisers have two moments, one or none. Local. */
int mf_weights_has(const struct mf_weights *weights, int value, enum mf_state state);

/** Copies all numbers of a weight, or of its moment, to @p to on every rank. Collective. */
void mf_weights_take(const struct mf_weights *weights, int value, enum mf_state state, float *to);

/** Sets the part of these numbers that this rank has. The caller ends with mf_weights_masters(). Local. */
void mf_weights_put(const struct mf_weights *weights, int value, enum mf_state state, const float *from);

/** Sets bytes @p part of a weight, as it has them in memory. This rank skips what it does not have. Local. */
void mf_weights_put_bytes(const struct mf_weights *weights, int value, struct mf_span part, const void *from);

/** With offload the optimiser has parameters of its own: gives it those of the device, or the device its. Local. */
void mf_weights_masters(const struct mf_weights *weights, int to_device);

/** Where these numbers stand that this rank has, and which they are: *part; NULL: it has none. @p share: of what
 * several ranks have each gets a part. Where ranks share layers, *part counts within a part, and *runs puts it into the
 * whole. All are f32, as where some weights are trained. On back ends whose memory
 * is the host's, or with offload. Local. */
float *mf_weights_part(const struct mf_weights *weights, int value, enum mf_state state, int share,
                       struct mf_span *part, struct mf_runs *runs);

#endif
