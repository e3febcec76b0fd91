/* Pictures of a mixture of experts, from plain arrays. Rank 0. */
#ifndef MF_SHOW_EXPERTS_H
#define MF_SHOW_EXPERTS_H

#include "src/show/figure.h"

struct mf_drawn_expert {
    long id;
    double rows; /* that it has worked on */
    int concept; /* the number of the one it serves most; -1: none yet */
};

struct mf_drawn_relation {
    long one, other; /* ids; relations of a pair lie together */
    int kind;
    double weight; /* in (0, 1] */
};

struct mf_drawn_graph {
    size_t experts, relations, concepts, kinds;
    const struct mf_drawn_expert *expert;
    const struct mf_drawn_relation *relation;
    const char *const *concept_name, *const *kind_name;
};

/**
 * A panel with the graph: areas are shares of rows, colours concepts, widths weights. Related experts stand close to
 * each other, those without relations in rows below. Places follow from the graph alone, and begin with the ids of
 * experts. So a graph that changes a little looks almost the same.
 */
void mf_figure_graph(struct mf_figure *figure, const struct mf_drawn_graph *graph);

enum mf_event { MF_EVENT_BIRTH, MF_EVENT_MERGE, MF_EVENT_PRUNE, MF_EVENT_SLEEP, MF_EVENTS };

struct mf_drawn_event {
    double step;
    long id; /* of the expert that is born or removed; -1: all experts sleep */
    enum mf_event kind;
};

/** Work of the experts: @p rows [times][experts] since the time before, NAN where an expert did not live. */
struct mf_drawn_course {
    size_t experts, times, events, classes;
    const long *id;     /* [experts], all that ever lived */
    const double *step; /* [times], growing */
    const double *rows;
    const struct mf_drawn_event *event;
    const char *const *class_name;
    const double *samples; /* [experts][classes] of each class; of those that live no longer: NAN */
};

/** Two panels. One has shares of rows over steps, with all events. The other has the share of each class of living
 * experts, in percent. Without classes the second is left out. */
void mf_figure_activations(struct mf_figure *figure, const struct mf_drawn_course *course);

/** Work of a rank, or of its device. */
struct mf_drawn_device {
    const char *name; /* "0", or "0: NVIDIA H100", ... */
    double experts, parameters, rows;
};

/** Three panels of bars: experts, their parameters, and the share of rows, for each device. */
void mf_figure_devices(struct mf_figure *figure, size_t count, const struct mf_drawn_device *device);

/** Discs to place in a room of width 1. */
struct mf_places {
    size_t count;
    double height;
    const double *radius; /* [count] */
    const double *pull;   /* [count][count], symmetric; 0: not related */
    double (*at)[2];      /* in: where they begin; out */
};

/** Places related discs near each other, without overlaps if there is room. */
void mf_place_nodes(const struct mf_places *places);

#endif
