/* See nccl_transport.h: when NCCL may be used, its start and end, and groups of sends and receives. */
#include "mpi/nccl_transport.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/comm_priv.h"
#include "mpi/nccl_abi.h"
#include "mpi/watch.h"
#include "src/base/err.h"
#include "src/base/log.h"

struct mf_transport {
    const struct nccl *api; /* NULL: a dry one */
    nccl_comm comm;
};

/* What mf_transport_abort() ends, whoever calls it while the main thread waits. */
static struct {
    pthread_mutex_t lock;
    const struct nccl *api;
    nccl_comm comm; /* NULL: there is none, or no more */
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- may it be used? -- */

/* What a rank tells the others. */
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

static void set_live(const struct nccl *api, nccl_comm comm)
{
    pthread_mutex_lock(&live.lock);
    live.api = api;
    live.comm = comm;
    pthread_mutex_unlock(&live.lock);
}

/* Another thread ends the job. */
static void stay(void)
{
    for (;;) pause();
}

/* NCCL_IN_PROGRESS, or how the last call ended, with what NCCL found later, here or on another rank. */
static int state(void)
{
    int rc = NCCL_OK, asked = NCCL_OK, over;

    pthread_mutex_lock(&live.lock);
    over = !live.comm;
    if (!over) asked = live.api->async(live.comm, &rc);
    pthread_mutex_unlock(&live.lock);
    if (over) stay();
    return asked != NCCL_OK ? asked : rc;
}

static int start_local(const struct mf_comm *comm, struct mf_transport *transport, struct nccl_id id)
{
    struct nccl_config how = {sizeof how, (unsigned)NCCL_MAGIC, NCCL_OLDEST, 0};
    const int rc = transport->api->init(&transport->comm, comm->size, id, comm->rank, &how);

    if (rc == NCCL_OK || rc == NCCL_IN_PROGRESS) set_live(transport->api, transport->comm);
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
        if (rc == NCCL_IN_PROGRESS) rc = state();
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
    if (rc != MF_OK) mf_transport_abort();
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

void mf_transport_dry(struct mf_comm *comm)
{
    static struct mf_transport dry;

    comm->transport = &dry;
}

/* What runs on one rank alone may take NCCL down for all: so nobody leaves before all have come. */
void mf_transport_close(struct mf_comm *comm)
{
    struct mf_transport *transport = comm->transport;

    comm->transport = NULL;
    if (!transport || !transport->api) return;
    mf_comm_barrier(comm);
    mf_comm_enter(comm, "end of NCCL", 0);
    if (transport->api->finish(transport->comm) == NCCL_IN_PROGRESS)
        while (state() == NCCL_IN_PROGRESS) sched_yield();
    set_live(NULL, NULL);
    (void)transport->api->destroy(transport->comm);
    mf_comm_leave(comm);
    free(transport);
}

void mf_transport_abort(void)
{
    const struct nccl *api;
    nccl_comm comm;

    pthread_mutex_lock(&live.lock);
    api = live.api;
    comm = live.comm;
    live.comm = NULL;
    pthread_mutex_unlock(&live.lock);
    if (comm) (void)api->abort(comm);
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
    for (int rc = comm->transport->api->end();; rc = state()) {
        check(comm, rc, "the end of a group");
        if (rc != NCCL_IN_PROGRESS) return;
        sched_yield();
    }
}

void mf_transport_wait(const struct mf_comm *comm, struct mf_queue *queue, const char *name, size_t n)
{
    int idle;

    mf_comm_enter(comm, name, n);
    do {
        idle = queue->backend->idle(queue);
        check(comm, state(), "an exchange");
        if (!idle) sched_yield();
    } while (!idle);
    mf_comm_leave(comm);
}
