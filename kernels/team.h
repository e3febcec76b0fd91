/* Workers with separate memories that do one piece of work together. All hold the same input. Each computes a part of
 * the results, and then all have them. A kernel does not know who they are (src/recon/objective_team.c).
 *
 * Rule: all workers of a team make the same calls in the same order. What a worker computes does not depend on how many
 * there are, so results have the same bits for any team. */
#ifndef MF_KERNELS_TEAM_H
#define MF_KERNELS_TEAM_H

#include <stddef.h>

#include "src/base/cut.h"

struct mf_team {
    int part, parts; /* this worker's number, and how many there are */
    void *context;
    /** Worker k has computed the bytes [offset[k], offset[k + 1]) of @p data; afterwards all have all of them. */
    void (*share)(void *context, void *data, const size_t *offset);
};

/** How many there are; NULL: one alone. */
static inline int mf_team_parts(const struct mf_team *team) { return team ? team->parts : 1; }

/** Does this worker do item @p i of those that are dealt in turn? */
static inline int mf_team_has(const struct mf_team *team, size_t i)
{
    return !team || i % (size_t)team->parts == (size_t)team->part;
}

/** This worker's run of @p n items: each worker has one of mf_cut(). */
static inline struct mf_span mf_team_cut(const struct mf_team *team, size_t n)
{
    return team ? mf_cut(n, (size_t)team->parts, (size_t)team->part) : (struct mf_span){0, n};
}

/** All get the runs of each: @p items has @p n of @p size bytes. */
void mf_team_share(const struct mf_team *team, size_t n, size_t size, void *items);

#endif
