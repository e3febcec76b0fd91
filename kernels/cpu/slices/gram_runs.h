/* The channels of soft three-point correlations (form/gram.h) at one anchor. A run is a set of lags that differ only in
 * their columns. So one vector of a cache line holds many of them. */
#ifndef MF_KERNELS_CPU_GRAM_RUNS_H
#define MF_KERNELS_CPU_GRAM_RUNS_H

#include "kernels/cpu/line.h"
#include "kernels/form/gram.h"

/** Channels first .. first + count - 1: lags (du, dv), (du, dv + step), .. */
struct mf_gram_run {
    struct mf_gram_lag lag;
    int step;
    size_t first, count;
    float last[MF_LINE]; /* mask of the last line: 1 for a channel, else 0 */
};

struct mf_gram_runs {
    struct mf_gram_run *run;
    size_t count, channels, ahead; /* ahead: channels before the first with a negative column */
    struct mf_soft soft;
    int pair; /* anchors are of a second field; channel 0 is of the anchor alone */
};

/** Makes the runs of a kind, in memory for 2 @p lag of them. The caller sets soft and pair. */
void mf_gram_runs_make(struct mf_gram_runs *m, enum mf_gram_kind kind, size_t lag);

/**
 * Computes f [channels and a line], the channels at an anchor; the rest of the last line is undefined. Exponentials of
 * pixels and of anchors are e and own, in frames with rows of @p stride floats. The anchor's index in them is @p here,
 * for lags with columns >= 0 and < 0. Up to a line before and after the used values is read.
 */
void mf_gram_runs_channels(const struct mf_gram_runs *m, const float *e, const float *own, size_t stride,
                           const size_t here[2], float *f);

/** The adjoint. From w [channels and a line], the factors of the channels, it computes half of dE/dz. It
 * adds this to the frames g of pixels and own_g of anchors. Both frames are the same, except for pairs. */
void mf_gram_runs_give(const struct mf_gram_runs *m, float *w, size_t stride, const size_t here[2], float *g,
                       float *own_g);

#endif
