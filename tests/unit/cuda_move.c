/* Blocks of rows between slabs and packed rows are the same on cpu and cuda. The rows are on the host or the device.
 * They may exceed the size of a transfer. Copies beside the kernels bring what they were given, each in its turn. */
#include "kernels/move.h"
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

/* Checks the remains of both sides, which are given back. */
static void check_same(float *left[SIDES], size_t n)
{
    CHECK(memcmp(left[0], left[1], n * sizeof **left) == 0);
    for (int s = 0; s < SIDES; ++s) free(left[s]);
}

static void check(struct mf_block b)
{
    const size_t n = b.first + b.rows * b.pitch, m = b.rows * b.run;
    float *x = random_floats(n, 1, -1, 1), *y = random_floats(m, 2, -1, 1), *packed[SIDES], *slab[SIDES];

    for (int s = 0; s < SIDES; ++s) {
        float *dx = up(&side[s], n, x), *from = malloc(m * sizeof *from);

        packed[s] = malloc(m * sizeof *packed[s]);
        memcpy(from, y, m * sizeof *from);
        side[s].be->move->add(side[s].q, &b, from, dx);
        memset(from, 0, m * sizeof *from); /* it was read */
        side[s].be->move->pack(side[s].q, &b, dx, packed[s]);
        slab[s] = down(&side[s], n, dx);
        free(from);
    }
    check_same(packed, m);
    check_same(slab, n);
    free(x);
    free(y);
}

static void check_round(const float *host, size_t n, size_t round)
{
    for (size_t i = 0; i < n; ++i) CHECK(host[i] == (float)(2 * (round + i)));
}

/* Two buffers each way: a round is filled while the one before is doubled on the device. */
static void beside(struct side *s)
{
    enum { BUFFERS = 2, ROUNDS = 150 };
    const size_t n = 1000, bytes = n * sizeof(float);
    float *from[BUFFERS], *to[BUFFERS], *x[BUFFERS];
    size_t put[BUFFERS] = {0}, got[BUFFERS] = {0};

    for (int b = 0; b < BUFFERS; ++b) {
        from[b] = mf_arena_take(s->host, bytes, "test");
        to[b] = mf_arena_take(s->host, bytes, "test");
        x[b] = mf_arena_take(s->device, bytes, "test");
    }
    for (size_t r = 0; r < ROUNDS; ++r) {
        size_t b = r % BUFFERS;

        s->be->finish(s->q, put[b]);
        for (size_t i = 0; i < n; ++i) from[b][i] = (float)(r + i);
        put[b] = s->be->put_start(s->q, x[b], from[b], bytes);
        s->be->follow(s->q, put[b]);
        s->be->field->scale(s->q, n, 2, x[b]);
        if (r >= BUFFERS) s->be->finish(s->q, got[b]);
        if (r >= BUFFERS) check_round(to[b], n, r - BUFFERS);
        got[b] = s->be->get_start(s->q, to[b], x[b], bytes);
        s->be->follow(s->q, got[b]);
    }
    CHECK(s->be->put_start(s->q, x[0], from[0], 0) == 0);
    for (size_t r = ROUNDS - BUFFERS; r < ROUNDS; ++r) {
        s->be->finish(s->q, got[r % BUFFERS]);
        check_round(to[r % BUFFERS], n, r);
        s->be->finish(s->q, got[r % BUFFERS]); /* it is done with */
        CHECK(s->be->done(s->q, got[r % BUFFERS]) && s->be->done(s->q, 0));
    }
    s->be->sync(s->q);
    for (int b = 0; b < BUFFERS; ++b) {
        mf_arena_give(s->host, from[b]);
        mf_arena_give(s->host, to[b]);
        mf_arena_give(s->device, x[b]);
    }
}

/* Packed rows on the device. */
static void check_device(struct mf_block b)
{
    const size_t n = b.first + b.rows * b.pitch, m = b.rows * b.run;
    float *x = random_floats(n, 3, -1, 1), *y = random_floats(m, 4, -1, 1), *packed[SIDES], *slab[SIDES];

    for (int s = 0; s < SIDES; ++s) {
        float *dx = up(&side[s], n, x), *from = up(&side[s], m, y);

        side[s].be->move->add_device(side[s].q, &b, from, dx);
        side[s].be->move->pack_device(side[s].q, &b, dx, from);
        packed[s] = down(&side[s], m, from);
        slab[s] = down(&side[s], n, dx);
    }
    check_same(packed, m);
    check_same(slab, n);
    free(x);
    free(y);
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    check((struct mf_block){7, 3, 11, 5});
    check((struct mf_block){1, 1, 1, 0});
    check((struct mf_block){5, 64, 64, 64});
    check((struct mf_block){3, 400000, 400007, 13});
    check_device((struct mf_block){7, 3, 11, 5});
    check_device((struct mf_block){3, 400000, 400007, 13});
    beside(&side[1]);
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
