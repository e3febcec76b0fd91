/* A reconstruction as a task of the planner (src/plan/task.h). Its settings are "batch" (slices in flight per rank; 0:
 * the run chooses), "history" (pairs of L-BFGS) and, where there is a device, "offload" (1: fields stay in host memory
 * and slices stream through the device). */
#ifndef MF_RECON_TASK_H
#define MF_RECON_TASK_H

#include "src/plan/plan.h"
#include "src/recon/solve.h"

/** Where fields and the optimiser's vectors stay in a run on devices. Auto: there, if they fit, else in host memory. */
enum mf_residency { MF_RESIDE_AUTO, MF_RESIDE_DEVICE, MF_RESIDE_HOST };

struct mf_recon_work {
    /* what is solved */
    const size_t *dims;
    const struct mf_target *target;
    const struct mf_solve_opts *opts;
    int deterministic;
    int kept; /* labels of a best candidate wait beside: a byte a voxel */

    /* what the user asked for */
    size_t batch, history; /* batch 0: free */
    int history_fixed;
    enum mf_residency residency;

    /* for trials: ranks and queue of the run; at most so many settings, and (worth) none that cost too much of a run */
    const struct mf_comm *comm;
    struct mf_queue *queue;
    size_t trials;
    int worth;

    /* filled by mf_recon_work_look(): what memory and time depend on */
    size_t fields, levels;   /* levels: of the pyramid, most of all directions */
    int s2, variation;       /* are these descriptors compared? */
    double terms;            /* descriptors that read every slice */
    double further_flops[2]; /* of all other descriptors per voxel and field: on cores, on a device */
    int twice;               /* RMS, L2: the forward half runs twice */
};

/** Its context is a struct mf_recon_work that mf_recon_work_look() has completed. */
extern const struct mf_plan_task mf_recon_task;

/** Completes a work. Not collective. */
void mf_recon_work_look(struct mf_recon_work *work);

/** What a plan fixes (its numbers as JSON holds them), in the options of a run. */
void mf_recon_take_settings(const struct mf_plan_numbers *settings, struct mf_solve_opts *opts);

/** Most slices of a direction that a rank works on at a time, of a plan's derived numbers. */
size_t mf_recon_in_flight(const struct mf_plan_numbers *derived);

/**
 * A target with @p phases phases and no particular values, for plans of problems that only their extents are known of:
 * one side per direction, of slices of the volume. Refuses with MF_USAGE (lag too large), MF_MEMORY.
 */
int mf_recon_nominal_target(const size_t dims[3], int phases, size_t lag, size_t levels_max, unsigned more,
                            struct mf_target *target);

/* -- parts of the task -- */

enum { MF_RECON_PLANES, MF_RECON_SUMS }; /* facts: bytes of the planes beside the slab that travel, and of sums */

uint64_t mf_recon_share(const void *work, const struct mf_plan_numbers *settings, size_t ranks, size_t rank);
int mf_recon_bytes(const void *work, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                   struct mf_plan_bytes bytes[MF_PLAN_MEMORIES]);
size_t mf_recon_threads(const void *work, size_t ranks, size_t most);
void mf_recon_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                    struct mf_plan_cost *cost);

/** Slices in flight and rounds by normal z, y, x. */
void mf_recon_slices(const struct mf_recon_work *work, const struct mf_placement *place,
                     const struct mf_plan_numbers *settings, size_t in_flight[3], size_t rounds[3]);

#endif
