/* How near made samples are to the samples that a model learnt from. A copy, also a shifted one, differs in no pixel.
 */
#ifndef MF_DESC_SET_COPIES_H
#define MF_DESC_SET_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "mpi/comm.h"

/** The nearest of the samples that a query was compared with, over all periodic shifts. */
struct mf_set_nearest {
    double off;   /* phases: share of the pixels that differ. Values: root of the mean square of the difference */
    uint32_t id;  /* of that sample; UINT32_MAX: it was compared with none */
    size_t at[3]; /* shift {z, y, x}: query(v + at) is near sample(v) */
};

struct mf_set_copies;

/**
 * Begins with room for @p queries samples of dims {nz, ny, nx}, in the form of mf_sample_convert(). Two phases are one
 * channel of 0 and 1. More phases have a channel each. Values (@p phases 0) have their channels. The host computes on
 * the queue's threads, whatever its back end; memory comes from queue->host. MF_MEMORY. Local.
 */
int mf_set_copies_begin(struct mf_queue *queue, const size_t dims[3], int phases, size_t channels, size_t queries,
                        struct mf_set_copies **copies);
void mf_set_copies_end(struct mf_set_copies *copies); /* NULL is accepted */

/** Sets query @p k: x [nz][ny][nx][channels] in host memory. Local. */
void mf_set_copies_query(struct mf_set_copies *copies, size_t k, const float *x);

/** Compares all queries with sample @p id. The result does not depend on the order of samples. Local. */
void mf_set_copies_against(struct mf_set_copies *copies, uint32_t id, const float *x);

/** The nearest sample of every query, near [queries], among those of all ranks. Every rank has the same queries, and
 * samples of its own. Collective; refuses (agreed) with MF_MEMORY. */
int mf_set_copies_finish(const struct mf_comm *comm, const struct mf_set_copies *copies, struct mf_set_nearest *near);

/** Quantile @p q of off over n queries, at least one: linear between the sorted values. Local. */
double mf_set_copies_quantile(size_t n, const struct mf_set_nearest *near, double q);

#endif
