/* See collect_priv.h: what becomes of a chunk. Each step of it begins when the messages of the step before are over. */
#include <string.h>

#include "mpi/collect_priv.h"
#include "src/base/err.h"
#include "src/base/half.h"

enum {
    BLOCK = 1024 /* floats, which stay in the first cache */,
    TAGS = 16000,
    FIRST_TAG = 2 /* smaller ones: message.c */,
    BEFORE = 0,
    RESULT = 1
};

/* -- places -- */

/* The rank of @p team that has this chunk. */
static int rank_with(const struct mf_collect *c, const struct mf_chunk *k, int team)
{
    const int first = c->begin[team], size = c->begin[team + 1] - first;

    return first + (int)(k->index % (uint64_t)size);
}

static int is_in(const struct mf_collect *c, int rank, int team)
{
    return rank >= c->begin[team] && rank < c->begin[team + 1];
}

/* Does @p team get the result? */
static int wants(const struct mf_collect *c, const struct mf_chunk *k, int team)
{
    return k->exchange->kind != MF_EXCHANGE_SCATTER || is_in(c, k->owner, team);
}

/* Has @p team the result first? */
static int is_root(const struct mf_collect *c, const struct mf_chunk *k, int team)
{
    return k->exchange->kind == MF_EXCHANGE_GATHER ? is_in(c, k->owner, team) : team == c->teams - 1;
}

/* The place in this team of the rank in whose array the chunk lies. */
static int place_of(const struct mf_collect *c, const struct mf_chunk *k)
{
    if (k->exchange->kind == MF_EXCHANGE_SUM || !is_in(c, k->owner, c->team)) return c->place;
    return k->owner - c->begin[c->team];
}

static char *lies_at(const struct mf_collect *c, const struct mf_chunk *k)
{
    return c->array[place_of(c, k)] + k->first;
}

static size_t bytes_of(const struct mf_chunk *k, size_t n) { return n * mf_type_bytes(k->exchange->type); }

/* -- messages -- */

/* Tells chunks under way apart. */
static int tag_of(const struct mf_chunk *k, int what)
{
    return FIRST_TAG + 2 * (int)((k->exchange->before + k->index) % TAGS) + what;
}

static MPI_Request *next_request(struct mf_collect *c, struct mf_chunk *k)
{
    ++c->pending;
    return &k->request[k->requests++];
}

static void send(struct mf_collect *c, struct mf_chunk *k, const void *from, size_t bytes, int team, int what)
{
    MPI_Isend(from, (int)bytes, MPI_BYTE, rank_with(c, k, team), tag_of(k, what), c->comm->impl->ranks,
              next_request(c, k));
}

static void receive(struct mf_collect *c, struct mf_chunk *k, void *to, size_t bytes, int team, int what)
{
    MPI_Irecv(to, (int)bytes, MPI_BYTE, rank_with(c, k, team), tag_of(k, what), c->comm->impl->ranks,
              next_request(c, k));
}

/* One call for all chunks, because each lets MPI look at all its connections. */
static void test_messages(struct mf_collect *c)
{
    int ended = 0;

    if (!c->pending) return;
    MPI_Testsome(MF_COLLECT_WINDOW * c->teams, c->request, &ended, c->ended, MPI_STATUSES_IGNORE);
    c->pending -= ended;
}

static int is_over(struct mf_chunk *k)
{
    while (k->requests && k->request[k->requests - 1] == MPI_REQUEST_NULL) --k->requests;
    return k->requests == 0;
}

/* -- arithmetic -- */

/* sum [n] = or += x, and x = sum: numbers of any type that can be summed. */

static void add_float(float *sum, const float *x, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) sum[i] += x[i];
}

static void add_bf16(float *sum, const uint16_t *x, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) sum[i] += mf_bf16_to(x[i]);
}

static void add_f16(float *sum, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; ++i) sum[i] += mf_f16_to(x[i]);
}

static void add(enum mf_type type, float *sum, const void *x, size_t n)
{
    if (type == MF_F32)
        add_float(sum, x, n);
    else if (type == MF_BF16)
        add_bf16(sum, x, n);
    else
        add_f16(sum, x, n);
}

/* -0 + x is x to the bit. */
static void load(enum mf_type type, float *sum, const void *x, size_t n)
{
    if (type == MF_F32) {
        memcpy(sum, x, n * sizeof *sum);
        return;
    }
    for (size_t i = 0; i < n; ++i) sum[i] = -0.0F;
    add(type, sum, x, n);
}

static void store(enum mf_type type, const float *sum, void *x, size_t n)
{
    uint16_t *half = x;

    if (type == MF_F32)
        memcpy(x, sum, n * sizeof *sum);
    else if (type == MF_BF16)
        for (size_t i = 0; i < n; ++i) half[i] = mf_bf16_of(sum[i]);
    else
        for (size_t i = 0; i < n; ++i) half[i] = mf_f16_of(sum[i]);
}

/* Copies numbers of the chunk to the arrays of all others of the team. */
static void spread(const struct mf_collect *c, const struct mf_chunk *k, size_t from, size_t n)
{
    const int place = place_of(c, k);
    const size_t at = k->first + bytes_of(k, from);

    for (int i = 0; i < c->size; ++i)
        if (i != place) memcpy(c->array[i] + at, c->array[place] + at, bytes_of(k, n));
}

