/* The factor of the loss, and so of all gradients, in trainings with f16. Without it small gradients would become 0. It
 * halves where gradients are too large, and doubles after many steps in which they were not. (Micikevicius and others,
 * "Mixed precision training", ICLR 2018.) All functions are local, and every rank makes the same steps. */
#ifndef MF_TRAIN_SCALE_H
#define MF_TRAIN_SCALE_H

#include <stddef.h>

/** How it moves. window 0: it stays 1. */
struct mf_scale_opts {
    double start, least; /* powers of two */
    size_t window;       /* steps in a row after which it doubles */
    size_t patience;     /* steps that are skipped before it halves; 1: it halves at once */
};

struct mf_scale {
    double value;
    long clean; /* steps since the last that was skipped, or since it doubled */
    long left;  /* steps that may be skipped before it halves */
    long lost;  /* steps that were skipped for its sake */
};

void mf_scale_begin(const struct mf_scale_opts *opts, struct mf_scale *scale);

/** After a step. Returns 1 where a skipped step says nothing of the network: the scale can still become smaller. */
int mf_scale_move(const struct mf_scale_opts *opts, struct mf_scale *scale, int skipped);

#endif
