/* Conductivities of many small structures, which are columns of a dataset.
 * Rule: a rank solves whole samples alone, so values do not depend on ranks. */
#ifndef MF_PROP_SAMPLE_H
#define MF_PROP_SAMPLE_H

#include "io/dataset.h"
#include "src/prop/conduct.h"

struct mf_conduct_columns {
    int wanted[3]; /* along z, y, x */
    double most;   /* the largest conductivity; 0: there are no columns */
    struct mf_conduct_opts opts;
};

/** Columns of phases with conductivities @p k [n], between plates, along all axes. Local. */
struct mf_conduct_columns mf_conduct_columns(int ndim, size_t n, const double *k);

/** Their names, conductivity_z, conductivity_y, conductivity_x. Returns how many. Local. */
size_t mf_conduct_columns_name(const struct mf_conduct_columns *columns, mf_name *name);

/** Says what the values follow from, of phases with conductivities @p k [n]. The caller frees the text. Local. */
char *mf_conduct_columns_said(const struct mf_conduct_columns *columns, size_t n, const double *k);

/** The values of a sample that this rank has alone; 0: no way through. @p self: a group of this rank. Local; refuses as
 * mf_conduct(). */
int mf_conduct_columns_of(const struct mf_conduct_columns *columns, const struct mf_comm *self, struct mf_queue *queue,
                          struct mf_arena *arena, const struct mf_micro *micro, float *value);

#endif
