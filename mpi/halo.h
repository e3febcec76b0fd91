/* Halo exchange: brings the planes beside a rank's own planes, of several fields at once and repeatedly. Neighbours
 * exchange messages; own planes stay in place. */
#ifndef MF_MPI_HALO_H
#define MF_MPI_HALO_H

#include "mpi/slab.h"

/** A field in slabs. It has one plane for every @p grain planes of the volume; 1: it is as fine as the volume. */
struct mf_halo_field {
    size_t grain; /* all slabs, and the volume, end at multiples of it (mf_halo_fits()) */
    size_t plane; /* floats */
};

struct mf_halo;

/** Do all slabs of such a volume begin and end at multiples of @p grain? Not collective, the same on all ranks. */
int mf_halo_fits(const struct mf_comm *comm, const size_t dims[3], size_t grain);

/**
 * Prepares the exchange of @p reach planes on either side of the own planes of @p n fields. The number @p reach may
 * exceed the planes of a neighbour. A rank without planes asks for none. Not @p periodic: there are no planes outside
 * the volume. Takes memory for the planes of others from @p arena (host memory). Local; refuses with MF_MEMORY.
 */
int mf_halo_new(const struct mf_comm *comm, const struct mf_slab *slab, size_t reach, int periodic, size_t n,
                const struct mf_halo_field *field, struct mf_arena *arena, struct mf_halo **halo);
void mf_halo_free(struct mf_halo *halo);

/** Begins the exchange of all fields; finishes it. own [n]: this rank's planes, which must not change in between. Both
 * are collective. */
void mf_halo_start(struct mf_halo *halo, const float *const *own);
void mf_halo_finish(struct mf_halo *halo);

/** Pointers to the planes of field @p f: row [reach + own planes + reach], the own ones in @p own. NULL where there is
 * no plane. Not collective. */
void mf_halo_rows(const struct mf_halo *halo, size_t f, const float *own, const float **row);

#endif
