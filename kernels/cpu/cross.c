/* Cross-correlations of two fields on the cpu: D(r) = mean over p of x(p) y(p + r), a slice at a time through FFTW. */
#include <fftw3.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/fftw_memory.h"
#include "kernels/form/lag.h"
#include "src/base/err.h"

/* How a level is transformed, in place: rows of mu x row floats, mv of them used. */
struct shape {
    size_t mu, mv, row;
    fftwf_plan forward, back;
};

struct state {
    struct shape shape[MF_PYRAMID_MAX];
    size_t plane; /* floats of the largest transform */
    ptrdiff_t held, booked;
};

static size_t entries(const struct mf_slice_desc *desc) { return (2 * desc->lag - 1) * (2 * desc->lag - 1); }

static void shapes(const struct mf_slice_desc *d, struct state *st)
{
    for (size_t l = d->first; l < d->levels; ++l) {
        struct shape *s = &st->shape[l];
        const size_t nu = d->nu >> l, nv = d->nv >> l;
        size_t plane;

        s->mu = d->periodic ? nu : mf_cheap_extent(nu + d->lag - 1);
        s->mv = d->periodic ? nv : mf_cheap_extent(nv + d->lag - 1);
        s->row = 2 * (s->mv / 2 + 1);
        plane = (s->mu * s->row + 15) / 16 * 16;
        if (plane > st->plane) st->plane = plane;
    }
}

static fftwf_complex *spectrum(float *plane) { return (fftwf_complex *)(void *)plane; }

/* Plans by estimate look at where @p like stands and not at what is there. */
static int transforms(struct mf_slice_plan *plan, struct state *st, float *like)
{
    const struct shape *largest = &st->shape[plan->desc.first];
    size_t missing = 0;
    int rc;

    mf_fftw_begin();
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) {
        struct shape *s = &st->shape[l];

        s->forward = fftwf_plan_dft_r2c_2d((int)s->mu, (int)s->mv, like, spectrum(like), FFTW_ESTIMATE);
        s->back = fftwf_plan_dft_c2r_2d((int)s->mu, (int)s->mv, spectrum(like), like, FFTW_ESTIMATE);
        missing += !s->forward || !s->back;
    }
    st->held = mf_fftw_made();
    if (missing) return mf_fail(MF_MEMORY, "cross-correlations: FFTW has no plan");
    st->booked = st->held + (ptrdiff_t)((size_t)plan->queue->threads * mf_fftw_buffers(largest->mu, largest->mv));
    rc = mf_arena_book(plan->queue->arena, st->booked, "FFTW plans");
    if (rc != MF_OK) st->booked = 0;
    return rc;
}

static int cross_open(struct mf_slice_plan *plan)
{
    struct state *st = calloc(1, sizeof *st);
    float *like;
    int rc;

    if (!st) return mf_fail(MF_MEMORY, "cross-correlations: no memory for a plan");
    plan->state = st;
    plan->pair = 1;
    for (size_t l = 0; l < plan->desc.levels; ++l) MF_TRY(mf_slices_check_lag(&plan->desc, l));
    shapes(&plan->desc, st);
    plan->scratch = 3 * st->plane;
    like = mf_arena_take(plan->queue->arena, st->plane * sizeof *like, "slice rows");
    if (!like) return MF_MEMORY;
    rc = transforms(plan, st, like);
    mf_arena_give(plan->queue->arena, like);
    return rc;
}

static void cross_close(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    if (!st) return;
    mf_fftw_begin();
    for (size_t l = 0; l < plan->desc.levels; ++l) {
        if (st->shape[l].forward) fftwf_destroy_plan(st->shape[l].forward);
        if (st->shape[l].back) fftwf_destroy_plan(st->shape[l].back);
    }
    mf_fftw_gone(st->held);
    if (st->booked) (void)mf_arena_book(plan->queue->arena, -st->booked, "FFTW plans");
    free(st);
}

static const struct shape *shape_of(const struct mf_cpu_job *job)
{
    const struct state *st = job->plan->state;
    size_t l = 0;

    while (job->plan->desc.nu >> l != job->level->nu) ++l;
    return &st->shape[l];
}

