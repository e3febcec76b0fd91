/* A network with all lists of its training: first, inner and last micro-batch of a step, sum of gradients, optimiser,
 * evaluation. Its memory and its operations are known before it runs, on any machine.
 * Rule: nothing here communicates; all functions are local. */
#ifndef MF_TRAIN_NETWORK_H
#define MF_TRAIN_NETWORK_H

#include "kernels/stage.h"
#include "kernels/tuning.h"
#include "src/model/model.h"
#include "src/model/registry.h"
#include "src/model/weights.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "src/place/device_map.h"
#include "src/train/learn.h"

/** How far a list is compiled. */
enum mf_compile {
    MF_COMPILE_REPLAY, /* fused; a device replays stretches of nodes */
    MF_COMPILE_TUNE,   /* and algorithms of its libraries are tried */
    MF_COMPILE_FUSE,   /* operations and their activations are one node */
    MF_COMPILE_NONE
};

static inline int mf_replays(enum mf_compile compile) { return compile <= MF_COMPILE_TUNE; }

struct mf_network_wish {
    const struct mf_arch *arch;
    struct mf_arch_args args;
    struct mf_task task;      /* what is learnt from a sample */
    size_t dims[4];           /* of a sample: {nz, ny, nx, channels} */
    const char *freeze;       /* parts that are not trained (mf_name_in()); NULL: none */
    const char *rate_of;      /* factors of the learning rate (parts.h); NULL: 1 */
    int plain;                /* norms, biases, embeddings and positions have no weight decay */
    size_t batch;             /* samples of one pass */
    size_t micro;             /* passes of a step on this rank; 0: the network is not trained */
    int slots;                /* passes are slots (slots.h), whose gradients the lists neither add up nor exchange */
    int stage;                /* of ZeRO */
    size_t ranks, rank;       /* that pass other samples */
    struct mf_partners split; /* ranks that share every layer and pass the same samples; of at most 1: none do */
    size_t stages, own;       /* of a pipeline, and this rank's; at most 1 stage: it has all of the network */
    const size_t *cut;        /* stages of its parts; NULL: by operations */
    enum mf_recompute recompute;
    enum mf_compile compile;
    enum mf_scope scope; /* of what is compiled */
    struct mf_algorithms
        *tuning;       /* algorithms are tried when lists are planned, and remembered there; NULL: they are not */
    enum mf_type type; /* of activations: f32, or one of 16 bits */
    int offload;       /* the optimiser is in host memory */
    int partition;     /* the ranks of split keep what they have alike in pieces */
    size_t spill;      /* activations of at least so many bytes wait there for backward; 0: none */
    enum mf_op_id optimiser;
    struct mf_attr moments; /* its constants */
    double average;         /* share of a moving average of the parameters that stays in a step; 0: there is none */
    struct mf_model_stream stream; /* of a network that is not trained */
    size_t bucket;                 /* about as many bytes of gradients are summed together */
};

/** A list that reads a batch, and the losses of its heads: of this batch's rows the part of the step's mean. */
struct mf_pass_list {
    struct mf_list *list;       /* NULL: it is not needed */
    int loss[MF_HEADS];         /* values [1] */
    unsigned reads;             /* bit k: it reads input number k, which is filled before */
    int input[MF_LEARN_INPUTS]; /* the values of these */
    int results; /* of a training: an array with the losses and the loads of experts, which the host reads */
};

/** What an evaluation tells of the first mixture of experts: values of its list, kept. rows [n][k]; hidden [n][..],
 * from which a linear layer makes scores [n][experts]; weights and choice [n][top]; outputs and places as
 * mf_op_permute has them. -1: the network has no mixture. The first of the layers of an expert makes inner of given. */
struct mf_routing {
    int rows, hidden, scores, weights, choice, outputs, places, given, inner;
    size_t layers;
};

/** The lists of a micro-batch on a stage of a pipeline. Values of several lists last. */
struct mf_pipe_slot {
    struct mf_pass_list pass;        /* forward; without stages after it with losses */
    struct mf_list *take, *backward; /* what comes of the stage before; backward, for which gradients come */
    struct mf_list *give;            /* gradients, to the stage before */
    double number[2];                /* MF_NUMBER_SAMPLE and MF_NUMBER_SAMPLES of its micro-batch */
};

struct mf_network {
    struct mf_net *net;
    struct mf_pass_list first, inner, last;       /* one micro-batch is `last` alone, two are `first` and `last` */
    struct mf_list *reduce;                       /* ends the sums over ranks, and makes squared norms */
    struct mf_list *optimise;                     /* and gathers parameters */
    struct mf_list *average_begin, *average_swap; /* of moving averages (pass.h); NULL: there are none */
    struct mf_pass_list evaluate;
    struct mf_routing routing;
    size_t joined; /* activations of `last` that became part of another node */
    struct mf_layout layout;
    size_t inputs, heads;
    struct mf_network_input {
        int value;
        struct mf_learn_input of;
    } input[MF_LEARN_INPUTS];
    struct mf_network_head {
        int output;     /* value of the evaluation [batch][numbers] */
        size_t numbers; /* of a sample */
    } head[MF_HEADS];
    size_t ranks, rank, ways; /* ways: ranks among which rows travel to experts; 1: they do not */
    size_t tensor;            /* ranks that share every layer; 1: none do */
    size_t stages, own;       /* of a pipeline, and this rank's. 1: there is none. Else: */
    size_t slots;             /* micro-batches that are under way here; then `last` is that of slot 0 */
    struct mf_pipe_slot *slot;
    struct mf_list *begin;    /* clears gradients; NULL: they are not added to */
    struct mf_device_map cut; /* stages of its parts */
    double *operations;       /* of parts [cut.parts] in forward */
    size_t mixtures, mixture; /* layers of experts; how many are in earlier stages, and so not here */
    int *norm, norms;         /* values [layout.buckets]: squared norm of the own gradients of a bucket; array of all */
    int biases;               /* array of the balance biases of all mixtures; -1: there are none */
    struct mf_queue *queue;
    struct mf_stage stage; /* of weights on their way between the device and checkpoints; not with offload */
};

/** The group of ranks with the same part of all layers, where others have other parts. Stages that do not follow each
 * other have no messages, so the number is free. */
static inline int mf_network_data_group(void) { return mf_link_group(0, 2); }

/** Makes the lists and plans them for @p queue. mf_network_free() frees, also after a refusal: MF_USAGE, MF_MEMORY,
 * MF_DEVICE. */
int mf_network_make(const struct mf_network_wish *wish, struct mf_queue *queue, struct mf_network *network);
void mf_network_free(struct mf_network *network);

/** Does this rank have the losses and outputs? */
static inline int mf_network_answers(const struct mf_network *network) { return network->own + 1 == network->stages; }

/** The value that the host fills under this name; -1: there is none. */
int mf_network_input(const struct mf_network *network, const char *name);

/** Its weights while @p walk is open. @p comm: as in struct mf_weights. */
struct mf_weights mf_network_weights(const struct mf_network *network, const struct mf_walk *walk,
                                     const struct mf_comm *comm);

/** Bytes of the largest array that a group of ranks exchanges, or that a trade in it sends and gets; 0 on one rank. */
size_t mf_network_largest(const struct mf_network *network, int group);

/** Floating-point operations of a list. */
double mf_network_operations(const struct mf_network *network, const struct mf_list *list);

#endif
