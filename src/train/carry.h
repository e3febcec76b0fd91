/* The weights and moments of a network by name, in host memory. They are carried over to a network of the same model
 * with other experts. */
#ifndef MF_TRAIN_CARRY_H
#define MF_TRAIN_CARRY_H

#include "src/train/train.h"

/** A weight. */
struct mf_carried {
    char *name;
    struct mf_shape shape;
    int by_expert;           /* its rows are those of the experts */
    long expert;             /* whose it is; -1: no expert's */
    float *state[MF_STATES]; /* [numbers]; NULL: the optimiser has none */
};

struct mf_carry {
    struct mf_arena *arena;
    struct mf_experts experts;
    size_t weights;
    struct mf_carried *weight;
    struct mf_carried **by_name; /* [weights] sorted */
    void *memory;
};

/** Bytes of host memory that mf_carry_take() takes. Local. */
size_t mf_carry_bytes(const struct mf_network *network);

/** Copies all weights and moments; on every rank all of them. Refuses (agreed) with MF_MEMORY. Collective.
 * mf_carry_free() frees; NULL is accepted. */
int mf_carry_take(const struct mf_trainer *trainer, struct mf_carry **carry);
void mf_carry_free(struct mf_carry *carry);

/** The weight of this name; NULL: there is none. */
struct mf_carried *mf_carry_find(const struct mf_carry *carry, const char *name);

/** The weight ("weight", "bias") of a layer of an expert in the first mixture; NULL: there is none. The first mixture's
 * last layer of the router, whose rows are those of carry->experts. */
struct mf_carried *mf_carry_expert(const struct mf_carry *carry, long id, size_t layer, const char *part);
struct mf_carried *mf_carry_router(const struct mf_carry *carry, const char *part);

/** Cosine of the angle between all weights of two experts. 0: one has only zeros. */
double mf_carry_similarity(const struct mf_carry *carry, long one, long other);

/**
 * Gives a trainer, whose weights are at their start or of the same experts, what was carried. A new expert keeps its
 * start, and has no moments. Its row of the router is normal, with a tenth of the deviation of the rows that were
 * there. Local.
 */
void mf_carry_put(const struct mf_carry *carry, struct mf_trainer *trainer);

/** Expert @p into becomes the mean of it and @p from, with these weights; its row of the router stays. */
void mf_carry_merge(struct mf_carry *carry, long into, long from, double weight_into, double weight_from);

#endif