static float *plane_of(const struct mf_cpu_job *job, size_t i)
{
    const struct state *st = job->plan->state;

    return job->scratch + i * st->plane;
}

static void transform(const struct mf_cpu_job *job, const struct shape *s, const float *x, float *plane)
{
    memset(plane, 0, s->mu * s->row * sizeof *plane);
    for (size_t u = 0; u < job->level->nu; ++u)
        memcpy(plane + u * s->row, x + u * job->level->nv, job->level->nv * sizeof *x);
    fftwf_execute_dft_r2c(s->forward, plane, spectrum(plane));
}

/* a = conj(b) c (@p turned), or b c; a may be one of them. */
static void multiply(const struct shape *s, int turned, const float *b, const float *c, float *a)
{
    const float sign = turned ? -1 : 1;

    for (size_t i = 0; i < s->mu * s->row; i += 2) {
        const float re = b[i], im = sign * b[i + 1], x = c[i], y = c[i + 1];

        a[i] = re * x - im * y;
        a[i + 1] = re * y + im * x;
    }
}

/* Where lag (u, v) stands in a plane, and one over its pairs and the transform. */
static size_t place(const struct shape *s, long u, long v)
{
    return (u < 0 ? s->mu - (size_t)-u : (size_t)u) * s->row + (v < 0 ? s->mv - (size_t)-v : (size_t)v);
}

static double norm_of(const struct mf_cpu_job *job, const struct shape *s, long u, long v)
{
    return mf_lag_norm(job->plan->desc.periodic, job->level->nu, job->level->nv, (size_t)labs(u), (size_t)labs(v)) /
           ((double)s->mu * (double)s->mv);
}

static void cross_value(const struct mf_cpu_job *job, double *d)
{
    const struct shape *s = shape_of(job);
    const long reach = (long)job->plan->desc.lag - 1;
    float *x = plane_of(job, 0), *y = plane_of(job, 1);

    transform(job, s, job->level->x, x);
    transform(job, s, job->level->y, y);
    multiply(s, 1, x, y, y);
    fftwf_execute_dft_c2r(s->back, spectrum(y), y);
    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v) *d++ = (double)y[place(s, u, v)] * norm_of(job, s, u, v);
}

static void add(const struct mf_cpu_job *job, const struct shape *s, float *plane, float *g)
{
    fftwf_execute_dft_c2r(s->back, spectrum(plane), plane);
    for (size_t u = 0; u < job->level->nu; ++u)
        for (size_t v = 0; v < job->level->nv; ++v) g[u * job->level->nv + v] += plane[u * s->row + v];
}

/* dA/dx(p) = sum over r of c(r) y(p + r), dA/dy(p) = sum over r of c(r) x(p - r) */
static void cross_gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct shape *s = shape_of(job);
    const long reach = (long)job->plan->desc.lag - 1;
    float *x = plane_of(job, 0), *y = plane_of(job, 1), *c = plane_of(job, 2);

    transform(job, s, job->level->x, x);
    transform(job, s, job->level->y, y);
    memset(c, 0, s->mu * s->row * sizeof *c);
    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v) c[place(s, u, v)] = (float)(*slope++ * norm_of(job, s, u, v));
    fftwf_execute_dft_r2c(s->forward, c, spectrum(c));
    multiply(s, 1, c, y, y);
    multiply(s, 0, c, x, x);
    add(job, s, y, job->level->g);
    add(job, s, x, job->level->h);
}

static const struct mf_cpu_family cross = {.name = "cross-correlations",
                                           .entries = entries,
                                           .open = cross_open,
                                           .close = cross_close,
                                           .value = cross_value,
                                           .gradient = cross_gradient};

static int plan_cross(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_cpu_dense_plan(&cross, queue, desc, plan);
}

const struct mf_slice_ops mf_cross_cpu = {.name = "cross",
                                          .entries = entries,
                                          .plan = plan_cross,
                                          .free = mf_cpu_dense_free,
                                          .eval = mf_cpu_dense_eval,
                                          .cross = mf_cpu_dense_cross};
