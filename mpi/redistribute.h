/* Redistribution of a volume: from slabs cut in z to whole slices normal to y or x, and of their gradients back to the
 * slabs. It runs in rounds: in each round a rank holds up to `batch` consecutive slices. Memory is taken when the
 * redistribution is planned, never in a round. */
#ifndef MF_MPI_REDISTRIBUTE_H
#define MF_MPI_REDISTRIBUTE_H

#include "mpi/slab.h"

/** A planned redistribution. Slices are shared out with mf_cut_grain(n, 2). With one rank the views alias the slab
 * itself and nothing is copied. */
struct mf_redistribution;

/** What travels: slices to the ranks that look at them, or gradients back to the slabs too. Kinds of round buffers. */
enum mf_ways { MF_OUT = 1, MF_OUT_AND_BACK = 2 };

/** Buffers that ranks share are booked in the arena by this name: they are no memory of it. */
#define MF_SHARED_TAG "slices shared"

/**
 * Plans the redistribution for slices normal to @p normal and takes its memory from the arenas of both queues.
 *
 * @param normal MF_Z: the slices are the own planes; they are never copied
 * @param ways   MF_OUT: slices only; MF_OUT_AND_BACK: gradients too
 * @param batch  most slices of a rank in one round, rounded up to even. 0: chosen, so that a round buffer takes about 8
 *               MiB / ranks (MF_OUT on the host: 2 MiB / ranks) and holds at least 16 slices; all of them where views
 *               alias the slab. Through a device: a quarter of the share at most, if that is more than 16
 * @param queue  of the slab. Its threads copy, so there must be no more of them than this rank's share of the cores
 *
 * There is one round buffer for slices, one for gradients, and between nodes one for what is sent. Where the host
 * cannot touch device memory, the first two exist on the device too, and slices pass through the host. Where slices go
 * to another queue (mf_queue_home()), there are two buffers of each kind and no view aliases the slab: the host
 * prepares one round while the device works on another. With the NCCL transport (nccl_transport.h) all buffers are
 * device memory, and a rank by itself sends to itself. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_redistribute_new(const struct mf_comm *comm, const struct mf_slab *slab, enum mf_normal normal,
                        enum mf_ways ways, size_t batch, struct mf_queue *queue, struct mf_redistribution **plan);
void mf_redistribute_free(struct mf_redistribution *plan);

/** The batch and the rounds that mf_redistribute_new() would choose for MF_OUT_AND_BACK on the rank with the longest
 * share; @p passes: for fields that stay in host memory while their slices pass through a device. Not collective. */
void mf_redistribute_shape(const struct mf_comm *comm, const size_t dims[3], enum mf_normal normal, int passes,
                           size_t asked, size_t *batch, size_t *rounds);

/** Rounds until every rank has seen its share: the same number on every rank; late rounds may hold no slice here. */
size_t mf_redistribute_rounds(const struct mf_redistribution *plan);
/** Most slices of one round on this rank, and the extents of a slice. Not collective. */
size_t mf_redistribute_batch(const struct mf_redistribution *plan);
/** Global indices of the slices this rank holds in @p round. Not collective. */
struct mf_span mf_redistribute_span(const struct mf_redistribution *plan, size_t round);

/** The same of all rounds together. */
struct mf_span mf_redistribute_share(const struct mf_redistribution *plan);

/** The slices of @p round of field @p x [own planes][ny][nx] (memory of the queue; the view: of the slices' queue);
 * valid until the next fetch. Rounds are fetched from 0 on, one after the other; x stays until the last. view->count
 * may be 0. */
void mf_redistribute_fetch(struct mf_redistribution *plan, size_t round, float *x, struct mf_view *view);

/**
 * Where gradients of the slices of @p round go: with one rank the slab @p g (device) itself, else a cleared buffer of
 * the same shape. The plan goes MF_OUT_AND_BACK. Not collective.
 */
void mf_redistribute_open(struct mf_redistribution *plan, size_t round, float *g, struct mf_view *view);

/** Adds the buffer of mf_redistribute_open() to the slabs it belongs to: g += , all of it after the last round. The
 * plan goes MF_OUT_AND_BACK. Collective. */
void mf_redistribute_add(struct mf_redistribution *plan, size_t round, float *g);

/**
 * Do the ranks of a node see each other's slices? Then they can share the work of a round dynamically, so that nobody
 * waits long for a slower core. Instead of the three calls above, all ranks spread a round of some redistributions,
 * take slices until none are left (their own first), and gather the gradients. A slice gives the same result whoever
 * works on it. Not collective, the same on all ranks.
 */
int mf_redistribute_deals(const struct mf_redistribution *plan);

/** Slices that a rank has taken: the @p at-th of @p owner's and those behind it; span: their global indices. */
struct mf_dealt {
    int owner;
    size_t at;
    struct mf_span span;
};

/** Round @p round of the plans [n] out of the fields x [n]. Collective. */
void mf_redistribute_spread(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *x);

/** The next slices of this node's ranks, @p most (even) at most, that nobody has begun; 0: there are none. Not
 * collective. */
int mf_redistribute_take(struct mf_redistribution *plan, size_t round, size_t most, struct mf_dealt *dealt);

/** Views of slices that were taken, of any plan with the same slices; those of gradients (@p g; NULL: there are none,
 * as where the plan goes MF_OUT) cleared. Not collective. */
void mf_redistribute_dealt(const struct mf_redistribution *plan, size_t round, const struct mf_dealt *dealt,
                           struct mf_view *x, struct mf_view *g);

/** Adds all gradients of the round to the slabs g [n], one plan after the other; all go MF_OUT_AND_BACK. Collective. */
void mf_redistribute_gather(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *g);

#endif
