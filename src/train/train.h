/* Trains a network on a dataset, on any number of ranks.
 *
 * A step takes one window of samples (window.h): ranks share its samples, and pass them in micro-batches. Gradients are
 * means over the window, so the result does not depend on how it is cut. Every function that a run calls is collective
 * unless it says otherwise. */
#ifndef MF_TRAIN_TRAIN_H
#define MF_TRAIN_TRAIN_H

#include "io/dataset.h"
#include "mpi/arrays.h"
#include "mpi/collect.h"
#include "mpi/rank_groups.h"
#include "src/base/bounds.h"
#include "src/model/stages.h"
#include "src/net/walk.h"
#include "src/run/checkpoint.h"
#include "src/train/network.h"
#include "src/train/scale.h"
#include "src/train/schedule.h"
#include "src/train/window.h"

/** What a sleep of experts needs beside the network. */
struct mf_sleep_memory {
    size_t records, bytes; /* that are replayed: at most */
    size_t batch;          /* of these in a step; 0: experts do not sleep */
};

/** Another training that takes turns with this one, of a network of the same architecture (distil.h). */
struct mf_beside {
    const struct mf_task *task; /* it outlives the trainer; NULL: there is none */
    size_t steps;               /* of it, for each step of this one */
    double rate;                /* learning rate, at its highest */
};

/** What is learnt, and how. The same on all ranks. */
struct mf_train_opts {
    const struct mf_arch *arch;
    struct mf_arch_args args;
    const struct mf_task *task; /* what is learnt from a sample; it outlives a trainer */
    const char *freeze;         /* parts of the network that stay as they are (mf_name_in()); NULL: none */
    const char *rate_of;        /* factors of the learning rate (parts.h); NULL: 1 */
    int plain;                  /* norms, biases, embeddings and positions have no weight decay */
    enum mf_op_id optimiser;
    struct mf_attr moments;      /* its constants */
    double average;              /* share of the run over which parameters are averaged, as scores and files take
                                    them; 0: they are not */
    enum mf_type type;           /* of activations: f32, or one of 16 bits */
    struct mf_scale_opts scale;  /* of the loss; f16 */
    size_t skips;                /* a run ends after so many steps in a row whose gradients are not finite */
    struct mf_schedule schedule; /* its steps are those of the run */
    int grows;                   /* experts are born and go */
    struct mf_sleep_memory sleep;
    size_t compare;     /* after so many steps ranks compare their parameters; 0: never */
    double decay, clip; /* clip: largest norm of the gradients; 0: any */
    size_t effective;   /* samples of a step, over all ranks */
    size_t tensor;      /* ranks that share every layer, and pass the same samples; at most 1: none do */
    size_t stages;      /* of a pipeline, each with some of the layers; at most 1: there is none */
    size_t balance;     /* after so many steps their times are compared (balance.h); 0: never */
    const size_t *cut;  /* stages of the parts of the network; NULL: by operations */
    uint64_t seed;
    struct mf_beside beside;
    size_t slots; /* parts of a step by which the weights are the same to the bit on any number of ranks (slots.h); 0:
                     not */
    /* what a plan decides; the result does not depend on it */
    size_t batch; /* samples of one pass */
    int stage;    /* of ZeRO: 0 to 3 */
    size_t ways;  /* ranks that share the experts of a mixture, at most, a divisor of the ranks; 0: none do */
    enum mf_recompute recompute;
    enum mf_compile compile;
    enum mf_scope scope;          /* of what is compiled */
    struct mf_algorithms *tuning; /* of MF_COMPILE_TUNE; NULL: nothing is tried */
    int offload;                  /* the optimiser is in host memory, while that of the back end is a device's */
    int partition;                /* ranks that share layers keep what they have alike in pieces */
    size_t spill;                 /* activations of at least so many bytes wait there for backward; 0: none */
    size_t readers;               /* threads */
    size_t bucket;                /* [bytes] */
};

/** A network that is scored: that of a trainer, or of a model's file. */
struct mf_scorer {
    const struct mf_comm *comm;
    const struct mf_comm *data; /* ranks that share the samples; NULL: all */
    int silent;                 /* another rank tells what this one would */
    struct mf_arena *arena;     /* of readers */
    struct mf_queue *queue;
    const struct mf_dataset *set;
    const struct mf_task *task;
    size_t batch, readers;
    const struct mf_network *network;
    struct mf_walk *walk;
    struct mf_feeder *feeder; /* batches on their way to the device */
    /* of mf_scorer_open(): */
    struct mf_model_stream stream;
    struct mf_network *own;
    struct mf_stages stages; /* of ranks that cut weights */
};

