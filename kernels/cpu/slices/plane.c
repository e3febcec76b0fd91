/* See plane.h. */
#include "kernels/cpu/slices/plane.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/fftw_memory.h"
#include "kernels/form/lag.h"
#include "src/base/err.h"

static void shapes(const struct mf_slice_desc *d, struct mf_planes *p)
{
    for (size_t l = d->first; l < d->levels; ++l) {
        struct mf_plane_shape *s = &p->shape[l];
        const size_t nu = d->nu >> l, nv = d->nv >> l;
        size_t plane;

        s->mu = p->periodic ? nu : mf_cheap_extent(nu + d->lag - 1);
        s->mv = p->periodic ? nv : mf_cheap_extent(nv + d->lag - 1);
        s->row = 2 * (s->mv / 2 + 1);
        plane = (s->mu * s->row + 15) / 16 * 16;
        if (plane > p->size) p->size = plane;
    }
}

/* Plans by estimate look at where @p like stands and not at what is there. */
static int transforms(const struct mf_slice_plan *plan, struct mf_planes *p, float *like)
{
    const struct mf_plane_shape *largest = &p->shape[plan->desc.first];
    size_t missing = 0;
    int rc;

    mf_fftw_begin();
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) {
        struct mf_plane_shape *s = &p->shape[l];

        s->forward = fftwf_plan_dft_r2c_2d((int)s->mu, (int)s->mv, like, mf_spectrum(like), FFTW_ESTIMATE);
        s->back = fftwf_plan_dft_c2r_2d((int)s->mu, (int)s->mv, mf_spectrum(like), like, FFTW_ESTIMATE);
        missing += !s->forward || !s->back;
    }
    p->held = mf_fftw_made();
    if (missing) return mf_fail(MF_MEMORY, "%s: FFTW has no plan", plan->kind->what);
    p->booked = p->held + (ptrdiff_t)((size_t)plan->queue->threads * mf_fftw_buffers(largest->mu, largest->mv));
    rc = mf_arena_book(plan->queue->arena, p->booked, "FFTW plans");
    if (rc != MF_OK) p->booked = 0;
    return rc;
}

int mf_planes_open(const struct mf_slice_plan *plan, int periodic, struct mf_planes *p)
{
    float *like;
    int rc;

    p->periodic = periodic;
    for (size_t l = 0; l < plan->desc.levels; ++l) MF_TRY(mf_slices_check_lag(&plan->desc, l));
    shapes(&plan->desc, p);
    like = mf_arena_take(plan->queue->arena, p->size * sizeof *like, "slice rows");
    if (!like) return MF_MEMORY;
    rc = transforms(plan, p, like);
    mf_arena_give(plan->queue->arena, like);
    return rc;
}

void mf_planes_close(const struct mf_slice_plan *plan, struct mf_planes *p)
{
    mf_fftw_begin();
    for (size_t l = 0; l < plan->desc.levels; ++l) {
        if (p->shape[l].forward) fftwf_destroy_plan(p->shape[l].forward);
        if (p->shape[l].back) fftwf_destroy_plan(p->shape[l].back);
    }
    mf_fftw_gone(p->held);
    if (p->booked) (void)mf_arena_book(plan->queue->arena, -p->booked, "FFTW plans");
}

const struct mf_plane_shape *mf_plane_of(const struct mf_planes *p, const struct mf_cpu_job *job)
{
    size_t l = 0;

    while (job->plan->desc.nu >> l != job->level->nu) ++l;
    return &p->shape[l];
}

void mf_plane_transform(const struct mf_plane_shape *s, const struct mf_cpu_level *level, const float *x, float *plane)
{
    memset(plane, 0, s->mu * s->row * sizeof *plane);
    for (size_t u = 0; u < level->nu; ++u) memcpy(plane + u * s->row, x + u * level->nv, level->nv * sizeof *x);
    fftwf_execute_dft_r2c(s->forward, plane, mf_spectrum(plane));
}

void mf_plane_back(const struct mf_plane_shape *s, float *plane)
{
    fftwf_execute_dft_c2r(s->back, mf_spectrum(plane), plane);
}

size_t mf_plane_place(const struct mf_plane_shape *s, long u, long v)
{
    return (u < 0 ? s->mu - (size_t)-u : (size_t)u) * s->row + (v < 0 ? s->mv - (size_t)-v : (size_t)v);
}

double mf_plane_norm(const struct mf_planes *p, const struct mf_plane_shape *s, const struct mf_cpu_level *level,
                     long u, long v)
{
    return mf_lag_norm(p->periodic, level->nu, level->nv, (size_t)labs(u), (size_t)labs(v)) /
           ((double)s->mu * (double)s->mv);
}
