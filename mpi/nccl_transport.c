/* See nccl_transport.h: when NCCL may be used, its start and end, and what it does. */
#include "mpi/nccl_transport.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/collect.h"
#include "mpi/comm_priv.h"
#include "mpi/nccl_abi.h"
#include "mpi/phases.h"
#include "mpi/watch.h"
#include "src/base/err.h"
#include "src/base/log.h"

struct mf_transport {
    const struct nccl *api; /* NULL: a dry one */
    nccl_comm comm;         /* NULL: there is none yet, or no more */
    struct mf_transport *next;
};

/* Transports that mf_transport_abort() ends: the world's, and those of groups. Another thread may call it while the
 * main thread waits. */
static struct {
    pthread_mutex_t lock;
    struct mf_transport *first;
    int over; /* the job ends */
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- may it be used? -- */

/* Message of a rank to the others. */
struct seat {
    int64_t node, code, is_part;
    struct mf_device_id board;
};

enum mf_exchange mf_exchange_of(const char *name)
{
    if (strcmp(name, "nccl") == 0) return MF_EXCHANGE_NCCL;
    return strcmp(name, "host") == 0 ? MF_EXCHANGE_HOST : MF_EXCHANGE_AUTO;
}

static int sit(const struct mf_comm *comm, struct mf_queue *queue, const struct nccl **api, struct seat *seat)
{
    *seat = (struct seat){.node = comm->impl ? comm->impl->leader : 0};
    if (!queue->port)
        return mf_fail(MF_DEVICE, "NCCL moves the memory of GPUs, and this run is on the %s back end",
                       queue->backend->name);
    MF_TRY(mf_nccl_open(api));
    seat->code = (*api)->code;
    seat->is_part = queue->port->is_part;
    seat->board = queue->port->board;
    return MF_OK;
}

/* The same answer on all ranks. */
static int judge_seats(const struct seat *seat, int ranks)
{
    for (int r = 0; r < ranks; ++r) {
        if (seat[r].code != seat[0].code)
            return mf_fail(MF_DEVICE, "rank %d has another version of NCCL than rank 0 (%lld, %lld)", r,
                           (long long)seat[r].code, (long long)seat[0].code);
        for (int k = 0; k < r; ++k)
            if (seat[k].node == seat[r].node && strcmp(seat[k].board.text, seat[r].board.text) == 0)
                return mf_fail(MF_DEVICE, "NCCL needs one GPU per rank, but ranks %d and %d are both on %s", k, r,
                               seat[r].board.text);
        if (seat[r].is_part && ranks > 1)
            return mf_fail(MF_DEVICE, "NCCL does not connect parts of GPUs (MIG), rank %d has one", r);
    }
    return MF_OK;
}

static int compare_seats(const struct mf_comm *comm, const struct seat *own)
{
    size_t *offset = calloc((size_t)comm->size + 1, sizeof *offset);
    void *all = NULL;
    int rc;

    if (!offset) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", comm->size);
    rc = mf_comm_gather(comm, own, sizeof *own, &all, offset);
    if (rc == MF_OK) rc = judge_seats(all, comm->size);
    free(offset);
    free(all);
    return rc;
}

/* -- beginning and end -- */

static const char *reason(const struct nccl *api, int rc)
{
    const char *more = api->last(NULL);

    return more && *more ? more : api->error(rc);
}

static void set_live(struct mf_transport *transport)
{
    pthread_mutex_lock(&live.lock);
    transport->next = live.first;
    live.first = transport;
    pthread_mutex_unlock(&live.lock);
}

static void set_dead(const struct mf_transport *transport)
{
    struct mf_transport **at = &live.first;

    pthread_mutex_lock(&live.lock);
    while (*at && *at != transport) at = &(*at)->next;
    if (*at) *at = transport->next;
    pthread_mutex_unlock(&live.lock);
}

/* Another thread ends the job. */
static void stay(void)
{
    for (;;) pause();
}

/* NCCL_IN_PROGRESS, or how the last call ended, with what NCCL found later, here or on another rank. */
static int state(const struct mf_transport *transport)
{
    int rc = NCCL_OK, asked = NCCL_OK, over;

    pthread_mutex_lock(&live.lock);
    over = live.over;
    if (!over) asked = transport->api->async(transport->comm, &rc);
    pthread_mutex_unlock(&live.lock);
    if (over) stay();
    return asked != NCCL_OK ? asked : rc;
}

static int start_local(const struct mf_comm *comm, struct mf_transport *transport, struct nccl_id id)
{
    struct nccl_config how = {sizeof how, (unsigned)NCCL_MAGIC, NCCL_OLDEST, 0};
    const int rc = transport->api->init(&transport->comm, comm->size, id, comm->rank, &how);

    if (rc == NCCL_OK || rc == NCCL_IN_PROGRESS) set_live(transport);
    return rc;
}

/* Waits until all ranks have started NCCL, or one has failed. Then the others stop too, because they would wait for it
 * inside NCCL. */
static int arrive(const struct mf_comm *comm, const struct mf_transport *transport, int rc)
{
    const struct timespec while_ = {0, 1000000};
    int64_t any[2]; /* has failed, is on its way */

    for (;;) {
        any[0] = rc != NCCL_OK && rc != NCCL_IN_PROGRESS;
        any[1] = rc == NCCL_IN_PROGRESS;
        mf_comm_max_int(comm, 2, any);
        if (any[0] || !any[1]) break;
        nanosleep(&while_, NULL);
        if (rc == NCCL_IN_PROGRESS) rc = state(transport);
    }
    if (rc == NCCL_OK || rc == NCCL_IN_PROGRESS) return MF_OK;
    return mf_fail(MF_DEVICE, "NCCL %s does not start: %.200s", transport->api->number, reason(transport->api, rc));
}

static int start(const struct mf_comm *comm, struct mf_transport *transport)
{
    struct nccl_id id = {{0}};
    int rc = comm->rank == 0 ? transport->api->id(&id) : NCCL_OK;

    if (rc != NCCL_OK) rc = mf_fail(MF_DEVICE, "NCCL gives no id: %.200s", reason(transport->api, rc));
    MF_TRY(mf_agree(comm, rc));
    mf_comm_bcast(comm, 0, &id, sizeof id);
    mf_comm_enter(comm, "start of NCCL", 0);
    rc = start_local(comm, transport, id);
    mf_comm_leave(comm);
    rc = mf_agree(comm, arrive(comm, transport, rc));
    if (rc != MF_OK && transport->comm) {
        set_dead(transport);
        (void)transport->api->abort(transport->comm);
    }
    return rc;
}

static int open_transport(struct mf_comm *comm, struct mf_queue *queue, int *tried)
{
    struct mf_transport *transport = calloc(1, sizeof *transport);
    struct seat seat;
    int rc;

    if (!transport) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for the NCCL transport");
    rc = mf_agree(comm, sit(comm, queue, &transport->api, &seat));
    if (rc == MF_OK) rc = compare_seats(comm, &seat);
    *tried = rc == MF_OK;
    if (rc == MF_OK) rc = start(comm, transport);
    if (rc == MF_OK)
        comm->transport = transport;
    else
        free(transport);
    return rc;
}

int mf_transport_open(struct mf_comm *comm, struct mf_queue *queue, enum mf_exchange wish)
{
    char why[MF_ERR_TEXT];
    int rc, tried;

    comm->transport = NULL;
    if (wish == MF_EXCHANGE_HOST || (wish == MF_EXCHANGE_AUTO && (comm->size == 1 || !mf_apart(queue)))) return MF_OK;
    rc = open_transport(comm, queue, &tried);
    snprintf(why, sizeof why, "%s", mf_err_text());
    if (rc == MF_OK) {
        mf_info("exchange: NCCL %s (%s)", comm->transport->api->number,
                wish == MF_EXCHANGE_NCCL ? "--exchange nccl" : "auto: every rank has a GPU of its own");
        return MF_OK;
    }
    if (wish == MF_EXCHANGE_NCCL) return mf_fail(rc, "--exchange nccl: %.900s; try: --exchange auto", why);
    mf_err_clear();
    (tried ? mf_warn : mf_info)("exchange: through the host's memory (auto: %s)", why);
    return MF_OK;
}

static int open_group(struct mf_comm *group, const struct nccl *api)
{
    struct mf_transport *transport = MF_MUST(calloc(1, sizeof *transport), "the NCCL transport");
    int rc;

    transport->api = api;
    rc = start(group, transport);
    if (rc == MF_OK)
        group->transport = transport;
    else
        free(transport);
    return rc;
}

int mf_transport_split(const struct mf_comm *comm, struct mf_comm *group)
{
    int rc = MF_OK;

    if (!comm->transport) return MF_OK;
    if (!comm->transport->api) mf_transport_dry(group);
    if (comm->transport->api && group->size > 1) rc = open_group(group, comm->transport->api);
    return mf_agree(comm, rc);
}

void mf_transport_dry(struct mf_comm *comm)
{
    static struct mf_transport dry;

    comm->transport = &dry;
}

/* Work of one rank alone may take NCCL down for all. So nobody leaves before all have come. */
void mf_transport_close(struct mf_comm *comm)
{
    struct mf_transport *transport = comm->transport;

    comm->transport = NULL;
    if (!transport || !transport->api) return;
    mf_comm_barrier(comm);
    mf_comm_enter(comm, "end of NCCL", 0);
    if (transport->api->finish(transport->comm) == NCCL_IN_PROGRESS)
        while (state(transport) == NCCL_IN_PROGRESS) sched_yield();
    set_dead(transport);
    (void)transport->api->destroy(transport->comm);
    mf_comm_leave(comm);
    free(transport);
}

void mf_transport_abort(void)
{
    pthread_mutex_lock(&live.lock);
    live.over = 1;
    for (struct mf_transport *t = live.first; t; t = t->next) (void)t->api->abort(t->comm);
    live.first = NULL;
    pthread_mutex_unlock(&live.lock);
}

/* -- groups -- */

static void check(const struct mf_comm *comm, int rc, const char *what)
{
    char line[MF_ERR_TEXT];

    if (rc == NCCL_OK || rc == NCCL_IN_PROGRESS) return;
    snprintf(line, sizeof line, "NCCL: %s fails on rank %d: %.200s", what, comm->rank,
             reason(comm->transport->api, rc));
    mf_watch_end(line, NULL);
}

void mf_transport_begin(const struct mf_comm *comm)
{
    check(comm, comm->transport->api->start(), "the begin of a group");
}

void mf_transport_send(const struct mf_comm *comm, struct mf_queue *queue, const void *device, size_t bytes, int to)
{
    const struct mf_transport *w = comm->transport;

    if (bytes) check(comm, w->api->send(device, bytes, NCCL_BYTE, to, w->comm, queue->port->stream), "a send");
}

void mf_transport_receive(const struct mf_comm *comm, struct mf_queue *queue, void *device, size_t bytes, int from)
{
    const struct mf_transport *w = comm->transport;

    if (bytes) check(comm, w->api->receive(device, bytes, NCCL_BYTE, from, w->comm, queue->port->stream), "a receive");
}

/* Only what NCCL has taken over stands in the stream, and is waited for there. */
void mf_transport_end(const struct mf_comm *comm)
{
    for (int rc = comm->transport->api->end();; rc = state(comm->transport)) {
        check(comm, rc, "the end of a group");
        if (rc != NCCL_IN_PROGRESS) return;
        sched_yield();
    }
}

void mf_transport_check(const struct mf_comm *comm) { check(comm, state(comm->transport), "an exchange"); }

void mf_transport_wait(const struct mf_comm *comm, struct mf_queue *queue, const char *name, size_t n)
{
    int idle;

    mf_comm_enter(comm, name, n);
    do {
        idle = queue->backend->idle(queue);
        mf_transport_check(comm);
        if (!idle) sched_yield();
    } while (!idle);
    mf_comm_leave(comm);
}

/* -- exchanges of arrays -- */

/* One that is under way, on the queue's second stream. */
struct move {
    const struct mf_comm *comm;
    const struct mf_collective *what;
    void *stream;
};

static int type_of(const struct move *m)
{
    switch (m->what->type) {
    case MF_F32: return NCCL_FLOAT;
    case MF_F16: return NCCL_HALF;
    default: MF_ASSERT(m->what->type == MF_BF16); return NCCL_BFLOAT;
    }
}

/* Block @p n behind @p at numbers: to a rank, or from it. */
static void send_block(const struct move *m, const void *from, size_t at, size_t n, int to)
{
    const struct mf_transport *w = m->comm->transport;
    const size_t each = mf_type_bytes(m->what->type);

    if (to != m->comm->rank) mf_phase_sent(n * each);
    if (n)
        check(m->comm, w->api->send((const char *)from + at * each, n * each, NCCL_BYTE, to, w->comm, m->stream),
              "a send");
}

static void receive_block(const struct move *m, size_t at, size_t n, int from)
{
    const struct mf_transport *w = m->comm->transport;
    const size_t each = mf_type_bytes(m->what->type);

    if (n)
        check(m->comm,
              w->api->receive((char *)m->what->array + at * each, n * each, NCCL_BYTE, from, w->comm, m->stream),
              "a receive");
}

static void trade(const struct move *m)
{
    const struct mf_collective *t = m->what;
    size_t out = 0, in = 0;

    for (int r = 0; r < m->comm->size; ++r) {
        send_block(m, t->from, t->sent_at ? t->sent_at[r] : out, t->sent[r], r);
        receive_block(m, t->got_at ? t->got_at[r] : in, t->got[r], r);
        out += t->sent[r];
        in += t->got[r];
    }
}

/* Pieces that are not equal. */
static void gather_pieces(const struct move *m)
{
    const int ranks = m->comm->size, rank = m->comm->rank;
    const struct mf_span own = mf_collect_piece(m->what->n, ranks, rank);

    for (int r = 0; r < ranks; ++r) {
        const struct mf_span piece = mf_collect_piece(m->what->n, ranks, r);

        if (r == rank) continue;
        send_block(m, m->what->array, own.first, own.count, r);
        receive_block(m, piece.first, piece.count, r);
    }
}

static void sum(const struct move *m)
{
    const struct mf_transport *w = m->comm->transport;
    void *array = m->what->array;

    check(m->comm, w->api->all_reduce(array, array, m->what->n, type_of(m), NCCL_SUM, w->comm, m->stream), "a sum");
}

static void scatter_equal(const struct move *m, char *own, size_t each)
{
    const struct mf_transport *w = m->comm->transport;

    check(m->comm, w->api->reduce_scatter(m->what->array, own, each, type_of(m), NCCL_SUM, w->comm, m->stream),
          "a reduce-scatter");
}

static void gather_equal(const struct move *m, const char *own, size_t bytes)
{
    const struct mf_transport *w = m->comm->transport;

    check(m->comm, w->api->all_gather(own, m->what->array, bytes, NCCL_BYTE, w->comm, m->stream), "an all-gather");
}

static void put(const struct move *m)
{
    const size_t n = m->what->n, ranks = (size_t)m->comm->size, each = n / ranks;
    const size_t bytes = each * mf_type_bytes(m->what->type);
    const int equal = mf_collect_piece(n, m->comm->size, 0).count * ranks == n;
    char *own = (char *)m->what->array + (size_t)m->comm->rank * bytes;

    if (m->what->kind == MF_EXCHANGE_TRADE)
        trade(m);
    else if (n == 0)
        return;
    else if (m->what->kind == MF_EXCHANGE_GATHER && equal)
        gather_equal(m, own, bytes);
    else if (m->what->kind == MF_EXCHANGE_GATHER)
        gather_pieces(m);
    else if (m->what->kind == MF_EXCHANGE_SCATTER && equal)
        scatter_equal(m, own, each);
    else
        sum(m);
    if (equal && m->what->kind != MF_EXCHANGE_TRADE) mf_phase_sent(bytes * (ranks - 1));
}

void mf_transport_collect(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_collective *what)
{
    const struct move m = {comm, what, queue->port->side};

    mf_transport_begin(comm);
    put(&m);
    mf_transport_end(comm);
}
