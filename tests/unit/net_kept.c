/* A row of attention_kept has the same bits alone and among others, and on one thread and several. */
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/net_call.h"

enum { HEADS = 4, GROUPS = 2, D = 40, COLUMNS = HEADS * D, PAGES = 6, REQUESTS = 5, ROWS = 38, SLOTS = 16 * 29 };

static const struct mf_attr attr = {.heads = HEADS, .kv_heads = GROUPS, .window = 50};
static double number[MF_NUMBERS];

/* Part of a prompt of request 1, tokens of the others, and blank rows. */
static void fill_rows(int32_t row[2 * ROWS])
{
    for (int r = 0; r < ROWS; ++r) {
        row[2 * r] = r < 30 ? (r == 7 ? -1 : 1) : r % REQUESTS;
        row[2 * r + 1] = r < 30 ? 20 + r : 90 - 7 * r % 50;
    }
}

static void *put(const struct device *d, enum mf_type type, unsigned stream, size_t n)
{
    float *x = malloc(n * sizeof *x);
    uint16_t *half = malloc(n * sizeof *half);
    void *at;

    for (size_t i = 0; i < n; ++i) {
        x[i] = (float)mf_random_normal(3, stream, i);
        half[i] = mf_bf16_of(x[i]);
    }
    at = device_put(d, type == MF_F32 ? (void *)x : half, n * mf_type_bytes(type));
    free(x);
    free(half);
    return at;
}

/* Rows [first, first + n) of all; their answers go to @p y. */
static void run(const struct device *d, enum mf_type type, size_t first, size_t n, char *y)
{
    const size_t line = COLUMNS * mf_type_bytes(type);
    struct mf_call call = {.attr = &attr, .number = device_numbers(d, number)};
    int32_t row[2 * ROWS], page[REQUESTS * PAGES];
    struct mf_shape in[MF_INS];
    char *q = put(d, type, 1, ROWS * COLUMNS);

    fill_rows(row);
    for (int i = 0; i < REQUESTS * PAGES; ++i) page[i] = i == 8 ? -1 : 7 * i % 29;
    call.in[0] = (struct mf_tensor){q + first * line, {type, 2, {n, COLUMNS}}};
    for (unsigned j = 1; j < 3; ++j)
        call.in[j] = (struct mf_tensor){put(d, type, 1 + j, SLOTS * GROUPS * D), {type, 2, {SLOTS, GROUPS * D}}};
    call.in[3] = (struct mf_tensor){device_put(d, page, sizeof page), {MF_I32, 2, {REQUESTS, PAGES}}};
    call.in[4] = (struct mf_tensor){device_put(d, row + 2 * first, 2 * n * sizeof *row), {MF_I32, 2, {n, 2}}};
    for (int j = 0; j < MF_INS; ++j) in[j] = call.in[j].shape;
    CHECK(mf_ops[MF_OP_ATTENTION_KEPT]->shape(&attr, in, &call.out[0].shape) == MF_OK);
    call.out[0].at = device_put(d, NULL, n * line);
    carry_out(d, MF_OP_ATTENTION_KEPT, &call, 0);
    device_get(d, y, call.out[0].at, n * line);
    for (int j = 1; j < MF_INS; ++j) device_get(d, NULL, call.in[j].at, 0);
    device_get(d, NULL, q, 0);
}

static void check(struct device *d, enum mf_type type)
{
    static char all[ROWS * COLUMNS * sizeof(float)], other[sizeof all];
    const size_t line = COLUMNS * mf_type_bytes(type);

    d->q->threads = 1;
    run(d, type, 0, ROWS, all);
    for (size_t r = 0; r < ROWS; ++r) {
        run(d, type, r, 1, other);
        CHECK_SAYS(memcmp(other, all + r * line, line) == 0, "row %zu has other bits alone (%s)", r,
                   mf_type_name(type));
    }
    for (int threads = 2; threads <= 4; ++threads) {
        d->q->threads = threads;
        for (size_t first = 0; first < 4; first += 3) {
            run(d, type, first, ROWS - first, other);
            CHECK_SAYS(memcmp(other, all + first * line, (ROWS - first) * line) == 0,
                       "other bits from row %zu on with %d threads (%s)", first, threads, mf_type_name(type));
        }
    }
    d->q->threads = 1;
}

int main(void)
{
    struct device d = device_open(1, 1, 0);

    check(&d, MF_F32);
    check(&d, MF_BF16);
    device_close(&d);
    return failures != 0;
}
