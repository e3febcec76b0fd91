/* Asynchronous collectives. Values are exact at all sizes. All ranks have the same bits, those of sums in the order of
 * the ranks. Many exchanges are under way at a time, ranks come late, and groups work side by side. Sums of half types
 * are rounded once; trades are those of MPI. Then the numbers of a step. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/collect.h"
#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "src/base/half.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/trade_case.h"

enum { ROOM = 1 << 20 /* floats */, KINDS = 3, MANY = 200 };

static struct mf_arena *arena;
static uint64_t dice = 1;

static unsigned draw(unsigned n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

/* Each rank comes at its own time. */
static void dawdle(void)
{
    const struct timespec t = {.tv_nsec = draw(400) * 1000};

    if (draw(3) == 0) nanosleep(&t, NULL);
}

static float value(int rank, size_t i, int integers)
{
    const unsigned h = ((unsigned)i * 2654435761u) ^ ((unsigned)rank * 40503u + 17u);

    if (integers) return (float)(int)(h % 2001) - 1000;
    return (float)(int)(h % 20011) * (h & 64 ? 1e-3f : 7e2f) - 3;
}

static void fill(float *x, size_t n, int rank, int integers)
{
    for (size_t i = 0; i < n; ++i) x[i] = value(rank, i, integers);
}

static uint64_t start_of(struct mf_collect *c, int kind, enum mf_type type, void *x, size_t n)
{
    const struct mf_collective what = {.kind = (enum mf_exchange_kind)kind, .type = type, .array = x, .n = n};

    return mf_collect_start(c, &what);
}

static uint64_t start(struct mf_collect *c, int kind, float *x, size_t n) { return start_of(c, kind, MF_F32, x, n); }

static float summed(int ranks, size_t i, int integers)
{
    float sum = value(0, i, integers);

    for (int r = 1; r < ranks; ++r) sum += value(r, i, integers);
    return sum;
}

static float exactly(int ranks, size_t i)
{
    double sum = 0;

    for (int r = 0; r < ranks; ++r) sum += (double)value(r, i, 1);
    return (float)sum;
}

/* Is every number, to the bit, what the exchange leaves there? */
static uint32_t bits(float x)
{
    uint32_t b;

    memcpy(&b, &x, sizeof b);
    return b;
}

static void check_array(const struct mf_comm *g, int kind, const float *x, size_t n, int integers)
{
    size_t wrong = 0;

    for (int r = 0; r < g->size; ++r) {
        const struct mf_span piece = mf_collect_piece(n, g->size, r);

        if (kind == 1 && r != g->rank) continue;
        for (size_t i = piece.first; i < piece.first + piece.count; ++i) {
            const float want = kind == 2 ? value(r, i, integers) : summed(g->size, i, integers);

            wrong += bits(x[i]) != bits(want);
            if (kind != 2 && integers) CHECK(want == exactly(g->size, i));
        }
    }
    CHECK_SAYS(wrong == 0, "kind %d of %zu on %d ranks: %zu numbers are wrong", kind, n, g->size, wrong);
}

static void sizes(const struct mf_comm *g, struct mf_collect *c)
{
    const size_t ranks = (size_t)g->size, chunk = 1 << 15,
                 n[] = {0,    1,     ranks - 1,         ranks + 1, 15,  16, 17, 31, 32 * ranks + 5,
                        1001, chunk, chunk * ranks + 3, ROOM - 1,  ROOM};
    float *x = mf_collect_memory(c);

    for (size_t s = 0; s < sizeof n / sizeof *n; ++s)
        for (int kind = 0; kind < KINDS; ++kind) {
            fill(x, n[s], g->rank, s % 2);
            mf_collect_finish(c, start(c, kind, x, n[s]));
            check_array(g, kind, x, n[s], s % 2);
        }
}

/* An exchange leaves what is in front of its array and behind it. */
static void beside(const struct mf_comm *g, struct mf_collect *c)
{
    float *x = mf_collect_memory(c);
    const size_t n = 5000, at = 777;

    for (size_t i = 0; i < 3 * n; ++i) x[i] = -7;
    fill(x + at, n, g->rank, 1);
    mf_collect_finish(c, start(c, MF_EXCHANGE_SUM, x + at, n));
    check_array(g, 0, x + at, n, 1);
    for (size_t i = 0; i < 3 * n; ++i) CHECK((i >= at && i < at + n) || x[i] == -7);
}

/* Arrays of all sizes and kinds at once; each rank polls and pauses at random. */
static void many(const struct mf_comm *g, struct mf_collect *c)
{
    float *x = mf_collect_memory(c), *at[MANY];
    size_t n[MANY];
    uint64_t number[MANY];

    for (int k = 0; k < MANY; ++k) {
        n[k] = k % 5 == 3 ? 0 : (size_t)k * 7919 % 5200; /* nothing at all, too */
        at[k] = x + (size_t)k * 5200;
        fill(at[k], n[k], g->rank, k % 2);
    }
    dice = 99u + (unsigned)g->rank;
    for (int k = 0; k < MANY; ++k) {
        number[k] = start(c, k % KINDS, at[k], n[k]);
        for (unsigned p = draw(4); p-- > 0;) mf_collect_poll(c);
        dawdle();
    }
    for (int k = 0; k < MANY; k += 7) {
        mf_collect_finish(c, number[k]);
        dawdle();
        check_array(g, k % KINDS, at[k], n[k], k % 2);
    }
    mf_collect_finish(c, number[MANY - 1]);
    for (int k = 0; k < MANY; ++k) check_array(g, k % KINDS, at[k], n[k], k % 2);
}

/* As in training: a gather follows each scatter, and the next round uses the same arrays. */
static void rounds(const struct mf_comm *g, struct mf_collect *c)
{
    const size_t n = 70001;
    float *x = mf_collect_memory(c);
    uint64_t number[4];

    for (int turn = 0; turn < 8; ++turn) {
        for (int b = 0; b < 4; ++b) {
            fill(x + (size_t)b * n, n, g->rank, b % 2);
            number[b] = start(c, MF_EXCHANGE_SCATTER, x + (size_t)b * n, n);
            mf_collect_poll(c);
            dawdle();
        }
        for (int b = 0; b < 4; ++b) {
            mf_collect_finish(c, number[b]);
            check_array(g, 1, x + (size_t)b * n, n, b % 2);
            number[b] = start(c, MF_EXCHANGE_GATHER, x + (size_t)b * n, n);
        }
        mf_collect_finish(c, number[3]);
        for (int b = 0; b < 4; ++b) check_array(g, 0, x + (size_t)b * n, n, b % 2);
    }
}

/* -- half types -- */

static uint16_t half_of(enum mf_type type, float value)
{
    return type == MF_F16 ? mf_f16_of(value) : mf_bf16_of(value);
}

static float half_to(enum mf_type type, uint16_t half) { return type == MF_F16 ? mf_f16_to(half) : mf_bf16_to(half); }

static uint16_t half_value(enum mf_type type, int rank, size_t i) { return half_of(type, 1e-3F * value(rank, i, 0)); }

/* Counts numbers that differ from a sum that is computed in f32 in the order of the ranks, and rounded once. */
static size_t wrong_halves(const struct mf_comm *g, int kind, enum mf_type type, const uint16_t *x, size_t n)
{
    size_t wrong = 0;

    for (int r = 0; r < g->size; ++r) {
        const struct mf_span piece = mf_collect_piece(n, g->size, r);

        if (kind == MF_EXCHANGE_SCATTER && r != g->rank) continue;
        for (size_t i = piece.first; i < piece.first + piece.count; ++i) {
            float sum = half_to(type, half_value(type, 0, i));

            for (int k = 1; k < g->size; ++k) sum += half_to(type, half_value(type, k, i));
            wrong += x[i] != (kind == MF_EXCHANGE_GATHER ? half_value(type, r, i) : half_of(type, sum));
        }
    }
    return wrong;
}

static void halves(const struct mf_comm *g, struct mf_collect *c)
{
    const size_t sizes[] = {1, 33, 5000, ((size_t)1 << 17) + 77};
    uint16_t *x = (uint16_t *)mf_collect_memory(c) + 7;

    for (int k = 0; k < 2 * KINDS; ++k)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            const enum mf_type type = k % 2 ? MF_F16 : MF_BF16;
            const size_t n = sizes[s];

            for (size_t i = 0; i < n; ++i) x[i] = half_value(type, g->rank, i);
            x[-1] = x[n] = 77;
            mf_collect_finish(c, start_of(c, k / 2, type, x, n));
            CHECK(wrong_halves(g, k / 2, type, x, n) == 0 && x[-1] == 77 && x[n] == 77);
        }
}

