/* The verb serve has a part for each kind of model. Functions of a kind are collective unless they say otherwise. */
#ifndef MF_CMD_LEARN_SERVE_H
#define MF_CMD_LEARN_SERVE_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/serve/http.h"
#include "src/serve/jobs.h"

struct mf_serve_opts {
    struct mf_common common;
    const char *host, *api, *key_file, *template, *name, *plan, *map, *dtype, *threshold;
    int pool;    /* 1 + enum mf_pool; 0: the model's */
    int offload; /* weights in host memory */
    long port, requests, queue, input, total, body, seconds, grace, tensor, stages, voxels, pending, zero;
    int logs;
    struct mf_longs labels;
    struct mf_texts keep;
};

struct mf_serve {
    struct mf_session *session;
    const struct mf_serve_opts *o;
    const char *folder; /* of a language model, or the file of a network of ours */
    const struct mf_serve_kind *kind;
    void *own; /* of the kind */
    struct mf_served served;

    /* rank 0 */
    struct mf_tokenizer *cuts; /* of the thread of HTTP */
    char *key;
    struct mf_desk *desk;
    struct mf_http *http;
    int announced; /* MF_OK, or why it leaves at once */
};

struct mf_serve_kind {
    const char *does;  /* "continues texts" */
    unsigned dialects; /* that ask for it */
    size_t body;       /* bytes of a request, at most, where --max-body is left out */
    /** Reads small files, sets serve->own, and facts of serve->served. On rank 0 opens serve->cuts. Local. */
    int (*prepare)(struct mf_serve *serve);
    /** For --dry-run: counts the bytes, and prints them. */
    int (*count)(struct mf_serve *serve);
    /** Reads weights, takes all memory, and makes one step. Sets the other facts. Refuses (agreed). */
    int (*open)(struct mf_serve *serve);
    /** Puts more into the line that announces the server; NULL: there is no more. Local. */
    void (*put)(const struct mf_serve *serve, struct mf_json *at);
    /** Serves until wish->leaves(). Rank 0 has the wish's desk, others have none. */
    int (*run)(struct mf_serve *serve, const struct mf_jobs_wish *wish);
    /** Accepts NULL in serve->own. Local. */
    void (*close)(struct mf_serve *serve);
};

/** For --dry-run of one rank: counts the bytes that a server takes of device and host, and prints them. On cores the
 * host has 0. Collective; refuses (agreed) with MF_MEMORY, MF_OUTPUT. */
int mf_serve_count(const struct mf_serve *serve, size_t device, size_t host);

extern const struct mf_serve_kind mf_serve_text, mf_serve_vectors, mf_serve_predict;

#endif
