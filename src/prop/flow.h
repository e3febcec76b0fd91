/* Private to src/prop: a conduction problem on the planes of one rank, its levels, and its arrays.
 * Rule: planes are cut so that no block of a distributed level stands on two ranks. Small levels, and small problems,
 * are on all ranks alike. */
#ifndef MF_PROP_FLOW_H
#define MF_PROP_FLOW_H

#include "kernels/field.h"
#include "kernels/flux.h"
#include "kernels/stage.h"
#include "src/prop/conduct.h"

enum {
    MF_FLOW_LEVELS = 24,
    MF_FLOW_CLOSED = 254, /* codes of cells are their phases, or: no conductor */
    MF_FLOW_PLATE = 255
};

struct mf_flow_level {
    size_t n[3];              /* of the whole level */
    size_t first;             /* this rank works on planes from here on; */
    size_t count;             /* so many */
    int whole;                /* ... but has all of them */
    struct mf_flux_grid grid; /* of all planes it has */
    struct mf_flux_grid part; /* of those it makes from the finer level */
    size_t skip;              /* numbers before them */
    struct mf_flux_step by;   /* cells of a cell of the next level */
    double weight[3];         /* 1 / squared distance between cells */
    float *x, *b;             /* not of level 0 */
};

struct mf_flow {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_arena *arena;
    const struct mf_micro *micro;
    const struct mf_conduct_opts *opts;
    int dry; /* memory is counted and not touched */
    int axis, wrap[3];
    size_t shift[3];  /* the first cell is that voxel: plates through centres fix the potential of the first one */
    size_t cells;     /* from plate to plate, or of a period */
    size_t grain;     /* planes of level 0 are cut at multiples of it */
    int ranks;        /* that have planes; the first ones */
    int below, above; /* ranks with the neighbouring planes; MF_NO_RANK */
    int binary;       /* conductances are 0 and 1 */
    double k[256];    /* of a code */
    uint8_t *code;    /* [count + 2][ny + 2][nx + 2] host memory, until level 0 is made */
    int64_t carrying; /* voxels, on all ranks */
    size_t levels;
    struct mf_flow_level level[MF_FLOW_LEVELS];
    float *x, *r, *p;
    float *z;      /* the cycle's answer to r; from a step on, A p */
    float *edge;   /* host memory: four planes on their way, where the host cannot touch device memory */
    float *shared; /* host memory: a level on its way */
    double *sums;  /* queue->host [planes] */
    double *all;   /* [planes of the volume] */
};

/** Sets extents, joined borders and levels, and how planes are cut. Local. */
void mf_flow_shape(struct mf_flow *flow);

/** The planes of level 0 of @p rank. Local. */
struct mf_span mf_flow_planes(const struct mf_flow *flow, int rank);

/** Reads flow->code, with a layer around it. Collective; MF_MEMORY, agreed. */
int mf_flow_codes(struct mf_flow *flow);

/** Makes insulating all cells that carry no flux; counts the others. Collective; MF_MEMORY, MF_INPUT, agreed. */
int mf_flow_idle(struct mf_flow *flow);

/** Makes the conductances of all levels, and all vectors; releases flow->code. Collective; MF_MEMORY, agreed. */
int mf_flow_levels(struct mf_flow *flow);
void mf_flow_free(struct mf_flow *flow);

/** Takes the memory of all levels and vectors, for conductances that are no counts. It is not touched: mf_flow_clear()
 * makes zeros of it before the first solve. Local; MF_MEMORY. */
int mf_flow_take(struct mf_flow *flow);
void mf_flow_clear(struct mf_flow *flow);

/** Conductances of the coarse levels, from those of level 0. Collective. */
void mf_flow_coarsen(struct mf_flow *flow);

/** The conductivity that an energy is. Local. */
double mf_flow_conductivity(const struct mf_flow *flow, double energy);

/** Solves from the potential in flow->x on. Collective; MF_NUMERIC, agreed. */
int mf_flow_settle(struct mf_flow *flow, struct mf_conduct *out);

/** 1 / sum f / (k + z) - z over @p n phases. Local. */
double mf_flow_mean(size_t n, const double *fraction, const double *k, double z);

/** Gives opts->take the solution; @p carries: there is one. Collective; MF_MEMORY, agreed, and as opts->take. */
int mf_flow_fields(const struct mf_flow *flow, int carries);

/** Conductance of the face between cells of two codes, along an axis. */
float mf_flow_face(const struct mf_flow *flow, int axis, uint8_t a, uint8_t b);

/** Fills the layer around x of a level from its neighbours. The potential of the neighbouring period is @p jump
 * higher. Collective over ranks with planes. */
void mf_flow_border(const struct mf_flow *flow, const struct mf_flow_level *level, float jump, float *x);

/** Every rank gets all planes of an array of a whole level that ranks have made parts of. Collective. */
void mf_flow_share(const struct mf_flow *flow, const struct mf_flow_level *level, float *array);

/** Adds flow->sums over all planes, in their order. Collective. */
double mf_flow_total(const struct mf_flow *flow);

/** x = an approximate solution of A x = b: one cycle from level @p k on. Symmetric and positive. Collective. */
void mf_flow_cycle(const struct mf_flow *flow, size_t k, float *x, const float *b);

#endif
