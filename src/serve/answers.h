/* Answers requests of a desk by a network that reads images. A large image is cut into parts. The last bits of
 * a product depend on what is beside it. So the network computes one part at a time, and an answer does not depend on
 * other requests. Images at work take turns, so a large one does not hold up small ones. Rule: one thread of one rank
 * runs it. */
#ifndef MF_SERVE_ANSWERS_H
#define MF_SERVE_ANSWERS_H

#include "src/serve/jobs.h"

/** An image at work. */
struct mf_answers_image {
    void *own;    /* of the network */
    size_t parts; /* at least one */
};

/** The network. Refusals are codes of src/base/err.h with a sentence for the client. */
struct mf_answers_by {
    /** Reads an image. Refuses with MF_INPUT, MF_USAGE, MF_MEMORY. */
    int (*open)(void *context, const struct mf_ask_prompt *prompt, struct mf_answers_image *image);
    /** Computes part @p k of an image. Parts come in their order. Refuses with MF_INPUT, MF_NUMERIC. */
    int (*pass)(void *context, void *image, size_t k);
    /** The answer of all parts, and warnings, for mf_job_answer(). */
    struct mf_json *(*say)(void *context, void *image, struct mf_json **notes);
    void (*close)(void *context, void *image);
    void *context;
};

struct mf_answers_wish {
    struct mf_answers_by by;
    size_t images; /* at work, at most */
    struct mf_jobs_wish jobs;
};

/** Serves until wish->jobs.leaves() says so and the requests at work have ended, or their time has. All tickets are
 * left then. */
void mf_answers_run(const struct mf_answers_wish *wish);

#endif
