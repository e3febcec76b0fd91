/* A plan: what a workload will do on a machine and why. It says which ranks on which nodes and GPUs, with which
 * settings. It also says how many bytes each rank takes, and how many seconds a step costs (docs/PLANNER.md). The
 * planner is a pure function. The same machine, workload and options give the same plan on every rank and on every
 * machine. */
#ifndef MF_PLAN_PLAN_H
#define MF_PLAN_PLAN_H

#include "mpi/nccl_transport.h"
#include "src/plan/workload.h"

enum { MF_PLAN_VERSION = 2, MF_PLAN_REASON = 200, MF_PLAN_NOTES = 8, MF_PLAN_HASH = 17 };

/** Choices of the user; 0: free. */
struct mf_plan_options {
    const char *device; /* "auto", "cpu", "cuda" */
    size_t ranks, threads;
    int threads_free;    /* on cores the plan may use fewer threads */
    size_t memory_limit; /* bytes of arrays per rank; 0: none */
    double gpu_fraction; /* of a GPU's memory that arrays may take; 0: all of it */
    size_t gpu_ids;
    const long *gpu_id; /* [gpu_ids] the only GPUs of every node that may be used */
    int share_gpu;
    int apart;                 /* also on cores the state is in separate memory (the shadow back end) */
    int stays;                 /* 1: "auto" uses GPUs wherever there are any */
    const char *remedy;        /* a forbidden option that would help on GPUs ("--residency auto"); NULL: none */
    enum mf_exchange exchange; /* of GPUs; a run states what it has, nccl or host */
};

/** The ranks of a run that already exists. */
struct mf_plan_world {
    size_t ranks;
    const int *node;       /* [ranks] as in a placement */
    const size_t *threads; /* [ranks] */
    const size_t *in_use;  /* [ranks] bytes of arrays that a rank already holds on its node and will keep holding */
};

/** A layout of ranks with settings that the search tried. */
struct mf_plan_candidate {
    int device, apart;
    size_t nodes, per_node, ranks, threads;
    size_t way; /* 0: the plain one */
    struct mf_plan_numbers settings;
    double fact[MF_PLAN_FACTS]; /* of the last rank's bytes */
    size_t bytes, free;         /* of the rank with the least free memory, in the memory where that is least */
    size_t rank;                /* that rank */
    int host;                   /* 1: that memory is the node memory of a GPU's rank */
    const char *limit;          /* the option that limits it; NULL: none does */
    double seconds;             /* of a step; 0: it does not fit */
    int fits, chosen;
    char reason[MF_PLAN_REASON];
};

struct mf_plan {
    const struct mf_plan_workload *workload; /* NULL: read from a file */
    struct mf_plan_lines problem, machine;
    int device, apart;
    size_t nodes, per_node, ranks, ranks_per_gpu, threads;
    struct mf_plan_numbers settings, derived; /* derived: follows from the settings */
    const char *exchange;                     /* as from mf_plan_exchange() */
    size_t *bytes[MF_PLAN_MEMORIES];          /* [ranks] of arrays; the second NULL where there is one memory */
    size_t fullest;                           /* rank with the least free memory */
    struct {
        struct mf_plan_bytes arrays;
        size_t context, reserve, room; /* memory of the program beside arrays, memory left unused, memory for arrays */
    } memory[MF_PLAN_MEMORIES];        /* of that rank */
    struct mf_plan_cost cost, run;     /* of a step; of the whole run, without parts where nobody knows */
    size_t candidates;
    struct mf_plan_candidate *candidate;
    const struct mf_plan_candidate *least; /* nothing fits: the one that exceeds memory least; else NULL */
    size_t trials;                         /* settings that were tried by real steps: seconds, predicted and measured */
    struct {
        struct mf_plan_numbers settings;
        double predicted, measured;
    } trial[MF_PLAN_TRIALS];
    size_t notes;
    char note[MF_PLAN_NOTES][MF_PLAN_REASON];
    size_t why_cores; /* number, from 1, of the note that says why GPUs are not used although allowed; 0: none */
    char hash[MF_PLAN_HASH];
};

