/* Turns of an engine. A turn walks a list over rows of requests. Its answers are there later, where ranks are a
 * pipeline. All functions are for the engine alone. */
#ifndef MF_GEN_TURN_H
#define MF_GEN_TURN_H

#include "src/gen/engine.h"
#include "src/gen/pages.h"
#include "src/gen/ranks.h"
#include "src/net/pass.h"

/** A place of a request. */
struct mf_seat {
    int taken;
    int waits;   /* a turn will answer it */
    int dropped; /* it ends with that turn */
    struct mf_request of;
    size_t done;    /* positions that the caches hold */
    size_t made;    /* new tokens */
    uint32_t token; /* the last one, which no list has seen yet */
};

/** A row of a list: the token at a position of a request; seat NULL: it is blank. */
struct mf_row {
    const struct mf_seat *seat;
    uint32_t token;
    size_t position;
};

struct mf_answer {
    uint32_t token;
    int32_t is_finite; /* all logits are */
    double log_probability;
};

struct mf_turn {
    const struct mf_decoder_list *list;
    size_t answers; /* that are wanted, from the first on */
    size_t *seat;   /* [answers] */
    int sees;       /* the logits are wanted, too, */
    size_t first;   /* which begin with this position, */
    int ends;       /* and end the prompt */
    struct mf_answer *answer;
};

struct mf_engine {
    struct mf_language model;
    struct mf_queue *queue;
    struct mf_gen_cut cut;
    struct mf_gen_lists lists;
    struct mf_gen_ranks ranks;
    struct mf_walk *walk;
    struct mf_pages pages;
    struct mf_seat *seat; /* [room.requests] */
    size_t context, active;
    float *frequency;     /* [head_width / 2] */
    int32_t *host;        /* of the largest input */
    float *logits;        /* [answers][vocabulary] of the largest list */
    struct mf_turn *turn; /* [stages] those under way, from number `ended` on; */
    size_t begun, ended;  /* number k is turn[k % stages] */
};

/** Begins a turn with @p rows of @p list [list->rows]. Answer i is that of row last[i] [list->answers]; negative:
 * none is wanted. Takes @p turn, whose answers are asked for. */
void mf_turn_begin(struct mf_engine *engine, const struct mf_turn *turn, const struct mf_row *rows,
                   const int32_t *last);

/** Waits for the answers of a turn (answer), and for its logits (engine->logits). mf_turn_free() frees. */
void mf_turn_end(struct mf_engine *engine, struct mf_turn *turn);
void mf_turn_free(struct mf_turn *turn);

#endif
