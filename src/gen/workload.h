/* A run of a language model as a workload of the planner (src/plan/workload.h). Its settings are "requests" (at a
 * time), "context" (positions of one, at most) and "pages" (of MF_KEPT_PAGE positions, of all). They may be "streamed"
 * (parts of each rank whose weights stand in host memory), or "zero" (3: ranks cut the weights). A step gives every
 * request a token more. Its bytes are those that an engine takes (engine.h), and the caller's own. */
#ifndef MF_GEN_WORKLOAD_H
#define MF_GEN_WORKLOAD_H

#include <stdio.h>

#include "src/gen/lists.h"
#include "src/plan/plan.h"

struct mf_gen_work {
    const struct mf_language *model; /* settled: mf_decoder_settle() */
    const char *name;                /* of the model, for people */
    size_t requests;
    size_t context;      /* 0: the longest that fits, */
    size_t most;         /* at most this; 0: that of the model */
    size_t pages;        /* with a context: those that requests want together; 0: each wants all of its context */
    int waits;           /* requests may wait for each other: pages for one of them are enough */
    int logits;          /* as in struct mf_gen_size */
    size_t beside;       /* bytes of the caller's arrays in host memory, on every rank */
    size_t prompt, made; /* tokens of a prompt and new ones of each request, whose seconds are told */
    size_t tensor;       /* ranks that share every layer; 0: any number */
    size_t stages;       /* of a pipeline; 0: any number */
    const char *map;     /* which stage has which part (ranks.h); NULL: free */
    int zero;            /* 3: all ranks cut the weights; 0: they do not */
    int host;            /* weights may stand in host memory: as few as must */
    int deterministic;
};

/** The workload. Its context is a struct mf_gen_work. */
extern const struct mf_plan_workload mf_gen_workload;

/** Tokens of a prompt and new ones that are taken for a trial in @p context positions. Too many of them are fewer,
 * unless they were @p given: MF_USAGE. Local. */
int mf_gen_tokens(size_t context, int given, size_t *prompt, size_t *made);

/** Bytes of weights, keys and values that a step of work->requests reads. They are those of all ranks, on the host, in
 * the middle of the new tokens. Each of @p stages reads its weights for every share of the requests. Refuses as
 * mf_gen_lists_make(). Local. */
int mf_gen_step_bytes(const struct mf_gen_work *work, size_t stages, size_t threads, double *bytes);

/** Prints all lists of a rank: "list step: ..." and a line for each node. Refuses as mf_gen_lists_make(). Local. */
int mf_gen_print_lists(const struct mf_gen_work *work, const struct mf_plan_rank *rank,
                       const struct mf_plan_numbers *settings, FILE *to);

/** Ways of so many ranks, of which at most @p per_node are on a node: 1. Ranks of a node share layers where the model
 * allows it. 0: the numbers do not fit (mf_gen_grid_check() says why). Local. */
int mf_gen_choose_ways(const struct mf_gen_work *work, size_t ranks, size_t per_node, size_t *tensor, size_t *stages);

/* -- parts of the workload -- */

/* Facts of a rank: bytes, operations and exchanged bytes of a step and of the largest chunk of a prompt. Attention is
 * not among them. Its work follows from the positions that are seen: of queries and of bytes that are kept for each. */
enum {
    MF_GEN_STEP_BYTES,
    MF_GEN_STEP_WEIGHTS,  /* bytes of the weights of dense products */
    MF_GEN_STEP_WIDENING, /* operations of cores by which weights of 16 and 8 bits become f32 */
    MF_GEN_STEP_OPERATIONS,
    MF_GEN_STEP_EXCHANGED,
    MF_GEN_CHUNK_BYTES,
    MF_GEN_CHUNK_WEIGHTS,
    MF_GEN_CHUNK_WIDENING,
    MF_GEN_CHUNK_OPERATIONS,
    MF_GEN_CHUNK_EXCHANGED,
    MF_GEN_QUERIES,
    MF_GEN_KEPT_BYTES,
    MF_GEN_EXCHANGES,
    MF_GEN_NODES,
    MF_GEN_STREAMED /* bytes of weights that a walk copies to the device */
};

/** Ranks of a kind, "tp" or "pp", of settings. */
static inline size_t mf_gen_ways_of(const struct mf_plan_numbers *settings, const char *kind)
{
    const size_t *n = mf_plan_find(settings, kind);

    return n ? *n : 1;
}

/** Positions that a request sees in the middle of its new tokens. */
double mf_gen_seen(const struct mf_gen_work *work, size_t context);

int mf_gen_bytes(const void *work, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                 struct mf_plan_bytes bytes[MF_PLAN_MEMORIES]);

/** Seconds, as in struct mf_plan_workload. */
void mf_gen_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost);
void mf_gen_run_cost(const void *work, const struct mf_placement *place, const struct mf_rates *rates,
                     const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                     const struct mf_plan_cost *step, struct mf_plan_cost *run);

#endif
