/* Where threads of HTTP and the thread of the engine meet. The first bring requests, and fetch what was said to them.
 * The second takes requests, and says something. Neither waits for the other.
 *
 * A ticket is a request on its way. HTTP leaves it when its connection has ended, the engine when all is said. Whoever
 * comes last frees it.
 *
 * Rule: fields of HTTP and of the engine are touched by these alone. The rest has one lock, which the functions take.
 */
#ifndef MF_SERVE_DESK_H
#define MF_SERVE_DESK_H

#include "src/serve/dialect.h"
#include "src/serve/meter.h"

struct mf_desk;

struct mf_ticket {
    const struct mf_route *route; /* constant, like ask and name */
    struct mf_ask ask;
    struct mf_ask_name name;
    struct mf_desk *desk;
    double came; /* [s] mf_now() */

    void *work; /* of the engine */

    /* under the lock */
    struct mf_ticket *next;           /* in the queue */
    struct mf_ticket *before, *after; /* among all that are not freed */
    int socket;                       /* -1: the client has gone */
    void *sleeper;                    /* a connection that waits for a word; NULL: none does */
    struct mf_bytes out;              /* not fetched yet */
    int status;                       /* of HTTP; 0: nothing is said yet */
    int ended;                        /* no more will be said */
    int broken;                       /* .. and what was said is not all: the HTTP status of the failure; else 0 */
    int left;                         /* by the engine */
};

struct mf_desk_wish {
    size_t queue; /* tickets that wait for room in the engine, at most */
    size_t out;   /* bytes of a ticket that nobody has fetched, at most */
    /** Puts a connection to sleep, and wakes it. Called under the lock. */
    void (*sleep)(void *sleeper);
    void (*wake)(void *sleeper);
};

struct mf_desk *mf_desk_open(const struct mf_desk_wish *wish);
/** All tickets have been left. */
void mf_desk_close(struct mf_desk *desk);

/* -- the state of the server -- */

enum mf_desk_state { MF_DESK_LOADS, MF_DESK_SERVES, MF_DESK_DRAINS };
void mf_desk_turn(struct mf_desk *desk, enum mf_desk_state state);
enum mf_desk_state mf_desk_state(const struct mf_desk *desk);
struct mf_meter *mf_desk_meter(struct mf_desk *desk);

/** The engine will say no more: this process ends. Every open ticket gets an error. Any thread may call. Nothing
 * happens if another thread, or this one, keeps the lock for 0.1 s. */
void mf_desk_lose(struct mf_desk *desk, const char *sentence);

/* -- of HTTP -- */

/** The status by which a ticket would be refused now: 429 (the queue is full) or 503 (the server does not serve). 0: it
 * would be taken. */
int mf_desk_refuses(struct mf_desk *desk);

/** Takes @p route and @p ask, and queues a ticket for the client of @p socket. NULL: *status is as above, and the
 * ask remains the caller's. */
struct mf_ticket *mf_desk_put(struct mf_desk *desk, const struct mf_route *route, struct mf_ask *ask, int socket,
                              int *status);

/** Is there an answer to begin with: all of it, or the first word of a stream? 0: @p sleeper sleeps, and will be woken
 * once. *status is that of HTTP. */
int mf_desk_ready(struct mf_ticket *ticket, void *sleeper, int *status);

enum mf_fetched { MF_FETCHED_LATER, MF_FETCHED_BYTES, MF_FETCHED_END, MF_FETCHED_BROKEN };

/** Fetches at most @p room bytes of a stream. LATER: there are none yet, as above. BROKEN: no more come, and what came
 * is not all. */
enum mf_fetched mf_desk_fetch(struct mf_ticket *ticket, void *sleeper, char *to, size_t room, size_t *bytes);

/** Bytes of all tickets that were said and not fetched. */
size_t mf_desk_unread(const struct mf_desk *desk);

/** All that was said, once it is ready and no stream. The caller frees. */
struct mf_bytes mf_desk_fetch_all(struct mf_ticket *ticket);

/** The connection has ended. Returns ticket->broken. */
int mf_desk_leave(struct mf_ticket *ticket);

/* -- of the engine -- */

/** The oldest ticket, if it came @p before this time (mf_now()); NULL: there is none. Waits at most @p seconds for one,
 * or for mf_desk_turn(). */
struct mf_ticket *mf_desk_take(struct mf_desk *desk, double seconds, double before);
/** The engine could take so many tickets at once. So many may be in the queue beside those that wait. 0 at first. */
void mf_desk_room(struct mf_desk *desk, size_t tickets);
/** Tickets that wait. */
size_t mf_desk_queue(struct mf_desk *desk);
/** Drops tickets of the queue whose clients have gone, and says so to those that closed their half alone. Tells of an
 * open ticket: 0: its client has gone, or does not fetch what is said. Called at every step. */
void mf_desk_sweep(struct mf_desk *desk);
int mf_desk_listens(struct mf_ticket *ticket);

/** Says @p n bytes. The first call states the HTTP status. */
void mf_desk_say(struct mf_ticket *ticket, int status, const void *bytes, size_t n);
/** No more is said. @p broken: that was not all, because of a failure of this HTTP status; else 0. The engine then
 * leaves the ticket. */
void mf_desk_end(struct mf_ticket *ticket, int broken);

#endif
