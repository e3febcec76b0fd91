/* Cross-correlations of two fields on the cpu, a slice at a time through FFTW: D(r) = mean over p of x(p) y(p + r). */
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/plane.h"
#include "src/base/err.h"

static int cross_open(struct mf_slice_plan *plan)
{
    struct mf_planes *planes = plan->state = calloc(1, sizeof *planes);

    if (!planes) return mf_fail(MF_MEMORY, "cross-correlations: no memory for a plan");
    plan->pair = 1;
    MF_TRY(mf_planes_open(plan, plan->desc.periodic, planes));
    plan->scratch = 3 * planes->size;
    return MF_OK;
}

static void cross_close(struct mf_slice_plan *plan)
{
    if (plan->state) mf_planes_close(plan, plan->state);
    free(plan->state);
}

static float *plane_of(const struct mf_cpu_job *job, size_t i)
{
    const struct mf_planes *planes = job->plan->state;

    return job->scratch + i * planes->size;
}

/* a = conj(b) c (@p turned), or b c; a may be one of them. */
static void multiply(const struct mf_plane_shape *s, int turned, const float *b, const float *c, float *a)
{
    const float sign = turned ? -1 : 1;

    for (size_t i = 0; i < s->mu * s->row; i += 2) {
        const float re = b[i], im = sign * b[i + 1], x = c[i], y = c[i + 1];

        a[i] = re * x - im * y;
        a[i + 1] = re * y + im * x;
    }
}

static void cross_value(const struct mf_cpu_job *job, double *d)
{
    const struct mf_planes *planes = job->plan->state;
    const struct mf_plane_shape *s = mf_plane_of(planes, job);
    const long reach = (long)job->plan->desc.lag - 1;
    float *x = plane_of(job, 0), *y = plane_of(job, 1);

    mf_plane_transform(s, job->level, job->level->x, x);
    mf_plane_transform(s, job->level, job->level->y, y);
    multiply(s, 1, x, y, y);
    mf_plane_back(s, y);
    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v)
            *d++ = (double)y[mf_plane_place(s, u, v)] * mf_plane_norm(planes, s, job->level, u, v);
}

static void add(const struct mf_cpu_job *job, const struct mf_plane_shape *s, float *plane, float *g)
{
    mf_plane_back(s, plane);
    for (size_t u = 0; u < job->level->nu; ++u)
        for (size_t v = 0; v < job->level->nv; ++v) g[u * job->level->nv + v] += plane[u * s->row + v];
}

/* dA/dx(p) = sum over r of c(r) y(p + r), dA/dy(p) = sum over r of c(r) x(p - r) */
static void cross_gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct mf_planes *planes = job->plan->state;
    const struct mf_plane_shape *s = mf_plane_of(planes, job);
    const long reach = (long)job->plan->desc.lag - 1;
    float *x = plane_of(job, 0), *y = plane_of(job, 1), *c = plane_of(job, 2);

    mf_plane_transform(s, job->level, job->level->x, x);
    mf_plane_transform(s, job->level, job->level->y, y);
    memset(c, 0, s->mu * s->row * sizeof *c);
    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v)
            c[mf_plane_place(s, u, v)] = (float)(*slope++ * mf_plane_norm(planes, s, job->level, u, v));
    fftwf_execute_dft_r2c(s->forward, c, mf_spectrum(c));
    multiply(s, 1, c, y, y);
    multiply(s, 0, c, x, x);
    add(job, s, y, job->level->g);
    add(job, s, x, job->level->h);
}

static const struct mf_cpu_family cross = {
    .open = cross_open, .close = cross_close, .value = cross_value, .gradient = cross_gradient};

const struct mf_slice_kind mf_kind_cross = {"cross", "cross-correlations", mf_entries_window, mf_cost_pairs};

MF_CPU_OF_PAIRS(cross, cross);