struct mf_trainer {
    const struct mf_comm *comm;
    const struct mf_comm *data; /* ranks that share the samples, and have the same part of every layer */
    struct mf_arena *arena;
    struct mf_queue *queue;
    const struct mf_dataset *set;
    struct mf_train_opts opts;
    struct mf_experts experts;    /* opts.args.list of a mixture */
    struct mf_comm pipeline;      /* ranks that have the stages of this one's pipeline; size 0: there is none */
    struct mf_rank_groups groups; /* of ranks; without MF_GROUP_EXPERTS: none share experts; and so of layers */
    struct mf_network network;
    struct mf_arrays *arrays;
    struct mf_walk *walk;
    struct mf_weights weights;
    struct mf_scorer scorer;
    struct mf_queue *home; /* with offload: of the cores, whose memory ranks exchange in */
    void *pinned;          /* that memory, if it is pinned here */
    struct mf_reader *reader;
    struct mf_slots *slots;
    size_t *id;                      /* [batch] */
    char *fetched;                   /* what the host reads in a step (enum mf_fetch): [..][fetches] bytes */
    size_t fetches, *copied, copies; /* copied [copies]: numbers of copies on their way there */
    double *sums;                    /* of a step over ranks (enum mf_step_sum); then the loads */
    double *load;  /* [mixtures][experts + 2] of the last step, all ranks: rows of each expert, sum of uncertainties,
                      rows of all */
    size_t micro;  /* passes of a step on every rank */
    size_t step;   /* steps that were made or skipped */
    size_t wanted; /* passes whose samples the reader was asked for, from the first step on */
    size_t skipped;
    int rounds; /* parameters differ by rounding between ranks (replicas.h), and a line has said so */
    struct mf_scale scale;
    size_t *cut;  /* opts.cut, if stages were cut anew */
    double busy;  /* seconds of lists without exchanges, since the last call of mf_balance() */
    double *work; /* [works] the same of each step since stages were compared */
    size_t works;
    double longest; /* seconds of a step in the slowest stage, before they were cut anew; 0: they were not */
};

/** Sums of a step. The losses of further heads stand behind that of the first. */
enum mf_step_sum { MF_SUM_SQUARE, MF_SUM_FAILED, MF_SUM_DROPPED, MF_SUM_LOSS };

/** What came of a step, the same on all ranks. */
struct mf_step {
    double loss;    /* the sum that is learnt, of means over the window's rows, before the step; 0: no rows */
    double norm;    /* of the gradients, before they are clipped */
    double rate;    /* learning rate */
    int skipped;    /* the gradients were not finite; 2: only since the scale of the loss was too large */
    size_t samples; /* of the window */
    size_t rows;    /* that count in means, of all heads */
    size_t head_rows[MF_HEADS];
    double head_loss[MF_HEADS]; /* mean over the rows of the head */
    double uncertainty;         /* of a mixture: mean entropy of the router's probabilities, from 0 to 1 */
    double sent, dropped;       /* rows that its layers sent to experts; of these, those beyond the capacity factor */
};

/** Gives the network of a scorer a batch, at most scorer->batch items. The outputs of every head, [n][numbers of the
 * head], come to @p output [heads]. Local, but where ranks cut the weights. Then all look as often, those without a
 * batch by NULL. */
void mf_scorer_look(struct mf_scorer *scorer, const struct mf_batch *batch, float *const output[]);

/** The options of the training beside one that has it. Its plan is the same. */
struct mf_train_opts mf_train_beside(const struct mf_train_opts *opts);

/** Ranks that pass the same samples: those that share layers, of all stages. Local. */
static inline size_t mf_train_crew(const struct mf_train_opts *opts)
{
    return mf_max(1, opts->tensor) * mf_max(1, opts->stages);
}

/** How many of @p ranks pass different samples. Local. */
static inline size_t mf_train_data(const struct mf_train_opts *opts, size_t ranks)
{
    return mf_max(1, ranks / mf_train_crew(opts));
}

/** The stage of a rank. Local. */
static inline size_t mf_train_stage(const struct mf_train_opts *opts, size_t rank)
{
    return (size_t)mf_stage_of(mf_max(1, opts->tensor), mf_max(1, opts->stages), (int)rank);
}

