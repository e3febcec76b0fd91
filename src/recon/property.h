/* Properties that a result shall have: effective conductivities along axes. Each adds its squared relative error to
 * what the gradient stages lower. While x is grey, the conductivity of a voxel is
 *
 *   least + sum over phases p of (k_p - least) x_p^2
 *
 * No k_p is below FLOOR of the largest there: no flux enters an insulator, so it has no gradient. */
#ifndef MF_RECON_PROPERTY_H
#define MF_RECON_PROPERTY_H

#include "src/prop/conduct.h"

enum {
    MF_PROPERTIES = 3,   /* most: one for each axis */
    MF_PROPERTY_HOLD = 4 /* evaluations of mean-field annealing that share a solve */
};

struct mf_property_opts {
    size_t count; /* 0: none */
    struct {
        int axis;  /* 0: z, 1: y, 2: x */
        double of; /* conductivity to reach */
    } at[MF_PROPERTIES];
    double k[MF_PHASES_MAX]; /* of the phases of the result. All conductivities are in units of the largest, */
    double unit;             /* ... which is this */
    enum mf_conduct_boundary boundary;
    double spacing[3]; /* of voxels */
    double weight, tolerance;
};

struct mf_property;

/**
 * Takes the memory for fields of @p phases phases, [fields][slab voxels], and nothing else. Collective; refuses
 * (agreed) with MF_MEMORY. Call mf_property_close() in any case.
 */
int mf_property_open(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, size_t fields,
                     int phases, const struct mf_property_opts *opts, struct mf_property **property);
void mf_property_close(struct mf_property *property);

/**
 * Adds factor * weight * UNIT * sum of squared relative errors to *loss (or NULL), and its gradient to @p g. Both
 * fields are device memory. @p hold evaluations share a solve; between solves conductivities follow x to first order.
 * The gradient is smaller where its curvature would exceed @p bearable, so that long steps do not overshoot.
 * Collective; refuses (agreed) with MF_NUMERIC, MF_MEMORY.
 */
int mf_property_eval(struct mf_property *property, const float *x, float *g, double factor, long hold, double bearable,
                     double *loss);

/** Conductivity number @p i at the last solve; 0: there was none. */
double mf_property_last(const struct mf_property *property, size_t i);

/**
 * The same for a binary field, whose voxels change phase. The first-order change of the loss if a voxel becomes p is
 * added to its g[p]. One field gets that of becoming 1, or minus that of becoming 0. A voxel counts as a ball in a
 * medium of the mean of both conductivities. With @p firm errors have FIRM times the weight. Does not depend on earlier
 * solves. Collective; refuses as mf_property_eval().
 */
int mf_property_flips(struct mf_property *property, int firm, const float *x, float *g, double *loss);

/** After it: the change of each property, over its target, if voxel @p v of this rank changes phase. */
void mf_property_change(const struct mf_property *property, size_t v, int from, int to, float change[MF_PROPERTIES]);

/** After it: the change of the loss if properties change by @p change, over their targets. The second is for the change
 * of mf_property_change(): a voxel that overshoots the target is no good candidate. */
double mf_property_gain(const struct mf_property *property, const double change[MF_PROPERTIES]);
double mf_property_alone(const struct mf_property *property, const float change[MF_PROPERTIES]);

/** Are all properties of the last solve within their tolerance? */
int mf_property_met(const struct mf_property *property);

/** A checkpoint keeps this. Arrays are [slab voxels] in host memory. */
struct mf_property_state {
    float *potential[MF_PROPERTIES]; /* where next solves begin */
    float *k, *slope[MF_PROPERTIES]; /* of the last solve, and */
    double *last;                    /* ... its results; */
    long *age;                       /* ... evaluations since then */
};

/** The arrays may be saved, or must be filled. */
struct mf_property_state mf_property_state(struct mf_property *property);

/**
 * The conductivities of labels [slab voxels] in host memory, by a solver of its own. It takes less memory than an open
 * property. Collective; refuses (agreed) as mf_conduct().
 */
int mf_property_measure(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, int phases,
                        const struct mf_property_opts *opts, uint8_t *label, double k[MF_PROPERTIES]);

#endif
