/* A run on one grid of the pyramid: its state, and the functions that solve.c calls in order. Private to the solver. */
#ifndef MF_RECON_GRID_H
#define MF_RECON_GRID_H

#include "kernels/stage.h"
#include "src/recon/polish.h"
#include "src/recon/solve.h"
#include "src/run/keeper.h"
#include "src/run/metrics.h"

enum { MF_PLANE_WIDTH = 2 + 3 * MF_HISTORY_MAX };

struct mf_grid {
    const struct mf_comm *comm;
    const struct mf_backend *backend;
    struct mf_queue *queue;
    const struct mf_solve_opts *opts;
    const struct mf_target *target;
    struct mf_slab slab;
    size_t fields;
    double fraction[MF_PHASES_MAX]; /* of each field */
    struct mf_method_opts method;   /* opts->method, with the history of a checkpoint */
    struct mf_objective *objective;
    struct mf_objective_opts compared; /* opts->objective, with fewer slices in flight where memory was short */
    struct mf_strips_floats strips;    /* of the last grid's evaluations */
    size_t shrunk;                     /* slices in flight before there were fewer, of which nothing was said; or 0 */
    char lacked[MF_ERR_TEXT];          /* what there was no memory for */
    struct mf_optimiser optimiser;
    uint8_t *label; /* [voxels] of the last grid, device; NULL before the cut */
    uint8_t *fixed; /* [voxels] of the last grid, device: phases that stay, MF_LABEL_OPEN elsewhere; or NULL */
    uint64_t held[MF_PHASES_MAX]; /* how many of each phase */
    struct mf_stage planes;       /* by which the host reaches planes of the grid */
    double *global;               /* [nz][MF_PLANE_WIDTH]: sums of all planes */
    double *plane;                /* [planes][1 + fields], queue->host */
    double *miss[3];              /* [fields][(2L-1)^2]: what the mean slice misses in S2 */
    double scale, lambda;
    double loss, start;   /* of the last evaluation; wall clock at the begin of the run, less what it had run before */
    double stage_start;   /* wall clock at the begin of the gradient stages on this grid */
    long before, planned; /* evaluations of coarser grids; of this run, for the progress line */
    const char *stage;
    struct mf_solve_result *result;
    int dry; /* memory is taken and given back, and nothing is computed */
    struct mf_metrics metrics;
    /* where the run stands, for those who save it */
    long level, step;              /* of the pyramid; of the grid's script */
    int led;                       /* slices are led by miss */
    int polishing, leaving;        /* the gradient stages are over; the run was asked to stop */
    int failed;                    /* the code of a save on leaving */
    struct mf_keeper keeper;       /* opts->keeper's */
    struct mf_checkpoint *from;    /* NULL: a run from its begin */
    struct mf_polish_state polish; /* as it was saved */
    struct mf_optimiser_state saved;
    int resumed;   /* it goes on from a checkpoint */
    char *problem; /* heap: what a checkpoint must have in common with this run */
};

/* -- descend.c: what is minimised, and the steps of a grid -- */

/** What of the field this rank holds, for kernels; voxels of the whole field, of all ranks. */
struct mf_extent mf_grid_extent(const struct mf_grid *run);
double mf_grid_voxels(const struct mf_grid *run);

/** Does the descent see |d| of Variation rounded? */
int mf_grid_rounds(const struct mf_grid *run);

/** The first loss, its shares, the scale; said once, and the first row. Collective; MF_NUMERIC. */
int mf_grid_look(struct mf_grid *run);

/** Loss of a field with |d| as it is. */
void mf_grid_loss(struct mf_grid *run, float *x, double *loss);

/** Number of the S2 term; terms when there is none. */
size_t mf_grid_s2_term(const struct mf_objective_opts *o);

/** From now on slices are led by run->miss. */
void mf_grid_follow(struct mf_grid *run);

/** Host memory that a snapshot takes beside all else, taken and given back. Collective; MF_MEMORY. */
int mf_grid_snapshot_room(struct mf_grid *run);

/** The field @p x that was evaluated last into a file, if that was one of every opts->snapshot_every. One that cannot
 * be written is a warning. Collective. */
void mf_grid_snapshot(struct mf_grid *run, float *x);

/** Where voxels are fixed x becomes @p value, in all fields. */
void mf_grid_hold(struct mf_grid *run, float value, float *x);

/** A row of convergence and of the metrics. */
void mf_grid_note(struct mf_grid *run, long evaluations);

/** Whether evaluations are so few that those of a grid are one descent; @p last: as below. */
int mf_grid_one_descent(const struct mf_solve_opts *opts, int last);

/**
 * All gradient stages of a grid; @p last: with those that make it binary. Goes on where a loaded run stood. Returns
 * with run->leaving set when the run was asked to stop. Collective.
 */
int mf_grid_descend(struct mf_grid *run, int last);

/* -- solve.c -- */

/** After a refusal @p rc that all ranks share: was it for memory, and may half the slices in flight do? They give the
 * same bits. */
int mf_grid_shrinks(struct mf_grid *run, int rc);
/** One warning for all that it did since the last. */
void mf_grid_say_shrunk(struct mf_grid *run);

/** The objective of the last stage replaces the one of the gradient stages. Collective. */
int mf_grid_sharpen(struct mf_grid *run);

/* -- cut.c: from the grey field to labels -- */

/** Does as much of its phases reach through the result as through the target (connect.h)? */
int mf_grid_connects(const struct mf_grid *run);

/** Cuts at the volume fractions, and connects. Collective; MF_MEMORY. */
int mf_grid_cut(struct mf_grid *run);

/** Voxels that every phase of the result is to have. */
void mf_grid_counts(const struct mf_grid *run, uint64_t counts[MF_PHASES_MAX]);

/* -- finish.c: labels -- */

/** Cuts, polishes or anneals, and hands the labels out; or goes on with labels that were saved. Collective. */
int mf_grid_finish(struct mf_grid *run);

/** What works on the labels of this run: "polish" or "annealing". */
const char *mf_grid_label_work(const struct mf_grid *run);

/** Takes what that takes, and gives it back. */
int mf_grid_measure_finish(struct mf_grid *run);

/* -- resume.c: saving and loading -- */

/** What a run must have in common with one that goes on with it: lines "key: value"; heap, NULL without memory. */
char *mf_grid_problem(const struct mf_grid *run, const size_t dims[3]);

/** Opens the keeper; with opts->restart looks for a checkpoint and what it says of the run. Collective; MF_INPUT. */
int mf_grid_find(struct mf_grid *run, const size_t dims[3]);

/** Between two steps, or two rounds of the polish (@p polish not NULL): true when the run is to leave. Collective. */
int mf_grid_keep(struct mf_grid *run, long evaluations, const struct mf_polish_state *polish);

/** Vectors of the optimiser, or the labels, from the checkpoint; closes it. Collective; MF_INPUT. */
int mf_grid_load(struct mf_grid *run);

#endif
