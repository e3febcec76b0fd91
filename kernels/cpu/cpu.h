/* Shared by the files of the cpu back end: passes over a slab on several threads, and dot products.
 * Rule: a sum does not depend on the number of threads. */
#ifndef MF_KERNELS_CPU_CPU_H
#define MF_KERNELS_CPU_CPU_H

#include "kernels/backend.h"
#include "kernels/cpu/fast.h"
#include "kernels/field.h"
#include "kernels/flux.h"
#include "kernels/labels.h"
#include "kernels/meanfield.h"
#include "kernels/move.h"
#include "kernels/optim.h"
#include "kernels/select.h"
#include "kernels/slices/bits.h"
#include "kernels/slices/slices.h"
#include "kernels/slices/space.h"
#include "kernels/slices/strips.h"

enum {
    MF_CPU_BLOCK = 8192,   /* voxels worked on while they are in the caches of a core */
    MF_CPU_MANY = 256,     /* the same of several phases */
    MF_CPU_SERIAL = 32768, /* below so many voxels threads cost more than they save */
    MF_CPU_SUMS = 64,      /* most values of a block */
    MF_CPU_CHUNKS = 256    /* most partial sums of a plane */
};

extern const struct mf_move_ops mf_move_cpu;
extern const struct mf_field_ops mf_field_cpu;
extern const struct mf_optim_ops mf_optim_cpu;
extern const struct mf_flux_ops mf_flux_cpu;
extern const struct mf_meanfield_ops mf_meanfield_cpu;
#define MF_FAMILY(ID, family, ...) extern const struct mf_slice_ops mf_##family##_cpu;
MF_LIST_SLICES(MF_FAMILY)
#undef MF_FAMILY
void mf_cpu_drain(struct mf_queue *queue, size_t n, int64_t *tally, double *sum); /* slices/slice.c */
extern const struct mf_space_ops mf_space_cpu;
extern const struct mf_select_ops mf_select_cpu;
extern const struct mf_label_ops mf_label_cpu;
extern const struct mf_op_table mf_net_cpu;

/** Numbers below 1e-38 count as zero from here on, in the calling thread and those of its loops. */
void mf_cpu_flush_tiny(int threads);

/** A pass over the planes of a slab, block by block. */
struct mf_cpu_pass {
    size_t phases, planes, plane; /* voxels of a plane */
    size_t sums, maxima;          /* values of a block: first the sums, then the maxima */
    const void *args;
    /**
     * Works on voxels [at, at + n) of the slab, all in one plane, all phases. The count is n <= MF_CPU_BLOCK, or
     * MF_CPU_MANY when there are several phases. The sums in value [sums + maxima] come in as zeros.
     */
    void (*block)(const void *args, size_t at, size_t n, double *value);
    /** Takes a plane's values; NULL when there are none. */
    void (*store)(const void *args, size_t plane, const double *value);
};

/** Runs a pass over planes, or parts of planes, in parallel. The order of additions depends only on the size of a
 * plane. */
void mf_cpu_run(struct mf_queue *q, const struct mf_cpu_pass *pass);

/** Threads for @p voxels voxels. */
int mf_cpu_threads(const struct mf_queue *q, size_t voxels);

/** Tells the host (src/base/pulse.h), and says whether a loop that several threads share is to be left. Such a loop has
 * one *stopped, which is 0 at first. Any thread. */
int mf_cpu_breaks(const char *what, int *stopped);

/** sum x y, in double, in an order that depends on n only. */
double mf_cpu_dot(size_t n, const float *x, const float *y);

/** out[0] += sum a x, out[1] += sum a y. Fast: short runs are summed in float (relative error below 1e-8 of a
 * plane). */
void mf_cpu_dot2(size_t n, const float *a, const float *x, const float *y, double out[2]);

/** sum x. */
double mf_cpu_sum(size_t n, const float *x);

/** Projects voxels of a block onto the box (phases = 1) or the simplex. Phase p of voxel i is x[p * stride + i]. */
void mf_cpu_project(size_t phases, size_t n, size_t stride, float *x);

#endif
