/* A small network that learns from rows in host memory, apart from the one that is trained: one expert, or the rows of
 * a router. It has layers with relu between them, and adam.
 * Rule: it lives on the queue of its rank. All functions are local. */
#ifndef MF_TRAIN_LONE_H
#define MF_TRAIN_LONE_H

#include "src/train/network.h"

struct mf_lone_wish {
    size_t columns, width, depth, outputs; /* hidden layers of this width and number */
    int classify;                          /* outputs are logits of classes; else real values */
    size_t batch;                          /* rows of a step, at most */
};

struct mf_lone;

/** An expert of the first mixture of a network, which has one. */
struct mf_lone_wish mf_lone_expert(const struct mf_network *network, size_t batch);

/** The wish of its network: what a plan counts. */
struct mf_network_wish mf_lone_network(const struct mf_lone_wish *wish);

/** Refuses with MF_MEMORY, MF_DEVICE. mf_lone_close() closes in every case; NULL is accepted. */
int mf_lone_open(const struct mf_lone_wish *wish, struct mf_queue *queue, struct mf_lone **lone);
void mf_lone_close(struct mf_lone *lone);

/** Gives it weights, and moments of zero. @p weight [2 (depth + 1)]: weight [out][in] and bias [out] of each layer. */
void mf_lone_put(struct mf_lone *lone, float *const *weight);
void mf_lone_get(const struct mf_lone *lone, float *const *weight);

/** A step on @p n rows. @p target: real values, or labels. Returns the mean loss before it. */
double mf_lone_step(struct mf_lone *lone, size_t n, const float *const *row, const void *const *target, double rate);

#endif