/** The input of a plan. */
struct mf_plan_ask {
    const struct mf_hardware *hardware;
    const struct mf_plan_workload *workload;
    void *context; /* of the workload */
    const struct mf_plan_options *options;
    const struct mf_plan_world *world; /* NULL: the plan chooses the ranks too */
};

/**
 * Makes a plan. Not collective. Call mf_plan_free(), also after a refusal. Refuses:
 * - with MF_MEMORY when nothing fits; the sentence states the bytes needed and available. Then plan->least and the
 *   candidates are set.
 * - with MF_USAGE when the workload has no setting for the ranks.
 * - with MF_DEVICE when --gpu_ids or --device ask for what the machine does not have.
 * - as the workload does.
 */
int mf_plan_make(const struct mf_plan_ask *ask, struct mf_plan *plan);
void mf_plan_free(struct mf_plan *plan);

/** Says why a plan does not have the plain way, in which "a step takes 1.30 times as long". Or "rank 0 needs" more
 * memory there than it has. The text is empty where the plan has the plain way. */
const char *mf_plan_why(const struct mf_plan *plan, char text[MF_PLAN_REASON]);

/** "cpu", "cuda", "shadow": the name of the setting's back end. */
const char *mf_plan_device(int device, int apart);

/** Appends a note (printf format), as long as there is space. */
void mf_plan_note(struct mf_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Sets plan->hash, the hash of all its JSON. */
void mf_plan_seal(struct mf_plan *plan);

/** The plan as JSON, its hash last. If nothing fits: the candidates and plan->least, without a hash. */
struct mf_json *mf_plan_json(const struct mf_plan *plan);

/** Does the hash in a plan's JSON match its text? */
int mf_plan_is_whole(const struct mf_json *json);

/** Reads numbers that mf_plan_json() wrote; 0: malformed. */
int mf_plan_numbers_read(const struct mf_json *json, struct mf_plan_numbers *numbers);

/** Prints a plan for people. @p explain adds every array of the fullest rank and every candidate. */
void mf_plan_print(FILE *to, const struct mf_plan *plan, int explain);

/* -- plans from files -- */

/**
 * Reads what a stored plan fixes (nodes, ranks, threads, device, settings) and its lines. Refuses with MF_INPUT a file
 * that is no plan, has another schema version, or was edited. Call mf_plan_free(), also after a refusal.
 */
int mf_plan_read(const char *path, struct mf_plan *plan);

/** Refuses with MF_INPUT a plan of another problem or machine, naming the first line that differs. */
int mf_plan_same(const char *path, const struct mf_plan *stored, const struct mf_plan_lines *problem,
                 const struct mf_hardware *hardware);

/** The same, but compares only the problem's lines of @p key. */
int mf_plan_same_key(const char *path, const struct mf_plan *stored, const struct mf_plan_lines *problem,
                     const char *key);

/** Refuse with MF_USAGE a run that differs from its stored plan. The option @p option gave @p value of setting @p
 * name. */
int mf_plan_for_ranks(const char *path, const struct mf_plan *stored, size_t ranks);
int mf_plan_for_device(const char *path, const struct mf_plan *stored, const char *device);
int mf_plan_for_threads(const char *path, const struct mf_plan *stored, size_t rank, size_t threads);
int mf_plan_for_setting(const char *path, const struct mf_plan *stored, const char *name, const char *option,
                        size_t value);

/** The lines that describe a machine: only what does not change from run to run. */
void mf_plan_machine(const struct mf_hardware *hardware, struct mf_plan_lines *lines);

/* -- plans shared by ranks -- */

/** Returns rank 0's code @p rc on all ranks, with its sentence. Collective. */
int mf_refuse_together(const struct mf_comm *comm, int rc);

/** Broadcasts rank 0's plan as JSON. Collective; MF_BROKEN if it is damaged. */
int mf_plan_share(const struct mf_comm *comm, const struct mf_plan *mine, struct mf_json **json);

/**
 * Runs real steps with the settings of rank 0's plan and with the workload's rivals. Makes the plan again with the
 * fastest, which must gain 3 %. If there was nothing to try, plan->trials (on all ranks) is 0. Collective; refuses
 * (agreed).
 */
int mf_plan_verify(const struct mf_comm *comm, const struct mf_plan_ask *ask, struct mf_plan *plan);

#endif
