/* See http.h. Documentation: https://www.gnu.org/software/libmicrohttpd/manual/ */
#include "src/serve/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/serve/fit.h"

enum {
    MEMORY = 32768 /* of a connection: headers, and what is on its way */,
    BLOCK = 4096,
    BACKLOG = 256,
    READ_OVER = 1 << 26 /* bytes */
};

struct mf_http {
    struct mf_http_wish wish;
    struct mf_desk *desk;
    const struct mf_served *served; /* once the desk serves */
    struct mf_tokenizer *tokenizer;
    struct MHD_Daemon *daemon;
    char *url;
    MHD_socket listens;  /* once nobody is accepted; else -1 */
    atomic_size_t calls; /* that have not ended */
    size_t bytes;        /* that they hold */

    pthread_mutex_t lock; /* of the next */
    struct guest *first;  /* all connections */
};

/* A connection. */
struct guest {
    struct guest *before, *after;
    int socket;
    double since; /* [s] it has been open, or its last answer has ended; 0: the headers of a request have come */
};

typedef void write_error(int status, const char *sentence, int streams, struct mf_bytes *to);

/* A request of a connection. */
struct call {
    struct mf_http *http;
    struct MHD_Connection *connection;
    const struct mf_route *route; /* NULL: refused before one was found */
    const char *allowed;          /* the method that the path has */
    write_error *error;
    int status; /* of a refusal, or of the answer; 0: not known */
    char *why;  /* of a refusal */
    struct mf_bytes body;
    size_t bytes; /* of the body, which the ticket has later, and of a whole answer */
    double began;
    struct mf_ticket *ticket;
};

/* Until the call ends. */
static void hold(struct call *c, size_t bytes)
{
    c->bytes += bytes;
    c->http->bytes += bytes;
}

/* -- answers -- */

/* Others may wait for one of the connections that are left. */
static int is_crowded(const struct call *c)
{
    const union MHD_ConnectionInfo *of = MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_DAEMON);
    const union MHD_DaemonInfo *now = of ? MHD_get_daemon_info(of->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS) : NULL;

    return now && now->num_connections > c->http->wish.connections / 2;
}

static void add_headers(const struct call *c, struct MHD_Response *r, const char *type)
{
    if (is_crowded(c)) (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (c->allowed) (void)MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, c->allowed);
    if (c->status == 429 || c->status == 503) (void)MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (c->status == 401) (void)MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
}

static enum MHD_Result queue(struct call *c, struct MHD_Response *r)
{
    enum MHD_Result rc = MHD_queue_response(c->connection, (unsigned)c->status, r);

    MHD_destroy_response(r);
    return rc;
}

/* Takes @p bytes, which the response frees. */
static enum MHD_Result answer(struct call *c, struct mf_bytes bytes, const char *type)
{
    struct MHD_Response *r = bytes.at ? MHD_create_response_from_buffer(bytes.count, bytes.at, MHD_RESPMEM_MUST_FREE)
                                      : MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

    if (!r) {
        mf_bytes_free(&bytes);
        return MHD_NO;
    }
    add_headers(c, r, type);
    return queue(c, r);
}

static void refuse(struct call *c, int status, const char *why)
{
    c->status = status;
    free(c->why);
    c->why = mf_format("%s", why);
    mf_bytes_free(&c->body);
}

static enum MHD_Result answer_refusal(struct call *c)
{
    struct mf_bytes body = {0};

    c->error(c->status, c->why, 0, &body);
    return answer(c, body, "application/json");
}

/* -- streams -- */

void mf_http_sleep(void *call) { MHD_suspend_connection(((struct call *)call)->connection); }
void mf_http_wake(void *call) { MHD_resume_connection(((struct call *)call)->connection); }

static ssize_t read_stream(void *call, uint64_t at, char *to, size_t room)
{
    struct call *c = call;
    size_t bytes;

    (void)at;
    switch (mf_desk_fetch(c->ticket, c, to, room, &bytes)) {
    case MF_FETCHED_BYTES: return (ssize_t)bytes;
    case MF_FETCHED_END: return MHD_CONTENT_READER_END_OF_STREAM;
    case MF_FETCHED_BROKEN: return MHD_CONTENT_READER_END_WITH_ERROR;
    case MF_FETCHED_LATER: break;
    }
    return 0; /* it is suspended */
}

static enum MHD_Result answer_stream(struct call *c)
{
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, c, NULL);

    if (!r) return MHD_NO;
    add_headers(c, r, "text/event-stream");
    (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    return queue(c, r);
}

/* Begins the answer, if the engine has said anything. */
static enum MHD_Result answer_ticket(struct call *c)
{
    struct mf_bytes all;

