/* A training as a workload of the planner (src/plan/workload.h). Its settings are "batch" (samples of one pass)
 * and "passes" (of a rank in one step). Further ones are "zero", "recompute" (enum mf_recompute) and "readers". There
 * are "offload" and "spill" [bytes] where they are not 0. There are "tensor" (ranks that share every layer) and
 * "stages" (of a pipeline) where they are not 1. None of them changes what a step computes.
 */
#ifndef MF_TRAIN_WORKLOAD_H
#define MF_TRAIN_WORKLOAD_H

#include <stdio.h>

#include "src/plan/plan.h"
#include "src/train/train.h"

/** A setting may be from least to most. */
struct mf_train_range {
    int least, most;
};

struct mf_train_work {
    const struct mf_dataset *set; /* facts alone; trials read its samples */
    const struct mf_train_opts *opts;
    int deterministic;

    /* requested by the user; 0: free */
    size_t effective; /* 0: batch x passes x ranks */
    size_t batch, passes;
    int exact; /* every pass is full */
    struct mf_train_range stage, recompute, offload;
    struct mf_train_range partition;      /* counts where ranks share layers */
    struct mf_train_range tensor, stages; /* from 1 on; most 0: as in opts */
    size_t spill;                         /* [bytes] */
    long readers;                         /* -1: free */

    /* for trials: ranks and queue of the run; worth: skip trials that cost too much of a run */
    const struct mf_comm *comm;
    struct mf_queue *queue;
    int worth;
};

/** Passes of a step for each stage of a pipeline, unless the user requests others. So stages wait little. */
enum { MF_TRAIN_AHEAD = 4 };

/** The workload. Its context is a struct mf_train_work. */
extern const struct mf_plan_workload mf_train_workload;

/** The lines of a problem that options alone decide: verb and network. */
void mf_train_describe(const struct mf_train_opts *opts, struct mf_plan_lines *lines);

/** Ranks that share every layer (@p name "tensor"), or stages of a pipeline ("stages"), by a plan's settings. */
size_t mf_train_way(const struct mf_plan_numbers *settings, const char *name);

/** Samples of a step on so many ranks. */
size_t mf_train_effective(const struct mf_train_work *work, size_t ranks);

/** Copies the settings of a plan to the options of a run, and back (without the passes). */
void mf_train_take_settings(const struct mf_plan_numbers *settings, struct mf_train_opts *opts);
void mf_train_give_settings(const struct mf_train_opts *opts, struct mf_plan_numbers *settings);

/** Takes the next setting that needs less memory for the same step: passes of half as many samples, down to about
 * eight; then backward computes more again; then ranks share more; then the optimiser is offloaded; at last passes of
 * fewer samples. What the user requested stays. Returns 0: nothing is left. */
int mf_train_shrink(const struct mf_train_work *work, size_t ranks, struct mf_train_opts *opts);

/** Prints all lists of a rank of a training with these options: "list first: ..." and a line for each node. Refuses as
 * mf_network_make(). */
int mf_train_print_lists(const struct mf_train_work *work, const struct mf_plan_rank *rank,
                         const struct mf_plan_numbers *settings, FILE *to);

/** Writes who passes how many samples in a step: "4 ranks x 2 passes of 8". Ranks that pass the same samples, @p crew
 * of them, are a group: "2 groups of 2 ranks x 2 passes of 8". Returns @p text. Local. */
enum { MF_TRAIN_STEP_TEXT = 128 };
const char *mf_train_step_text(size_t sharers, size_t crew, size_t passes, size_t batch, char text[MF_TRAIN_STEP_TEXT]);

/* -- parts of the workload -- */

/* Facts of a step. Traffic, gradients and what ranks exchange are in bytes. MF_TRAIN_SUMMED and MF_TRAIN_SUMS are bytes
 * and number of the sums over ranks that share layers. MF_TRAIN_MESSAGES are bytes between stages, and MF_TRAIN_COPIED
 * those of activations that wait in the memory of the node. */
enum {
    MF_TRAIN_OPERATIONS,
    MF_TRAIN_TRAFFIC,
    MF_TRAIN_GRADIENTS,
    MF_TRAIN_NODES,
    MF_TRAIN_EXCHANGED,
    MF_TRAIN_SUMMED,
    MF_TRAIN_SUMS,
    MF_TRAIN_MESSAGES,
    MF_TRAIN_COPIED
};

int mf_train_bytes(const void *work, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                   struct mf_plan_bytes bytes[MF_PLAN_MEMORIES]);
void mf_train_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                    struct mf_plan_cost *cost);

#endif
