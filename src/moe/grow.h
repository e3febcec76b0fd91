/* Growth of a mixture of experts: a new expert is born where the router stays uncertain.
 *
 * The uncertainty of a step is the mean entropy of the router's probabilities, from 0 to 1. The mean is over the
 * samples of all ranks. Its moving average decides, so every rank decides the same. Knowledge about experts is in a
 * graph (graph.h). */
#ifndef MF_MOE_GROW_H
#define MF_MOE_GROW_H

#include "src/moe/graph.h"
#include "src/moe/history.h"
#include "src/moe/look.h"
#include "src/train/loop.h"

struct mf_grow_opts {
    double threshold; /* of the average; above it for `window` steps, an expert is born. 1: never */
    long window;      /* steps; the average forgets within about as many */
    long cooldown;    /* least number of steps between two births */
    long least, most; /* experts */
};

struct mf_grow {
    struct mf_grow_opts opts;
    struct mf_groups groups;  /* of samples */
    size_t ways;              /* parts of the experts, on as many ranks; at most 1: all have all */
    double speed[MF_EXPERTS]; /* [ways] of these (place.h) */
    /* saved in checkpoints: */
    struct mf_graph graph;
    struct mf_history history;
    char *text[2];            /* of both, as a checkpoint that is written has them */
    double average;           /* of the uncertainty */
    long above;               /* steps in a row in which it was above the threshold */
    long last;                /* step of the last birth; 0: none yet */
    long changes[MF_CHANGES]; /* so many of each kind */
    int full;                 /* it was said why no more experts are born */
};

/** Refuses (MF_USAGE) what makes no sense for @p experts experts at the start. A row goes to @p top of them. Local. */
int mf_grow_check(const struct mf_grow_opts *opts, long experts, long top);

/** The graph has the trainer's experts, and concepts are the dataset's classes (concepts.h). Local. */
void mf_grow_open(struct mf_grow *grow, const struct mf_grow_opts *opts, const struct mf_trainer *trainer);
void mf_grow_close(struct mf_grow *grow);

/** Counts a change, and writes a row of metrics of the kind "change". @p expert, @p other: ids; -1: none. Local. */
void mf_grow_note(struct mf_grow *grow, struct mf_loop *loop, enum mf_change what, long expert, long other);

/** For struct mf_loop: after every step. Collective. A birth for which there is no memory is left out, and said. */
int mf_grow_step(void *grow, struct mf_loop *loop, const struct mf_step *step);

/** For struct mf_loop: after every epoch. The graph learns which classes experts are chosen for, from the validation
 * split (the train split, where there is none). Collective; refuses (agreed) with MF_INPUT. */
int mf_grow_epoch(struct mf_grow *grow, struct mf_trainer *trainer);

/** For struct mf_loop: lists the state in a checkpoint, or takes it from one. Local. */
void mf_grow_list(void *grow, struct mf_checkpoint *checkpoint);

#endif
