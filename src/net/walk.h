/* Walks lists: executes their nodes in order on one queue, those in host memory on the cores. All memory is taken when
 * the walk is opened.
 *
 * Rule: a walk decides nothing but rounds (rounds.h), and allocates nothing. The lists do not change while it is open.
 */
#ifndef MF_NET_WALK_H
#define MF_NET_WALK_H

#include <stdint.h>

#include "kernels/backend.h"
#include "src/net/list.h"

/** How the memory is laid out. Results have the same bits. */
enum mf_walk_mode {
    MF_WALK_PLANNED, /* as mf_pass_live() says: net->lasting + net->room bytes */
    MF_WALK_CHECKED  /* every tensor has memory of its own between guard pages, which is NaN before its first and after
                        its last use; back ends whose memory is the host's */
};

struct mf_walk;

/** Memory of each place, in which exchanges can reach arrays. NULL: the walk takes its own. */
struct mf_walk_memory {
    void *lasting[MF_PLACES], *room[MF_PLACES]; /* [net->lasting[..]], [net->room[..]] bytes */
};

/** Opens a walk of the lists of @p net, which are planned for @p queue. Lasting memory is zeros, the rest NaN.
 * @p given: memory of the caller; NULL: all is taken from the queue's arenas. Refuses with MF_MEMORY. */
int mf_walk_open(struct mf_walk **walk, struct mf_net *net, struct mf_queue *queue, enum mf_walk_mode mode,
                 const struct mf_walk_memory *given);
void mf_walk_close(struct mf_walk *walk);

/** Exchanges go to @p exchange from now on; NULL, as after opening: there is one rank, and nothing is exchanged. A walk
 * that has finished exchanges settles at its end. */
void mf_walk_exchange(struct mf_walk *walk, const struct mf_exchanges *exchange);

/** The numbers that nodes read: [MF_NUMBERS]. The caller sets them between walks. */
double *mf_walk_numbers(struct mf_walk *walk);

/** Where a value stands while @p list is walked, in the memory of its place. A value that does not last is valid before
 * the walk (inputs) or after it (kept). */
void *mf_walk_at(const struct mf_walk *walk, const struct mf_list *list, int value);

/** Copy numbers in the memory of @p place to @p host, which is any host memory, or from there. On return @p host may
 * change. */
void mf_place_get(struct mf_queue *queue, enum mf_place place, void *host, const void *from, size_t bytes);
void mf_place_put(struct mf_queue *queue, enum mf_place place, void *to, const void *host, size_t bytes);

/** Whether a device may replay what it did the last time, and for which nodes. It may for all, after opening. */
void mf_walk_replay(struct mf_walk *walk, int may, enum mf_scope scope);

/** From now on every walk looks at what its nodes wrote, as long as @p on. The first node since then that wrote a
 * number that is not finite; NULL: none did. Slow. */
void mf_walk_hunt(struct mf_walk *walk, int on);
const struct mf_node *mf_walk_bad(const struct mf_walk *walk);

/** Waits for copies between the memories that nodes have begun (MF_WAITS_HOST). The walk does so before it works in
 * host memory; a caller does before it writes a value there. */
void mf_walk_settle(struct mf_walk *walk);

/** Seconds that this rank has spent in exchanges since the walk was opened, waiting for others among them. */
double mf_walk_exchanged(const struct mf_walk *walk);

/** The most rounds that a region took in the last walk of the list (rounds.h); 0: it has none. */
size_t mf_walk_rounds(const struct mf_walk *walk, const struct mf_list *list);

/** Executes the list. Enqueues; the caller waits for the queue. Between exchanges and copies a device may replay what
 * it did the last time (kernels/segment.h). */
void mf_walk_run(struct mf_walk *walk, const struct mf_list *list);

#endif
