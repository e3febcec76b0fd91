/* Inner header of this folder: one sleep. Numbers of experts are those of the survey, which is made at its beginning.
 */
#ifndef MF_MOE_SLEEP_PRIV_H
#define MF_MOE_SLEEP_PRIV_H

#include "src/moe/sleep.h"

/** A change, to be noted when the sleep has succeeded. */
struct mf_night_event {
    enum mf_change what;
    long expert, other;
};

struct mf_night {
    struct mf_sleep *sleep;
    struct mf_trainer *trainer;
    struct mf_graph *graph;
    struct mf_carry *carry;   /* the weights that change */
    struct mf_survey survey;  /* of the experts at its beginning */
    struct mf_experts before; /* these; and those that remain: */
    struct mf_experts experts;
    size_t order[MF_EXPERTS]; /* their numbers by growing ids: decisions do not depend on where experts are */
    struct mf_night_event event[MF_EXPERTS];
    size_t events;
    double loss;                  /* of the validation split; NAN: not known, or it has no rows */
    size_t steps;                 /* of replay */
    size_t pairs, tried, divided; /* that overlap; of these divided in a trial; and not taken back */
};

/** A sleep of the trainer's experts. */
struct mf_night mf_night_of(struct mf_sleep *sleep, struct mf_trainer *trainer);

/** Adds an event. */
void mf_night_note(struct mf_night *night, enum mf_change what, long expert, long other);

/** How alike two experts of the carry are: 0.6 of the cosine of their weights and 0.4 of that of their mean inputs;
 * where one has none, the first alone. */
double mf_night_similarity(const struct mf_night *night, size_t one, size_t other);

/** Experts that are more alike than @p similarity become one, the most alike first; each at most once. */
void mf_night_merge(struct mf_night *night, double similarity);

/** Experts that did little, and nothing for long, go: the idlest first. */
void mf_night_prune(struct mf_night *night);

/** The part of their samples that two experts share: sum of least over sum of largest shares of bins. A bin is a group
 * and the expert whose mean input is nearest. @p to [experts][experts]. */
void mf_night_overlaps(const struct mf_night *night, double *to);

/**
 * Experts that overlap get an edge, and divide their records, each at most with one other. An expert keeps those that
 * it had alone; of those that both had, each gets the half for which the router prefers it more. It learns what the
 * mixture made of its part, and the router to tell the parts apart. That stays if the validation loss does not rise,
 * nor the merit fall. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT.
 */
int mf_night_divide(struct mf_night *night);

/** What came of it: "2 pairs overlap, 1 divided". The caller frees. */
char *mf_night_division(const struct mf_night *night);

/** Loss and merit (mf_scores_merit()) of the trainer on the validation split; NAN: it has no rows. Collective; refuses
 * (agreed) with MF_INPUT. */
int mf_night_score(struct mf_night *night, double *loss, double *merit);

/** Moves a knob; and the last one back, if the loss rose since then. */
void mf_sleep_tune(struct mf_sleep *sleep, double loss);

#endif
