/* A multilayer perceptron that learns from rows in host memory, apart from the network that is trained. It is one
 * expert, or rows of a router. Adam changes its weights.
 * Rule: it lives on the queue of its rank. All functions are local. */
#ifndef MF_TRAIN_MLP_H
#define MF_TRAIN_MLP_H

#include "src/train/network.h"

struct mf_mlp_wish {
    size_t columns, width, depth, outputs; /* hidden layers of this width and number */
    int labelled;                          /* outputs are logits of classes, targets labels; else both are reals */
    size_t batch;                          /* rows of a step, at most */
};

struct mf_mlp;

/** An expert of the first mixture of a network, which has one. */
struct mf_mlp_wish mf_mlp_expert(const struct mf_network *network, size_t batch);

/** The wish of its network: what a plan counts. */
struct mf_network_wish mf_mlp_network(const struct mf_mlp_wish *wish);

/** Refuses with MF_MEMORY, MF_DEVICE. mf_mlp_close() closes in every case; NULL is accepted. */
int mf_mlp_open(const struct mf_mlp_wish *wish, struct mf_queue *queue, struct mf_mlp **mlp);
void mf_mlp_close(struct mf_mlp *mlp);

/** Gives it weights, and moments of zero. @p weight [2 (depth + 1)]: weight [out][in] and bias [out] of each layer. */
void mf_mlp_put(struct mf_mlp *mlp, float *const *weight);
void mf_mlp_get(const struct mf_mlp *mlp, float *const *weight);

/** A step on @p n rows. @p target: real values, or labels. Returns the mean loss before it. */
double mf_mlp_step(struct mf_mlp *mlp, size_t n, const float *const *row, const void *const *target, double rate);

#endif
