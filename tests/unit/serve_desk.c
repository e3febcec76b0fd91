/* Requests wait in a queue, and are refused where it is full. A stream that fails says so by an event. One that said
 * nothing fails by its HTTP status. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/serve/job.h"
#include "tests/check.h"

static const struct mf_served served = {.model = "tiny", .version = "1.0", .vocabulary = 64, .total = 60, .batch = 4};
static const struct mf_tokens ends = {0};
static const struct mf_job_wish wish = {.served = &served, .ends = &ends};
static int sleeps, wakes;

static void sleep_of(void *sleeper)
{
    (void)sleeper;
    ++sleeps;
}

static void wake_of(void *sleeper)
{
    (void)sleeper;
    ++wakes;
}

static struct mf_desk *open_desk(size_t queue)
{
    struct mf_desk *desk = mf_desk_open(&(struct mf_desk_wish){queue, 1000, sleep_of, wake_of});

    mf_desk_turn(desk, MF_DESK_SERVES);
    return desk;
}

/* A request of /v1/completions. */
static struct mf_ticket *put(struct mf_desk *desk, int streams, int likely, int socket, int *status)
{
    void (*error)(int, const char *, int, struct mf_bytes *);
    const char *allowed, *body = streams ? "{\"prompt\":[1,2],\"max_tokens\":3,\"stream\":true}" : "{\"prompt\":[1,2]}";
    const struct mf_route *route = mf_route_find(&served, ~0u, "POST", "/v1/completions", status, &allowed, &error);
    struct mf_ask ask;
    struct mf_ticket *ticket;

    CHECK(mf_route_read(route, &served, body, strlen(body), &ask) == 0);
    ask.likely = likely;
    ticket = mf_desk_put(desk, route, &ask, socket, status);
    if (!ticket) mf_ask_free(&ask);
    return ticket;
}

/* The engine and the client leave a request of the queue. */
static void leave(struct mf_desk *desk)
{
    struct mf_ticket *ticket = mf_desk_take(desk, 0, INFINITY);

    mf_desk_end(ticket, 0);
    mf_desk_leave(ticket);
}

static void check_queue(void)
{
    struct mf_desk *desk = open_desk(0);
    int status;

    CHECK(!put(desk, 0, 0, 0, &status) && status == 429 && mf_desk_refuses(desk) == 429);
    mf_desk_room(desk, 2);
    CHECK(mf_desk_refuses(desk) == 0 && put(desk, 0, 0, 0, &status));
    CHECK(put(desk, 0, 0, 0, &status) && mf_desk_queue(desk) == 2);
    CHECK(!put(desk, 0, 0, 0, &status) && status == 429);
    leave(desk);
    CHECK(mf_desk_refuses(desk) == 429); /* its room is not free again before the engine says so */
    leave(desk);
    mf_desk_room(desk, 1);
    mf_desk_turn(desk, MF_DESK_DRAINS);
    CHECK(!put(desk, 0, 0, 0, &status) && status == 503 && mf_desk_refuses(desk) == 503);
    mf_desk_close(desk);
}

/* A stream that fails after so many tokens. @p likely: each token says something. */
static void check_failure(int tokens, int likely)
{
    struct mf_desk *desk = open_desk(1);
    int status;
    struct mf_ticket *ticket = put(desk, 1, likely, 0, &status);
    struct mf_job *job = mf_job_open(&wish, mf_desk_take(desk, 0, INFINITY));
    const int is_event = tokens > 0 && likely;
    struct mf_bytes all;

    sleeps = wakes = 0;
    CHECK(!mf_desk_ready(ticket, desk, &status) && sleeps == 1);
    for (int i = 0; i < tokens; ++i) mf_job_hear(job, 0, 5, -1);
    mf_job_fail(job, 503, "the server leaves");
    mf_job_close(job);
    CHECK(wakes == 1 && mf_desk_ready(ticket, desk, &status));
    CHECK_SAYS(status == (is_event ? 200 : 503), "status %d", status);
    all = mf_desk_fetch_all(ticket);
    CHECK_SAYS((strncmp(all.at, "data: ", 6) == 0) == is_event, "%.*s", (int)all.count, all.at);
    CHECK(memmem(all.at, all.count, "the server leaves", 17));
    mf_bytes_free(&all);
    CHECK(mf_desk_leave(ticket) == (is_event ? 503 : 0));
    mf_desk_close(desk);
}

/* A stream whose client closes its half, or reads nothing of a long answer. */
static void check_deaf(int closes)
{
    struct mf_desk *desk = open_desk(1);
    static const char many[200]; /* some of them are more than the desk keeps */
    int status, pair[2];
    struct mf_ticket *ticket;
    struct mf_job *job;
    struct mf_bytes all;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    ticket = put(desk, 1, 1, pair[0], &status);
    job = mf_job_open(&wish, mf_desk_take(desk, 0, INFINITY));
    mf_job_hear(job, 0, 5, -1);
    CHECK(mf_job_listens(job));
    if (closes) CHECK(shutdown(pair[1], SHUT_WR) == 0);
    for (int i = 0; i < 10 && !closes; ++i) mf_desk_say(ticket, 200, many, sizeof many);
    CHECK(!mf_job_listens(job) && job->is_over && ticket->broken);
    mf_job_close(job);
    all = mf_desk_fetch_all(ticket);
    CHECK(ticket->status == 200 && memmem(all.at, all.count, "closed its side", 15));
    mf_bytes_free(&all);
    CHECK(mf_desk_leave(ticket) == 499);
    mf_desk_close(desk);
    close(pair[0]);
    close(pair[1]);
}

/* A client of the queue that closes its half gets words, and its ticket leaves the queue. */
static void check_queued(void)
{
    struct mf_desk *desk = open_desk(2);
    int status, pair[2], other[2];
    struct mf_ticket *gone, *stays;
    struct mf_bytes all;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, other) == 0);
    gone = put(desk, 0, 0, pair[0], &status);
    stays = put(desk, 0, 0, other[0], &status);
    CHECK(shutdown(pair[1], SHUT_WR) == 0 && !mf_desk_ready(gone, desk, &status));
    wakes = 0;
    mf_desk_sweep(desk);
    CHECK(wakes == 1 && mf_desk_queue(desk) == 1 && mf_desk_ready(gone, desk, &status) && status == 499);
    all = mf_desk_fetch_all(gone);
    CHECK(all.count > 0 && memmem(all.at, all.count, "closed its side", 15));
    mf_bytes_free(&all);
    CHECK(mf_desk_leave(gone) == 0 && mf_desk_take(desk, 0, INFINITY) == stays);
    mf_desk_end(stays, 0);
    mf_desk_leave(stays);
    mf_desk_close(desk);
    for (int k = 0; k < 2; ++k) CHECK(close(pair[k]) == 0 && close(other[k]) == 0);
}

int main(void)
{
    check_queue();
    check_failure(0, 0);
    check_failure(1, 0);
    check_failure(1, 1);
    check_deaf(0);
    check_deaf(1);
    check_queued();
    return failures != 0;
}
