/* See arrays.h: exchanges through host memory. An array is copied down to one of four stages, exchanged there
 * (collect.h), and copied up. Its copy down runs beside the kernels until the next exchange starts.
 *
 * Rule: every step of an exchange is taken at a call that all ranks make in the same order. It is launched at the next
 * start, or at the end of the walk. It lands at its finish, or when its stage is wanted again. */
#include <stdlib.h>
#include <string.h>

#include "mpi/arrays_priv.h"
#include "mpi/collect_priv.h"
#include "src/base/err.h"

size_t mf_arrays_stages(size_t largest) { return MF_ARRAYS_STAGES * mf_whole_lines(largest); }

static struct mf_stage_of_array *stage_of(struct mf_arrays *a, uint64_t number)
{
    return &a->stage[number % MF_ARRAYS_STAGES];
}

/* -- bytes of an exchange -- */

static size_t all_of(const struct mf_arrays *a, const size_t *count)
{
    size_t sum = 0;

    for (int r = 0; r < a->comm->size; ++r) sum += count[r];
    return sum;
}

/* The part of an array that a rank gives, or gets: its piece or the whole. */
static struct mf_span part_of(const struct mf_arrays *a, const struct mf_collective *what, int own)
{
    const size_t each = mf_type_bytes(what->type);
    struct mf_span part = {0, what->n};

    if (own) part = mf_collect_piece(what->n, a->comm->size, a->comm->rank);
    return (struct mf_span){part.first * each, part.count * each};
}

/* Numbers of a trade stand as sent | got, each from a whole line on. */
static size_t sent_bytes(const struct mf_arrays *a, const struct mf_stage_of_array *s)
{
    return all_of(a, s->sent) * mf_type_bytes(s->what.type);
}

static size_t got_bytes(const struct mf_arrays *a, const struct mf_stage_of_array *s)
{
    return all_of(a, s->got) * mf_type_bytes(s->what.type);
}

static char *got_at(const struct mf_arrays *a, const struct mf_stage_of_array *s)
{
    return s->at + mf_whole_lines(sent_bytes(a, s));
}

/* -- steps -- */

/* Blocks stand one behind the other in the stage. */
static void blocks_down(struct mf_arrays *a, struct mf_stage_of_array *s)
{
    const size_t each = mf_type_bytes(s->what.type);
    char *to = s->at;

    for (int r = 0; r < a->comm->size; to += s->sent[r++] * each)
        s->down[r] = a->queue->backend->get_start(a->queue, to, (const char *)s->what.from + s->sent_at[r] * each,
                                                  s->sent[r] * each);
}

static void blocks_up(struct mf_arrays *a, struct mf_stage_of_array *s)
{
    const size_t each = mf_type_bytes(s->what.type);
    const char *from = got_at(a, s);

    for (int r = 0; r < a->comm->size; from += s->got[r++] * each)
        s->up[r] =
            a->queue->backend->put_start(a->queue, (char *)s->what.array + s->got_at[r] * each, from, s->got[r] * each);
}

static void copy_down(struct mf_arrays *a, struct mf_stage_of_array *s)
{
    const struct mf_span part = part_of(a, &s->what, s->what.kind == MF_EXCHANGE_GATHER);

    memset(s->down, 0, (size_t)a->comm->size * sizeof *s->down);
    if (s->what.kind == MF_EXCHANGE_TRADE)
        blocks_down(a, s);
    else
        s->down[0] =
            a->queue->backend->get_start(a->queue, s->at + part.first, (char *)s->what.array + part.first, part.count);
}

static void copy_up(struct mf_arrays *a, struct mf_stage_of_array *s)
{
    const struct mf_backend *backend = a->queue->backend;
    const struct mf_span part = part_of(a, &s->what, s->what.kind == MF_EXCHANGE_SCATTER);

    memset(s->up, 0, (size_t)a->comm->size * sizeof *s->up);
    if (s->what.kind == MF_EXCHANGE_TRADE)
        blocks_up(a, s);
    else
        s->up[0] = backend->put_start(a->queue, (char *)s->what.array + part.first, s->at + part.first, part.count);
    for (int r = 0; r < a->comm->size; ++r) backend->follow(a->queue, s->up[r]);
}

/* The host waits for these copies. */
static void finish_copies(struct mf_arrays *a, const size_t *copy)
{
    for (int r = 0; r < a->comm->size; ++r) a->queue->backend->finish(a->queue, copy[r]);
}