/* -- trades -- */

enum { TRADES = 24 };

struct trade {
    int64_t *count;     /* [2 ranks] numbers to and from each */
    size_t *sent, *got; /* [ranks] the same */
    size_t *at;         /* [2 ranks] where their blocks begin; in odd trades from the last to the first, with gaps */
    int32_t *out, *in;
};

/* Some blocks are empty, some ranks send nothing, some get nothing; in some trades nobody has anything. */
static struct trade trade_make(const struct mf_comm *g, int turn)
{
    const size_t ranks = (size_t)g->size;
    struct trade t = {.count = calloc(2 * ranks, sizeof *t.count), .sent = calloc(2 * ranks, sizeof *t.sent)};
    size_t all[2];

    t.got = t.sent + ranks;
    t.at = calloc(2 * ranks, sizeof *t.at);
    for (size_t r = 0; r < ranks; ++r)
        if (turn % 8 != 7 && (g->rank + turn) % 5 != 4 && ((int)r + turn) % 4 != 3)
            t.count[r] = (int64_t)draw(turn % 8 == 1 ? 9000 : 60);
    mf_comm_alltoall(g, 1, t.count, t.count + ranks);
    for (size_t k = 0; k < 2 * ranks; ++k) t.sent[k] = (size_t)t.count[k];
    all[0] = place_blocks(g->size, t.sent, turn % 2, t.at);
    all[1] = place_blocks(g->size, t.got, turn % 2, t.at + ranks);
    t.out = malloc((all[0] + 1) * sizeof *t.out);
    t.in = calloc(all[1] + 1, sizeof *t.in);
    for (size_t i = 0; i < all[0]; ++i) t.out[i] = (int32_t)draw(1 << 30);
    return t;
}

