/* How a volume is divided among the ranks: slabs of consecutive planes, cut in z at even planes. A rank may own no
 * plane. mf_slab_fetch() copies whole planes between slabs. */
#ifndef MF_MPI_SLAB_H
#define MF_MPI_SLAB_H

#include "kernels/slices/view.h"
#include "kernels/stage.h"
#include "mpi/comm.h"
#include "src/base/arena.h"
#include "src/base/cut.h"

/** dims {nz, ny, nx}; own planes are [first, first + count). */
struct mf_slab {
    size_t dims[3];
    size_t first, count;
};

/** The axis that slices are normal to. */
enum mf_normal { MF_Z = 0, MF_Y = 1, MF_X = 2 };

/** Axes (0: z, 1: y, 2: x) of a slice: from row to row (u), along a row (v). */
static inline size_t mf_slice_u(size_t normal) { return normal == MF_Z ? 1 : 0; }
static inline size_t mf_slice_v(size_t normal) { return normal == MF_X ? 1 : 2; }

/** This rank's (or @p rank's) part of a volume. Not collective. */
struct mf_slab mf_slab_of(const struct mf_comm *comm, const size_t dims[3], int rank);

/** The rank that owns plane @p plane. Not collective. */
int mf_slab_owner(const struct mf_comm *comm, const size_t dims[3], size_t plane);

/** Voxels of the own planes. */
size_t mf_slab_voxels(const struct mf_slab *slab);

/**
 * Fetches planes by global index: plane k of @p out is plane (first + k) mod nz of the volume, k < count. The index @p
 * first may be negative. The range may span several ranks' slabs, or wrap around more than once. Halo exchange and the
 * refinement of a coarse field use it. Both @p own [slab.count] and @p out have @p plane_bytes bytes per plane. Every
 * rank calls it with its own range (count may be 0). Not periodic: the caller asks for no plane outside. Refuses
 * (agreed) with MF_MEMORY.
 */
int mf_slab_fetch(const struct mf_comm *comm, const struct mf_slab *slab, const void *own, size_t plane_bytes,
                  ptrdiff_t first, size_t count, void *out);

/** The same where @p own is device memory of @p queue and @p out is host memory. Planes for other ranks pass through
 * queue->host. With the NCCL transport (nccl_transport.h) they go from device to device. */
int mf_slab_fetch_device(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                         const void *own, size_t plane_bytes, ptrdiff_t first, size_t count, void *out);

/**
 * Most own planes that other ranks request in one fetch: these pass through queue->host. It assumes that every rank
 * fetches the @p deep planes below its own, and then those above. Not @p periodic: none outside. Not collective.
 */
size_t mf_slab_asked(const struct mf_comm *comm, const struct mf_slab *slab, size_t deep, int periodic);

#endif
