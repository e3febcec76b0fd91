/* Needs of a computed picture or table: the ranks, and one rank's back end and memory. Rank 0 draws; the others help to
 * read, cut and characterise. */
#ifndef MF_SHOW_SHOW_H
#define MF_SHOW_SHOW_H

#include "kernels/backend.h"
#include "mpi/comm.h"

struct mf_show {
    const struct mf_comm *comm;
    const struct mf_backend *backend; /* NULL: nothing can be computed, and files are drawn without measurements */
    struct mf_queue *queue, *home;    /* of slices; of whole fields */
    struct mf_arena *arena;           /* host memory */
};

#endif
