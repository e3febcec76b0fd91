/* Answers requests of a desk by vectors of their texts. Texts of all requests at work go through together, where they
 * are padded to the same length. The oldest one decides which length is next. Rule: one thread of one rank runs it. */
#ifndef MF_SERVE_VECTORS_H
#define MF_SERVE_VECTORS_H

#include "src/gen/embedder.h"
#include "src/serve/jobs.h"

struct mf_vectors_wish {
    struct mf_embedder *embedder; /* opened for any texts, and loaded */
    double *vector;               /* [mf_embedder_most()][width] memory of a step */
    size_t texts;                 /* at work: no more requests are taken then */
    int normalises;               /* vectors have length 1 where a request does not say */
    struct mf_jobs_wish jobs;
};

/** Serves until wish->jobs.leaves() says so and the requests at work have ended, or their time has. All tickets are
 * left then. */
void mf_vectors_run(const struct mf_vectors_wish *wish);

#endif
