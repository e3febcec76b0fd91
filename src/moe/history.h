/* Work of the experts in the course of a training, and when they were born or removed. Rule: its size is bounded. With
 * many steps, neighbouring times become one. Every rank keeps the same. */
#ifndef MF_MOE_HISTORY_H
#define MF_MOE_HISTORY_H

#include "src/base/json.h"
#include "src/moe/change.h"
#include "src/run/checkpoint.h"

enum { MF_HISTORY_TIMES = 256 };

/** Some steps: the rows of each expert that lived then. */
struct mf_history_time {
    long step; /* the last one */
    size_t count;
    long *id; /* [count], growing */
    double *rows;
};

struct mf_history_event {
    long step, id; /* id of the expert; -1: all sleep */
    enum mf_change kind;
};

/** Zeros are an empty one. */
struct mf_history {
    struct mf_history_time time[MF_HISTORY_TIMES];
    struct mf_history_event *event;
    size_t times, events;
    long each;  /* steps of a time; 0: none yet */
    long steps; /* in the last time */
};

void mf_history_free(struct mf_history *history);

/** Adds the rows of a step, from [count] experts with growing ids. */
void mf_history_step(struct mf_history *history, long step, size_t count, const long *id, const double *rows);

/** Adds an event. */
void mf_history_event(struct mf_history *history, long step, long id, enum mf_change kind);

/** All of it, as in expert_activations.json; and it from that. Sentences call the file @p name. The old content is
 * freed by mf_history_from(). MF_INPUT. */
struct mf_json *mf_history_json(const struct mf_history *history);
int mf_history_from(const struct mf_json *json, const char *name, struct mf_history *history);

/** Writes the JSON to a file that appears whole or not at all. Rank 0. MF_OUTPUT. */
int mf_history_save(const struct mf_history *history, const char *path);

/** As mf_graph_checkpoint(), with the array "history". */
int mf_history_checkpoint(struct mf_history *history, struct mf_checkpoint *checkpoint, char **text);

#endif
