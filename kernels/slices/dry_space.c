/* See dry.h. S2 in space with the memory of the cuda back end's plan. If a dry run needs a result, a plan of cpu
 * computes it on the same planes of spectra. */
#include <stdlib.h>

#include "kernels/dry.h"
#include "kernels/slices/areas.h"
#include "src/base/err.h"

struct mf_space_plan {
    struct mf_arena *arena;
    void *part, *sum, *weight;
    struct mf_space_desc desc;
    struct mf_queue queue; /* a copy whose arena is not counted */
    struct mf_space_plan *worker;
};

#define CPU (mf_backend_cpu.slices->space)

static void space_free(struct mf_space_plan *p)
{
    if (!p) return;
    if (p->worker) {
        CPU->free(p->worker);
        mf_arena_close(p->queue.arena);
    }
    mf_arena_give(p->arena, p->weight);
    mf_arena_give(p->arena, p->sum);
    mf_arena_give(p->arena, p->part);
    free(p);
}

static int space_plan(struct mf_queue *queue, const struct mf_space_desc *desc, struct mf_space_plan **plan)
{
    struct mf_space_plan *p = calloc(1, sizeof *p);
    struct mf_space_areas a;

    if (!p) return mf_fail(MF_MEMORY, "S2_3D: no memory for a plan");
    *p = (struct mf_space_plan){.arena = queue->arena, .desc = *desc, .queue = *queue};
    mf_areas_space(desc, &a);
    p->part = mf_arena_take(p->arena, a.part, "S2_3D work");
    p->sum = mf_arena_take(p->arena, a.sum, "S2_3D work");
    p->weight = mf_arena_take(p->arena, a.weight, "S2_3D work");
    if (!p->part || !p->sum || !p->weight) {
        space_free(p);
        return MF_MEMORY;
    }
    *plan = p;
    return MF_OK;
}

static struct mf_space_plan *worker_of(struct mf_space_plan *p)
{
    if (p->worker) return p->worker;
    if (mf_arena_open(&p->queue.arena, NULL, 0) != MF_OK || CPU->plan(&p->queue, &p->desc, &p->worker) != MF_OK)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "a dry run: %s", mf_err_text());
    return p->worker;
}

static void transform(struct mf_space_plan *p, size_t planes, const float *x, float *spectra)
{
    CPU->transform(worker_of(p), planes, x, spectra);
}

static void products(struct mf_space_plan *p, size_t planes, const float *first, const float *second, double *sums)
{
    CPU->products(worker_of(p), planes, first, second, sums);
}

static void window(struct mf_space_plan *p, const double *sums, double *values)
{
    CPU->window(worker_of(p), sums, values);
}

static void adjoint(struct mf_space_plan *p, size_t planes, const double *slope, float *spectra, float *g)
{
    CPU->adjoint(worker_of(p), planes, slope, spectra, g);
}

static void across(struct mf_space_plan *p, size_t planes, const double *slope, const float *spectra, float *g)
{
    CPU->across(worker_of(p), planes, slope, spectra, g);
}

const struct mf_space_ops mf_space_dry = {.plane = mf_space_plane,
                                          .plan = space_plan,
                                          .free = space_free,
                                          .transform = transform,
                                          .products = products,
                                          .window = window,
                                          .adjoint = adjoint,
                                          .across = across};
