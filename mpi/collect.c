/* See collect.h: memory, start and finish. The work is in collect_chunk.c. */
#include "mpi/collect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/collect_priv.h"
#include "mpi/phases.h"
#include "mpi/wait.h"
#include "src/base/err.h"

#define TAG "arrays of all ranks"

enum { GRAIN = 16 /* floats */, CHUNK = 1 << 15, MESSAGE = 1 << 17 };

/* -- memory -- */

/* Bytes in front of the arrays. */
static size_t head_bytes(const struct mf_comm *comm) { return comm->size > 1 ? sizeof(struct mf_collect_head) : 0; }

/* Bytes for the sums that come as messages. */
static size_t buffer_bytes(int teams) { return teams > 1 ? (size_t)MF_COLLECT_WINDOW * MESSAGE * sizeof(float) : 0; }

size_t mf_collect_bytes(const struct mf_comm *comm, size_t bytes)
{
    const int teams = comm->size > comm->local_size || (comm->size > 1 && !mf_share_wanted(comm)) ? 2 : 1;

    return head_bytes(comm) + bytes + buffer_bytes(teams);
}

/* Memory that the ranks of a node share, where that is possible; else the arena's. */
static int take_memory(struct mf_collect *c, size_t bytes)
{
    const size_t all = c->comm->impl ? head_bytes(c->comm) + bytes : mf_collect_bytes(c->comm, bytes);

    if (c->comm->impl && mf_share_wanted(c->comm)) {
        const int rc = mf_arena_book(c->arena, (ptrdiff_t)all, TAG);

        if (rc == MF_OK) c->booked = all;
        MF_TRY(mf_agree(c->comm, rc));
        mf_share_new(c->comm, all, &c->share);
    }
    if (c->share) {
        c->own = c->share->own;
        return MF_OK;
    }
    mf_arena_book(c->arena, -(ptrdiff_t)c->booked, TAG);
    c->booked = 0;
    c->own = mf_arena_zeros(c->arena, 1, all, TAG);
    return mf_agree(c->comm, c->own ? MF_OK : MF_MEMORY);
}

/* -- teams -- */

/* A team begins where a rank is on another node than the one before, or does not see its memory. */
static void find_teams(struct mf_collect *c)
{
    const struct mf_comm *comm = c->comm;
    int *leader = MF_MUST(malloc((size_t)comm->size * sizeof *leader), "teams of ranks"), seen;

    mf_comm_enter(comm, "teams of ranks", 0);
    MPI_Allgather(&comm->impl->leader, 1, MPI_INT, leader, 1, MPI_INT, comm->impl->ranks);
    mf_comm_leave(comm);
    seen = c->share && (!c->of || c->of->share);
    c->begin = MF_MUST(malloc(((size_t)comm->size + 1) * sizeof *c->begin), "teams of ranks");
    for (int r = 0; r < comm->size; ++r) {
        if (r == 0 || !seen || leader[r] != leader[r - 1]) c->begin[c->teams++] = r;
        if (r == comm->rank) c->team = c->teams - 1;
    }
    c->begin[c->teams] = comm->size;
    c->size = c->begin[c->team + 1] - c->begin[c->team];
    c->place = comm->rank - c->begin[c->team];
    free(leader);
}

/* The number that rank @p rank of a group has in @p comm. */
static int rank_in(const struct mf_comm *comm, const struct mf_comm *group, int rank)
{
    int r = 0;

    while (mf_world_rank(comm, r) != mf_world_rank(group, rank)) ++r;
    return r;
}

/* The arrays of rank @p rank, whose memory begins at @p at. */
static char *arrays_of(const struct mf_collect *c, int rank, char *at)
{
    const struct mf_collect *of = c->of;

    if (!of) return at + sizeof(struct mf_collect_head);
    if (rank == c->comm->rank) return mf_collect_memory(of);
    return of->share->at[rank_in(of->comm, c->comm, rank)] + sizeof(struct mf_collect_head);
}

static void meet_team(struct mf_collect *c)
{
    c->head = MF_MUST(malloc((size_t)c->size * sizeof *c->head), "a team of ranks");
    c->array = MF_MUST(malloc((size_t)c->size * sizeof *c->array), "a team of ranks");
    for (int i = 0; i < c->size; ++i) {
        const int rank = c->begin[c->team] + i;
        char *at = c->share ? c->share->at[rank] : c->own;

        c->head[i] = (struct mf_collect_head *)(void *)at;
        c->array[i] = arrays_of(c, rank, at);
    }
}

