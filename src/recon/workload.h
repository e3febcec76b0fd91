/* A reconstruction as a workload of the planner (src/plan/workload.h). Its settings are "batch" (slices in flight per
 * rank; 0: the run chooses), "history" (pairs of L-BFGS) and, where there is a device, "offload" (1: fields stay in
 * host memory and slices stream through the device). */
#ifndef MF_RECON_WORKLOAD_H
#define MF_RECON_WORKLOAD_H

#include "src/plan/plan.h"
#include "src/recon/solve.h"
#include "src/session/session.h"

enum { MF_RECON_TIMES = 32 };

/** Seconds of an evaluation that was measured with these extents, on cores or GPUs; threads of a rank. */
struct mf_recon_time {
    int device;
    size_t ranks, threads;
    double seconds;
};

struct mf_recon_times {
    size_t count;
    struct mf_recon_time at[MF_RECON_TIMES];
};

struct mf_recon_work {
    /* the problem */
    const size_t *dims;
    const struct mf_target *target;
    const struct mf_solve_opts *opts;
    int deterministic;
    size_t candidates; /* of several the labels of the best are kept beside: one byte per voxel; 0: one */

    /* requested by the user */
    size_t batch, history; /* batch 0: free */
    int history_fixed;
    enum mf_residency residency;
    const struct mf_recon_times *times; /* they replace the model's; NULL: none */

    /* for trials: ranks and queue of the run; most settings; worth: skip settings that cost too much of a run */
    const struct mf_comm *comm;
    struct mf_queue *queue;
    size_t trials;
    int worth;

    /* set by mf_recon_work_look(): what memory and time depend on */
    size_t fields, levels;      /* levels: of the pyramid, the largest number of a direction */
    int s2, variation, patches; /* are these descriptors compared? */
    double terms;               /* number of descriptors that read every slice */
    double further_flops[2];    /* of all other descriptors per voxel and field: on cores, on a device */
    double lineal_flops;        /* on cores, of these: of lineal paths */
    int twice;                  /* RMS, L2: the forward part runs twice */
    int annealed;               /* mean-field annealing ends the gradient stages */
};

/** The workload. Its context is a struct mf_recon_work after mf_recon_work_look(). */
extern const struct mf_plan_workload mf_recon_workload;

/** Completes a work. Not collective. */
void mf_recon_work_look(struct mf_recon_work *work);

/** Copies the settings of a plan (numbers as in its JSON) to the options of a run. */
void mf_recon_take_settings(const struct mf_plan_numbers *settings, struct mf_solve_opts *opts);

/** From a plan's derived numbers: most slices of a direction that a rank processes at a time. */
size_t mf_recon_in_flight(const struct mf_plan_numbers *derived);

/**
 * A target with @p phases phases and arbitrary values, for plans of problems with known extents only. It has one side
 * per direction, of slices of the volume. Refuses with MF_USAGE (lag too large), MF_MEMORY.
 */
int mf_recon_nominal_target(const size_t dims[3], int phases, size_t lag, size_t levels_max, unsigned more,
                            struct mf_target *target);

/* -- parts of the workload -- */

enum { MF_RECON_PLANES, MF_RECON_SUMS }; /* facts: bytes of exchanged planes beside the slab, and of sums */

uint64_t mf_recon_share(const void *work, const struct mf_plan_numbers *settings, size_t ranks, size_t rank);
int mf_recon_bytes(const void *work, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                   struct mf_plan_bytes bytes[MF_PLAN_MEMORIES]);
size_t mf_recon_threads(const void *work, size_t ranks, size_t most);
void mf_recon_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                    struct mf_plan_cost *cost);
void mf_recon_whole(const void *work, const struct mf_placement *place, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                    const struct mf_plan_cost *step, struct mf_plan_cost *run);

/** How many of @p ranks on cores share the work of an image (mf_objective_team_of()); 1: one works alone. */
size_t mf_recon_team(const struct mf_recon_work *work, size_t ranks);

/** The seconds that were measured in this place; 0: none were. On GPUs with whatever threads. Nothing is measured with
 * offload, or with a shorter history. */
double mf_recon_measured(const struct mf_recon_work *work, const struct mf_placement *place,
                         const struct mf_plan_numbers *settings);

/** Slices in flight and rounds by normal z, y, x. */
void mf_recon_slices(const struct mf_recon_work *work, const struct mf_placement *place,
                     const struct mf_plan_numbers *settings, size_t in_flight[3], size_t rounds[3]);

#endif
