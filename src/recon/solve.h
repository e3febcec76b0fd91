/* Reconstruction, from a target to labels: descent from noise, a continuation that drives every voxel to one phase, an
 * exact cut at the target's volume fractions, and a polish by swaps. */
#ifndef MF_RECON_SOLVE_H
#define MF_RECON_SOLVE_H

#include "io/micro.h"
#include "src/desc/characterize.h"
#include "src/optim/optim.h"
#include "src/recon/anneal.h"
#include "src/recon/objective.h"
#include "src/recon/property.h"
#include "src/run/keeper.h"

/** The penalty of grey values: lambda (descend.c) grows geometrically over stages with equal numbers of evaluations. */
struct mf_ramp {
    int stages; /* at most MF_RAMP_STAGES */
    double first, last;
    double share; /* fraction of the evaluations; before them lambda is 0 */
};
enum { MF_RAMP_STAGES = 16 };

struct mf_solve_opts {
    struct mf_objective_opts objective;
    struct mf_method_opts method; /* of the gradient stages; tolerance: of each */
    struct mf_anneal_opts anneal; /* of methods that swap */
    int history_free;             /* the user did not set it, so that of a checkpoint is kept */
    size_t history_kept;          /* of the checkpoint that the run continues, for its plan; 0: none */
    long evaluations; /* most evaluations of the gradient stages, per pyramid level of a coarse-to-fine run */
    int coarse_to_fine;
    long coarse_evaluations;    /* most of every grid but the finest; 0: as many as of that */
    size_t coarsest;            /* least edge of a coarser grid [voxels]; 0: windows of the target fit */
    const struct mf_ramp *ramp; /* NULL: 5 stages, 0.03 .. 1, after half of the evaluations, if there are at least 28 */
    double layers; /* a volume of two phases begins with layers of so many periods per voxel in every slice; 0: noise */
    double cells;  /* an image of two phases begins with so many cells per pixel, walls of the rarer one; 0: noise */
    double bend;   /* of these walls (start.h) */
    int connect;   /* with S2_3D: a phase shall span as much as in the target, where that is known */
    int polish;
    long polish_rounds; /* most rounds; 0: until nothing improves */
    uint64_t seed;
    struct mf_property_opts property; /* that the result shall have, beside the target's statistics */
    const struct mf_micro *start; /* initial field of any extents (resampled; an image for an image), or NULL: noise */
    const struct mf_micro *fixed; /* a partial field of the result's extents, whose phases the result keeps, or NULL */
    const char *metrics;          /* JSON lines go here (rank 0; without them if they cannot be written), or NULL */
    const char *output;           /* output of a run with metrics, which names it in their folder */
    int metrics_append;           /* append to the file */
    int metrics_said;             /* it was reported that they go to a separate file */
    double after;       /* work behind the gradient stages, in evaluations of the finest grid; for the remaining time */
    size_t turn, turns; /* number of this run, from 0; number of runs (0: one) */
    long report_every;  /* evaluations between two rows of metrics and convergence */
    long snapshot_every;                 /* evaluations between two snapshots of the field; 0: none */
    const char *snapshot_stem;           /* prefix of their names */
    const struct mf_keeper_opts *keeper; /* when the run is saved and may be asked to leave; NULL: never */
};

/** Pairs of history in the newest checkpoint at @p stem; 0: there is none. Collective. */
size_t mf_solve_kept_history(const struct mf_comm *comm, const char *stem);

struct mf_solve_result {
    uint8_t *label;         /* [slab.count][ny][nx], 0..phases-1; host memory */
    struct mf_arena *arena; /* of label */
    int phases;
    double loss;       /* before binarisation */
    double loss_cut;   /* after the cut at the volume fractions */
    double loss_final; /* after the polish */
    double grey;       /* share of voxels with 0.05 < x < 0.95 before the cut */
    long evaluations;
    long binarise;           /* evaluations before the binarisation; 0: there was none */
    double seconds;          /* wall time of the gradient stages */
    long swaps_tried, swaps; /* of the polish */
    double polish_seconds;
    double elapsed;                 /* of earlier runs that this one continued */
    double share[MF_TERMS_MAX];     /* of each term in the first loss */
    double property[MF_PROPERTIES]; /* of opts->property, of the labels */
    size_t batch;                   /* slices in flight, as opts->objective.batch; less if memory was short */
    int metrics_lost;               /* rank 0: they could not be written, which was reported */
    int metrics_own;                /* rank 0: they went to a separate file, which was reported */
    size_t rows;                    /* of convergence [rows][3]: evaluation, seconds, loss; heap */
    double *convergence;
};

