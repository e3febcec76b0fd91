/* The descriptors S2_3D and CrossS2_3D: two-point correlations of a volume in space (kernels/slices/space.h). The
 * planes of the volume are distributed over the ranks. */
#ifndef MF_DESC_SPACE_H
#define MF_DESC_SPACE_H

#include "io/target.h"
#include "kernels/slices/space.h"
#include "mpi/slab.h"

struct mf_space;

struct mf_space_opts {
    size_t lag;       /* L */
    size_t fields;    /* number of fields whose spectra are held at a time */
    int periodic;     /* 0: only pairs inside, divided by their number */
    int gradient;     /* mf_space_adjoint() or mf_space_cross_adjoint() will be called */
    int pairs;        /* fields will be compared with each other */
    const char *name; /* name of the requested descriptor, for error messages */
};

/**
 * Takes spectra and work areas from the arenas of @p queue, in whose memory the fields are. Collective. Refuses
 * (agreed) with MF_DEVICE where the back end has no kernels for it. MF_USAGE: an image, or L is too large. Or
 * MF_MEMORY.
 */
int mf_space_new(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                 const struct mf_space_opts *opts, struct mf_space **space);
void mf_space_free(struct mf_space *space);

/** Bytes of queue->host that an exchange uses for a short time. Not collective. */
size_t mf_space_staged(const struct mf_space *space);

/** Computes and keeps the spectra of @p x [slab.count][ny][nx] as field @p field. Keeps those of planes next to this
 * rank's, too. Waits for the queue. Collective; refuses (agreed) with MF_MEMORY. */
int mf_space_hold(struct mf_space *space, size_t field, const float *x);

/** Windows, with the same bits on any number of ranks. First: S2_3D of a field, for lags d = 0 .. L-1 (the rest is its
 * mirror image), u, v = -L+1 .. L-1. Second: the cross-correlation of @p a with @p b, all lags. Wait for the queue.
 * Collective. */
void mf_space_window(struct mf_space *space, size_t field, double *window);
void mf_space_cross(struct mf_space *space, size_t a, size_t b, double *window);

/** @p g += sum over all lags, including mirrored ones, of slope dD/dx for field @p field. Its spectra are then
 * released. Enqueued; slope [entries] may change on return. Not collective. */
void mf_space_adjoint(struct mf_space *space, size_t field, const double *slope, float *g);

/** The same for a window of two fields, with the gradients of both. Their spectra are kept. */
void mf_space_cross_adjoint(struct mf_space *space, size_t a, size_t b, const double *slope, float *ga, float *gb);

#endif
