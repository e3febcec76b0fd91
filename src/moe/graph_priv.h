/* What the files of the knowledge graph share. */
#ifndef MF_MOE_GRAPH_PRIV_H
#define MF_MOE_GRAPH_PRIV_H

#include "src/moe/graph.h"

#define MF_GRAPH_FORMAT "mesoforge knowledge graph"

/* The largest graph that is read. */
enum { MF_GRAPH_VERSION = 2, MF_GRAPH_EXPERTS = 1024, MF_GRAPH_CONCEPTS = 1024, MF_GRAPH_EDGES = 1 << 20 };

struct mf_atomic;

/** Each writes a graph to a temporary file. MF_OUTPUT. */
int mf_graph_write_h5(const struct mf_json *graph, const struct mf_atomic *file);
int mf_graph_write_graphml(const struct mf_json *graph, const struct mf_atomic *file);

/** The JSON text of an HDF5 file; the caller frees. MF_INPUT. */
int mf_graph_read_h5(const char *path, char **text);

/** All samples that an expert has worked on. */
double mf_graph_all_samples(const struct mf_graph *graph, const struct mf_graph_expert *expert);

#endif
