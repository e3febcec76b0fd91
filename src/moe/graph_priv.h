/* Shared by the files of the knowledge graph. */
#ifndef MF_MOE_GRAPH_PRIV_H
#define MF_MOE_GRAPH_PRIV_H

#include "src/moe/graph.h"

#define MF_GRAPH_FORMAT "mesoforge knowledge graph"

/* The largest graph that is read. */
enum { MF_GRAPH_VERSION = 2, MF_GRAPH_EXPERTS = 1024, MF_GRAPH_CONCEPTS = 1024, MF_GRAPH_EDGES = 1 << 20 };

/** All samples that an expert has worked on. */
double mf_graph_all_samples(const struct mf_graph *graph, const struct mf_graph_expert *expert);

#endif