static void trade_free(struct trade *t)
{
    free(t->count);
    free(t->sent);
    free(t->at);
    free(t->out);
    free(t->in);
}

/* As MPI says. */
static void trade_check(const struct mf_comm *g, const struct trade *t)
{
    const int ranks = g->size;
    int *n = calloc(4 * (size_t)ranks + 4, sizeof *n), *at = n + 2 * ranks; /* sent, got; where each begins */
    int all = 0;
    int32_t *want;

    for (int k = 0; k < 2 * ranks; ++k) {
        n[k] = (int)t->count[k];
        at[k] = (int)t->at[k];
        if (k >= ranks && at[k] + n[k] > all) all = at[k] + n[k];
    }
    want = calloc((size_t)all + 1, sizeof *want);
    if (ranks == 1 || !g->impl)
        memcpy(want, t->out, (size_t)n[0] * sizeof *want);
    else
        MPI_Alltoallv(t->out, n, at, MPI_INT32_T, want, n + ranks, at + ranks, MPI_INT32_T, g->impl->ranks);
    CHECK(memcmp(want, t->in, (size_t)all * sizeof *want) == 0);
    free(want);
    free(n);
}

/* Counts that only the sender knows before. Many are under way, beside sums. */
static void trades(const struct mf_comm *g, struct mf_collect *c)
{
    struct trade t[TRADES];
    float *x = mf_collect_memory(c);
    uint64_t last = 0;

    for (int k = 0; k < TRADES; ++k) {
        t[k] = trade_make(g, k);
        last = mf_collect_start(c, &(struct mf_collective){.kind = MF_EXCHANGE_TRADE,
                                                           .type = MF_I32,
                                                           .array = t[k].in,
                                                           .n = 7000, /* means nothing */
                                                           .from = t[k].out,
                                                           .sent = t[k].sent,
                                                           .got = t[k].got,
                                                           .sent_at = k % 2 ? t[k].at : NULL,
                                                           .got_at = k % 2 ? t[k].at + g->size : NULL});
        fill(x + (size_t)k * 1000, 1000, g->rank, 1);
        if (k % 2) last = start(c, MF_EXCHANGE_SUM, x + (size_t)k * 1000, 1000);
        memset(t[k].sent, 0xff, 2 * (size_t)g->size * sizeof *t[k].sent); /* read at the call */
        if (k % 3 == 0) mf_collect_poll(c);
        dawdle();
    }
    mf_collect_finish(c, last);
    for (int k = 0; k < TRADES; ++k) {
        trade_check(g, &t[k]);
        if (k % 2) check_array(g, 0, x + (size_t)k * 1000, 1000, 1);
        trade_free(&t[k]);
    }
}

