/* The parts of an objective: one side per direction of slices. Private to the objective_*.c. objective_setup.c builds
 * it, objective_target.c makes the target vectors, objective.c evaluates it. */
#ifndef MF_RECON_OBJECTIVE_IMPL_H
#define MF_RECON_OBJECTIVE_IMPL_H

#include "mpi/redistribute.h"
#include "src/desc/space.h"
#include "src/recon/objective.h"

enum { MF_OBJECTIVE_SUMS = 1 + MF_TERMS_MAX }; /* most sums of a slice */

/* A plan is shared by all directions whose slices have the same shape. */
struct mf_objective_plan {
    const struct mf_slice_ops *ops;
    struct mf_slice_desc desc;
    struct mf_slice_plan *plan;
};

struct mf_objective_side {
    size_t nu, nv, slices, levels, entries;
    struct mf_redistribution **redistribution;       /* [phases] slabs to slices and back */
    struct mf_slice_plan *plan[MF_TERMS_MAX], *mean; /* mean: level 0 of the volume fraction, for q */
    float *target[MF_TERMS_MAX];                     /* [parts][levels][entries of the term], device */
    float *goal[MF_TERMS_MAX];                       /* its mirror in host memory */
    float *values[MF_TERMS_MAX];                     /* caller's [phases][slices][levels][entries], or NULL */
    int64_t *tally[MF_TERMS_MAX];                    /* [phases][entries] device: its slices are counted; or NULL */
    double *seen[MF_TERMS_MAX];                      /* the same, queue->host: mean over all slices */
    double *sums;                                    /* [slices][mf_objective_row()]: E, then the share of each term */
    double *sum;                                     /* [entries]: of all slices, of every term and part */
    double mean_sums[MF_OBJECTIVE_SUMS];             /* as sums, of the mean slice, by the number of directions */
    size_t *drawn, draws;            /* [slices] how often each was drawn, among `draws`; NULL: not drawn */
    double *a;                       /* [terms][parts][slices] sums of this rank's slices */
    double *q, *vf;                  /* [phases][slices] */
    double *scale;                   /* [scales][slices]: of phases, then of pairs, whose q is 1 */
    double *slope;                   /* [slices] dE/dA */
    unsigned char *done;             /* [slices] computed by this rank, if slices are shared out dynamically */
    struct mf_slice_example example; /* x NULL: no term needs it */
    float *pull[MF_TERMS_MAX];       /* [this rank's slices][pull_size] of terms by example, device */
    size_t pull_size[MF_TERMS_MAX];
};

/* The terms that compare the volume as a whole. */
struct mf_objective_space {
    struct mf_space *space;     /* NULL: there is none */
    size_t entries;             /* number of entries in M: as many as the windows of a slice have */
    size_t term[MF_WHOLE];      /* opts.terms: absent */
    double *window[MF_WHOLE];   /* [parts][entries], queue->host */
    double *slope[MF_WHOLE];    /* the same */
    double loss, sum[MF_WHOLE]; /* E of the volume, and the sums for the shares */
    /* of S2_3D: what is added at lag 0; the derivative of the last loss with respect to it */
    double centre[MF_PHASES_MAX], centre_slope[MF_PHASES_MAX];
};