/** Are parameters in host memory, whatever ranks there are? Local. */
static inline int mf_train_streams(const struct mf_train_opts *opts) { return opts->offload && opts->stage == 3; }

/** How experts are divided: ranks among which rows travel; parts of the experts, 1: every rank has all. */
struct mf_parting {
    size_t traders, parts;
};

/** How so many experts are, and which part a rank has. Local. */
struct mf_parting mf_train_parting(const struct mf_train_opts *opts, size_t ranks, size_t experts);
size_t mf_train_expert_part(const struct mf_train_opts *opts, const struct mf_parting *parting, size_t rank);

/** The network that one of @p ranks makes with these options. Its bytes and operations are known before any run. */
struct mf_network_wish mf_train_wish(const struct mf_dataset *set, const struct mf_train_opts *opts, size_t ranks,
                                     size_t rank);

/** Opens a trainer, whose weights are at their start. Refuses (agreed) with MF_USAGE, MF_INPUT, MF_MEMORY. The caller
 * closes it in every case. */
int mf_trainer_open(const struct mf_comm *comm, struct mf_arena *arena, struct mf_queue *queue,
                    const struct mf_dataset *set, const struct mf_train_opts *opts, struct mf_trainer *trainer);
void mf_trainer_close(struct mf_trainer *trainer);

/**
 * Makes the network anew with these experts, and gives it what was carried over. NULL: its weights are at their start.
 * Refuses (agreed) as mf_trainer_open(). With MF_MEMORY the trainer is then as it was, if something was carried.
 */
struct mf_carry;
int mf_trainer_rebuild(struct mf_trainer *trainer, const struct mf_experts *experts, const struct mf_carry *carry);

/** Makes the network anew with other stages: @p stage [parts]. Weights are at their start. Refuses (agreed) as
 * mf_trainer_open(). */
int mf_trainer_recut(struct mf_trainer *trainer, const size_t *stage);

/** Does this rank tell of its stage? Ranks that share layers have the same to tell. Local. */
int mf_trainer_leads(const struct mf_trainer *trainer);

/** Layers of experts, of all stages. Local. */
size_t mf_trainer_mixtures(const struct mf_trainer *trainer);

/** Steps of an epoch. Local. */
size_t mf_trainer_epoch(const struct mf_trainer *trainer);

/**
 * Makes the next step. @p wish [n] become the ranks' maxima on the way. Where gradients are not finite on one rank, no
 * rank changes its weights. Refuses (agreed) with MF_INPUT a sample that cannot be read.
 */
int mf_trainer_step(struct mf_trainer *trainer, size_t n, int64_t *wish, struct mf_step *step);

/** Exchanges the parameters with their moving averages, if there are any: before scores and files, and again behind
 * them. Collective. */
void mf_trainer_swap(struct mf_trainer *trainer);

/** Opens the network of a model's file, with its weights and without a trainer. The caller has set the members up to
 * `readers`; all outlive the scorer. Refuses (agreed) with MF_INPUT, MF_NUMERIC, MF_MEMORY, MF_DEVICE.
 * mf_scorer_close() closes in every case. */
int mf_scorer_open(const struct mf_model_card *card, struct mf_scorer *scorer);
void mf_scorer_close(struct mf_scorer *scorer);

/** Scores on the samples @p id [n], each of which counts once. Ranks take whole batches. On any number of ranks scores
 * are the same to the bit, if weights and batch are. @p outputs: those of all samples are wanted. Refuses (agreed) with
 * MF_INPUT. mf_scores_free() frees. */
int mf_score(struct mf_scorer *scorer, size_t n, const uint32_t *id, int outputs, struct mf_scores *scores);
void mf_scores_free(struct mf_scores *scores);

static inline int mf_trainer_score(struct mf_trainer *trainer, size_t n, const uint32_t *id, int outputs,
                                   struct mf_scores *scores)
{
    return mf_score(&trainer->scorer, n, id, outputs, scores);
}

/**
 * Passes the samples @p id [n] through the network, each rank its share, and gives a batch to @p see while the kept
 * values of network.evaluate are those of it. Refuses (agreed) with MF_INPUT. Collective.
 */
int mf_scorer_pass(struct mf_scorer *scorer, size_t n, const uint32_t *id,
                   void (*see)(void *context, const struct mf_batch *batch), void *context);

/** Lists the state of a trainer in a checkpoint, or fills it from one. @p before stands before all names. Local. */
void mf_trainer_keep(struct mf_trainer *trainer, const char *before, struct mf_checkpoint *checkpoint);

#endif
