/* The knowledge graph: what experts have done, how they are related, and which concepts they serve.
 *
 * Rule: experts lie in the order of their ids, edges in that of their ends, concepts as they were added. So equal calls
 * make equal graphs, to the byte, and every rank calls the same. A wrong id is a bug. */
#ifndef MF_MOE_GRAPH_H
#define MF_MOE_GRAPH_H

#include <stddef.h>

#include "src/base/json.h"
#include "src/run/checkpoint.h"

enum mf_relation {
    MF_SIMILARITY,           /* of a new expert and the busiest one at its birth */
    MF_DEPENDENCY,           /* most rows of one are rows of the other, too */
    MF_COMPOSITION,          /* both work on the same rows */
    MF_SPECIALIZATION_SPLIT, /* both serve the same classes in the same way, and divide them */
    MF_RELATIONS
};

/** "similarity", "dependency", ... */
extern const char *const mf_relation_names[MF_RELATIONS];

struct mf_graph_expert {
    long id;                                            /* no other expert ever has it */
    double activations;                                 /* rows that it has worked on */
    long active;                                        /* the last step with such rows; -1: none */
    double specialization, adaptation_rate, confidence; /* in [0, 1] */
    long born, parent;                                  /* step of its birth; id of the busiest expert then, -1: none */
    double *samples;                                    /* [concepts] that belong to each, without its subconcepts */
};

/** Undirected. Two experts have at most one edge of each relation. */
struct mf_graph_edge {
    long one, other; /* ids, one < other */
    enum mf_relation relation;
    double weight; /* in (0, 1] */
};

struct mf_graph_concept {
    char *name;
    long parent; /* its number, lower than that of this concept; -1: none */
};

#define MF_SCHEMA_GRAPH "knowledge graph" /* attribute schema of a graph in HDF5, as older versions wrote it */

/** Zeros are an empty graph. */
struct mf_graph {
    struct mf_graph_expert *expert;
    struct mf_graph_edge *edge;
    struct mf_graph_concept *concept;
    size_t experts, edges, concepts;
    long next; /* the least id that no expert has had */
};

void mf_graph_free(struct mf_graph *graph);

/** A copy of its own. The old content of @p to is not freed. */
void mf_graph_copy(const struct mf_graph *from, struct mf_graph *to);

/** Adds an expert; its id is not below graph->next, and expert->samples is not read. */
void mf_graph_add(struct mf_graph *graph, const struct mf_graph_expert *expert);

/** An expert by its id; NULL: there is none. Valid until experts are added or removed. */
struct mf_graph_expert *mf_graph_find(const struct mf_graph *graph, long id);

/** Adds an edge. One of that relation that is there takes the larger weight. */
void mf_graph_connect(struct mf_graph *graph, long one, long other, enum mf_relation relation, double weight);

/** Below 0, 0 or above 0: the order of edges. */
int mf_graph_order(const struct mf_graph_edge *a, const struct mf_graph_edge *b);

/** Removes an expert and its edges. */
void mf_graph_remove(struct mf_graph *graph, long id);

/**
 * Expert @p from becomes part of @p into. Rows and samples are added, scores are averaged by their rows, and edges move
 * as mf_graph_connect() adds them.
 */
void mf_graph_merge(struct mf_graph *graph, long from, long into);

/**
 * Removes an expert. Its neighbour with the largest weight (of equal ones the lowest id) is the heir of its other
 * edges. An edge of the heir that is there becomes 0.7 of its own weight plus 0.3 of the other. A new one has 0.8 of
 * the weight. Returns the heir's id; -1: there was no neighbour.
 */
long mf_graph_prune(struct mf_graph *graph, long id);

/** Multiplies all weights by @p rate, and removes edges below @p least, and those of 0. Both are from 0 to 1. */
void mf_graph_decay(struct mf_graph *graph, double rate, double least);

/** The number of a concept, which is added if it is new. The number @p parent is that of the concept it is part of;
 * -1. */
size_t mf_graph_concept(struct mf_graph *graph, const char *name, long parent);

/** Counts @p samples more of a concept that an expert has worked on. */
void mf_graph_serve(struct mf_graph *graph, long id, size_t concept, double samples);

/* ---- questions ---- */

/** Samples of a concept and its subconcepts that an expert has worked on. Their share of all its samples; none: 0. */
double mf_graph_samples(const struct mf_graph *graph, const struct mf_graph_expert *expert, size_t concept);
double mf_graph_share(const struct mf_graph *graph, const struct mf_graph_expert *expert, size_t concept);

/** The expert with most samples of a concept (of equal ones the lowest id); -1: no expert has any. */
long mf_graph_best(const struct mf_graph *graph, size_t concept);

/** @p to [experts]: the share of the other experts that each has an edge with; of one expert 0. */
void mf_graph_centrality(const struct mf_graph *graph, double *to);

/* ---- files ---- */

/** All of a graph, and a graph from that. Sentences call the file @p name. MF_INPUT of mf_graph_from(): other keys, ids
 * that do not grow, edges without ends, weights outside of (0, 1]. The old content of @p graph is not freed, and it is
 * written to on success only. */
struct mf_json *mf_graph_json(const struct mf_graph *graph);
int mf_graph_from(const struct mf_json *json, const char *name, struct mf_graph *graph);

/** Writes a graph as JSON to a file that appears whole or not at all. Not collective: rank 0. MF_OUTPUT. */
int mf_graph_save(const struct mf_graph *graph, const char *path);

/** Reads such a file. Not collective. MF_INPUT. */
int mf_graph_load(const char *path, struct mf_graph *graph);

/** Lists a graph in a checkpoint as an array "graph" that each rank holds. Or takes it from there in place of the
 * present one. The memory @p text must live until the checkpoint is written; the caller frees. Not collective.
 * MF_INPUT. */
int mf_graph_checkpoint(struct mf_graph *graph, struct mf_checkpoint *checkpoint, char **text);

#endif
