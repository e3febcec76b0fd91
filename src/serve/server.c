/* See server.h. */
#include "src/serve/server.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"

/* A prompt that the engine has. All ranks have the same ones. */
struct line {
    struct line *next;
    uint64_t number;
    struct mf_tokens tokens;
    size_t most, made;
    struct mf_job *job; /* rank 0 */
    size_t k;           /* prompt of the job */
};

struct server {
    const struct mf_server_wish *wish;
    struct line *first; /* in the order in which they came */
    uint64_t number;    /* of the last one */

    /* rank 0 */
    struct mf_jobs jobs;    /* they may have prompts that wait for a place */
    struct mf_bytes orders; /* of this step */
};

/* -- lines -- */

static int told(void *context, uint32_t token, double log_probability)
{
    struct line *line = context;

    ++line->made;
    if (line->job) mf_job_hear(line->job, line->k, token, log_probability);
    return 1;
}

static void lost(void *context)
{
    struct line *line = context;

    line->made = line->most;
    if (line->job) mf_job_fail(line->job, 500, "the model says nothing: its output is not finite");
}

static void free_line(struct line *line)
{
    if (line->job) --line->job->working;
    mf_tokens_free(&line->tokens);
    free(line);
}

/* Lines that have got all their tokens have left the engine. */
static void forget_ended(struct server *s)
{
    for (struct line **at = &s->first; *at;) {
        struct line *line = *at;

        if (line->made < line->most) {
            at = &line->next;
            continue;
        }
        *at = line->next;
        free_line(line);
    }
}

static void drop(struct server *s, struct line **at)
{
    struct line *line = *at;

    mf_engine_drop(s->wish->engine, line);
    *at = line->next;
    free_line(line);
}

/* -- orders: what rank 0 tells the others before a step -- */

enum kind { ADD, DROP, LEAVE };

struct order {
    uint64_t kind, number, tokens, most, likely; /* tokens follow */
    struct mf_choice choice;
};

/* Takes @p tokens. 1: the engine has the line. 0: there is no room. Negative: a refusal. */
static int add(struct server *s, const struct order *o, struct mf_tokens *tokens, struct mf_job *job, size_t k)
{
    struct line *line = MF_MUST(calloc(1, sizeof *line), "a prompt"), **at = &s->first;
    struct mf_request request;
    int added;

    *line = (struct line){.number = o->number, .tokens = *tokens, .most = o->most, .job = job, .k = k};
    *tokens = (struct mf_tokens){0};
    request = (struct mf_request){.token = line->tokens.at,
                                  .tokens = line->tokens.count,
                                  .most = line->most,
                                  .choice = o->choice,
                                  .likely = (int)o->likely,
                                  .told = told,
                                  .lost = lost,
                                  .context = line};
    added = mf_engine_add(s->wish->engine, &request);
    if (added <= 0) {
        *tokens = line->tokens;
        free(line);
        return added;
    }
    if (job) ++job->working;
    while (*at) at = &(*at)->next;
    *at = line;
    return 1;
}

/* On all ranks but the first. 0: the server leaves. */
static int obey(struct server *s, const struct mf_bytes *orders)
{
    struct order o;

    for (size_t at = 0; at < orders->count; at += sizeof o + o.tokens * sizeof(uint32_t)) {
        struct mf_tokens tokens = {0};
        struct line **line = &s->first;

        memcpy(&o, orders->at + at, sizeof o);
        if (o.kind == LEAVE) return 0;
        if (o.kind == DROP) {
            while (*line && (*line)->number != o.number) line = &(*line)->next;
            MF_ASSERT(*line);
            drop(s, line);
            continue;
        }
        for (size_t i = 0; i < o.tokens; ++i) {
            uint32_t token;

            memcpy(&token, orders->at + at + sizeof o + i * sizeof token, sizeof token);
            mf_tokens_put(&tokens, token);
        }
        MF_ASSERT(add(s, &o, &tokens, NULL, 0) == 1);
    }
    return 1;
}

/* -- rank 0 -- */

static void order(struct server *s, const struct order *o, const uint32_t *tokens)
{
    if (s->wish->comm->size == 1) return;
    mf_bytes_put(&s->orders, o, sizeof *o);
    mf_bytes_put(&s->orders, tokens, o->tokens * sizeof *tokens);
}

/* Ends what nobody hears any more: answers that have ended early, and those whose clients have gone. */
static void drop_lines(struct server *s)
{
    for (struct line **at = &s->first; *at;) {
        const struct line *line = *at;
        struct order o;

        if (!line->job->is_over && !line->job->said[line->k].ended) {
            at = &(*at)->next;
            continue;
        }
        memset(&o, 0, sizeof o);
        o.kind = DROP;
        o.number = line->number;
        order(s, &o, NULL);
        drop(s, at);
    }
}

