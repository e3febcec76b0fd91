/* A plan: what a task will do on a machine and why. It says which ranks on which nodes and GPUs, with which settings,
 * how many bytes each rank takes and how many seconds a step costs (docs/PLANNER.md). The planner is a pure function:
 * the same machine, task and options give the same plan on every rank and on every machine. */
#ifndef MF_PLAN_PLAN_H
#define MF_PLAN_PLAN_H

#include "mpi/nccl_transport.h"
#include "src/plan/task.h"

enum { MF_PLAN_VERSION = 2, MF_PLAN_REASON = 200, MF_PLAN_NOTES = 8, MF_PLAN_HASH = 17 };

/** What the user fixed; 0: free. */
struct mf_plan_options {
    const char *device; /* "auto", "cpu", "cuda" */
    size_t ranks, threads;
    int threads_free;    /* on cores fewer threads may do */
    size_t memory_limit; /* bytes of arrays per rank; 0: none */
    size_t gpu_ids;
    const long *gpu_id; /* [gpu_ids] the only GPUs of every node that may be used */
    int share_gpu;
    int apart;                 /* on cores too the state is in a memory of its own (the shadow back end) */
    int stays;                 /* 1: "auto" keeps to GPUs where there are some */
    const char *remedy;        /* what the user forbade and would help on GPUs ("--residency auto"); NULL: nothing */
    enum mf_exchange exchange; /* of GPUs; a run says what it has, nccl or host */
};

/** The ranks of a run, where there are some already. */
struct mf_plan_world {
    size_t ranks;
    const int *node;       /* [ranks] as in a placement */
    const size_t *threads; /* [ranks] */
    const size_t *in_use;  /* [ranks] bytes of arrays that a rank holds on its node already and will go on holding */
};

/** A layout of ranks with settings, as the search found it. */
struct mf_plan_candidate {
    int device, apart;
    size_t nodes, per_node, ranks, threads;
    struct mf_plan_numbers settings;
    double fact[MF_PLAN_FACTS]; /* of the last rank's bytes */
    size_t bytes, free;         /* of the rank with the least room left, in the memory where it has the least */
    size_t rank;                /* that rank */
    int host;                   /* 1: that memory is a GPU's rank's on its node */
    double seconds;             /* of a step; 0: it does not fit */
    int fits, chosen;
    char reason[MF_PLAN_REASON];
};

struct mf_plan {
    const struct mf_plan_task *task; /* NULL: read from a file */
    struct mf_plan_lines problem, machine;
    int device, apart;
    size_t nodes, per_node, ranks, ranks_per_gpu, threads;
    struct mf_plan_numbers settings, derived; /* derived: what follows from the settings */
    const char *exchange;                     /* as mf_plan_exchange() says */
    size_t *bytes[MF_PLAN_MEMORIES];          /* [ranks] of arrays; the second NULL where there is one memory */
    size_t fullest;                           /* rank with the least room left */
    struct {
        struct mf_plan_bytes arrays;
        size_t context, reserve, room; /* what the program takes beside arrays, what is left alone, what is there for
                                          arrays */
    } memory[MF_PLAN_MEMORIES];        /* of that rank */
    struct mf_plan_cost cost;
    size_t candidates;
    struct mf_plan_candidate *candidate;
    const struct mf_plan_candidate *least; /* nothing fits: the one that lacks least; else NULL */
    size_t trials;                         /* settings that were tried by real steps: seconds, predicted and measured */
    struct {
        struct mf_plan_numbers settings;
        double predicted, measured;
    } trial[MF_PLAN_TRIALS];
    size_t notes;
    char note[MF_PLAN_NOTES][MF_PLAN_REASON];
    size_t why_cores; /* the note, from 1, that says why not GPUs although they are allowed; 0: none does */
    char hash[MF_PLAN_HASH];
};

