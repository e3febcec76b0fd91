/* The knowledge graph: what experts have done, how they are related, and which concepts they serve.
 *
 * Rule: experts lie in the order of their ids, edges in that of their ends, concepts as they were added. So equal calls
 * make equal graphs, to the byte, and every rank calls the same. A wrong id is a bug. */
#ifndef MF_MOE_GRAPH_H
#define MF_MOE_GRAPH_H

#include <stddef.h>

enum mf_relation {
    MF_SIMILARITY,
    MF_SPECIALIZATION,
    MF_DEPENDENCY,
    MF_COMPOSITION,
    MF_SPECIALIZATION_SPLIT,
    MF_RELATIONS
};

/** "similarity", "specialization", ... */
extern const char *const mf_relation_names[MF_RELATIONS];

struct mf_graph_expert {
    long id;                                            /* no other expert ever has it */
    double activations;                                 /* rows that it has worked on */
    long active;                                        /* the last step with such rows; -1: none */
    double specialization, adaptation_rate, confidence; /* in [0, 1] */
    long born, parent;                                  /* step of its birth; id of its template, -1: none */
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

/** Zeros are an empty graph. */
struct mf_graph {
    struct mf_graph_expert *expert;
    struct mf_graph_edge *edge;
    struct mf_graph_concept *concept;
    size_t experts, edges, concepts;
    long next; /* the least id that no expert has had */
};

void mf_graph_free(struct mf_graph *graph);

/** Adds an expert; its id is not below graph->next, and expert->samples is not read. */
void mf_graph_add(struct mf_graph *graph, const struct mf_graph_expert *expert);

/** An expert by its id; NULL: there is none. Valid until experts are added or removed. */
struct mf_graph_expert *mf_graph_find(const struct mf_graph *graph, long id);

/** Adds an edge. One of that relation that is there takes the larger weight. */
void mf_graph_connect(struct mf_graph *graph, long one, long other, enum mf_relation relation, double weight);

#endif