/* Gives the engine the next prompt of a job. 0: there is no room for it now. */
static int add_prompt(struct server *s, struct mf_job *job)
{
    struct mf_meter *meter = mf_desk_meter(s->wish->jobs.desk);
    const struct mf_ask *ask = &job->ticket->ask;
    const struct mf_tokens *prompt = &ask->prompt[job->added].tokens;
    struct mf_tokens tokens = {0};
    struct order o;
    int added;

    memset(&o, 0, sizeof o); /* it is sent with its gaps */
    o.kind = ADD;
    o.number = s->number + 1;
    o.tokens = prompt->count;
    o.most = mf_job_most(job, job->added);
    o.likely = (uint64_t)ask->likely;
    o.choice = ask->choice;
    mf_tokens_add(&tokens, prompt->at, prompt->count);
    added = add(s, &o, &tokens, job, job->added);
    mf_tokens_free(&tokens);
    if (added < 0) mf_job_fail(job, 500, mf_err_text());
    if (added <= 0) return added < 0;
    ++s->number;
    if (job->added++ == 0) mf_meter_time(meter, MF_METER_QUEUE, mf_now() - job->ticket->came);
    mf_meter_tokens(meter, prompt->count, 0);
    order(s, &o, prompt->at);
    return 1;
}

/* Places in the engine that nobody has. */
static size_t places(const struct server *s)
{
    return s->wish->jobs.job.served->requests - mf_engine_active(s->wish->engine);
}

/* Takes prompts as long as there are places. With nothing to do it waits for a request. */
static void add_jobs(struct server *s)
{
    struct mf_job *job;

    while (places(s) > 0 && (job = mf_jobs_next(&s->jobs, mf_engine_active(s->wish->engine) == 0)))
        if (!add_prompt(s, job)) return;
}

static void report(struct server *s)
{
    struct mf_meter_now now = {.queue = mf_desk_queue(s->wish->jobs.desk)};

    for (const struct line *line = s->first; line; line = line->next) ++now.active;
    now.pages_used = mf_engine_pages(s->wish->engine, &now.pages);
    mf_desk_room(s->wish->jobs.desk, places(s));
    mf_meter_now(mf_desk_meter(s->wish->jobs.desk), &now);
}

/* Decides this step. 0: the server leaves. */
static int decide(struct server *s)
{
    struct order leave;

    s->orders.count = 0;
    mf_jobs_look(&s->jobs);
    drop_lines(s);
    mf_jobs_close(&s->jobs);
    if (mf_engine_active(s->wish->engine) == 0) report(s); /* before it waits */
    if (!s->jobs.drains) add_jobs(s);
    report(s);
    if (!mf_jobs_left(&s->jobs)) return 1;
    memset(&leave, 0, sizeof leave);
    leave.kind = LEAVE;
    order(s, &leave, NULL);
    return 0;
}

/* -- all ranks -- */

/* Rank 0's orders come to the others. While nothing is to be done they sleep until it calls. */
static void share(struct server *s, int idle)
{
    const struct mf_comm *comm = s->wish->comm;
    uint64_t bytes = s->orders.count;

    if (comm->size == 1) return;
    if (idle) mf_comm_idle(comm, 0);
    mf_comm_bcast(comm, 0, &bytes, sizeof bytes);
    if (comm->rank > 0) {
        mf_bytes_room(&s->orders, bytes);
        s->orders.count = bytes;
    }
    if (bytes) mf_comm_bcast(comm, 0, s->orders.at, bytes);
}

static int turn(struct server *s, int *stays)
{
    const int idle = mf_engine_active(s->wish->engine) == 0, is_first = s->wish->comm->rank == 0;
    int left;

    if (is_first) *stays = decide(s);
    share(s, idle);
    if (!is_first) *stays = obey(s, &s->orders);
    if (!*stays || mf_engine_active(s->wish->engine) == 0) return MF_OK;
    left = mf_engine_step(s->wish->engine);
    forget_ended(s);
    return left < 0 ? -left : MF_OK;
}

int mf_server_run(const struct mf_server_wish *wish)
{
    struct server s = {.wish = wish, .jobs = {.wish = &wish->jobs}};
    int rc = MF_OK, stays = 1;

    while (rc == MF_OK && stays) rc = turn(&s, &stays);
    if (wish->comm->rank == 0) mf_jobs_end(&s.jobs);
    while (s.first) drop(&s, &s.first);
    mf_jobs_close(&s.jobs);
    mf_bytes_free(&s.orders);
    return mf_agree(wish->comm, rc);
}