/* The host exchanges all that are started up to @p number. */
static void launch(struct mf_arrays *a, uint64_t number)
{
    while (a->launched < number) {
        struct mf_stage_of_array *s = stage_of(a, ++a->launched);
        struct mf_collective here = s->what;

        finish_copies(a, s->down);
        here.array = here.kind == MF_EXCHANGE_TRADE ? got_at(a, s) : s->at;
        here.from = s->at;
        here.sent_at = here.got_at = NULL;
        mf_collect_start(a->collect, &here);
    }
}

/* The results of all up to @p number are copied up, before what is enqueued later. */
static void land(struct mf_arrays *a, uint64_t number)
{
    launch(a, number);
    while (a->landed < number) {
        struct mf_stage_of_array *s = stage_of(a, ++a->landed);

        mf_collect_finish(a->collect, a->landed);
        copy_up(a, s);
    }
}

/* -- the table -- */

static void keep(struct mf_arrays *a, struct mf_stage_of_array *s, const struct mf_collective *what)
{
    const size_t ranks = (size_t)a->comm->size;

    s->what = *what;
    s->number = a->started;
    if (what->kind != MF_EXCHANGE_TRADE) {
        if (ranks == 1 || !a->comm->impl) s->what.n = 0; /* nothing changes */
        MF_ASSERT(s->what.n * mf_type_bytes(what->type) <= a->largest);
        return;
    }
    memcpy(s->sent, what->sent, ranks * sizeof *s->sent);
    memcpy(s->got, what->got, ranks * sizeof *s->got);
    s->what.sent = s->sent;
    s->what.got = s->got;
    mf_blocks_at(a->comm->size, what->sent_at, s->sent, s->sent_at);
    mf_blocks_at(a->comm->size, what->got_at, s->got, s->got_at);
    MF_ASSERT(mf_whole_lines(sent_bytes(a, s)) + got_bytes(a, s) <= a->largest);
}

static uint64_t start(void *context, const struct mf_collective *what)
{
    struct mf_arrays *a = context;
    struct mf_stage_of_array *s = stage_of(a, a->started + 1);

    launch(a, a->started);
    if (s->number) land(a, s->number);
    finish_copies(a, s->up);
    ++a->started;
    keep(a, s, what);
    copy_down(a, s);
    return a->started;
}

static void finish(void *context, uint64_t number) { land(context, number); }

static void poll(void *context) { mf_collect_poll(((struct mf_arrays *)context)->collect); }

static void launch_all(struct mf_arrays *a) { launch(a, a->started); }

static void settle(void *context) { launch_all(context); }

/* -- opening and closing -- */

/* Memory that the ranks share is pinned here; other memory is already. */
static void pin(const struct mf_arrays *a, int is)
{
    const struct mf_backend *backend = a->queue->backend;
    void *memory = mf_collect_memory(a->collect);

    if (!backend->pin || a->largest == 0 || mf_arena_name(a->queue->host, memory)) return;
    if (is)
        backend->pin(a->queue, memory, MF_ARRAYS_STAGES * a->largest);
    else
        backend->unpin(a->queue, memory);
}

int mf_arrays_open_stages(struct mf_arrays *a, size_t largest)
{
    const size_t ranks = (size_t)a->comm->size;

    a->largest = mf_whole_lines(largest);
    MF_TRY(mf_collect_open(a->comm, a->queue->host, mf_arrays_stages(largest), &a->collect));
    a->way = (struct mf_exchanges){.start = start, .finish = finish, .poll = poll, .settle = settle};
    a->launch = launch_all;
    pin(a, 1);
    for (size_t i = 0; i < MF_ARRAYS_STAGES; ++i) {
        struct mf_stage_of_array *s = &a->stage[i];

        s->at = (char *)mf_collect_memory(a->collect) + i * a->largest;
        s->sent = MF_MUST(calloc(6 * ranks, sizeof *s->sent), "counts of an all-to-all");
        s->got = s->sent + ranks;
        s->sent_at = s->got + ranks;
        s->got_at = s->sent_at + ranks;
        s->down = s->got_at + ranks;
        s->up = s->down + ranks;
    }
    return MF_OK;
}

void mf_arrays_close_stages(struct mf_arrays *a)
{
    if (a->collect) pin(a, 0);
    for (size_t i = 0; i < MF_ARRAYS_STAGES; ++i) free(a->stage[i].sent);
}
