/* The concepts of a graph: the classes of a dataset, and what several of them are part of. */
#ifndef MF_MOE_CONCEPTS_H
#define MF_MOE_CONCEPTS_H

#include "src/moe/graph.h"

/**
 * Adds all classes. The families of two or more classes stand in front of them, and the classes stand together. So
 * "steel" stands before "steel/bainite" and "steel/pearlite". Classes of synth are part of "inclusions" (spheres,
 * hard-spheres, fibres, cracks) or "periodic" (lamellae, checkerboard).
 */
void mf_concepts_add(struct mf_graph *graph, size_t classes, const char *const *name);

/** The numbers of the concepts that samples are counted for, and not only for their parts. @p to [concepts]. Returns
 * how many. */
size_t mf_concepts_counted(const struct mf_graph *graph, size_t *to);

#endif
