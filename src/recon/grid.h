/* A run on one grid of the pyramid: its state, and the functions that solve.c calls in order. Private to the solver. */
#ifndef MF_RECON_GRID_H
#define MF_RECON_GRID_H

#include "kernels/stage.h"
#include "src/base/err.h"
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
    struct mf_objective_opts compared; /* opts->objective, with fewer slices in flight if memory was short */
    struct mf_property *property;      /* of the last grid; NULL: none is asked for */
    struct mf_strips_floats strips;    /* of the last grid's evaluations */
    size_t shrunk;                     /* slices in flight before they were reduced, until that is reported; or 0 */
    char lacked[MF_ERR_TEXT];          /* message about the memory that was short */
    struct mf_optimiser optimiser;
    uint8_t *label; /* [voxels] of the last grid, device; NULL before the cut */
    uint8_t *fixed; /* [voxels] of the last grid, device: phases to keep, MF_LABEL_OPEN elsewhere; or NULL */
    uint64_t held[MF_PHASES_MAX]; /* number of fixed voxels of each phase */
    struct mf_stage planes;       /* gives the host access to planes of the grid */
    double *global;               /* [nz][MF_PLANE_WIDTH]: sums of all planes */
    double *plane;                /* [planes][1 + fields], queue->host */
    double *mean_error[3];        /* [fields][(2L-1)^2]: error of the mean slice in S2 */
    double scale, lambda;
    double loss, start; /* of the last evaluation; wall clock at the begin of the run, minus the time of earlier runs */
    double stepped;     /* of the last step */
    double stage_start; /* wall clock at the begin of the gradient stages on this grid */
    long before, grids; /* evaluations of coarser grids; number of grids */
    const char *stage;
    struct mf_solve_result *result;
    int dry; /* memory is taken and freed, but nothing is computed */
    struct mf_metrics metrics;
    /* position of the run, for those who save it */
    long level, step;              /* of the pyramid; of the grid's script */
    int corrected;                 /* the error of the mean slice is corrected (mf_objective_correct) */
    int polishing, leaving;        /* the gradient stages are over; the run was asked to stop */
    int failed;                    /* code of a save on leaving, or of a stop */
    int seen;                      /* the field, or the labels, are those of a run, so a stop may hand them over */
    struct mf_keeper keeper;       /* opts->keeper's */
    struct mf_checkpoint *from;    /* NULL: a new run */
    struct mf_polish_state polish; /* as saved */
    struct mf_optimiser_state saved;
    int resumed;   /* it continues from a checkpoint */
    char *problem; /* heap: the lines that a checkpoint must share with this run */
};

/* -- descend.c: the minimised function, and the steps of a grid -- */

/** Extent of this rank's part of the field, for kernels; number of voxels of the whole field. */
struct mf_extent mf_grid_extent(const struct mf_grid *run);
double mf_grid_voxels(const struct mf_grid *run);

/** Sums over all planes in global order; value @p largest is a maximum (-1: none is). @p values [planes][n], complete.
 * Collective. */
void mf_grid_add(void *run, size_t n, const double *values, int largest, double *total);

/** Call it after every step: a row of metrics, the progress line, a checkpoint. True: the run must leave. */
int mf_grid_after_step(struct mf_grid *run, long evaluations, double loss);

/** Does mean-field annealing make the field of this grid binary? Else the penalty of grey values does. */
int mf_grid_uses_mean_field(const struct mf_grid *run);
/** Is that the step that a loaded run stopped in? */
int mf_grid_in_mean_field(const struct mf_grid *run);

/** Does the descent use the smoothed |d| of Variation? */
int mf_grid_rounds(const struct mf_grid *run);

/** Evaluates the first loss, its shares and the scale; reports them once and writes the first row. Collective;
 * MF_NUMERIC. */
int mf_grid_look(struct mf_grid *run);

/** Loss of a field with the exact |d|. */
void mf_grid_loss(struct mf_grid *run, float *x, double *loss);

/** Index of the S2 term; opts.terms if there is none. */
size_t mf_grid_s2_term(const struct mf_objective_opts *o);

