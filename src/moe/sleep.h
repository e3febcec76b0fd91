/* Sleep: now and then a mixture of experts stops learning and puts itself in order. It has six steps
 * (docs/LEARNING.md). Experts repeat what they did, and a measure says how special they are. Experts that are alike
 * become one, and experts that nobody needs go. Two that serve the same samples divide them. Thresholds follow the
 * validation loss.
 *
 * Rule: every rank does the same. A sleep that fails leaves all as it was. */
#ifndef MF_MOE_SLEEP_H
#define MF_MOE_SLEEP_H

#include "src/moe/grow.h"
#include "src/moe/replay.h"

struct mf_sleep_opts {
    long every;                /* steps between sleeps; 0: never */
    long least, most;          /* bounds of these steps where experts are many more than at the start */
    long records, bytes;       /* that are replayed: at most */
    long batch;                /* records of a step of replay */
    double rate;               /* learning rate of replay */
    double similarity;         /* experts that are more alike become one */
    double special;            /* specialisation above which they do so only with one of the same main class */
    long dormant, activations; /* an expert goes if it had no row for so long, and fewer rows in its life */
    double overlap;            /* experts divide their samples if they share so much of them */
    long meta;                 /* sleeps between two changes of the thresholds; 0: they stay */
    double decay, edge;        /* of the graph's edges: factor of a sleep; least weight */
};

/** The hyperparameters that follow the validation loss. */
enum mf_hyper { MF_HYPER_BIRTH_THRESHOLD, MF_HYPER_SIMILARITY, MF_HYPER_INTERVAL, MF_HYPERS };

struct mf_tuning {
    double value[MF_HYPERS], turn[MF_HYPERS]; /* direction, 1 or -1 */
    long last;                                /* the one that moved last; -1: none */
    double before, loss;                      /* its value, and the validation loss, then */
};

struct mf_sleep {
    struct mf_sleep_opts opts;
    struct mf_grow *grow;
    size_t first; /* experts at the start */
    double low[MF_HYPERS], high[MF_HYPERS];
    /* saved in checkpoints: */
    struct mf_replay replay;
    struct mf_tuning tuning;
    long last; /* step of the last sleep */
};

/** Refuses (MF_USAGE) what makes no sense. Local. */
int mf_sleep_check(const struct mf_sleep_opts *opts);

/** @p grow is open, and outlives it. Collective; refuses (agreed) with MF_MEMORY. mf_sleep_close() closes in every
 * case. */
int mf_sleep_open(struct mf_sleep *sleep, const struct mf_sleep_opts *opts, struct mf_grow *grow,
                  const struct mf_trainer *trainer);
void mf_sleep_close(struct mf_sleep *sleep);

/** Steps from one sleep to the next, with so many experts. Local. */
long mf_sleep_interval(const struct mf_sleep *sleep, size_t experts);

/** For struct mf_loop: growth (mf_grow_step()), looks, and sleep when it is time. Collective. */
int mf_sleep_step(void *sleep, struct mf_loop *loop, const struct mf_step *step);

/** A sleep now. One that fails changes nothing, and says so in a line. Collective. */
int mf_sleep_now(struct mf_sleep *sleep, struct mf_loop *loop);

/** For struct mf_loop: as mf_grow_list(), and more. Local. */
void mf_sleep_list(void *sleep, struct mf_checkpoint *checkpoint);

#endif
