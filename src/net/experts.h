/* A mixture of experts (Shazeer et al., "Outrageously large neural networks", 2017). A router scores the experts for
 * every row. Each row goes to those with the highest scores. The result is the sum of what they make of it, weighted by
 * the scores.
 *
 * The weights of all experts stand one behind the other in one parameter, experts.fcI.weight [experts][..], which is
 * only an array: those of one expert are named views of it, experts.ID.fcI.weight. Files and checkpoints know the
 * named ones alone. */
#ifndef MF_NET_EXPERTS_H
#define MF_NET_EXPERTS_H

#include "src/base/cut.h"
#include "src/net/build.h"

enum { MF_EXPERTS = 512 }; /* most experts of a layer */

/** The experts of a layer, in the order of the router's scores. Ranks may share them: each has a part of that order.
 * Rows travel among ranks that pass other samples. Ranks that share layers have the same rows: each does those of its
 * own experts, and all sum up. The first of @p tensor such ranks has the first ways / tensor parts, and so on. */
struct mf_experts {
    size_t count;
    long id[MF_EXPERTS];    /* never used twice in a run */
    size_t ways, way;       /* parts, and the number of this rank's; 0 ways: every rank has all experts */
    size_t tensor;          /* ranks that share layers; 0: none do */
    size_t end[MF_EXPERTS]; /* [ways] where each part ends */
};

/** Ids from 0 on, which ranks do not share. */
void mf_experts_first(struct mf_experts *experts, size_t count);

/** Cuts the experts into @p ways parts, at most as many as experts. @p cost [count]: of each; NULL: all cost the same.
 * @p speed [ways]: of the parts' ranks; NULL: all are as fast. The order changes where parts of the order are uneven.
 */
void mf_experts_share(struct mf_experts *experts, size_t ways, size_t way, const double *cost, const double *speed);

/** The part of @p way. */
struct mf_span mf_experts_part(const struct mf_experts *experts, size_t way);

/** The part of this rank: all of them, where ranks do not share. */
struct mf_span mf_experts_own(const struct mf_experts *experts);

/** Ranks among which rows travel: 1: they do not. The experts of these ranks together. */
size_t mf_experts_traders(const struct mf_experts *experts);
struct mf_span mf_experts_traded(const struct mf_experts *experts);

/** The place of an id in the order; experts->count: there is no such expert. */
size_t mf_experts_find(const struct mf_experts *experts, long id);

/** Have both the same ids in the same order? */
int mf_experts_same(const struct mf_experts *a, const struct mf_experts *b);

struct mf_mixture {
    const struct mf_experts *experts;
    size_t top;                   /* experts of a row */
    double temperature, noise;    /* of the scores; deviation of what is added to them */
    double balance;               /* 0: the router has no balance biases */
    double capacity;              /* times the mean number of rows: the most of an expert; 0: any number */
    size_t width, depth, columns; /* an expert: hidden layers of this width and number, with relu; and its output */
};

/** The scores of the experts for x [..][k]: a linear layer, whose parameters have a row for each of them. */
int mf_build_scores(struct mf_build *build, const char *name, int x, const struct mf_experts *experts);

/** x [n][..][k], scores [n][..][experts] -> [n][..][columns]. What ranks want to know of the routing comes from nodes
 * `route_load`. */
int mf_build_experts(struct mf_build *build, int x, int scores, const struct mf_mixture *mixture);

#endif
