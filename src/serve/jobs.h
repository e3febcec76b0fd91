/* Requests at work, oldest first, and how a server leaves: what every kind of server does between its steps. For rank
 * 0. All functions are local. */
#ifndef MF_SERVE_JOBS_H
#define MF_SERVE_JOBS_H

#include "src/serve/job.h"

struct mf_jobs_wish {
    struct mf_job_wish job;
    struct mf_desk *desk;
    double grace; /* [s] that requests at work have when the server leaves */
    /** Shall it leave? Asked between steps, and while nothing is to be done twice a second. */
    int (*leaves)(void *context);
    /** It leaves: no more requests are accepted. */
    void (*closes)(void *context);
    void *context;
};

struct mf_jobs {
    const struct mf_jobs_wish *wish;
    struct mf_job *first, *last;
    int drains;
    double until; /* it leaves at the latest */
};

/** The request whose turn it is to get a place for a prompt. It has waited longest since it came, or since it got its
 * last place. So requests with many prompts take turns with others. It is of the queue, or has prompts left. NULL:
 * there is none. With @p idle it waits a while for one. */
struct mf_job *mf_jobs_next(struct mf_jobs *jobs, int idle);

/** Between two steps: forgets clients that have gone. Where the server shall leave, requests that have not begun fail,
 * and all others when their time is over. */
void mf_jobs_look(struct mf_jobs *jobs);

/** Closes jobs that are over, and of which nothing is at work (job->working). */
void mf_jobs_close(struct mf_jobs *jobs);

/** The server has left: nothing is at work, and nothing will be. */
int mf_jobs_left(const struct mf_jobs *jobs);

/** The end, also after an error: all requests fail, and those of the queue. */
void mf_jobs_end(struct mf_jobs *jobs);

#endif