/** What a plan is made from. */
struct mf_plan_ask {
    const struct mf_hardware *hardware;
    const struct mf_plan_task *task;
    void *context; /* of the task */
    const struct mf_plan_options *options;
    const struct mf_plan_world *world; /* NULL: ranks are chosen too */
};

/**
 * Makes a plan. Not collective. Refuses with MF_MEMORY when nothing fits (bytes needed and there, and the least plan;
 * plan->least and the candidates then stand in @p plan), with MF_USAGE when the task has no setting for the ranks, with
 * MF_DEVICE (--gpu_ids or --device that the machine has not), and as the task does. mf_plan_free() it, also after a
 * refusal.
 */
int mf_plan_make(const struct mf_plan_ask *ask, struct mf_plan *plan);
void mf_plan_free(struct mf_plan *plan);

/** "cpu", "cuda", "shadow": the back end of a setting. */
const char *mf_plan_device(int device, int apart);

/** Appends a note (printf format); no more than there is room for. */
void mf_plan_note(struct mf_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Sets plan->hash from all that stands in its JSON. */
void mf_plan_seal(struct mf_plan *plan);

/** The plan as JSON, its hash last; where nothing fits: the candidates and the least of them, without a hash. */
struct mf_json *mf_plan_json(const struct mf_plan *plan);

/** Is the hash of a plan's JSON that of its text? */
int mf_plan_is_whole(struct mf_json *json);

/** Reads numbers that mf_plan_json() wrote; 0: these are none. */
int mf_plan_numbers_read(const struct mf_json *json, struct mf_plan_numbers *numbers);

/** Prints a plan for people; with @p explain every array of the fullest rank and every candidate too. */
void mf_plan_print(FILE *to, const struct mf_plan *plan, int explain);

/* -- plans of files -- */

/**
 * Takes what a stored plan fixes (nodes, ranks, threads, device, settings) and its lines. Refuses with MF_INPUT what is
 * no plan, of another schema version, or changed by hand. mf_plan_free() it, also after a refusal.
 */
int mf_plan_read(const char *path, struct mf_plan *plan);

/** Refuses with MF_INPUT, naming the first line that differs, a plan of another problem or machine. */
int mf_plan_same(const char *path, const struct mf_plan *stored, const struct mf_plan_lines *problem,
                 const struct mf_hardware *hardware);

/** Of the problem's lines those of @p key alone, with the same sentence. */
int mf_plan_same_key(const char *path, const struct mf_plan *stored, const struct mf_plan_lines *problem,
                     const char *key);

/** What a stored plan says and a run does not do: MF_USAGE. @p value of setting @p name: given by @p option. */
int mf_plan_for_ranks(const char *path, const struct mf_plan *stored, size_t ranks);
int mf_plan_for_device(const char *path, const struct mf_plan *stored, const char *device);
int mf_plan_for_threads(const char *path, const struct mf_plan *stored, size_t rank, size_t threads);
int mf_plan_for_setting(const char *path, const struct mf_plan *stored, const char *name, const char *option,
                        size_t value);

/** The lines of a machine: what does not change from run to run. */
void mf_plan_machine(const struct mf_hardware *hardware, struct mf_plan_lines *lines);

/* -- plans of ranks -- */

/** Rank 0's code @p rc on all ranks, and its sentence as it is. Collective. */
int mf_refuse_together(const struct mf_comm *comm, int rc);

/** Rank 0's plan as JSON on all ranks. Collective; MF_BROKEN where it is not whole. */
int mf_plan_share(const struct mf_comm *comm, const struct mf_plan *mine, struct mf_json **json);

/**
 * Tries the settings of rank 0's plan and its task's rivals by real steps, and makes the plan again with the fastest,
 * which must gain 3 %. plan->trials (on all ranks) is 0 where there was nothing to try. Collective; refuses (agreed).
 */
int mf_plan_verify(const struct mf_comm *comm, const struct mf_plan_ask *ask, struct mf_plan *plan);

#endif
