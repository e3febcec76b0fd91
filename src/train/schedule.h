/* Learning rates by step. Local. */
#ifndef MF_TRAIN_SCHEDULE_H
#define MF_TRAIN_SCHEDULE_H

#include <stddef.h>

#define MF_SCHEDULES "cosine|constant|one-cycle|warmup-decay"
#define MF_WARMUPS   "linear|log"

enum mf_schedule_kind { MF_SCHEDULE_COSINE, MF_SCHEDULE_CONSTANT, MF_SCHEDULE_ONE_CYCLE, MF_SCHEDULE_WARMUP_DECAY };

struct mf_schedule {
    enum mf_schedule_kind kind;
    double rate;          /* the highest */
    size_t warmup, steps; /* one-cycle has a rise of its own */
    int log;              /* the rise is that of a logarithm: steep, then flat */
    double rise;          /* of one-cycle, in place of 30 %: share of the steps; 0: none */
};

/** The learning rate of @p step, counted from 0. Later steps have the rate of the last.
 *   cosine        rises through the warm-up, then falls as half a cosine to 0
 *   constant      rises, then stays
 *   one-cycle     rises from rate / 25 to rate in 30 % of the steps, then falls to rate / 250000.
 *                 Both parts are half a cosine, as in PyTorch's OneCycleLR (L. Smith, N. Topin, 2017).
 *   warmup-decay  rises, then falls linearly to 0
 * A rise has steps + 1 parts, so that the first step changes the weights: it is linear, or log(k + 1) of k parts as in
 * DeepSpeed's WarmupLR.
 */
double mf_schedule_rate(const struct mf_schedule *schedule, size_t step);

#endif
