/* Halo exchange: brings the planes beside a rank's own ones, of several fields at once and repeatedly. Only neighbours'
 * messages move; the own planes stay in place. */
#ifndef MF_MPI_HALO_H
#define MF_MPI_HALO_H

#include "mpi/slab.h"

/** A field in slabs: of the volume itself (grain 1), or of a coarser one with one plane for every @p grain planes. */
struct mf_halo_field {
    size_t grain; /* all slabs begin at multiples of it, and so does the end of the volume (mf_halo_fits()) */
    size_t plane; /* floats */
};

struct mf_halo;

/** Do all slabs of such a volume begin and end at multiples of @p grain? Not collective, the same on all ranks. */
int mf_halo_fits(const struct mf_comm *comm, const size_t dims[3], size_t grain);

/**
 * Prepares the exchange of @p reach planes on either side of the own ones of each of @p n fields, which may be more
 * than neighbours have. A rank without planes asks for none. Not @p periodic: none outside of the volume. Takes memory
 * for the planes of others from @p arena (host memory). Local; refuses with MF_MEMORY.
 */
int mf_halo_new(const struct mf_comm *comm, const struct mf_slab *slab, size_t reach, int periodic, size_t n,
                const struct mf_halo_field *field, struct mf_arena *arena, struct mf_halo **halo);
void mf_halo_free(struct mf_halo *halo);

/** Begins to bring the planes of all fields; own [n]: this rank's, which stay as they are until all is there. Both
 * collective. */
void mf_halo_start(struct mf_halo *halo, const float *const *own);
void mf_halo_finish(struct mf_halo *halo);

/** Pointers to the planes of field @p f, own ones at @p own: row [reach + own planes + reach], NULL where there is
 * none. Not collective. */
void mf_halo_rows(const struct mf_halo *halo, size_t f, const float *own, const float **row);

#endif
