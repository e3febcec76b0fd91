/* What a reconstruction will do on a machine and why: how many ranks where, how many slices in flight, how much memory
 * each rank takes, what an evaluation costs (docs/PLANNER.md). Pure: the same machine, problem and options give the
 * same plan, on every rank, at every time, on every machine. */
#ifndef MF_PLAN_PLAN_H
#define MF_PLAN_PLAN_H

#include <stddef.h>

#include "mpi/wire.h"
#include "src/plan/hardware.h"

enum {
    MF_PLAN_VERSION = 1,
    MF_PLAN_TAGS = 40,
    MF_PLAN_REASON = 200,
    MF_PLAN_LINES = 48,
    MF_PLAN_HASH = 17,
    MF_PLAN_TRIALS = 3
};

/** "key: value": what two plans must have in common. */
struct mf_plan_line {
    char key[32], value[160];
};

/** What is solved, as far as memory and time depend on it. */
struct mf_plan_problem {
    size_t dims[3], fields, lag, levels; /* levels: of the pyramid, most of all directions */
    int s2, variation, fraction;         /* which descriptors are compared */
    int further;                         /* how many others, and */
    double further_flops[2];             /* what they compute per voxel and field, all directions and levels: on cores,
                                            on a device */
    int twice;                           /* RMS, L2: the forward half runs twice */
    int periodic;
    int remembers;  /* the optimiser keeps pairs of vectors: a history */
    double traffic; /* bytes that its steps move per voxel and field, less those of pairs */
    size_t lines;
    struct mf_plan_line line[MF_PLAN_LINES]; /* the caller's description, compared when a plan is used again */
};

/** Where fields and the optimiser's vectors stay in a run on devices: there, or in host memory, from where slices pass
 * through the device. Auto: there, if they fit. */
enum mf_residency { MF_RESIDE_AUTO, MF_RESIDE_DEVICE, MF_RESIDE_HOST };

/** What the user fixed; 0: free. */
struct mf_plan_options {
    const char *device; /* "auto", "cpu", "cuda" */
    size_t ranks, threads, batch, history;
    int threads_free; /* on cores fewer threads may do */
    int history_fixed;
    size_t memory_limit; /* bytes of arrays per rank; 0: none */
    size_t gpu_ids;
    const long *gpu_id; /* [gpu_ids] the only GPUs of every node that may be used */
    int share_gpu;
    int apart; /* on cores too the state is in a memory of its own (the shadow back end) */
    enum mf_residency residency;
    enum mf_exchange exchange; /* of GPUs; a run says what it has, nccl or host */
};

/** What is there already: a run's ranks. NULL pointers where the plan may choose. */
struct mf_plan_world {
    size_t ranks;
    const int *node;       /* [ranks] of the hardware's nodes, each host counted as often as its count says */
    const size_t *threads; /* [ranks] */
    const size_t *in_use;  /* [ranks] bytes of arrays that a rank holds on its node already and will go on holding */
};

/** One setting of a rank whose memory is wanted. */
struct mf_plan_setting {
    size_t ranks, rank, local_size, threads, batch, history;
    const char *simd; /* of its node */
    int apart;        /* 1: two memories */
    int passes;       /* 1: fields in the second, slices pass through the first */
    int capability;   /* of its GPU, 10 major + minor; 0: on cores */
    int wired;        /* 1: device memory travels by NCCL */
    size_t in_use;
};

/** Bytes of arrays of one memory when it is fullest, and what they are: the parts add up to the total. */
struct mf_plan_bytes {
    double planes, sums; /* of an evaluation that goes by strips: planes beside the slab that travel, and sums of all
                            ranks; 0: whole slices travel */
    size_t total, tags;
    struct {
        char name[40];
        size_t bytes;
    } tag[MF_PLAN_TAGS];
};

enum { MF_PLAN_STATE, MF_PLAN_HOST, MF_PLAN_MEMORIES };

/**
 * Asks how many bytes a rank takes where the state is (a GPU, or its node), and of a GPU's rank on its node. Refuses
 * as the run would.
 */
typedef int mf_plan_measure(void *context, const struct mf_plan_setting *setting,
                            struct mf_plan_bytes bytes[MF_PLAN_MEMORIES]);

/** Seconds of one evaluation on the slowest rank, and what they are made of. */
struct mf_plan_cost {
    double memory, arithmetic, exchange, waiting, total;
    double objective; /* of the total what loss and gradient take, without the optimiser's passes */
};

/** Ranks laid out on nodes. */
struct mf_placement {
    int device; /* 1: one GPU each (or shared) */
    int wired;  /* 1: they exchange by NCCL */
    size_t nodes, per_node, ranks, threads;
    const int *node;      /* [ranks] */
    const int *gpu;       /* [ranks] place in the node's list; -1: none */
    const size_t *in_use; /* [ranks] as in a world; NULL: nothing */
};

struct mf_plan_candidate {
    int device, apart, passes; /* apart: state and host are two memories; passes: fields stay in host memory, slices
                                  pass through the device */
    size_t nodes, per_node, ranks, threads, batch, history;
    size_t bytes, free;  /* of the rank with the least room left, in the memory of which it has the least */
    double planes, sums; /* as of mf_plan_bytes, of a rank */
    size_t rank;         /* that rank */
    int host;            /* 1: that memory is a GPU's rank's on its node */
    double seconds;      /* of an evaluation; 0: not looked at, it does not fit */
    int fits, chosen;
    char reason[MF_PLAN_REASON];
};