    if (!mf_desk_ready(c->ticket, c, &c->status)) return MHD_YES;
    if (c->status == 0) return MHD_NO;
    if (c->ticket->ask.streams && c->status == 200) return answer_stream(c);
    all = mf_desk_fetch_all(c->ticket);
    hold(c, all.count);
    return answer(c, all, "application/json");
}

/* -- requests -- */

static const char *header(const struct call *c, const char *name)
{
    return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

/* "Bearer KEY" in a time that does not depend on how much of KEY is right. The first word is known in any case of its
 * letters (RFC 9110, 11.1). */
static int has_key(const struct call *c)
{
    static const char before[] = "Bearer ";
    const char *key = c->http->wish.key, *given = header(c, MHD_HTTP_HEADER_AUTHORIZATION);
    const size_t n = strlen(key);
    unsigned differs;
    size_t m;

    if (!given || strncasecmp(given, before, sizeof before - 1) != 0) return 0;
    given += sizeof before - 1;
    m = strlen(given);
    differs = m != n;
    for (size_t i = 0; i < m; ++i) differs |= (unsigned char)given[i] ^ (unsigned char)key[i < n ? i : n];
    return !differs;
}

static int socket_of(const struct call *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

static void refuse_length(struct call *c)
{
    char why[80];

    snprintf(why, sizeof why, "the request has more than %zu bytes", c->http->wish.body);
    refuse(c, 413, why);
}

/* Would @p more bytes be too many beside those of others? Then the request is refused. */
static int is_too_much(struct call *c, unsigned long long more)
{
    const struct mf_http *h = c->http;

    if (h->bytes + mf_desk_unread(h->desk) + more <= h->wish.pending) return 0;
    refuse(c, 429, "the server has too many bytes of requests and answers; try again later");
    return 1;
}

/* 1: the body is too long, and is not waited for. A client that has begun to send would find its connection cut, and
 * miss the answer. So the body is read over, unless it is very long or its client asks first. */
static int is_too_long(struct call *c)
{
    const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const unsigned long long bytes = length ? strtoull(length, NULL, 10) : 0;

    if (c->status) return 0;
    if (bytes > c->http->wish.body)
        refuse_length(c);
    else if (bytes == 0 || !is_too_much(c, bytes))
        return 0;
    return bytes > READ_OVER || header(c, MHD_HTTP_HEADER_EXPECT);
}

/* The line and the headers of a request. Refusals are told once its body was read. */
static void begin(struct call *c, const char *method, const char *path)
{
    const struct mf_http *h = c->http;
    const int ready = mf_desk_state(h->desk) != MF_DESK_LOADS;
    int status = 0;

    c->error = mf_error_plain;
    if (!ready) {
        refuse(c, 503, "the server loads its model");
        return;
    }
    c->route = mf_route_find(h->served, h->wish.dialects, method, path, &status, &c->allowed, &c->error);
    if (!c->route)
        refuse(c, status, mf_err_text());
    else if (h->wish.key && c->route->does != MF_ROUTE_HEALTH && !has_key(c))
        refuse(c, 401, "the request has no valid key; it needs a header Authorization: Bearer KEY");
}

static void receive(struct call *c, const char *from, size_t n)
{
    if (c->status) return; /* the rest of what is refused */
    if (c->body.count + n > c->http->wish.body) {
        refuse_length(c);
        return;
    }
    if (is_too_much(c, n)) return;
    mf_bytes_put(&c->body, from, n);
    hold(c, n);
}

/* Reads JSON and cuts it to tokens. 0, or the status of a refusal, whose sentence is recorded. */
static int read_ask(struct call *c, struct mf_ask *ask)
{
    const struct mf_http *h = c->http;
    const int status = mf_route_read(c->route, h->served, c->body.count ? c->body.at : "", c->body.count, ask);

    if (status) return status;
    return mf_ask_fit(h->served, h->tokenizer, ask) == MF_OK ? 0 : c->route->refuses;
}

/* Numbers of an image may take more bytes than their text. */
static void hold_images(struct call *c, const struct mf_ask *ask)
{
    size_t bytes = 0;

    for (size_t k = 0; k < ask->prompts; ++k) bytes += ask->prompt[k].image.count;
    if (bytes > c->bytes) hold(c, bytes - c->bytes);
}

static enum MHD_Result ask(struct call *c)
{
    struct mf_ask ask = {.prompts = 0};
    int status = mf_desk_refuses(c->http->desk); /* a full server spends no time on reading */

    if (status == 0) status = read_ask(c, &ask);
    mf_bytes_free(&c->body);
    hold_images(c, &ask);
    if (status == 0) c->ticket = mf_desk_put(c->http->desk, c->route, &ask, socket_of(c), &status);
    if (c->ticket) return answer_ticket(c);
    if (status == 429) (void)mf_fail(MF_USAGE, "the server is full; try again later");
    if (status == 503) (void)mf_fail(MF_USAGE, "the server is about to leave");
    refuse(c, status, mf_err_text());
    mf_ask_free(&ask);
    return answer_refusal(c);
}

static enum MHD_Result tell(struct call *c)
{
    const struct mf_http *h = c->http;
    struct mf_bytes body = {0};

    c->status = 200;
    switch (c->route->does) {
    case MF_ROUTE_FACTS: c->route->facts(h->served, &body); break;
    case MF_ROUTE_METRICS: /* before the model is read, those that all servers have */
        mf_meter_write(mf_desk_meter(h->desk), h->served ? h->served->kind : MF_ASK_ANSWER, &body);
        break;
    case MF_ROUTE_HEALTH:
        if (mf_desk_state(h->desk) != MF_DESK_SERVES) {
            refuse(c, 503, "the server is about to leave");
            return answer_refusal(c);
        }
        break;
    case MF_ROUTE_ASK: return ask(c);
    }
    return answer(c, body,
                  c->route->does == MF_ROUTE_METRICS ? "text/plain; version=0.0.4; charset=utf-8" : "application/json");
}

/* -- libmicrohttpd -- */

static struct call *new_call(struct mf_http *h, struct MHD_Connection *connection)
{
    struct call *c = MF_MUST(calloc(1, sizeof *c), "a request");

    *c = (struct call){.http = h, .connection = connection, .began = mf_now()};
    ++h->calls;
    return c;
}

/* -- connections that do not get on with a request --
 *
 * libmicrohttpd has a limit for silence alone. So a client could send a byte now and then, and keep a connection. */

static void lock(struct mf_http *h) { (void)pthread_mutex_lock(&h->lock); }
static void unlock(struct mf_http *h) { (void)pthread_mutex_unlock(&h->lock); }

static void arrive(struct mf_http *h, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct guest *g = MF_MUST(calloc(1, sizeof *g), "a connection");

    *g = (struct guest){.socket = info ? info->connect_fd : -1, .since = mf_now()};
    lock(h);
    g->after = h->first;
    if (h->first) h->first->before = g;
    h->first = g;
    unlock(h);
    *context = g;
}

static void depart(struct mf_http *h, struct guest *g)
{
    lock(h);
    *(g->before ? &g->before->after : &h->first) = g->after;
    if (g->after) g->after->before = g->before;
    unlock(h);
    free(g);
}

static void visit(void *http, struct MHD_Connection *connection, void **context,
                  enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        arrive(http, connection, context);
    else if (*context)
        depart(http, *context);
}

static void set_since(struct mf_http *h, struct MHD_Connection *connection, double since)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct guest *g = info ? info->socket_context : NULL;

    if (!g) return;
    lock(h);
    g->since = since;
    unlock(h);
}

void mf_http_tend(struct mf_http *h)
{
    const double now = mf_now();

    lock(h);
    for (struct guest *g = h->first; g; g = g->after) {
        if (g->since <= 0 || now - g->since <= h->wish.seconds || g->socket < 0) continue;
        (void)shutdown(g->socket, SHUT_RDWR); /* the other thread then finds its end */
        g->since = 0;
    }
    unlock(h);
}

/* It is called for the headers, for each piece of the body, and at its end. A suspended connection calls it when it
 * goes on. */
static enum MHD_Result handle(void *http, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *data, size_t *bytes, void **call)
{
    struct mf_http *h = http;
    struct call *c = *call;

    (void)version;
    if (!c) {
        *call = c = new_call(h, connection);
        set_since(h, connection, 0);
        begin(c, method, path);
        return is_too_long(c) ? answer_refusal(c) : MHD_YES;
    }
    if (*bytes > 0) {
        receive(c, data, *bytes);
        *bytes = 0;
        return mf_now() - c->began > h->wish.seconds ? MHD_NO : MHD_YES;
    }
    if (c->ticket) return answer_ticket(c);
    return c->status ? answer_refusal(c) : tell(c);
}

static void ended(void *http, struct MHD_Connection *connection, void **call, enum MHD_RequestTerminationCode how)
{
    struct mf_http *h = http;
    struct call *c = *call;
    int is_whole = how == MHD_REQUEST_TERMINATED_COMPLETED_OK, broken, status;

    set_since(h, connection, mf_now());
    if (!c) return;
    broken = c->ticket ? mf_desk_leave(c->ticket) : 0;
    status = is_whole ? c->status : broken ? broken : 499;
    mf_meter_request(mf_desk_meter(h->desk), status);
    if (h->wish.logs)
        mf_info("%s: status %d, %.3f s%s", c->route ? c->route->path : "no path", status, mf_now() - c->began,
                is_whole ? "" : ", cut short");
    h->bytes -= c->bytes;
    free(c->why);
    mf_bytes_free(&c->body);
    free(c);
    *call = NULL;
    --h->calls;
}

static void note(void *http, const char *format, va_list values)
{
    char text[300];

    (void)http;
    vsnprintf(text, sizeof text, format, values);
    text[strcspn(text, "\n")] = 0;
    mf_debug("libmicrohttpd: %s", text);
}

static int find_address(const struct mf_http_wish *wish, struct addrinfo **address)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    char port[8];
    int rc;

    snprintf(port, sizeof port, "%u", wish->port);
    rc = getaddrinfo(wish->host, port, &hints, address);
    if (rc == 0) return MF_OK;
    return mf_fail(MF_USAGE, "--host '%.200s' is no address of this machine: %s", wish->host, gai_strerror(rc));
}

