/* See kernels/fft.h: by FFTW. */
#include "kernels/fft.h"

#include <fftw3.h>
#include <stdlib.h>

#include "kernels/cpu/fftw_memory.h"
#include "src/base/err.h"

struct mf_fft {
    struct mf_arena *arena;
    fftwf_plan plane[2], lines[2];
    ptrdiff_t held, booked; /* bytes that FFTW took; the same with buffers of running transforms */
};

static fftwf_complex *complex_at(float *memory) { return (fftwf_complex *)(void *)memory; }

/* Plans by estimate: those that are measured may differ from rank to rank, and the results with them. */
static void make_plans(struct mf_fft *f, const size_t dims[3], size_t fields, float *memory)
{
    const int n[2] = {(int)dims[1], (int)dims[2]}, nz = (int)dims[0], many = (int)fields;
    const int pitch = (int)mf_fft_pitch(dims[2]), half = pitch / 2, real[2] = {n[0], many * pitch};
    const int waves[2] = {n[0], many * half}, all = many * half;
    fftwf_complex *c = complex_at(memory);

    f->plane[0] = fftwf_plan_many_dft_r2c(2, n, many, memory, real, 1, pitch, c, waves, 1, half, FFTW_ESTIMATE);
    f->plane[1] = fftwf_plan_many_dft_c2r(2, n, many, c, waves, 1, half, memory, real, 1, pitch, FFTW_ESTIMATE);
    for (int way = 0; way < 2; ++way)
        f->lines[way] = fftwf_plan_many_dft(1, &nz, all, c, &nz, all, 1, c, &nz, all, 1,
                                            way ? FFTW_BACKWARD : FFTW_FORWARD, FFTW_ESTIMATE);
}

int mf_fft_open(struct mf_arena *arena, const size_t dims[3], size_t fields, int threads, float *memory,
                struct mf_fft **fft)
{
    const size_t wide = fields * mf_fft_pitch(dims[2]);
    const size_t plane = mf_fftw_buffers(dims[1], wide), lines = mf_fftw_buffers(dims[0], wide);
    struct mf_fft *f = MF_MUST(calloc(1, sizeof *f), "transforms");
    int rc;

    f->arena = arena;
    mf_fftw_begin();
    make_plans(f, dims, fields, memory);
    f->held = mf_fftw_made();
    *fft = f;
    if (!f->plane[0] || !f->plane[1] || !f->lines[0] || !f->lines[1])
        return mf_fail(MF_MEMORY, "FFTW has no plan for %zu x %zu x %zu voxels", dims[0], dims[1], dims[2]);
    f->booked = f->held + (ptrdiff_t)((size_t)threads * (plane > lines ? plane : lines));
    rc = mf_arena_book(arena, f->booked, "FFTW plans");
    if (rc != MF_OK) f->booked = 0;
    return rc;
}

void mf_fft_close(struct mf_fft *fft)
{
    if (!fft) return;
    mf_fftw_begin();
    for (int way = 0; way < 2; ++way) {
        if (fft->plane[way]) fftwf_destroy_plan(fft->plane[way]);
        if (fft->lines[way]) fftwf_destroy_plan(fft->lines[way]);
    }
    mf_fftw_gone(fft->held);
    if (fft->booked) (void)mf_arena_book(fft->arena, -fft->booked, "FFTW plans");
    free(fft);
}

void mf_fft_plane(const struct mf_fft *fft, int way, float *plane)
{
    if (way == MF_FFT_FORWARD)
        fftwf_execute_dft_r2c(fft->plane[0], plane, complex_at(plane));
    else
        fftwf_execute_dft_c2r(fft->plane[1], complex_at(plane), plane);
}

void mf_fft_lines(const struct mf_fft *fft, int way, float *slice)
{
    fftwf_execute_dft(fft->lines[way], complex_at(slice), complex_at(slice));
}
