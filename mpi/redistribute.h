/* Redistribution of a volume, from slabs cut in z to whole slices normal to y or x. It also moves their gradients back
 * to the slabs. It runs in rounds: in each round a rank holds up to `batch` consecutive slices. Memory is taken when
 * the redistribution is planned, never in a round. */
#ifndef MF_MPI_REDISTRIBUTE_H
#define MF_MPI_REDISTRIBUTE_H

#include "mpi/slab.h"

/** A planned redistribution. Ranks share the slices by mf_cut_grain(n, 2). On one rank the views alias the slab itself
 * and nothing is copied. */
struct mf_redistribution;

/** Directions of a redistribution: slices outwards only, or also their gradients back. */
enum mf_ways { MF_OUT = 1, MF_OUT_AND_BACK = 2 };

/** The arena counts round buffers in memory that ranks share under this tag, though it does not hold them. */
#define MF_SHARED_TAG "slices shared"

/**
 * Plans the redistribution for slices normal to @p normal and takes its memory from the arenas of both queues.
 *
 * @param normal MF_Z: the slices are the own planes; they are never copied
 * @param ways   MF_OUT: slices only; MF_OUT_AND_BACK: gradients too
 * @param batch  most slices of a rank in one round, rounded up to even. 0: a round buffer takes about 8
 *               MiB / ranks (MF_OUT on the host: 2 MiB / ranks) and holds at least 16 slices; all of them where views
 *               alias the slab. Through a device: a quarter of the share at most, if that is more than 16
 * @param queue  of the slab. Its threads copy, so there must be no more of them than this rank's share of the cores
 *
 * There is one round buffer for slices, one for gradients, and between nodes one for what is sent. Where the host
 * cannot touch device memory, the first two exist on the device too. Slices then pass through the host. Where slices go
 * to another queue (mf_queue_home()), there are two buffers of each kind and no view aliases the slab. The host
 * prepares one round while the device works on another. With the NCCL transport (nccl_transport.h) all buffers are
 * device memory, and a rank by itself sends to itself. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_redistribute_new(const struct mf_comm *comm, const struct mf_slab *slab, enum mf_normal normal,
                        enum mf_ways ways, size_t batch, struct mf_queue *queue, struct mf_redistribution **plan);
void mf_redistribute_free(struct mf_redistribution *plan);

/** Batch and number of rounds that mf_redistribute_new() would choose for MF_OUT_AND_BACK on the rank with most slices.
 * With @p passes, fields stay in host memory and their slices pass through a device. Not collective. */
void mf_redistribute_shape(const struct mf_comm *comm, const size_t dims[3], enum mf_normal normal, int passes,
                           size_t asked, size_t *batch, size_t *rounds);

/** Number of rounds until every rank has seen its slices. It is the same on every rank; in late rounds a rank may have
 * none. */
size_t mf_redistribute_rounds(const struct mf_redistribution *plan);
/** Most slices of one round on this rank, and the extents of a slice. Not collective. */
size_t mf_redistribute_batch(const struct mf_redistribution *plan);
/** Global indices of the slices this rank holds in @p round. Not collective. */
struct mf_span mf_redistribute_span(const struct mf_redistribution *plan, size_t round);

/** The slices that this rank holds in all rounds together. */
struct mf_span mf_redistribute_share(const struct mf_redistribution *plan);

/** Gets the slices of @p round of field @p x [own planes][ny][nx]. The field is memory of the slab's queue. The view is
 * memory of the slices' queue and is valid until the next fetch. Fetch the rounds in order from 0. @p x must not change
 * before the last one. view->count may be 0. */
void mf_redistribute_fetch(struct mf_redistribution *plan, size_t round, float *x, struct mf_view *view);

/**
 * Says where gradients of the slices of @p round go. On one rank this is the slab @p g (device) itself, else a cleared
 * buffer of the same shape. Only for MF_OUT_AND_BACK. Not collective.
 */
void mf_redistribute_open(struct mf_redistribution *plan, size_t round, float *g, struct mf_view *view);

/** Adds the buffer of mf_redistribute_open() to the slabs that it belongs to: g +=. The sum is complete after the last
 * round. Only for MF_OUT_AND_BACK. Collective. */
void mf_redistribute_add(struct mf_redistribution *plan, size_t round, float *g);

/**
 * Do the ranks of a node share memory for slices? Then they can share the work of a round dynamically, so that no rank
 * waits long for a slower core. All ranks then make three other calls than those above. They spread a round of some
 * redistributions, take slices until none are left (their own first), and gather the gradients. A slice gives the same
 * result on any rank. Not collective, the same on all ranks.
 */
int mf_redistribute_is_dynamic(const struct mf_redistribution *plan);

/** Slices that a rank has taken from rank @p owner: the @p at-th of its round, and the following ones. Global indices
 * are in span. */
struct mf_taken {
    int owner;
    size_t at;
    struct mf_span span;
};

/** Distributes round @p round of the fields x [n] to the ranks of the plans [n]. Collective. */
void mf_redistribute_spread(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *x);

/** Takes the next slices of this node's ranks that nobody has begun, at most @p most (even). Returns 0 if none are
 * left. Not collective. */
int mf_redistribute_take(struct mf_redistribution *plan, size_t round, size_t most, struct mf_taken *taken);

/** Views of slices that were taken, of any plan with the same slices. Clears those of gradients; @p g NULL: there are
 * none, as for MF_OUT. Not collective. */
void mf_redistribute_taken(const struct mf_redistribution *plan, size_t round, const struct mf_taken *taken,
                           struct mf_view *x, struct mf_view *g);

/** Adds all gradients of the round to the slabs g [n], one plan after the other. Only for MF_OUT_AND_BACK.
 * Collective. */
void mf_redistribute_gather(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *g);

#endif
