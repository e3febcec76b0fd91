/* See jobs.h. */
#include "src/serve/jobs.h"

#include <math.h>

#include "src/base/log.h"

static const double NAP = 0.5; /* [s] an idle server shows a sign of life as often */

/* The oldest request of the queue that came before this time. */
static struct mf_job *take(struct mf_jobs *s, double seconds, double before)
{
    struct mf_ticket *ticket = mf_desk_take(s->wish->desk, seconds, before);
    struct mf_job *job;

    if (!ticket) return NULL;
    job = mf_job_open(&s->wish->job, ticket);
    *(s->last ? &s->last->next : &s->first) = job;
    s->last = job;
    return job;
}

struct mf_job *mf_jobs_next(struct mf_jobs *s, int idle)
{
    struct mf_job *next = NULL, *queued;

    for (struct mf_job *job = s->first; job; job = job->next)
        if (!job->is_over && job->added < job->ticket->ask.prompts && (!next || job->turn < next->turn)) next = job;
    queued = take(s, idle && !next ? NAP : 0, next ? next->turn : INFINITY);
    if (queued) next = queued;
    if (next) next->turn = mf_now();
    return next;
}

/* Requests of the queue, and those that have not begun with all their prompts; @p all: also others. */
static void fail(struct mf_jobs *s, int all)
{
    struct mf_ticket *ticket;

    for (struct mf_job *job = s->first; job; job = job->next)
        if (!job->is_over && (all || job->added < job->ticket->ask.prompts)) mf_job_fail(job, 503, "the server leaves");
    while ((ticket = mf_desk_take(s->wish->desk, 0, INFINITY))) {
        struct mf_job *job = mf_job_open(&s->wish->job, ticket);

        mf_job_fail(job, 503, "the server leaves");
        mf_job_close(job);
    }
}

static void drain(struct mf_jobs *s)
{
    if (!s->drains) {
        s->drains = 1;
        s->until = mf_now() + s->wish->grace;
        mf_desk_turn(s->wish->desk, MF_DESK_DRAINS);
        s->wish->closes(s->wish->context);
    }
    fail(s, mf_now() >= s->until);
}

void mf_jobs_look(struct mf_jobs *s)
{
    mf_desk_sweep(s->wish->desk);
    for (struct mf_job *job = s->first; job; job = job->next) (void)mf_job_listens(job);
    if (s->drains || s->wish->leaves(s->wish->context)) drain(s);
}

void mf_jobs_close(struct mf_jobs *s)
{
    s->last = NULL;
    for (struct mf_job **at = &s->first; *at;) {
        struct mf_job *job = *at;

        if (!job->is_over || job->working) {
            s->last = job;
            at = &job->next;
            continue;
        }
        *at = job->next;
        mf_job_close(job);
    }
}

int mf_jobs_left(const struct mf_jobs *s) { return s->drains && !s->first; }

void mf_jobs_end(struct mf_jobs *s)
{
    mf_desk_turn(s->wish->desk, MF_DESK_DRAINS);
    fail(s, 1);
}