/** From now on corrects the mean slice's error run->mean_error (mf_objective_correct). */
void mf_grid_correct(struct mf_grid *run);

/** Takes and frees the additional host memory of a snapshot. Collective; MF_MEMORY. */
int mf_grid_snapshot_room(struct mf_grid *run);

/** Writes the last evaluated field @p x to a file, for one in opts->snapshot_every evaluations. A failed write is a
 * warning. Collective. */
void mf_grid_snapshot(struct mf_grid *run, float *x);

/** Sets x to @p value at fixed voxels, in all fields. */
void mf_grid_hold(struct mf_grid *run, float value, float *x);

/** Writes a row of convergence and of the metrics. */
void mf_grid_note(struct mf_grid *run, long evaluations);

/** Most evaluations of the gradient stages of a grid. @p last: see mf_grid_descend(). */
long mf_grid_evaluations(const struct mf_solve_opts *opts, int last);

/** Are there so few evaluations that each grid has only one descent? @p last: see mf_grid_descend(). */
int mf_grid_one_descent(const struct mf_solve_opts *opts, int last);

/**
 * All gradient stages of a grid. @p last: including those that make it binary. Continues where a loaded run stopped.
 * Returns with run->leaving set when the run was asked to stop. Collective.
 */
int mf_grid_descend(struct mf_grid *run, int last);

/* -- solve.c -- */

/** After a refusal @p rc that all ranks share: was memory short, and may half as many slices in flight help? The
 * results keep the same bits. */
int mf_grid_shrinks(struct mf_grid *run, int rc);
/** One warning for all reductions since the last. */
void mf_grid_say_shrunk(struct mf_grid *run);

/** Replaces the objective of the gradient stages by that of the last stage. Collective. */
int mf_grid_sharpen(struct mf_grid *run);

/* -- fixed.c: voxels that the caller fixes -- */

/** How many voxels of each phase are fixed, and whether they may be. Collective; MF_INPUT. */
int mf_grid_count_fixed(struct mf_grid *run);

/** Fixed voxels get their phases in the field. Collective; MF_INPUT. */
int mf_grid_fix(struct mf_grid *run);

/* -- cut.c: from the grey field to labels -- */

/** Shall the result's phases span as much as the target's (connect.h)? */
int mf_grid_connects(const struct mf_grid *run);

/** Cuts at the volume fractions, and connects clusters. Collective; MF_MEMORY. */
int mf_grid_cut(struct mf_grid *run);

/** Number of voxels that every phase of the result shall have. */
void mf_grid_counts(const struct mf_grid *run, uint64_t counts[MF_PHASES_MAX]);

/* -- finish.c: labels -- */

/** Cuts, polishes or anneals, and returns the labels; or continues with saved labels. Collective. */
int mf_grid_finish(struct mf_grid *run);

/** Labels of a run that has stopped on the finest grid. Its field is cut at the volume fractions; a polish has labels.
 * Collective; MF_MEMORY. */
int mf_grid_hand_over(struct mf_grid *run);

/** The current work on the labels: "polish" or "annealing". */
const char *mf_grid_label_work(const struct mf_grid *run);

/** Takes and frees the memory of that. */
int mf_grid_measure_finish(struct mf_grid *run);

/* -- resume.c: saving and loading -- */

/** The lines "key: value" that a run shares with one that continues it; heap, NULL without memory. */
char *mf_grid_problem(const struct mf_grid *run, const size_t dims[3]);

/** Opens the keeper. With opts->restart it finds a checkpoint and reads the run's state. Collective; MF_INPUT. */
int mf_grid_find(struct mf_grid *run, const size_t dims[3]);

/** Call it between two steps, or two rounds of the polish (@p polish not NULL). True: the run must leave.
 * Collective. */
int mf_grid_keep(struct mf_grid *run, long evaluations, const struct mf_polish_state *polish);

/** Shall a run without a keeper end here, because its host asks for it? MF_STOPPED, agreed; @p run: struct mf_grid.
 * Collective. */
int mf_grid_asked(void *run);

/** Loads the optimiser's vectors, or the labels, from the checkpoint and closes it. Collective; MF_INPUT. */
int mf_grid_load(struct mf_grid *run);

#endif
