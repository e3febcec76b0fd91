/* FFTW transforms of the levels of a slice, one level at a time and in place. A plane has the extents of the level
 * where it is periodic; else it is padded with zeros. */
#ifndef MF_KERNELS_CPU_PLANE_H
#define MF_KERNELS_CPU_PLANE_H

#include <fftw3.h>

#include "kernels/cpu/slices/packed.h"

/** How a level is transformed: rows of mu x row floats, mv of them used. */
struct mf_plane_shape {
    size_t mu, mv, row;
    fftwf_plan forward, back;
};

struct mf_planes {
    struct mf_plane_shape shape[MF_PYRAMID_MAX];
    size_t size; /* floats of the largest plane */
    int periodic;
    ptrdiff_t held, booked;
};

/** Makes plans for all levels of @p plan; refuses with MF_MEMORY. Call mf_planes_close() even then. */
int mf_planes_open(const struct mf_slice_plan *plan, int periodic, struct mf_planes *planes);
void mf_planes_close(const struct mf_slice_plan *plan, struct mf_planes *planes);

/** The shape of the job's level. */
const struct mf_plane_shape *mf_plane_of(const struct mf_planes *planes, const struct mf_cpu_job *job);

static inline fftwf_complex *mf_spectrum(float *plane) { return (fftwf_complex *)(void *)plane; }

/** x (as large as the job's level) becomes a spectrum. */
void mf_plane_transform(const struct mf_plane_shape *shape, const struct mf_cpu_level *level, const float *x,
                        float *plane);

/** The inverse transform, not divided by its size. */
void mf_plane_back(const struct mf_plane_shape *shape, float *plane);

/** Index of lag (u, v) in a plane; one over its number of pairs and the transform's size. */
size_t mf_plane_place(const struct mf_plane_shape *shape, long u, long v);
double mf_plane_norm(const struct mf_planes *planes, const struct mf_plane_shape *shape,
                     const struct mf_cpu_level *level, long u, long v);

#endif
