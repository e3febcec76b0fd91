/* Asynchronous collectives. Values are exact at all sizes. All ranks have the same bits, those of sums in the order of
 * the ranks. Many exchanges are under way at a time, ranks come late, and groups work side by side. Then the numbers of
 * a step. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/collect.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

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

static uint64_t start(struct mf_collect *c, int kind, float *x, size_t n)
{
    uint64_t (*const starts[KINDS])(struct mf_collect *, float *, size_t) = {mf_collect_sum, mf_collect_scatter,
                                                                             mf_collect_gather};

    return starts[kind](c, x, n);
}

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
static void check_array(const struct mf_comm *g, int kind, const float *x, size_t n, int integers)
{
    size_t wrong = 0;

    for (int r = 0; r < g->size; ++r) {
        const struct mf_span piece = mf_collect_piece(n, g->size, r);

        for (size_t i = piece.first; i < piece.first + piece.count; ++i) {
            const float want = kind == 2 ? value(r, i, integers) : summed(g->size, i, integers);

            if (kind != 1 || r == g->rank) wrong += memcmp(&x[i], &want, sizeof want) != 0;
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
    mf_collect_finish(c, mf_collect_sum(c, x + at, n));
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
        n[k] = (size_t)k * 7919 % 5200;
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
            number[b] = mf_collect_scatter(c, x + (size_t)b * n, n);
            mf_collect_poll(c);
            dawdle();
        }
        for (int b = 0; b < 4; ++b) {
            mf_collect_finish(c, number[b]);
            check_array(g, 1, x + (size_t)b * n, n, b % 2);
            number[b] = mf_collect_gather(c, x + (size_t)b * n, n);
        }
        mf_collect_finish(c, number[3]);
        for (int b = 0; b < 4; ++b) check_array(g, 0, x + (size_t)b * n, n, b % 2);
    }
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
    mf_collect_finish(collect, mf_collect_sum(collect, mf_collect_memory(collect), 7));
    CHECK(*(float *)mf_collect_memory(collect) == 3);
    mf_collect_close(collect);
    CHECK(mf_arena_live(arena) == 0);
}

int main(int argc, char **argv)
{
    struct mf_comm c, self;

    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_comm_self(&self);
    everything(&self);
    dry();
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    everything(&c);
    groups(&c);
    refuses(&c);
    mf_comm_close(&c);
    mf_arena_close(arena);
    return failures != 0;
}
