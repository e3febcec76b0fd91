/* Fluxes between neighbouring cells of a regular grid: the operator A of conduction on one rank's planes. Row i of A x
 * is the sum over six faces of c (x_i - x_neighbour). Multigrid and conjugate gradients are made of these functions.
 * Rule: cells are [planes + 2][ny + 2][nx + 2], with one layer of neighbours around the own ones. Cells without
 * conductance have x = 0. A result does not depend on threads, or on how planes are divided.
 * Memory: all arrays are device memory, but out, which comes from queue->host and is valid after sync(). */
#ifndef MF_KERNELS_FLUX_H
#define MF_KERNELS_FLUX_H

#include <stdint.h>

#include "kernels/backend.h"
#include "kernels/form/hd.h"

/** The grid of a level. */
struct mf_flux_grid {
    size_t n[3]; /* own planes, rows, cells of a row */
    int odd;     /* the first own plane has an odd number: cells have the colour (z + y + x) mod 2 */
    int last[3]; /* a face behind the last own cell is no other cell's first face */
    /* Conductances are 0 and 1: the sum of a cell's six, 0 of an insulator. Outside of the own cells: that of the face
     * towards the own one (a plate half a cell away has 2). Then c and w are NULL. */
    uint8_t *count;
    float *c[3]; /* else: of the face between a cell and the one before it along z, y, x */
    float *w;    /* 1 / the sum of a cell's six; 0 of an insulator */
};

/** How many fine cells make a coarse one along each axis: 1 or 2. */
struct mf_flux_step {
    unsigned of[3];
};

enum { MF_FLUX_SMALL = 32 * 32 * 32 };

struct mf_flux_ops {
    /** Gauss-Seidel for A x = b on the cells of a colour. */
    void (*relax)(struct mf_queue *q, const struct mf_flux_grid *g, int colour, const float *b, float *x);
    /** The same on colour @p first and then on the other one, where no neighbour changes in between. */
    void (*relax_both)(struct mf_queue *q, const struct mf_flux_grid *g, int first, const float *b, float *x);
    /** The same on colour 0, from x = 0. */
    void (*begin)(struct mf_queue *q, const struct mf_flux_grid *g, const float *b, float *x);
    /**
     * @p on: calls that follow are of relax, relax_both, begin, descend, restrict_to, add and wrap. Their grids have at
     * most MF_FLUX_SMALL cells. They keep their order, and may share a launch, which batch(q, 0) starts. NULL: sharing
     * gains nothing.
     */
    void (*batch)(struct mf_queue *q, int on);
    /** b_coarse = sum over the fine cells of (b - A x) */
    void (*restrict_to)(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                        struct mf_flux_step by, const float *b, const float *x, float *b_coarse);
    /** begin(), relax() on colour 1 and restrict_to() in one pass, where no neighbour changes in between. */
    void (*descend)(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                    struct mf_flux_step by, const float *b, float *x, float *b_coarse);
    /** x += x_coarse */
    void (*add)(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                struct mf_flux_step by, const float *x_coarse, float *x);
    /** y = A x;  out[plane] = sum x y */
    void (*apply)(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, float *y, double *out);
    /** out[plane] = sum x y */
    void (*dot)(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, const float *y, double *out);
    /** x += a p;  r -= a y */
    void (*move)(struct mf_queue *q, const struct mf_flux_grid *g, float a, const float *p, const float *y, float *x,
                 float *r);
    /** p = z + b p */
    void (*turn)(struct mf_queue *q, const struct mf_flux_grid *g, float b, const float *z, float *p);
    /** Joins the borders along @p axis: the first and the last cell become neighbours. The potential rises by @p jump
     * from the last to the first. */
    void (*wrap)(struct mf_queue *q, const struct mf_flux_grid *g, int axis, float jump, float *x);
    /** Adds @p jump to the conducting cells of plane @p z, which may be -1 or the number of planes. */
    void (*lift)(struct mf_queue *q, const struct mf_flux_grid *g, ptrdiff_t z, float jump, float *x);
    /** Conductances of a coarse grid: half the sum of the fine ones where centres are twice as far apart. Its w follows
     * from finish(). */
    void (*coarsen)(struct mf_queue *q, const struct mf_flux_grid *g, struct mf_flux_step by,
                    const struct mf_flux_grid *coarse);
    /** w from c */
    void (*finish)(struct mf_queue *q, const struct mf_flux_grid *g);
    /** out[plane] = sum over faces of c (jump of x)^2, in double */
    void (*energy)(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, double *out);
    /** Fluxes against @p axis through the face before each cell, in double. They are added up over the other axes of a
     * plane: out[plane] along z, else out[plane][n[axis]]. */
    void (*flux)(struct mf_queue *q, const struct mf_flux_grid *g, int axis, const float *x, double *out);
};

/** Numbers of a row, of a plane, of all planes with those around them. */
MF_HD size_t mf_flux_row(const struct mf_flux_grid *g) { return g->n[2] + 2; }
MF_HD size_t mf_flux_plane(const struct mf_flux_grid *g) { return (g->n[1] + 2) * (g->n[2] + 2); }
MF_HD size_t mf_flux_all(const struct mf_flux_grid *g) { return (g->n[0] + 2) * mf_flux_plane(g); }

/** Place of an own cell. */
MF_HD size_t mf_flux_at(const struct mf_flux_grid *g, size_t z, size_t y, size_t x)
{
    return (z + 1) * mf_flux_plane(g) + (y + 1) * mf_flux_row(g) + x + 1;
}

/** Numbers from a cell to the next one along an axis. */
MF_HD size_t mf_flux_stride(const struct mf_flux_grid *g, int axis)
{
    return axis == 0 ? mf_flux_plane(g) : axis == 1 ? mf_flux_row(g) : 1;
}

#endif
