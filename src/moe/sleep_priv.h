/* Inner header of this folder: one sleep. Numbers of experts are those of the survey, which is made at its beginning.
 */
#ifndef MF_MOE_SLEEP_PRIV_H
#define MF_MOE_SLEEP_PRIV_H

#include "src/moe/sleep.h"

/** A change, to be noted when the sleep has succeeded. */
struct mf_sleep_event {
    enum mf_change what;
    long expert, other;
};

struct mf_sleep_state {
    struct mf_sleep *sleep;
    struct mf_trainer *trainer;
    struct mf_graph *graph;
    struct mf_carry *carry;   /* the weights that change */
    struct mf_survey survey;  /* of the experts at its beginning */
    struct mf_experts before; /* these; and those that remain: */
    struct mf_experts experts;
    size_t order[MF_EXPERTS]; /* their numbers by growing ids: decisions do not depend on where experts are */
    struct mf_sleep_event event[MF_EXPERTS];
    size_t events;
    double loss;                  /* of the validation split; NAN: not known, or it has no rows */
    size_t steps;                 /* of replay */
    size_t pairs, tried, divided; /* that overlap; of these divided in a trial; and not taken back */
};

/** A sleep of the trainer's experts. */
struct mf_sleep_state mf_sleep_state_of(struct mf_sleep *sleep, struct mf_trainer *trainer);

/** Adds an event. */
void mf_sleep_note(struct mf_sleep_state *state, enum mf_change what, long expert, long other);

/** The learning rate of an expert in sleep: the less, the more special it has become. */
double mf_sleep_rate(const struct mf_sleep_state *state, size_t expert);

/** Is this expert still there? */
int mf_sleep_remains(const struct mf_sleep_state *state, size_t expert);

/** Two experts, the older one first. */
struct mf_sleep_pair {
    size_t one, other;
    size_t number; /* of equal values the lower one comes first */
    double value;
};

/** Pairs of remaining experts whose @p value [experts][experts], symmetric, is above 0: the largest first. The caller
 * frees. */
size_t mf_sleep_pairs(const struct mf_sleep_state *state, const double *value, struct mf_sleep_pair **pairs);

/** Keeps the pairs, in that order, whose experts are in none before. Returns how many. */
size_t mf_sleep_disjoint(const struct mf_sleep_state *state, size_t count, struct mf_sleep_pair *pair);

/** Experts that are more alike than @p similarity become one, the most alike first; each at most once. */
void mf_sleep_merge(struct mf_sleep_state *state, double similarity);

/** Experts that did little, and nothing for long, go: the idlest first. */
void mf_sleep_prune(struct mf_sleep_state *state);

/** Edges between experts that had records in common. `composition` is their number by that of the records of either.
 * `dependency` is their number by that of the expert with fewer, if it is at least half. */
void mf_sleep_relate(const struct mf_sleep_state *state);

/** The part of their samples that two experts share: sum of least over sum of largest shares of bins. A bin is a group
 * and the expert whose mean input is nearest. @p to [experts][experts]. */
void mf_sleep_overlaps(const struct mf_sleep_state *state, double *to);

/**
 * Experts that overlap get an edge, and divide their records, each at most with one other. An expert keeps those that
 * it had alone. For records of both, each gets the half for which the router prefers it more. It learns what the
 * mixture made of its part, and the router to tell the parts apart. That stays if the validation loss does not rise,
 * nor the merit fall. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT.
 */
int mf_sleep_divide(struct mf_sleep_state *state);

/** Result in words: "2 pairs overlap, 1 divided". The caller frees. */
char *mf_sleep_division(const struct mf_sleep_state *state);

/** Loss and merit (struct mf_learn) of the trainer on the validation split; NAN: it has no rows. Collective; refuses
 * (agreed) with MF_INPUT. */
int mf_sleep_score(struct mf_sleep_state *state, double *loss, double *merit);

/** Moves a hyperparameter; and the last one back, if the loss rose since then. */
void mf_sleep_tune(struct mf_sleep *sleep, double loss);

#endif