struct mf_plan {
    struct mf_plan_problem problem;
    size_t machine_lines;
    struct mf_plan_line machine[MF_PLAN_LINES];
    /* what will be done */
    int device, apart, passes; /* apart: there are two memories; passes: as of the candidate */
    size_t nodes, per_node, ranks, ranks_per_gpu, threads, batch, history, asked_history;
    size_t in_flight[3], rounds[3];  /* slices per rank and rounds, by normal z y x */
    const char *exchange;            /* "none", "shared memory" and (of several nodes) "messages", "nccl" */
    size_t *bytes[MF_PLAN_MEMORIES]; /* [ranks] of arrays; the second NULL where there is one memory */
    size_t fullest;                  /* rank with the least room left */
    struct {
        struct mf_plan_bytes arrays;
        size_t context, reserve, room; /* what the program takes beside arrays, what is left alone, what is there for
                                          arrays */
    } memory[MF_PLAN_MEMORIES];        /* of that rank */
    struct mf_plan_cost cost;
    size_t candidates;
    struct mf_plan_candidate *candidate;
    const struct mf_plan_candidate *least; /* nothing fits: the one that lacks least; else NULL */
    size_t trials; /* batches that were tried here: seconds of an evaluation, foretold and taken */
    struct {
        size_t batch;
        double predicted, measured;
    } trial[MF_PLAN_TRIALS];
    size_t notes;
    char note[8][MF_PLAN_REASON];
    size_t why_cores; /* the one, from 1, that says why not GPUs although they are allowed; 0: none does */
    char hash[MF_PLAN_HASH];
};

/**
 * Makes a plan. @p world NULL: ranks are chosen too. Not collective. Refuses with MF_MEMORY when nothing fits (bytes
 * needed and there, and the least plan; plan->least and the candidates then stand in @p plan), MF_DEVICE (--gpu_ids or
 * --device that the machine has not), MF_USAGE (more ranks than there are pairs of planes is none: they idle).
 * mf_plan_free() it, also after a refusal.
 */
int mf_plan_make(const struct mf_hardware *hardware, const struct mf_plan_problem *problem,
                 const struct mf_plan_options *options, const struct mf_plan_world *world, mf_plan_measure *measure,
                 void *context, struct mf_plan *plan);
void mf_plan_free(struct mf_plan *plan);

/** "cpu", "cuda", "shadow": the back end of a setting. */
const char *mf_plan_device(int device, int apart);

/** Sets plan->hash from all that stands in its JSON. */
void mf_plan_seal(struct mf_plan *plan);

/** The plan as JSON, its hash last; where nothing fits: the candidates and the least of them, without a hash. */
struct mf_json *mf_plan_json(const struct mf_plan *plan);

/** Is the hash of a plan's JSON that of its text? */
int mf_plan_is_whole(struct mf_json *json);

/**
 * Takes the settings (nodes, ranks, of a node and of a GPU, threads, batch, history, device) and lines of a plan that
 * was written. Refuses with MF_INPUT what is no plan or was changed by hand. @p plan holds no candidates then.
 */
int mf_plan_read(const char *path, struct mf_plan *plan);

/** Refuses with MF_INPUT, naming the first line that differs, a plan of another problem or machine. */
int mf_plan_same(const char *path, const struct mf_plan *stored, const struct mf_plan_problem *problem,
                 const struct mf_hardware *hardware);

/** Of the problem's lines those of @p key alone, with the same sentence. */
int mf_plan_same_key(const char *path, const struct mf_plan *stored, const struct mf_plan_problem *problem,
                     const char *key);

/** Appends a line (printf format). */
void mf_plan_say(size_t *lines, struct mf_plan_line *line, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** The lines of a machine: what does not change from run to run. */
void mf_plan_machine(const struct mf_hardware *hardware, size_t *lines, struct mf_plan_line *line);

/* -- parts -- */

/** Nodes of a machine, every host counted as often as its count says; node @p i. */
size_t mf_plan_nodes(const struct mf_hardware *hardware);
const struct mf_host *mf_plan_node(const struct mf_hardware *hardware, size_t i);

/**
 * Bytes of a rank beside its arrays, bytes that are left alone, and what is there for its arrays, on its GPU or on its
 * node.
 */
void mf_plan_room(const struct mf_hardware *hardware, const struct mf_placement *place, size_t rank, int on_gpu,
                  size_t limit, size_t *context, size_t *reserve, size_t *room);

/** Bytes through memory per voxel and field where whole slices travel, in both directions, and their gradients back. */
enum { MF_PLAN_COPIED = 64 };

/**
 * What an evaluation by strips has a rank move, by bytes of the planes beside its slab and of the sums (struct
 * mf_plan_bytes): through its memory every float is written, sent and read; over a node's network go the planes of the
 * ranks at its borders, as many as one rank has on both sides, and sums, added up on the node, once each way.
 */
struct mf_plan_moved {
    double memory, network; /* bytes */
};
struct mf_plan_moved mf_plan_strips(double planes, double sums);

/** Threads that are worth their call on each of @p ranks ranks whose cores compute: 1 to @p most. */
size_t mf_plan_threads(const struct mf_plan_problem *problem, size_t ranks, size_t most);

/** The cost model of docs/PLANNER.md. @p rounds: of all directions that go in rounds; @p c: history, memories, and
 * what travels by strips. */
struct mf_plan_cost mf_plan_price(const struct mf_hardware *hardware, const struct mf_plan_problem *problem,
                                  const struct mf_placement *place, const struct mf_plan_candidate *c, size_t rounds);

#endif
