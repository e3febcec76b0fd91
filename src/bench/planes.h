/* Measurements of planes and slices (net.h). Inner header of this folder. */
#ifndef MF_BENCH_PLANES_H
#define MF_BENCH_PLANES_H

#include "src/bench/net.h"

/** A plane from each neighbour (mf_slab_fetch); @p bytes: of both together. Collective; MF_MEMORY (agreed). */
int mf_bench_halo(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough,
                  size_t bytes, struct mf_bench_row *row);

/** A field's slabs as slices normal to y (mf_redistribute_fetch); @p bytes: of one slab, approximately. Collective;
 * MF_MEMORY (agreed). */
int mf_bench_slices(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough,
                    size_t bytes, struct mf_bench_row *row);

/** The exchange of an evaluation: slices of y and x, and their gradients back (mpi/slab.h). A slab has about @p bytes
 * bytes. Collective; MF_MEMORY (agreed). */
int mf_bench_evaluation(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough,
                        size_t bytes, struct mf_bench_row *row);

#endif