/* The daemon has not started, and does not say why. */
static int refuse_address(const struct mf_http *h, const struct addrinfo *at)
{
    const int probe = socket(at->ai_family, SOCK_STREAM, 0);
    const int why = probe < 0 || bind(probe, at->ai_addr, at->ai_addrlen) != 0 ? errno : 0;

    if (probe >= 0) (void)close(probe);
    if (why == EADDRNOTAVAIL)
        return mf_fail(MF_USAGE, "--host '%.200s' is no address of this machine: %s", h->wish.host, strerror(why));
    return mf_fail(MF_DEVICE, "port %u of %.200s cannot be had%s%s; try: --port 0 for a free one", h->wish.port,
                   h->wish.host, why ? ": " : "", why ? strerror(why) : "");
}

static void find_url(struct mf_http *h, int is_six)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);

    h->url = mf_format(is_six && strchr(h->wish.host, ':') ? "http://[%s]:%u" : "http://%s:%u", h->wish.host,
                       info ? info->port : h->wish.port);
}

static int start(struct mf_http *h, const struct addrinfo *at)
{
    const int is_six = at->ai_family == AF_INET6;

    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (is_six ? MHD_USE_IPv6 : 0),
        (uint16_t)h->wish.port, NULL, NULL, handle, h, MHD_OPTION_EXTERNAL_LOGGER, note, h, MHD_OPTION_SOCK_ADDR,
        at->ai_addr, MHD_OPTION_CONNECTION_LIMIT, h->wish.connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, h->wish.seconds, MHD_OPTION_NOTIFY_COMPLETED, ended, h,
        MHD_OPTION_NOTIFY_CONNECTION, visit, h, MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!h->daemon) return refuse_address(h, at);
    find_url(h, is_six);
    return MF_OK;
}

