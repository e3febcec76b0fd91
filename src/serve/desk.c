/* See desk.h. */
#include "src/serve/desk.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"

struct mf_desk {
    struct mf_desk_wish wish;
    pthread_mutex_t lock;
    pthread_cond_t bell; /* a ticket came, or the state turned */
    struct mf_ticket *first, **last;
    struct mf_ticket *open; /* all that are not freed */
    size_t queue, room;     /* tickets that wait; that the engine could take now */
    size_t unread;          /* bytes of all tickets */
    unsigned long long number;
    enum mf_desk_state state;
    struct mf_meter *meter;
};

static void lock(const struct mf_desk *desk) { (void)pthread_mutex_lock((pthread_mutex_t *)&desk->lock); }
static void unlock(const struct mf_desk *desk) { (void)pthread_mutex_unlock((pthread_mutex_t *)&desk->lock); }

struct mf_desk *mf_desk_open(const struct mf_desk_wish *wish)
{
    struct mf_desk *d = MF_MUST(calloc(1, sizeof *d), "a desk");
    pthread_condattr_t monotonic;

    d->wish = *wish;
    d->last = &d->first;
    d->meter = mf_meter_open();
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&d->bell, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return d;
}

void mf_desk_close(struct mf_desk *d)
{
    if (!d) return;
    MF_ASSERT(!d->first);
    mf_meter_close(d->meter);
    (void)pthread_cond_destroy(&d->bell);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

void mf_desk_turn(struct mf_desk *d, enum mf_desk_state state)
{
    lock(d);
    d->state = state;
    (void)pthread_cond_signal(&d->bell);
    unlock(d);
}

enum mf_desk_state mf_desk_state(const struct mf_desk *d)
{
    enum mf_desk_state state;

    lock(d);
    state = d->state;
    unlock(d);
    return state;
}

struct mf_meter *mf_desk_meter(struct mf_desk *d) { return d->meter; }

/* Under the lock. */
static void enlist(struct mf_desk *d, struct mf_ticket *t)
{
    t->after = d->open;
    if (d->open) d->open->before = t;
    d->open = t;
}

/* Under the lock. */
static void strike_off(struct mf_desk *d, struct mf_ticket *t)
{
    *(t->before ? &t->before->after : &d->open) = t->after;
    if (t->after) t->after->before = t->before;
    d->unread -= t->out.count;
}

static void free_ticket(struct mf_ticket *t)
{
    mf_ask_free(&t->ask);
    mf_bytes_free(&t->out);
    free(t);
}

/* -- of HTTP -- */

/* Under the lock. */
static int refuses(const struct mf_desk *d)
{
    return d->state != MF_DESK_SERVES ? 503 : d->queue >= d->wish.queue + d->room ? 429 : 0;
}

int mf_desk_refuses(struct mf_desk *d)
{
    int status;

    lock(d);
    status = refuses(d);
    unlock(d);
    return status;
}

struct mf_ticket *mf_desk_put(struct mf_desk *d, const struct mf_route *route, struct mf_ask *ask, int socket,
                              int *status)
{
    struct mf_ticket *t = NULL;

    lock(d);
    *status = refuses(d);
    if (*status == 0) {
        t = MF_MUST(calloc(1, sizeof *t), "a request");
        *t = (struct mf_ticket){.route = route, .ask = *ask, .desk = d, .came = mf_now(), .socket = socket};
        t->name.number = ++d->number;
        t->name.created = (long long)time(NULL);
        enlist(d, t);
        *d->last = t;
        d->last = &t->next;
        ++d->queue;
        (void)pthread_cond_signal(&d->bell);
    }
    unlock(d);
    return t;
}

/* Under the lock. */
static void put_to_sleep(struct mf_ticket *t, void *sleeper)
{
    t->sleeper = sleeper;
    t->desk->wish.sleep(sleeper);
}

int mf_desk_ready(struct mf_ticket *t, void *sleeper, int *status)
{
    int ready;

    lock(t->desk);
    *status = t->status;
    ready = t->ended || (t->ask.streams && t->status == 200);
    if (!ready) put_to_sleep(t, sleeper);
    unlock(t->desk);
    return ready;
}

enum mf_fetched mf_desk_fetch(struct mf_ticket *t, void *sleeper, char *to, size_t room, size_t *bytes)
{
    enum mf_fetched fetched = MF_FETCHED_BYTES;

    lock(t->desk);
    *bytes = mf_min(room, t->out.count);
    if (*bytes > 0) {
        memcpy(to, t->out.at, *bytes);
        memmove(t->out.at, t->out.at + *bytes, t->out.count -= *bytes);
        t->desk->unread -= *bytes;
    } else if (t->ended) {
        fetched = t->broken ? MF_FETCHED_BROKEN : MF_FETCHED_END;
    } else {
        fetched = MF_FETCHED_LATER;
        put_to_sleep(t, sleeper);
    }
    unlock(t->desk);
    return fetched;
}

struct mf_bytes mf_desk_fetch_all(struct mf_ticket *t)
{
    struct mf_bytes all;

    lock(t->desk);
    MF_ASSERT(t->ended);
    all = t->out;
    t->out = (struct mf_bytes){0};
    t->desk->unread -= all.count;
    unlock(t->desk);
    return all;
}

size_t mf_desk_unread(const struct mf_desk *d)
{
    size_t unread;

    lock(d);
    unread = d->unread;
    unlock(d);
    return unread;
}

int mf_desk_leave(struct mf_ticket *t)
{
    struct mf_desk *d = t->desk;
    int is_last, broken;

    lock(d);
    broken = t->broken;
    t->socket = -1;
    t->sleeper = NULL;
    is_last = t->left;
    if (is_last) strike_off(d, t);
    unlock(d);
    if (is_last) free_ticket(t);
    return broken;
}

/* -- of the engine -- */

/* Under the lock. */
static struct mf_ticket *pop(struct mf_desk *d)
{
    struct mf_ticket *t = d->first;

    d->first = t->next;
    if (!d->first) d->last = &d->first;
    t->next = NULL;
    --d->queue;
    if (d->room > 0) --d->room;
    return t;
}

static struct timespec after(double seconds)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)(1e9 * (seconds - (double)(long)seconds));
    t.tv_sec += (long)seconds + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