struct mf_objective {
    const struct mf_comm *comm;
    const struct mf_backend *backend;
    struct mf_queue *home;  /* of the fields */
    struct mf_queue *queue; /* of the slices; its back end */
    struct mf_slab slab;
    struct mf_objective_opts opts;
    const struct mf_target *goal; /* borrowed */
    const struct mf_slice_ops *ops[MF_TERMS_MAX];
    size_t phases, lag, sides, plans;
    size_t slicewise; /* terms that compare slices */
    size_t parts;     /* most parts of a term */
    size_t scales;    /* per slice: phases, and one more if a term is of pairs */
    struct mf_objective_side side[MF_SIDES];
    struct mf_objective_space space;
    struct mf_objective_plan plan[2 * MF_SIDES * (MF_TERMS_MAX + 1)];
    float *targets, *goals;   /* of all sides and terms: device, and its mirror */
    size_t aimed;             /* numbers of them */
    int changed;              /* the mirror is newer */
    int64_t *tally;           /* of all sides and terms; NULL: none is wanted */
    double *seen;             /* the same */
    size_t watched;           /* numbers of them */
    double *sums;             /* of all sides, for one reduction; then of the volume: E, and its sums */
    double *work;             /* of all sides: memory that kernels read and write for every slice */
    float *fixed;             /* device: 0 and -1, targets of the volume fraction that yield vf and its gradient */
    float *apart;             /* [phases][voxels]: gradient of one direction; NULL: it goes directly to the caller's */
    float *example[MF_SIDES]; /* of the target's sides: [phases][pixels], queue->host */
    size_t batch;
    int64_t threads; /* the largest number of threads of a rank */
    long age;        /* evaluations since slices were matched with examples; 0: the next one matches */
    int matching;    /* this evaluation matches */
    int drawn;       /* this evaluation uses only drawn slices */
    double share[MF_TERMS_MAX];
    double weight[MF_TERMS_MAX][MF_LEVELS_MAX]; /* mf_objective_weight() */
    struct mf_slice_call *call;                 /* [most_calls] that wait for each other (mf_slices.all) */
    size_t calls, most_calls;
    struct mf_phase *phase[MF_TERMS_MAX]; /* of a term's tasks; one for all where the back end gets them at once */
    int waits;                            /* those of all directions wait for each other */
    unsigned long name;                   /* of its segments (kernels/segment.h), while their arguments stay the same */
    int whole;                            /* an evaluation is one segment */
    int dynamic;                        /* ranks share out this evaluation's slices dynamically (mpi/redistribute.h) */
    struct mf_objective_strips *strips; /* NULL: whole slices are exchanged */
    struct mf_team team; /* ranks that share the work of an image (objective_team.c); parts 0: one works alone */
    struct mf_comm crew; /* they */
    int helps;           /* this rank does not have the image */
    float *copy;         /* then: [2][phases][pixels], the field and a gradient */
};

/** The description of one side's slices for the kernels, with so many levels. */
struct mf_slice_desc mf_objective_desc(const struct mf_objective *objective, const struct mf_objective_side *side,
                                       size_t levels);

/** Doubles per slice in a reduction: E, then the share of each term. */
static inline size_t mf_objective_row(const struct mf_objective *o) { return 1 + o->opts.terms; }

/** Doubles of one reduction: of @p slices, and of the volume if there are terms of volumes. */
static inline size_t mf_objective_sums(const struct mf_objective *o, size_t slices)
{
    return slices * mf_objective_row(o) + (o->space.space ? 1 + MF_WHOLE : 0);
}

/** Weight of an error of term @p t at level @p l. */
static inline double mf_objective_weight(const struct mf_objective *o, size_t t, size_t l)
{
    const struct mf_term *term = &o->opts.term[t];

    return term->fine && l > 0 ? 0 : term->weight * o->opts.level_weight[l];
}

/** E of a vector d of @p m entries from @p a, the sum of |d|^p; *slope: dE/da. */
double mf_objective_norm(enum mf_norm norm, double a, double m, double *slope);

/** Number of parts of term @p t: fields, or pairs of them. */
size_t mf_objective_parts(const struct mf_objective *objective, size_t t);

/** Does each part have several fields? Such parts have no weight q of a phase. */
int mf_objective_joint(const struct mf_objective *objective, size_t t);

/** Numbers of term @p t at one level of a slice of direction @p d. */
size_t mf_objective_term_entries(const struct mf_objective *objective, size_t t, size_t d);

/** Cost of so many slices, by the formula. */
struct mf_cost mf_objective_cost(const struct mf_objective *objective, const struct mf_objective_side *side, size_t t,
                                 size_t count, enum mf_cost_of what);

/** First: where the gradient of direction @p d is summed: in separate memory (cleared) if bits must be reproducible,
 * else in @p g. Second: adds it to @p g. */
float *mf_objective_beside(struct mf_objective *objective, size_t d, float *g);
void mf_objective_beside_add(struct mf_objective *objective, float *at, float *g);