static int take_buffers(struct mf_collect *c)
{
    const size_t teams = (size_t)c->teams, requests = MF_COLLECT_WINDOW * teams;

    c->most = c->teams > 1 ? MESSAGE : CHUNK;
    if (c->teams > 1) c->before = mf_arena_take(c->arena, buffer_bytes(c->teams), "sums of other nodes");
    MF_TRY(mf_agree(c->comm, c->teams == 1 || c->before ? MF_OK : MF_MEMORY));
    c->request = MF_MUST(malloc(requests * sizeof *c->request), "messages");
    c->ended = MF_MUST(malloc(requests * sizeof *c->ended), "messages");
    for (size_t i = 0; i < requests; ++i) c->request[i] = MPI_REQUEST_NULL;
    for (size_t i = 0; i < MF_COLLECT_WINDOW; ++i) {
        c->chunk[i].request = c->request + i * teams;
        if (c->before) c->chunk[i].before = c->before + i * c->most;
    }
    return MF_OK;
}

static int open_all(struct mf_collect *c, size_t bytes)
{
    MF_TRY(take_memory(c, bytes));
    if (!c->comm->impl || c->comm->size == 1) return MF_OK;
    find_teams(c);
    meet_team(c);
    c->pauses = mf_wait_pauses(c->comm);
    return take_buffers(c);
}

/* @p own: bytes of arrays that are not those of @p of. */
static int open_on(const struct mf_comm *comm, struct mf_arena *arena, size_t own, const struct mf_collect *of,
                   struct mf_collect **collect)
{
    struct mf_collect *c = MF_MUST(calloc(1, sizeof *c), "exchanges");
    int rc;

    c->comm = comm;
    c->arena = arena;
    c->of = of;
    c->room = of ? of->room : own;
    mf_collect_trades_open(c);
    rc = open_all(c, own);
    if (rc == MF_OK)
        *collect = c;
    else
        mf_collect_close(c);
    return rc;
}

int mf_collect_open(const struct mf_comm *comm, struct mf_arena *arena, size_t bytes, struct mf_collect **collect)
{
    return open_on(comm, arena, bytes, NULL, collect);
}

int mf_collect_join(const struct mf_comm *group, const struct mf_collect *of, struct mf_collect **collect)
{
    return open_on(group, of->arena, 0, of, collect);
}

void mf_collect_close(struct mf_collect *collect)
{
    struct mf_collect *c = collect;

    if (!c) return;
    if (c->started) mf_collect_finish(c, c->started);
    if (c->share)
        mf_share_free(c->share);
    else
        mf_arena_give(c->arena, c->own);
    mf_arena_give(c->arena, c->before);
    mf_arena_book(c->arena, -(ptrdiff_t)c->booked, TAG);
    mf_collect_trades_close(c);
    free(c->begin);
    free(c->head);
    free(c->array);
    free(c->request);
    free(c->ended);
    free(c);
}

void *mf_collect_memory(const struct mf_collect *collect)
{
    return collect->of ? mf_collect_memory(collect->of) : collect->own + head_bytes(collect->comm);
}

/* -- start and finish -- */

struct mf_span mf_collect_piece(size_t n, int ranks, int rank)
{
    return mf_cut_grain(n, GRAIN, (size_t)ranks, (size_t)rank);
}

static int alone(const struct mf_collect *c) { return !c->teams; }

static void advance_finished(struct mf_collect *c)
{
    while (c->finished < c->started) {
        const uint64_t number = c->finished + 1, chunks = mf_exchange_at(c, number)->chunks;

        if (mf_exchange_at(c, number)->trading) return;
        if (chunks && atomic_load_explicit(&mf_collect_counts_at(c, number)->done, memory_order_acquire) <
                          mf_collect_word(number, chunks))
            return;
        c->finished = number;
    }
}

static void await(struct mf_collect *c, uint64_t number)
{
    advance_finished(c);
    for (long turn = 0; c->finished < number; advance_finished(c))
        if (mf_collect_work(c, 0))
            turn = 0;
        else
            mf_wait_turn(turn++, c->pauses);
}

