/* However one rank leaves, the others do not wait for ever. Each way is an argument; tests/mpi_end.sh looks at the
 * status, the line and the time. The last rank misbehaves. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/arrays.h"
#include "mpi/collect.h"
#include "mpi/comm.h"
#include "mpi/comm_priv.h"
#include "mpi/nccl_transport.h"
#include "mpi/watch.h"
#include "src/base/err.h"
#include "tests/device.h"

static void by_exit(struct mf_comm *c)
{
    (void)c;
    exit(3);
}

static void by_close(struct mf_comm *c)
{
    mf_comm_close(c);
    exit(0);
}

static void by_die(struct mf_comm *c) { mf_die(MF_DEVICE, __FILE__, __LINE__, "device lost on rank %d", c->rank); }

static void by_kill(struct mf_comm *c)
{
    (void)c;
    raise(SIGKILL);
}

static void by_other(struct mf_comm *c)
{
    double x = 1;

    mf_comm_max(c, 1, &x);
}

static void by_stop(struct mf_comm *c)
{
    (void)c;
    raise(SIGSTOP);
}

static void by_busy(struct mf_comm *c)
{
    static volatile int goes_on = 1;

    (void)c;
    while (goes_on) {}
}

/* As MPI itself does when a message cannot be sent. */
static void by_error(struct mf_comm *c) { MPI_Comm_call_errhandler(c->impl->ranks, MPI_ERR_OTHER); }

/* However much there is to say, it stays one line, and its end is there. */
static void by_long(struct mf_comm *c)
{
    char line[4096];

    (void)c;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    mf_comm_hint(line);
    mf_comm_hint("look behind it");
    mf_watch_end(line, NULL);
}

static const struct {
    const char *name;
    void (*leave)(struct mf_comm *c);
} ways[] = {{"stop", by_stop}, {"busy", by_busy},   {"exit", by_exit},   {"close", by_close}, {"die", by_die},
            {"kill", by_kill}, {"other", by_other}, {"error", by_error}, {"long", by_long}};

/* Rank 0 is expert group 0, all others are expert group 1. The last rank of this one never comes to its sum, or to its
 * message. The next work of the others cannot go on either. */
static void in_groups(const struct mf_comm *c, const char *way)
{
    static int colour[64];
    struct mf_comm g;
    double x = 1;

    for (int r = 0; r < c->size; ++r) colour[r] = r > 0 || c->size == 2;
    if (mf_comm_split(c, colour, NULL, "expert", &g) != MF_OK) exit(1);
    if (g.rank == g.size - 1 && g.size > 1 && strcmp(way, "group_other") != 0) mf_fault_set("comm.late");
    if (strcmp(way, "group_sum") == 0) mf_comm_sum(&g, 1, &x);
    if (strcmp(way, "group_other") == 0) (g.rank ? mf_comm_max : mf_comm_sum)(&g, 1, &x);
    if (strcmp(way, "group_receive") == 0 && g.rank == 0 && g.size > 1) mf_comm_receive(&g, g.size - 1, &x, sizeof x);
    if (strcmp(way, "group_receive") == 0 && g.rank > 0) mf_comm_barrier(&g);
    if (strcmp(way, "group_circle") == 0) mf_fault_set(NULL);
    if (strcmp(way, "group_circle") == 0 && g.size > 1) mf_comm_receive(&g, (g.rank + 1) % g.size, &x, sizeof x);
    mf_agree(c, MF_OK);
    mf_comm_free(&g);
}

/* A sum is under way. The last rank does not come to it, is killed between its start and its finish, or is busy there.
 * Or it sums another number of floats. */
static void collects(const struct mf_comm *c, const char *way)
{
    const int last = c->rank == c->size - 1, other = strcmp(way, "collect_other") == 0;
    const size_t n = 100000;
    struct mf_arena *arena;
    struct mf_collect *collect;

    if (mf_arena_open(&arena, NULL, 0) != MF_OK) exit(1);
    if (mf_collect_open(c, arena, (n + 1) * sizeof(float), &collect) != MF_OK) exit(1);
    if (last && strcmp(way, "collect_late") == 0) mf_fault_set("comm.late");
    mf_collect_start(collect, &(struct mf_collective){.kind = MF_EXCHANGE_SUM,
                                                      .type = MF_F32,
                                                      .array = mf_collect_memory(collect),
                                                      .n = last && other ? n + 1 : n});
    if (last && strcmp(way, "collect_kill") == 0) raise(SIGKILL);
    if (last && strcmp(way, "collect_busy") == 0) by_busy(NULL);
    mf_collect_finish(collect, 1);
    mf_collect_close(collect);
    mf_arena_close(arena);
}

/* The same with NCCL, in device memory. */
static void arrays(struct mf_comm *c, const char *way)
{
    const int last = c->rank == c->size - 1;
    const struct mf_exchanges *by;
    struct mf_arrays *arrays;
    struct device d;

    device_number = c->rank;
    d = device_open(1, 0, 0);
    if (mf_transport_open(c, d.q, MF_EXCHANGE_NCCL) != MF_OK) exit(1);
    if (mf_arrays_open(c, d.q, 4000, 0, &arrays) != MF_OK) exit(1);
    by = mf_arrays_exchanges(arrays);
    if (last && strcmp(way, "arrays_late") == 0) mf_fault_set("comm.late");
    by->finish(by->context,
               by->start(by->context,
                         &(struct mf_collective){
                             .kind = MF_EXCHANGE_SUM, .type = MF_F32, .array = mf_arrays_memory(arrays), .n = 1000}));
    if (last && strcmp(way, "arrays_kill") == 0) raise(SIGKILL);
    if (last && strcmp(way, "arrays_busy") == 0) by_busy(NULL);
    by->settle(by->context);
    mf_arrays_close(arrays);
    mf_transport_close(c);
    device_close(&d);
}

/* The others agree, or sum while the last one takes the maximum. */
static void stay(const struct mf_comm *c, const char *way)
{
    double x = 1;

    if (strcmp(way, "other") == 0)
        mf_comm_sum(c, 1, &x);
    else
        mf_agree(c, MF_OK);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *rank = getenv("OMPI_COMM_WORLD_RANK");
    struct mf_comm c;
    int rc;

    rc = mf_comm_open(&c, &argc, &argv, strcmp(way, "build") == 0 && rank ? rank : "same");
    if (rc != MF_OK) {
        if (c.rank == 0) fprintf(stderr, "mesoforge: %s\n", mf_err_text());
        mf_comm_close(&c);
        return rc;
    }
    mf_comm_watch(&c, 2);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; ++w)
        if (strcmp(ways[w].name, way) == 0 && c.rank == c.size - 1) ways[w].leave(&c);
    if (strncmp(way, "group", 5) == 0) in_groups(&c, way);
    if (strncmp(way, "collect", 7) == 0) collects(&c, way);
    if (strncmp(way, "arrays", 6) == 0) arrays(&c, way);
    stay(&c, way);
    mf_comm_close(&c);
    return 0;
}
