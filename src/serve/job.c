/* See job.h. */
#include "src/serve/job.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/gen/stops.h"

struct mf_job *mf_job_open(const struct mf_job_wish *wish, struct mf_ticket *ticket)
{
    struct mf_job *job = MF_MUST(calloc(1, sizeof *job), "a request");
    const struct mf_ask *ask = &ticket->ask;

    job->wish = wish;
    job->ticket = ticket;
    job->said = MF_MUST(calloc(ask->prompts, sizeof *job->said), "answers");
    job->reply = MF_MUST(calloc(ask->prompts, sizeof *job->reply), "answers");
    for (size_t k = 0; k < ask->prompts; ++k) {
        job->said[k].prompt = &ask->prompt[k];
        if (wish->tokenizer) mf_reply_open(&job->reply[k], wish->tokenizer, ask->stops, (const char *const *)ask->stop);
    }
    return job;
}

/* The engine leaves the ticket, which may be freed, and with it all that the answers point to. */
static void end(struct mf_job *job, int broken)
{
    for (size_t k = 0; k < job->ticket->ask.prompts; ++k) {
        mf_reply_close(&job->reply[k]);
        free(job->said[k].token);
        mf_json_free((struct mf_json *)job->said[k].answer);
        mf_json_free((struct mf_json *)job->said[k].notes);
    }
    mf_desk_end(job->ticket, broken);
    job->ticket = NULL;
    job->is_over = 1;
}

void mf_job_close(struct mf_job *job)
{
    if (!job) return;
    MF_ASSERT(job->is_over);
    free(job->said);
    free(job->reply);
    free(job->vector);
    free(job);
}

size_t mf_job_most(const struct mf_job *job, size_t k)
{
    const struct mf_ask *ask = &job->ticket->ask;

    return ask->most ? ask->most : job->wish->served->total - ask->prompt[k].tokens.count;
}

static void note_time(struct mf_job *job)
{
    struct mf_meter *meter = mf_desk_meter(job->ticket->desk);
    const double now = mf_now();

    if (job->last == 0)
        mf_meter_time(meter, MF_METER_FIRST, now - job->ticket->came);
    else if (job->ticket->ask.prompts == 1)
        mf_meter_time(meter, MF_METER_NEXT, now - job->last);
    mf_meter_tokens(meter, 0, 1);
    job->last = now;
}

/* One token more in the answer. Refuses as mf_reply_put(). */
static int put(struct mf_job *job, size_t k, uint32_t token, double log_probability)
{
    const struct mf_ask *ask = &job->ticket->ask;
    struct mf_said *said = &job->said[k];
    struct mf_reply *reply = &job->reply[k];
    const struct mf_tokenizer *tokenizer = job->wish->tokenizer;

    said->token = MF_MUST(realloc(said->token, (said->tokens + 1) * sizeof *said->token), "an answer");
    said->token[said->tokens++] =
        (struct mf_said_token){.token = token,
                               .is_special = tokenizer && mf_tokenizer_is_special(tokenizer, token),
                               .log_probability = log_probability};
    if (tokenizer) MF_TRY(mf_reply_put(reply, token));
    if (reply->stopped) said->ended = MF_ENDED_BY_STOP;
    if (!said->ended && !ask->ignores_end && mf_stops_have(job->wish->ends, token)) said->ended = MF_ENDED_BY_TOKEN;
    if (!said->ended && said->tokens == mf_job_most(job, k)) said->ended = MF_ENDED_BY_LENGTH;
    if (tokenizer && said->ended) MF_TRY(mf_reply_end(reply));
    said->text = reply->text;
    said->token[said->tokens - 1].sure = reply->sure;
    return MF_OK;
}

/* Tells the client what has come. */
static void tell(struct mf_job *job, size_t k, int is_first)
{
    const struct mf_ticket *t = job->ticket;
    const struct mf_route *route = t->route;
    const struct mf_served *served = job->wish->served;
    const int is_last = job->ended == t->ask.prompts;
    struct mf_bytes to = {0};

    if (t->ask.streams) {
        if (is_first && route->begin) route->begin(served, &t->ask, &t->name, &to);
        route->token(served, &t->ask, &t->name, job->said, k, job->said[k].tokens - 1, &to);
        if (is_last && route->end) route->end(served, &t->ask, &t->name, job->said, &to);
    } else if (is_last)
        route->whole(served, &t->ask, &t->name, job->said, &to);
    if (to.count) mf_desk_say(job->ticket, 200, to.at, to.count);
    job->has_said |= to.count > 0;
    mf_bytes_free(&to);
    if (is_last) end(job, 0);
}

void mf_job_hear(struct mf_job *job, size_t k, uint32_t token, double log_probability)
{
    const int is_first = job->last == 0;

    if (job->is_over || job->said[k].ended) return;
    note_time(job);
    if (put(job, k, token, log_probability) != MF_OK) {
        mf_job_fail(job, 500, mf_err_text());
        return;
    }
    if (job->said[k].ended) ++job->ended;
    tell(job, k, is_first);
}

void mf_job_vector(struct mf_job *job, size_t k, const double *vector, size_t width)
{
    if (!job->vector) job->vector = MF_MUST(malloc(job->ticket->ask.prompts * width * sizeof *job->vector), "vectors");
    for (size_t i = 0; i < width; ++i) job->vector[k * width + i] = (float)vector[i];
    job->said[k].vector = job->vector + k * width;
    job->said[k].width = width;
    ++job->ended;
    tell(job, k, 0);
}

void mf_job_answer(struct mf_job *job, size_t k, struct mf_json *answer_take, struct mf_json *notes_take)
{
    job->said[k].answer = answer_take;
    job->said[k].notes = notes_take;
    ++job->ended;
    tell(job, k, 0);
}

void mf_job_fail(struct mf_job *job, int status, const char *sentence)
{
    struct mf_bytes to = {0};
    int streams;

    if (job->is_over) return;
    streams = job->ticket->ask.streams && job->has_said;
    job->ticket->route->error(status, sentence, streams, &to);
    mf_desk_say(job->ticket, status, to.at, to.count);
    mf_bytes_free(&to);
    end(job, streams ? status : 0);
}

int mf_job_listens(struct mf_job *job)
{
    if (job->is_over) return 0;
    if (mf_desk_listens(job->ticket)) return 1;
    mf_job_fail(job, 499, "the client has closed its side of the connection, or does not read what is said");
    return 0;
}
