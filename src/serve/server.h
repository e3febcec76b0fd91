/* Runs requests of a desk on an engine. Before each step rank 0 tells the others what to do: take a request, drop one,
 * or leave. Only rank 0 has a desk, knows texts, and decides where an answer ends.
 *
 * Rule: one thread of each rank runs it, and only this thread calls MPI. */
#ifndef MF_SERVE_SERVER_H
#define MF_SERVE_SERVER_H

#include "src/gen/engine.h"
#include "src/serve/jobs.h"

struct mf_server_wish {
    const struct mf_comm *comm;
    struct mf_engine *engine;
    struct mf_jobs_wish jobs; /* rank 0 */
};

/** Serves until wish->jobs.leaves() says so and the requests at work have ended, or their time has. All tickets are
 * left then. Collective; refuses (agreed) with MF_NUMERIC. */
int mf_server_run(const struct mf_server_wish *wish);

#endif