/* Adds the team's numbers to those before. The last team rounds the sum to the array's type. */
static void add_team(const struct mf_collect *c, const struct mf_chunk *k)
{
    const int last = c->team == c->teams - 1, spreads = k->exchange->kind == MF_EXCHANGE_SUM && last;
    const enum mf_type type = k->exchange->type;
    float sum[BLOCK];

    for (size_t i = 0, n; i < k->n; i += n) {
        const size_t at = k->first + bytes_of(k, i);

        n = mf_min(BLOCK, k->n - i);
        if (c->team)
            memcpy(sum, k->before + i, n * sizeof *sum);
        else
            load(type, sum, c->array[0] + at, n);
        for (int r = c->team ? 0 : 1; r < c->size; ++r) add(type, sum, c->array[r] + at, n);
        if (last)
            store(type, sum, lies_at(c, k) + bytes_of(k, i), n);
        else
            memcpy(k->before + i, sum, n * sizeof *sum);
        if (spreads) spread(c, k, i, n);
    }
}

/* -- steps -- */

static void end(struct mf_collect *c, struct mf_chunk *k)
{
    _Atomic uint64_t *done = &mf_collect_counts_at(c, k->number)->done;
    uint64_t word = atomic_load(done);

    while (!atomic_compare_exchange_weak(done, &word,
                                         mf_collect_word(k->number, mf_collect_count(word, k->number) + 1))) {}
    k->exchange = NULL;
    mf_comm_alive();
}

static void take_result(struct mf_collect *c, struct mf_chunk *k)
{
    if (k->exchange->kind != MF_EXCHANGE_SCATTER) spread(c, k, 0, k->n);
    end(c, k);
}

static void await_result(struct mf_collect *c, struct mf_chunk *k)
{
    int root = 0;

    if (is_root(c, k, c->team) || !wants(c, k, c->team)) {
        end(c, k);
        return;
    }
    while (!is_root(c, k, root)) ++root;
    receive(c, k, lies_at(c, k), bytes_of(k, k->n), root, RESULT);
    k->next = take_result;
}

static void give(struct mf_collect *c, struct mf_chunk *k)
{
    const int root = is_root(c, k, c->team);

    if (k->exchange->kind != MF_EXCHANGE_GATHER)
        add_team(c, k);
    else if (root)
        spread(c, k, 0, k->n);
    if (k->exchange->kind != MF_EXCHANGE_GATHER && !root)
        send(c, k, k->before, k->n * sizeof *k->before, c->team + 1, BEFORE);
    for (int t = 0; t < c->teams && root; ++t)
        if (t != c->team && wants(c, k, t)) send(c, k, lies_at(c, k), bytes_of(k, k->n), t, RESULT);
    k->next = await_result;
}

static void begin(struct mf_collect *c, struct mf_chunk *k, uint64_t number, uint64_t index)
{
    struct mf_exchange *x = mf_exchange_at(c, number);
    struct mf_span piece;
    size_t from;

    k->exchange = x;
    k->number = number;
    k->index = index;
    k->owner = (int)(index / x->each);
    piece = mf_collect_piece(x->n, c->comm->size, k->owner);
    from = mf_min(index % x->each * c->most, piece.count);
    k->first = x->first + bytes_of(k, piece.first + from);
    k->n = mf_min(piece.count - from, c->most);
    k->next = k->n ? give : end;
    if (k->n && x->kind != MF_EXCHANGE_GATHER && c->team)
        receive(c, k, k->before, k->n * sizeof *k->before, c->team - 1, BEFORE);
}

/* -- which chunk is next -- */

/* Takes a chunk of an exchange; 0: none is left for this rank. */
static int take(struct mf_collect *c, uint64_t number, uint64_t *index)
{
    struct mf_exchange *x = mf_exchange_at(c, number);
    _Atomic uint64_t *taken = &mf_collect_counts_at(c, number)->taken;
    uint64_t word = atomic_load(taken);

    *index = x->mine++ * (uint64_t)c->size + (uint64_t)c->place;
    if (c->teams > 1) return *index < x->chunks;
    do {
        if (word >= mf_collect_word(number, x->chunks)) return 0;
        *index = mf_collect_count(word, number);
    } while (!atomic_compare_exchange_weak(taken, &word, mf_collect_word(number, *index + 1)));
    return 1;
}

static int is_ready(struct mf_collect *c, uint64_t number)
{
    if (number > c->started) return 0;
    if (number <= c->ready) return 1;
    c->ready = c->started;
    for (int i = 0; i < c->size; ++i) {
        const uint64_t started = atomic_load_explicit(&c->head[i]->started, memory_order_acquire);

        if (started < c->ready) c->ready = started;
    }
    return number <= c->ready;
}

/* Takes the next chunk; 0: none can be begun. */
static int take_next(struct mf_collect *c, int shared, uint64_t *number, uint64_t *index)
{
    uint64_t *at = shared ? &c->polled : &c->emptied;

    if (c->emptied < c->finished) c->emptied = c->finished;
    if (c->polled < c->emptied) c->polled = c->emptied;
    for (; is_ready(c, *at + 1); ++*at) {
        const struct mf_exchange *x = mf_exchange_at(c, *at + 1);

        *number = *at + 1;
        if (x->chunks == 0 || (shared && x->mine * (uint64_t)c->size >= x->chunks)) continue;
        if (take(c, *number, index)) return 1;
    }
    return 0;
}

/* Takes all steps of a chunk that can be taken now; how many? */
static int go_on(struct mf_collect *c, struct mf_chunk *k)
{
    int steps = 0;

    for (; k->exchange && is_over(k); ++steps) k->next(c, k);
    return steps;
}

int mf_collect_work(struct mf_collect *collect, int shared)
{
    uint64_t number, index;
    int steps = mf_collect_trades_work(collect), more = 1;

    test_messages(collect);
    for (int i = 0; i < MF_COLLECT_WINDOW; ++i) {
        struct mf_chunk *k = &collect->chunk[i];

        steps += go_on(collect, k);
        while (more && !k->exchange && (more = take_next(collect, shared, &number, &index))) {
            begin(collect, k, number, index);
            steps += go_on(collect, k);
        }
    }
    return steps > 0;
}
