/* See count.h. */
#include "kernels/cpu/slices/count.h"

#include "src/base/err.h"

enum { ALIGN = 64 };

static size_t aligned(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static const struct mf_count *count_of(const struct mf_slice_plan *plan)
{
    return ((const struct mf_cpu_count *)(const void *)plan->family)->count;
}

/* Scratch: the whole numbers, the pixels as bytes, and what the count wants. */
static size_t areas_of(const struct mf_slice_plan *plan, size_t *bytes, size_t *scratch)
{
    const struct mf_count *c = count_of(plan);
    const size_t nu = plan->desc.nu, nv = plan->desc.nv;

    *bytes = aligned(c->numbers(plan->desc.lag) * sizeof(int64_t));
    *scratch = *bytes + aligned(nu * nv);
    return *scratch + (c->room ? c->room(nu, nv) : 0);
}

int mf_cpu_count_open(struct mf_slice_plan *plan)
{
    size_t bytes, scratch;

    plan->scratch = areas_of(plan, &bytes, &scratch) / sizeof(float) + 1;
    plan->pair = count_of(plan)->pairs;
    return MF_OK;
}

void mf_cpu_count_close(struct mf_slice_plan *plan) { (void)plan; }

/* Which side of one half; of pairs, which of the two. */
MF_CPU_FAST static void sort(const struct mf_cpu_level *level, uint8_t *restrict is)
{
    const float *restrict x = level->x, *restrict y = level->y;
    const size_t n = level->nu * level->nv;

    for (size_t i = 0; !y && i < n; ++i) is[i] = x[i] > 0.5F;
    for (size_t i = 0; y && i < n; ++i)
        is[i] = (uint8_t)(x[i] > 0.5F ? MF_COUNT_FIRST : y[i] > 0.5F ? MF_COUNT_SECOND : 0);
}

void mf_cpu_count_value(const struct mf_cpu_job *job, double *d)
{
    const struct mf_slice_desc *desc = &job->plan->desc;
    const struct mf_count *c = count_of(job->plan);
    char *scratch = (char *)job->scratch;
    int64_t *number = (int64_t *)(void *)scratch;
    size_t bytes, rest;
    struct mf_count_slice slice = {
        .nu = job->level->nu, .nv = job->level->nv, .lag = desc->lag, .periodic = desc->periodic};

    (void)areas_of(job->plan, &bytes, &rest);
    sort(job->level, (uint8_t *)scratch + bytes);
    slice.is = (const uint8_t *)scratch + bytes;
    c->count(&slice, scratch + rest, number);
    c->values(&slice, number, d);
}
