/* Runs a language model for several requests at a time. A prompt goes through in chunks, then every step gives each
 * request one token more. New requests join at any step.
 *
 * A request that is admitted takes pages for its prompt and for all tokens that it may get. So none is put off later.
 * Where pages or places lack, it waits. Memory is taken when the engine is opened.
 *
 * Several ranks may run a model together (ranks.h). All of them call the same functions with the same requests, and all
 * get the same answers.
 *
 * Rule: all functions are collective over these ranks, and are called by one thread. */
#ifndef MF_GEN_ENGINE_H
#define MF_GEN_ENGINE_H

#include "kernels/backend.h"
#include "mpi/comm.h"
#include "src/base/json.h"
#include "src/model/language.h"

struct mf_engine;

struct mf_engine_wish {
    size_t requests;            /* at a time */
    size_t context;             /* positions of one, at most; 0: those of the model */
    size_t pages;               /* of MF_KEPT_PAGE positions, of all requests; 0: each may have its context */
    int logits;                 /* requests may want those of their prompts (seen) */
    enum mf_type weights;       /* in memory (language.h) */
    struct mf_kept_type kept;   /* those that have another type */
    int random;                 /* weights are random numbers: config.json is enough, and nothing else is read */
    const struct mf_comm *comm; /* ranks that run the model together; NULL: this one alone */
    size_t tensor, stages;      /* ranks that share every layer, and stages of a pipeline; 0: 1 */
    const char *map;            /* the parts of each stage, as in struct mf_gen_grid */
    int zero;                   /* as there */
    size_t streamed;            /* as there; without a GPU all are in one memory */
};

/** How the next token is chosen. All zero: it is the most probable one. */
struct mf_choice {
    double temperature; /* divides logits; 0: the most probable token */
    double top_p;       /* the most probable tokens that have this share together; 0: all */
    long top_k;         /* so many of the most probable ones; 0: all */
    double repetition;  /* penalty of tokens that came before (MF_OP_PICK); 0, 1: none */
    uint64_t seed;
};

/** A request. Everything outlives it. */
struct mf_request {
    const uint32_t *token; /* [tokens] the prompt */
    size_t tokens, most;   /* most: new tokens */
    struct mf_choice choice;
    int likely; /* log-probabilities are wanted */
    /** A new token, and the natural logarithm of its probability, or NAN. Returns 0: it was the last one. */
    int (*told)(void *context, uint32_t token, double log_probability);
    /** All logits of the prompt, position by position [vocabulary]; NULL: nobody wants them. */
    void (*seen)(void *context, size_t position, const float *logits);
    /** The model's output is not finite, and the request has ended. NULL: the step refuses with MF_NUMERIC. */
    void (*lost)(void *context);
    void *context;
};

/** Opens a model: a folder with config.json and weights (safetensors). @p queue outlives it. Refuses with MF_INPUT,
 * MF_NUMERIC, MF_USAGE, MF_MEMORY, MF_DEVICE; *engine is then NULL. */
int mf_engine_open(const char *folder, const struct mf_engine_wish *wish, struct mf_queue *queue,
                   struct mf_engine **engine);

/** NULL is accepted. */
void mf_engine_close(struct mf_engine *engine);

const struct mf_language *mf_engine_says(const struct mf_engine *engine);
size_t mf_engine_context(const struct mf_engine *engine);

/** The place of each part by its name: a backend, or "rank:1" of a pipeline. A model that is not cut is the part "".
 * The caller frees. Local. */
struct mf_json *mf_engine_map(const struct mf_engine *engine);

/** Takes a request: 1. 0: there is no room now. Refuses with MF_USAGE (negative) one that never fits, is empty, or has
 * tokens that the model does not know. */
int mf_engine_add(struct mf_engine *engine, const struct mf_request *request);

/** Ends requests with this context before their last token; they are told no more. Their pages are free at once, or
 * when the turn that is under way has ended. */
void mf_engine_drop(struct mf_engine *engine, const void *context);

/** Requests that it has; those that were dropped count until the turn under way has ended. Local. */
size_t mf_engine_active(const struct mf_engine *engine);

/** Pages that requests have taken; pages of the engine. Local. */
size_t mf_engine_pages(const struct mf_engine *engine, size_t *all);

/** Makes one step: a chunk of the oldest prompt, or a token of every request. Returns how many requests are left.
 * Refuses (negative) with MF_NUMERIC. */
int mf_engine_step(struct mf_engine *engine);

#endif
