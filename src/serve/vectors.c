/* See vectors.h. */
#include "src/serve/vectors.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"

/* A text that waits for its vector. */
struct text {
    struct text *next;
    struct mf_job *job;
    size_t k; /* prompt of the job */
    struct mf_embed_text of;
    size_t length; /* to which it is padded */
    int is_done;
};

struct server {
    const struct mf_vectors_wish *wish;
    struct mf_jobs jobs;
    struct text *first; /* in the order in which they came */
    size_t texts;

    /* of a step, [mf_embedder_most()] */
    struct text **text;
    const struct mf_embed_text **of;
    double **vector;
};

/* Forgets texts that have their vector, and those for which nobody waits any more. */
static void drop_texts(struct server *s)
{
    for (struct text **at = &s->first; *at;) {
        struct text *t = *at;

        if (!t->is_done && !t->job->is_over) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        --s->texts;
        free(t);
    }
}

static void add_texts(struct server *s, struct mf_job *job)
{
    const struct mf_ask *ask = &job->ticket->ask;
    struct mf_meter *meter = mf_desk_meter(s->wish->jobs.desk);
    struct text **last = &s->first;

    while (*last) last = &(*last)->next;
    for (; job->added < ask->prompts; ++job->added, ++s->texts) {
        const struct mf_tokens *tokens = &ask->prompt[job->added].tokens;
        struct text *t = MF_MUST(calloc(1, sizeof *t), "a text");

        *t = (struct text){.job = job,
                           .k = job->added,
                           .of = {.token = tokens->at,
                                  .tokens = tokens->count,
                                  .normalise = ask->normalizes < 0 ? s->wish->normalises : ask->normalizes},
                           .length = mf_embedder_length(s->wish->embedder, tokens->count)};
        mf_meter_tokens(meter, tokens->count, 0);
        *last = t;
        last = &t->next;
    }
    mf_meter_time(meter, MF_METER_QUEUE, mf_now() - job->ticket->came);
}

static void report(const struct server *s)
{
    const struct mf_meter_now now = {.queue = mf_desk_queue(s->wish->jobs.desk), .active = s->texts};

    mf_desk_room(s->wish->jobs.desk, s->texts < s->wish->texts ? s->wish->texts - s->texts : 0);
    mf_meter_now(mf_desk_meter(s->wish->jobs.desk), &now);
}

/* The oldest text, and others of its length. */
static size_t choose(struct server *s)
{
    const size_t most = mf_embedder_most(s->wish->embedder), length = s->first->length;
    size_t n = 0;

    for (struct text *t = s->first; t && n < most; t = t->next)
        if (t->length == length) s->text[n++] = t;
    return mf_embedder_count(s->wish->embedder, length, n);
}

static int is_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static void tell(struct server *s, size_t k, int rc)
{
    const size_t width = mf_embedder_says(s->wish->embedder)->width;
    struct text *t = s->text[k];

    t->is_done = 1;
    if (t->job->is_over) return; /* another text of it has failed */
    if (rc != MF_OK)
        mf_job_fail(t->job, 500, mf_err_text());
    else if (!is_finite(s->vector[k], width))
        mf_job_fail(t->job, 500, "the model says nothing: its output is not finite");
    else
        mf_job_vector(t->job, t->k, s->vector[k], width);
}

static void step(struct server *s)
{
    const size_t count = choose(s);
    int rc;

    for (size_t k = 0; k < count; ++k) s->of[k] = &s->text[k]->of;
    rc = mf_embedder_step(s->wish->embedder, count, s->of, s->vector);
    for (size_t k = 0; k < count; ++k) tell(s, k, rc);
    if (rc != MF_OK) mf_err_clear();
}

static void take_jobs(struct server *s)
{
    struct mf_job *job;

    while (s->texts < s->wish->texts && (job = mf_jobs_next(&s->jobs, !s->first))) add_texts(s, job);
}

/* 0: the server leaves. */
static int turn(struct server *s)
{
    mf_jobs_look(&s->jobs);
    drop_texts(s);
    mf_jobs_close(&s->jobs);
    if (!s->first) report(s); /* before it waits */
    if (!s->jobs.drains) take_jobs(s);
    report(s);
    if (s->first) step(s);
    return !mf_jobs_left(&s->jobs);
}

void mf_vectors_run(const struct mf_vectors_wish *wish)
{
    const size_t most = mf_embedder_most(wish->embedder), width = mf_embedder_says(wish->embedder)->width;
    struct server s = {.wish = wish, .jobs = {.wish = &wish->jobs}};

    s.text = MF_MUST(malloc(most * sizeof *s.text), "a step");
    s.of = MF_MUST(malloc(most * sizeof *s.of), "a step");
    s.vector = MF_MUST(malloc(most * sizeof *s.vector), "a step");
    for (size_t k = 0; k < most; ++k) s.vector[k] = wish->vector + k * width;
    while (turn(&s)) {}
    mf_jobs_end(&s.jobs);
    drop_texts(&s);
    mf_jobs_close(&s.jobs);
    free(s.text);
    free(s.of);
    free(s.vector);
}