/** Evaluations of a run with mean-field annealing, unless the user says how many: of one field, of several. */
enum { MF_SOLVE_MEAN_FIELD = 240, MF_SOLVE_MEAN_FIELDS = 320 };
/** Evaluations that neighbours of patches are held for. */
enum { MF_SOLVE_HOLD = 10 };
/** Share of the evaluations before it. */
#define MF_SOLVE_BEFORE 0.3
/** Does mean-field annealing end the gradient stages (meanfield.h)? It serves volumes of up to six phases whose slices
 * are compared by S2 in the mean square. It serves S2_3D beside S2 if one phase is optimised. It does not serve an
 * optimised phase of more than 95 %. Not collective. */
int mf_solve_mean_field(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts);

/** Can swaps follow the cut? They need S2 of more than one lag, or S2_3D, and are not judged by the mean of slices. Not
 * collective. */
int mf_solve_can_polish(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts);

/** Voxels of the grid @p level of a coarse-to-fine run, over those of the finest, which is 0. */
double mf_solve_share(const size_t dims[3], size_t level);

/** Number of grids of a run: one, or from coarse to fine as many as the target's levels, L and opts->coarsest allow. */
size_t mf_solve_grids(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts);

/**
 * Reconstructs a volume dims {nz, ny, nx} (nz = 1: an image). Checkpoints stay until the caller has written the result
 * (mf_checkpoint_remove()). Collective; refuses (agreed) with MF_USAGE, MF_INPUT, MF_MEMORY and:
 * - MF_NUMERIC: the loss is not finite.
 * - MF_STOPPED: opts->keeper saved the run. The next run with keeper->restart continues it; with queue->deterministic
 *   it ends in the same bits as an uninterrupted run. Or the host of a guest (guest.h) has asked for the end. Then
 *   result->label is the best so far, cut at the volume fractions, or NULL. The loss is that of the last step. The
 *   caller frees a result with labels.
 * - MF_OUTPUT: the run could not be saved.
 */
int mf_solve(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue, const size_t dims[3],
             const struct mf_target *target, const struct mf_solve_opts *opts, struct mf_solve_result *result);

/** How a result is measured: level 0, and the whole-volume descriptors among the terms. */
struct mf_characterize_opts mf_solve_described(const struct mf_target *target, const struct mf_solve_opts *opts);

/**
 * A dry run: takes from the queue's arenas what mf_solve() (mf_solve_probe() if opts->evaluations is 0) takes, in its
 * order, and then what it takes to describe the labels. It frees everything without touching large arrays, so the
 * arenas' high-water marks are those of a run. *strips: of an evaluation at full resolution (NULL: not wanted).
 * Collective; refuses (agreed) as they do.
 */
int mf_solve_measure(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts,
                     struct mf_strips_floats *strips);

/** Frees the labels and the convergence. */
void mf_solve_free(struct mf_solve_result *result);

/**
 * The loss of the initial field, as defined in objective.h (exact |d|, no terms of the solver). With @p gradient not
 * NULL also its gradient, [fields][slab.count][ny][nx], from mf_mirror_arena(). Collective.
 */
int mf_solve_probe(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                   const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts,
                   float **gradient, double *loss);

/**
 * Seconds of one evaluation with every batch[i] (as objective.batch), on the slowest rank: the faster of two, at the
 * initial field. Collective; refuses (agreed) as mf_solve() does.
 */
int mf_solve_tune(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                  const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts, size_t count,
                  const size_t *batch, double *seconds);

/**
 * A hash that two runs share only if they solve the same problem: extents, target, options that affect the result,
 * seed; the history only if the user set it. Not collective. Refuses with MF_MEMORY.
 */
int mf_solve_problem(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts,
                     uint32_t *number);

/** Number of fields of a reconstruction: all phases of the target with objective.multiphase, else 1 (indicator of phase
 * 1). */
size_t mf_solve_fields(const struct mf_target *target, const struct mf_solve_opts *opts);

#endif