struct mf_ticket *mf_desk_take(struct mf_desk *d, double seconds, double before)
{
    const struct timespec until = after(seconds);
    struct mf_ticket *t = NULL;

    lock(d);
    if (!d->first && seconds > 0) (void)pthread_cond_timedwait(&d->bell, &d->lock, &until);
    if (d->first && d->first->came < before) t = pop(d);
    unlock(d);
    return t;
}

void mf_desk_room(struct mf_desk *d, size_t tickets)
{
    lock(d);
    d->room = tickets;
    unlock(d);
}

size_t mf_desk_queue(struct mf_desk *d)
{
    size_t queue;

    lock(d);
    queue = d->queue;
    unlock(d);
    return queue;
}

/* Under the lock, so the socket stays open. A client that has closed its half has gone, too. */
static int has_gone(const struct mf_ticket *t)
{
    struct pollfd look = {.fd = t->socket, .events = POLLRDHUP};

    if (t->socket < 0) return 1;
    return poll(&look, 1, 0) > 0 && look.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}

static int listens(const struct mf_ticket *t) { return !has_gone(t) && t->out.count <= t->desk->wish.out; }

int mf_desk_listens(struct mf_ticket *t)
{
    int yes;

    lock(t->desk);
    yes = listens(t);
    unlock(t->desk);
    return yes;
}

/* Under the lock. */
static void wake(struct mf_ticket *t)
{
    void *sleeper = t->sleeper;

    t->sleeper = NULL;
    if (sleeper) t->desk->wish.wake(sleeper);
}

void mf_desk_say(struct mf_ticket *t, int status, const void *bytes, size_t n)
{
    lock(t->desk);
    if (!t->status) t->status = status;
    if (t->socket >= 0) {
        mf_bytes_put(&t->out, bytes, n);
        t->desk->unread += n;
    }
    wake(t);
    unlock(t->desk);
}

void mf_desk_end(struct mf_ticket *t, int broken)
{
    struct mf_desk *d = t->desk;
    int is_last;

    lock(d);
    t->ended = t->left = 1;
    t->broken = broken;
    is_last = t->socket < 0;
    if (!is_last) wake(t);
    if (is_last) strike_off(d, t);
    unlock(d);
    if (is_last) free_ticket(t);
}

static void refuse_deaf(struct mf_ticket *t)
{
    struct mf_bytes words = {0};

    t->route->error(499, "the client has closed its side of the connection", 0, &words);
    mf_desk_say(t, 499, words.at, words.count);
    mf_bytes_free(&words);
    mf_desk_end(t, 0);
}

void mf_desk_sweep(struct mf_desk *d)
{
    struct mf_ticket *gone = NULL;

    lock(d);
    for (struct mf_ticket **at = &d->first; *at;) {
        struct mf_ticket *t = *at;

        if (!has_gone(t)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        t->next = gone;
        gone = t;
        --d->queue;
    }
    d->last = &d->first;
    while (*d->last) d->last = &(*d->last)->next;
    unlock(d);
    while (gone) {
        struct mf_ticket *t = gone;

        gone = t->next;
        refuse_deaf(t);
    }
}

/* Under the lock. */
static void lose(struct mf_ticket *t, const char *sentence)
{
    const int streams = t->ask.streams && t->status == 200;

    if (t->ended || t->socket < 0) return;
    t->desk->unread -= t->out.count;
    if (!streams) t->out.count = 0;
    t->route->error(503, sentence, streams, &t->out);
    t->desk->unread += t->out.count;
    if (!t->status) t->status = 503;
    t->ended = 1;
    t->broken = streams ? 503 : 0;
    wake(t);
}

void mf_desk_lose(struct mf_desk *d, const char *sentence)
{
    const struct timespec until = after(0.1);

    if (pthread_mutex_clocklock(&d->lock, CLOCK_MONOTONIC, &until) != 0) return;
    d->state = MF_DESK_DRAINS;
    for (struct mf_ticket *t = d->open; t; t = t->after) lose(t, sentence);
    unlock(d);
}
