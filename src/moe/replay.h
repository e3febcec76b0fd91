/* Replay: records of what experts did between two sleeps, and their repetition, so that experts do not forget.
 * Rule: every rank has all records, and an expert repeats them on one rank. So the result does not depend on ranks. */
#ifndef MF_MOE_REPLAY_H
#define MF_MOE_REPLAY_H

#include "src/moe/look.h"
#include "src/train/carry.h"

/** The last records, a ring. */
struct mf_replay {
    struct mf_arena *arena;
    const struct mf_groups *groups;
    struct mf_record sizes;
    size_t room, count, next; /* records; which is written next */
    float *at;                /* [room][sizes.numbers] */
};

/** Takes memory for @p most records in at most @p bytes. @p groups: of their samples; they outlive it. Refuses (agreed)
 * with MF_MEMORY. mf_replay_close() closes in every case. */
int mf_replay_open(const struct mf_trainer *trainer, const struct mf_groups *groups, size_t most, size_t bytes,
                   struct mf_replay *replay);
void mf_replay_close(struct mf_replay *replay);

/** Adds a record of one row of @p n samples of the last step, at most all. Collective; refuses (agreed) with MF_INPUT,
 * MF_MEMORY.
 */
int mf_replay_look(struct mf_replay *replay, struct mf_trainer *trainer, size_t n);

static inline const float *mf_replay_record(const struct mf_replay *replay, size_t i)
{
    return replay->at + i * replay->sizes.numbers;
}

/** The place of an expert among those of a record; sizes.top: it has none. */
size_t mf_replay_slot(const struct mf_replay *replay, const float *record, long id);

/** Rows that a small network learns from. */
struct mf_lesson {
    const float *row;
    const void *target;
    double order; /* larger comes first */
};

/** Teaches a network @p n lessons, in their order, in at most @p steps batches. It begins anew where they end. 0: each
 * lesson once. @p losses [steps made]; NULL. Returns the number of steps. Local. */
struct mf_mlp;
size_t mf_lessons_learn(struct mf_mlp *mlp, size_t batch, size_t n, struct mf_lesson *lesson, size_t steps, double rate,
                        double *losses);

/** The weights of an expert as struct mf_mlp wants them: [2 (depth + 1)]. Local. */
void mf_replay_weights(const struct mf_carry *carry, long id, size_t layers, float **weight);

/**
 * Every expert of the carry repeats its records, the most uncertain first. It uses batches of @p batch, adam, mean
 * squared error to what it made of them. Learning rates are @p rate [experts]. Array @p confidence [experts] gets 1 -
 * half the mean of its last 10 losses, from 0 to 1; NAN: it has no records. It sets *steps to those of all experts.
 * Collective; refuses (agreed) with MF_MEMORY, MF_NUMERIC.
 */
int mf_replay_repeat(const struct mf_replay *replay, const struct mf_trainer *trainer, struct mf_carry *carry,
                     size_t batch, const double *rate, double *confidence, size_t *steps);

/** Lists the records in a checkpoint, or takes them from one. Local. */
void mf_replay_list(struct mf_replay *replay, struct mf_checkpoint *checkpoint);

#endif
