/* See answers.h. */
#include "src/serve/answers.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"

struct image {
    struct image *next;
    struct mf_job *job;
    size_t k; /* prompt of the job */
    struct mf_answers_image of;
    size_t done; /* parts */
};

struct server {
    const struct mf_answers_wish *wish;
    struct mf_jobs jobs;
    struct image *first; /* in the order in which they came */
    size_t images;
};

static int is_done(const struct image *i) { return i->job->is_over || i->done == i->of.parts; }

/* Forgets images that have their answer, and those for which nobody waits any more. */
static void drop_images(struct server *s)
{
    for (struct image **at = &s->first; *at;) {
        struct image *i = *at;

        if (!is_done(i)) {
            at = &i->next;
            continue;
        }
        *at = i->next;
        --s->images;
        s->wish->by.close(s->wish->by.context, i->of.own);
        free(i);
    }
}

static int status_of(int rc) { return rc == MF_MEMORY ? 503 : rc == MF_NUMERIC ? 500 : 422; }

static void fail(struct mf_job *job, int rc)
{
    mf_job_fail(job, status_of(rc), mf_err_text());
    mf_err_clear();
}

/* Reads the next image of a job. 0: it is refused. */
static int add_image(struct server *s, struct mf_job *job)
{
    const struct mf_answers_by *by = &s->wish->by;
    struct image *i = MF_MUST(calloc(1, sizeof *i), "an image"), **last = &s->first;
    int rc;

    if (job->added == 0) mf_meter_time(mf_desk_meter(s->wish->jobs.desk), MF_METER_QUEUE, mf_now() - job->ticket->came);
    i->job = job;
    i->k = job->added++;
    rc = by->open(by->context, &job->ticket->ask.prompt[i->k], &i->of);
    if (rc != MF_OK) {
        free(i);
        fail(job, rc);
        return 0;
    }
    while (*last) last = &(*last)->next;
    *last = i;
    ++s->images;
    return 1;
}

/* A refusal ends the turn: bad images without end keep it neither from its work nor from leaving. */
static void add_images(struct server *s)
{
    struct mf_job *job;

    while (s->images < s->wish->images && (job = mf_jobs_next(&s->jobs, !s->first)) && add_image(s, job)) {}
}

static void report(const struct server *s)
{
    const struct mf_meter_now now = {.queue = mf_desk_queue(s->wish->jobs.desk), .active = s->images};

    mf_desk_room(s->wish->jobs.desk, s->wish->images - s->images);
    mf_meter_now(mf_desk_meter(s->wish->jobs.desk), &now);
}

static void tell(const struct server *s, const struct image *i)
{
    struct mf_json *notes, *answer = s->wish->by.say(s->wish->by.context, i->of.own, &notes);

    mf_job_answer(i->job, i->k, answer, notes);
}

/* One part of each image. */
static void step(struct server *s)
{
    const struct mf_answers_by *by = &s->wish->by;

    for (struct image *i = s->first; i; i = i->next) {
        int rc;

        if (is_done(i)) continue; /* another image of its request has failed */
        rc = by->pass(by->context, i->of.own, i->done++);
        if (rc != MF_OK)
            fail(i->job, rc);
        else if (i->done == i->of.parts)
            tell(s, i);
    }
}

/* 0: the server leaves. */
static int turn(struct server *s)
{
    mf_jobs_look(&s->jobs);
    drop_images(s);
    mf_jobs_close(&s->jobs);
    if (!s->first) report(s); /* before it waits */
    if (!s->jobs.drains) add_images(s);
    report(s);
    step(s);
    return !mf_jobs_left(&s->jobs);
}

void mf_answers_run(const struct mf_answers_wish *wish)
{
    struct server s = {.wish = wish, .jobs = {.wish = &wish->jobs}};

    while (turn(&s)) {}
    mf_jobs_end(&s.jobs);
    drop_images(&s);
    mf_jobs_close(&s.jobs);
}