int mf_http_open(const struct mf_http_wish *wish, struct mf_desk *desk, struct mf_http **http)
{
    struct mf_http *h = MF_MUST(calloc(1, sizeof *h), "a server");
    struct addrinfo *address = NULL;
    int rc;

    h->wish = *wish;
    h->desk = desk;
    h->listens = -1;
    (void)pthread_mutex_init(&h->lock, NULL);
    rc = find_address(wish, &address);
    if (rc == MF_OK) rc = start(h, address);
    if (address) freeaddrinfo(address);
    *http = rc == MF_OK ? h : NULL;
    if (rc != MF_OK) mf_http_close(h, 0);
    return rc;
}

void mf_http_serve(struct mf_http *h, const struct mf_served *served, struct mf_tokenizer *tokenizer)
{
    h->served = served;
    h->tokenizer = tokenizer;
    mf_desk_turn(h->desk, MF_DESK_SERVES); /* its lock publishes both */
}

const char *mf_http_url(const struct mf_http *h) { return h->url; }

void mf_http_quiet(struct mf_http *h)
{
    if (h->listens < 0) h->listens = MHD_quiesce_daemon(h->daemon);
    if (h->listens >= 0) (void)shutdown(h->listens, SHUT_RDWR);
}

void mf_http_close(struct mf_http *h, double seconds)
{
    const double until = mf_now() + seconds;

    if (!h) return;
    while (h->calls > 0 && mf_now() < until) (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    if (h->daemon) MHD_stop_daemon(h->daemon);
    if (h->listens >= 0) (void)close(h->listens);
    (void)pthread_mutex_destroy(&h->lock);
    free(h->url);
    free(h);
}