/** Mean slices of every evaluation (objective_watch.c), if they are wanted. Takes their memory (local; MF_MEMORY);
 * frees it; brings the counts of an evaluation to the host, behind its work; adds those of all ranks (collective). */
int mf_objective_watch_open(struct mf_objective *objective);
void mf_objective_watch_close(struct mf_objective *objective);
void mf_objective_watch_drain(struct mf_objective *objective);
void mf_objective_watch_gather(struct mf_objective *objective);

/** --slice-objective mean (objective_mean.c). Writes E of the mean slice of direction @p d and its shares to the side's
 * mean_sums. With @p g not NULL g += factor dE/dx. Collective. */
void mf_objective_mean_eval(struct mf_objective *objective, size_t d, float *x, float *g, double factor);

/** Takes the memory of mf_objective_draw(). Local; MF_MEMORY. */
int mf_objective_draw_open(struct mf_objective *objective);

/**
 * Evaluation by strips, the parts of slices in each slab (objective_strips.c). It is used if it moves less data between
 * nodes. The functions, in order:
 * - prepare it (local; MF_MEMORY; the decision is the same on all ranks).
 * - say whether it can do this evaluation, which must be a plain one.
 * - start sending planes of the field.
 * - wait for them, and compute A of all slices and the gradient (+= @p g, if not NULL).
 *
 * The last two are collective.
 */
int mf_objective_strips_open(struct mf_objective *objective);
void mf_objective_strips_close(struct mf_objective *objective);
int mf_objective_strips_serve(const struct mf_objective *objective);
void mf_objective_strips_start(struct mf_objective *objective, const float *x);
void mf_objective_strips_finish(struct mf_objective *objective, float *g);

/**
 * Ranks share the work of an image (objective_team.c). One rank has it; it broadcasts the field at each evaluation.
 * Descriptors with mf_slice_ops.shares and searches run on all ranks of the team, the others where the image is. So the
 * gradient and the loss stand there, and the optimiser's steps are as before. In order:
 * - Chooses the ranks. Collective; MF_MEMORY.
 * - Takes a helper's memory. Local; MF_MEMORY.
 * - Ends it. Collective.
 * - Brings the field to all ranks of the team: views of it [phases], and of where the gradient goes (no base: there is
 *   none). Of a helper these are its own memory. Collective among them.
 */
int mf_objective_team_open(struct mf_objective *objective);
int mf_objective_team_take(struct mf_objective *objective);
void mf_objective_team_close(struct mf_objective *objective);
void mf_objective_team_begin(struct mf_objective *objective, float *x, float *g, struct mf_view *vx,
                             struct mf_view *vg);

/** Finds what terms by example hold of @p count slices, whose fields are @p x [phases]; so many come before them. */
void mf_objective_match(struct mf_objective *objective, const struct mf_objective_side *side, const struct mf_view *x,
                        size_t count, size_t before);

/** Prepares the terms of the volume as a whole, if there are any (objective_space.c). Collective, agreed. */
int mf_objective_space_open(struct mf_objective *objective);
void mf_objective_space_close(struct mf_objective *objective);
/** E of the volume into objective->space; with @p g not NULL g += factor dE/dx. Collective. */
void mf_objective_space_eval(struct mf_objective *objective, const float *x, float *g, double factor);

/** First: takes the memory of all target vectors. Second: prepares the example of direction @p d, if a term needs it.
 * Third: the target vectors of term @p t; also counts their entries. Local; MF_INPUT, MF_MEMORY. */
int mf_objective_aims_open(struct mf_objective *objective);
int mf_objective_example(struct mf_objective *objective, size_t d);
int mf_objective_aim(struct mf_objective *objective, size_t d, size_t t);
void mf_objective_aims_close(struct mf_objective *objective);

/** Sends target vectors to the device, if they have changed. */
void mf_objective_aims_send(struct mf_objective *objective);

/** Target of phase @p p of term @p t in direction @p d, from the first compared level on; NULL: there is none. */
const double *mf_objective_goal(const struct mf_objective *objective, size_t t, size_t d, size_t p, size_t entries);

#endif