/* Blocks that MPI does not count at once. */
static void long_trades(const struct mf_comm *g, struct mf_collect *c)
{
    const size_t most = mf_comm_most;

    mf_comm_most = 1000;
    trades(g, c);
    mf_comm_most = most;
}

static void step(const struct mf_comm *g)
{
    double sums[3] = {0.1 * (g->rank + 1), g->rank, 1}, want = 0;
    int64_t maxima[2] = {g->rank, -g->rank - ((int64_t)1 << 40)};

    for (int r = 0; r < g->size; ++r) want += 0.1 * (r + 1);
    mf_collect_step(g, 3, sums, 2, maxima);
    CHECK(sums[0] == want && sums[1] == g->size * (g->size - 1) / 2 && sums[2] == g->size);
    CHECK(maxima[0] == g->size - 1 && maxima[1] == -((int64_t)1 << 40));
    mf_collect_step(g, 0, NULL, 1, maxima);
    mf_collect_step(g, 1, sums, 0, NULL);
    CHECK(maxima[0] == g->size - 1);
}

static void everything(const struct mf_comm *g)
{
    const size_t live = mf_arena_live(arena), bytes = ROOM * sizeof(float);
    struct mf_collect *c;

    CHECK(mf_collect_open(g, arena, bytes, &c) == MF_OK);
    CHECK((uintptr_t)mf_collect_memory(c) % 64 == 0 && ((float *)mf_collect_memory(c))[ROOM - 1] == 0);
    CHECK(mf_arena_live(arena) - live == mf_collect_bytes(g, bytes));
    sizes(g, c);
    beside(g, c);
    many(g, c);
    rounds(g, c);
    halves(g, c);
    trades(g, c);
    long_trades(g, c);
    step(g);
    mf_collect_close(c);
    CHECK(mf_arena_live(arena) == live);
}

/* Groups that work at the same time; the second one reverses the order of the ranks. */
static void groups(const struct mf_comm *c)
{
    int colour[64], key[64];
    struct mf_comm g;

    for (int r = 0; r < c->size; ++r) colour[r] = r == c->size - 1 && c->size > 2;
    CHECK(mf_comm_split(c, colour, NULL, "data", &g) == MF_OK);
    everything(&g);
    mf_comm_free(&g);
    for (int r = 0; r < c->size; ++r) {
        colour[r] = 0;
        key[r] = -r;
    }
    CHECK(mf_comm_split(c, colour, key, "back", &g) == MF_OK);
    everything(&g);
    mf_comm_free(&g);
}

/* One rank cannot have its memory: all refuse. */
static void refuses(const struct mf_comm *c)
{
    struct mf_arena *small;
    struct mf_collect *collect;

    CHECK(mf_arena_open(&small, NULL, c->rank ? 0 : 1000) == MF_OK);
    CHECK(mf_collect_open(c, small, 100000, &collect) == MF_MEMORY);
    CHECK(mf_arena_live(small) == 0);
    mf_arena_close(small);
}

/* A dry rank takes as much memory, and changes nothing. */
static void dry(void)
{
    struct mf_comm c;
    struct mf_collect *collect;

    mf_comm_dry(&c, 1, 8, 4);
    CHECK(mf_collect_open(&c, arena, 6400, &collect) == MF_OK);
    CHECK(mf_arena_live(arena) == mf_collect_bytes(&c, 6400) && mf_collect_bytes(&c, 6400) > 6400);
    *(float *)mf_collect_memory(collect) = 3;
    mf_collect_finish(collect, start(collect, MF_EXCHANGE_SUM, mf_collect_memory(collect), 7));
    CHECK(*(float *)mf_collect_memory(collect) == 3);
    mf_collect_close(collect);
    CHECK(mf_arena_live(arena) == 0);
}

int main(int argc, char **argv)
{
    struct mf_comm c, self;

    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_comm_self(&self);
    dry();
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    if (c.size == 1) everything(&self);
    everything(&c);
    groups(&c);
    refuses(&c);
    mf_comm_close(&c);
    mf_arena_close(arena);
    return failures != 0;
}