/* Describes the exchange, then tells the team. */
static void describe(struct mf_collect *c, const struct mf_collective *what, size_t first)
{
    const struct mf_exchange *last = mf_exchange_at(c, c->started);
    const size_t n = what->kind == MF_EXCHANGE_TRADE ? 0 : what->n; /* a trade has no chunks */
    const uint64_t before = c->started ? last->before + last->chunks : 0, ranks = (uint64_t)c->comm->size,
                   each = (mf_collect_piece(n, c->comm->size, 0).count + c->most - 1) / c->most;

    *mf_exchange_at(c, ++c->started) = (struct mf_exchange){.kind = what->kind,
                                                            .type = what->type,
                                                            .first = first,
                                                            .n = n,
                                                            .each = each,
                                                            .chunks = each * ranks,
                                                            .before = before};
    atomic_store_explicit(&c->head[c->place]->started, c->started, memory_order_release);
}

static int adds(enum mf_type type) { return type == MF_F32 || type == MF_F16 || type == MF_BF16; }

/* The array's place in the memory [bytes]; a trade has none, nor numbers of its own. */
static size_t place_in(const struct mf_collect *c, const struct mf_collective *what)
{
    const size_t bytes = what->n * mf_type_bytes(what->type);
    const size_t first = (size_t)((const char *)what->array - (const char *)mf_collect_memory(c)); /* huge: before it */

    if (what->kind == MF_EXCHANGE_TRADE) return 0;
    MF_ASSERT(first <= c->room && bytes <= c->room - first);
    MF_ASSERT(what->kind == MF_EXCHANGE_GATHER || adds(what->type));
    return first;
}

/* Waits where there is no room for one more. */
static void make_room(struct mf_collect *c, const struct mf_trading *trading)
{
    if (c->started >= MF_COLLECT_MOST) await(c, c->started + 1 - MF_COLLECT_MOST);
    if (trading && trading->number > c->finished) await(c, trading->number);
}

uint64_t mf_collect_start(struct mf_collect *collect, const struct mf_collective *what)
{
    static const char *const name[] = {
        [MF_EXCHANGE_SUM] = "start of sum of numbers,",
        [MF_EXCHANGE_SCATTER] = "start of reduce-scatter of numbers,",
        [MF_EXCHANGE_GATHER] = "start of all-gather of numbers,",
        [MF_EXCHANGE_TRADE] = "start of all-to-all-v",
    };
    struct mf_collect *c = collect;
    const size_t first = place_in(c, what);
    struct mf_trading *trading = what->kind == MF_EXCHANGE_TRADE ? &c->trading[c->trades++ % MF_COLLECT_TRADES] : NULL;

    if (alone(c)) {
        if (trading) mf_collect_trade(c, c->started + 1, what, trading);
        return ++c->started;
    }
    mf_comm_enter(c->comm, name[what->kind], what->n);
    make_room(c, trading);
    mf_comm_leave(c->comm);
    describe(c, what, first);
    if (trading) mf_collect_trade(c, c->started, what, trading);
    return c->started;
}

void mf_collect_poll(struct mf_collect *collect)
{
    if (collect->finished == collect->started || alone(collect)) return;
    mf_collect_work(collect, 1);
    advance_finished(collect);
}

void mf_collect_finish(struct mf_collect *collect, uint64_t number)
{
    if (alone(collect)) return;
    MF_PHASE(&mf_phase_reduction);

    MF_ASSERT(number <= collect->started);
    mf_comm_enter(collect->comm, "finish of exchange", number);
    await(collect, number);
    mf_comm_leave(collect->comm);
}

/* -- the numbers of a step -- */

void mf_collect_step(const struct mf_comm *comm, size_t n, double *sums, size_t m, int64_t *maxima)
{
    const size_t bytes = n * sizeof *sums, each = bytes + m * sizeof *maxima;
    char *all, *at;
    MF_PHASE(&mf_phase_reduction);

    if (!comm->impl || comm->size == 1) return;
    all = MF_MUST(malloc(((size_t)comm->size + 1) * each), "the numbers of a step");
    at = all + (size_t)comm->size * each;
    if (n) memcpy(at, sums, bytes);
    if (m) memcpy(at + bytes, maxima, each - bytes);
    mf_comm_enter(comm, "numbers of a step", n + m);
    MPI_Allgather(at, (int)each, MPI_BYTE, all, (int)each, MPI_BYTE, comm->impl->ranks);
    mf_comm_leave(comm);
    for (at = all; at < all + (size_t)comm->size * each; at += each) {
        const double *theirs = (const double *)(const void *)at;
        const int64_t *most = (const int64_t *)(const void *)(at + bytes);

        for (size_t i = 0; i < n; ++i) sums[i] = at == all ? theirs[i] : sums[i] + theirs[i];
        for (size_t i = 0; i < m; ++i) maxima[i] = most[i] > maxima[i] ? most[i] : maxima[i];
    }
    free(all);
}
