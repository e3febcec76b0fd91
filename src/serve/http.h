/* HTTP of the server, by libmicrohttpd: one thread for all connections. It reads requests, puts them on the desk, and
 * sends what is said there. A connection that has to wait is suspended, so a handler never waits.
 * Rule: only http.c includes microhttpd.h. */
#ifndef MF_SERVE_HTTP_H
#define MF_SERVE_HTTP_H

#include "src/serve/desk.h"
#include "src/text/tokenizer.h"

struct mf_http;

struct mf_http_wish {
    const char *host; /* an address of IPv4 or IPv6, or a name */
    unsigned port;    /* 0: a free one */
    unsigned dialects;
    const char *key;      /* requests have "Authorization: Bearer KEY"; NULL: all are served */
    size_t body;          /* bytes of a request, at most */
    size_t pending;       /* bytes of all requests, and of answers that nobody has fetched, at most */
    unsigned seconds;     /* that a client may be silent, or that a request may take to arrive */
    unsigned connections; /* at a time */
    int logs;             /* a line for each request */
};

/** For the desk (struct mf_desk_wish): bytes of an answer that its client has not read, at most. Connections sleep, and
 * are woken. */
enum { MF_HTTP_UNREAD = 1 << 20 };
void mf_http_sleep(void *connection);
void mf_http_wake(void *connection);

/** Binds the port, and begins to answer. Until mf_http_serve() everything but /health is refused with 503. Refuses with
 * MF_DEVICE where the port is taken, MF_USAGE where the host is none of this machine. Local. */
int mf_http_open(const struct mf_http_wish *wish, struct mf_desk *desk, struct mf_http **http);

/** From now on requests are read. Both arguments outlive the server, and nobody else uses the tokenizer. */
void mf_http_serve(struct mf_http *http, const struct mf_served *served, struct mf_tokenizer *tokenizer);

/** "http://HOST:PORT", with the port that is bound. */
const char *mf_http_url(const struct mf_http *http);

/** Cuts connections whose next request has not brought its headers in time. Called now and then, by any thread. */
void mf_http_tend(struct mf_http *http);

/** No new connection is accepted. */
void mf_http_quiet(struct mf_http *http);

/** All tickets have ended (desk.h). Gives clients @p seconds to fetch what was said. NULL is accepted. */
void mf_http_close(struct mf_http *http, double seconds);

#endif
