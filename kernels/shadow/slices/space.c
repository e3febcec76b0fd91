/* Two-point correlation in space on the shadow: see shadow.h. */
#include <stdlib.h>

#include "kernels/shadow/shadow.h"
#include "src/base/err.h"

struct mf_space_plan {
    struct mf_queue *queue;
    struct mf_space_plan *inner; /* of cpu */
    size_t sums, window, all;    /* bytes; all: of the lags of two fields */
};

#define CPU (mf_backend_cpu.slices->space)

static size_t plane(const struct mf_space_desc *desc) { return CPU->plane(desc); }

static int plan_make(struct mf_queue *queue, const struct mf_space_desc *desc, struct mf_space_plan **plan)
{
    struct mf_space_plan *p = calloc(1, sizeof *p);
    size_t width = 2 * desc->lag - 1;
    int rc;

    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan");
    mf_shadow_enter();
    rc = CPU->plan(mf_shadow_inner(queue), desc, &p->inner);
    mf_shadow_leave();
    if (rc != MF_OK) {
        free(p);
        return rc;
    }
    p->queue = queue;
    p->sums = desc->lag * CPU->plane(desc) * sizeof(double);
    p->window = desc->lag * width * width * sizeof(double);
    p->all = width * width * width * sizeof(double);
    *plan = p;
    return MF_OK;
}

static void plan_free(struct mf_space_plan *plan)
{
    if (!plan) return;
    mf_shadow_enter();
    CPU->free(plan->inner);
    mf_shadow_leave();
    free(plan);
}

static void transform(struct mf_space_plan *plan, size_t planes, const float *x, float *spectra)
{
    MF_SHADOW_RUN("space transform", CPU->transform(plan->inner, planes, x, spectra), x, spectra);
}

static void products(struct mf_space_plan *plan, size_t planes, const float *first, const float *second, double *sums)
{
    sums = mf_shadow_output(plan->queue, "space products", sums, plan->sums);
    MF_SHADOW_RUN("space products", CPU->products(plan->inner, planes, first, second, sums), first, second);
}

static void window(struct mf_space_plan *plan, const double *sums, double *values)
{
    mf_shadow_input(plan->queue, "space window", sums, plan->sums);
    values = mf_shadow_output(plan->queue, "space window", values, plan->window);
    mf_shadow_enter();
    CPU->window(plan->inner, sums, values);
    mf_shadow_leave();
}

static void adjoint(struct mf_space_plan *plan, size_t planes, const double *slope, float *spectra, float *g)
{
    mf_shadow_input(plan->queue, "space adjoint", slope, plan->window);
    MF_SHADOW_RUN("space adjoint", CPU->adjoint(plan->inner, planes, slope, spectra, g), spectra, g);
}

static void across(struct mf_space_plan *plan, size_t planes, const double *slope, const float *spectra, float *g)
{
    mf_shadow_input(plan->queue, "space across", slope, plan->all);
    MF_SHADOW_RUN("space across", CPU->across(plan->inner, planes, slope, spectra, g), spectra, g);
}

const struct mf_space_ops mf_space_shadow = {.plane = plane,
                                             .plan = plan_make,
                                             .free = plan_free,
                                             .transform = transform,
                                             .products = products,
                                             .window = window,
                                             .adjoint = adjoint,
                                             .across = across};
