/* A row of steady_linear has the same bits alone and among others, and on one thread and several. */
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/net_call.h"

enum { ROWS = 11, K = 203, M = 67, LONG = 1100 };

static double number[MF_NUMBERS];

static void *put(const struct device *d, enum mf_type type, unsigned stream, size_t n)
{
    static float x[M * LONG];
    static uint16_t half[M * LONG];
    static int8_t byte[M * LONG];

    for (size_t i = 0; i < n; ++i) {
        x[i] = (float)mf_random_normal(3, stream, i);
        half[i] = type == MF_F16 ? mf_f16_of(x[i]) : mf_bf16_of(x[i]);
        byte[i] = (int8_t)(20 * x[i]);
    }
    return device_put(d, type == MF_F32 ? (void *)x : type == MF_I8 ? (void *)byte : half, n * mf_type_bytes(type));
}

/* Rows [first, first + n) of all. */
static void run(const struct device *d, enum mf_type type, size_t k, size_t first, size_t n, float *y)
{
    const struct mf_attr attr = {.act = MF_ACT_GELU};
    struct mf_call call = {.attr = &attr, .number = device_numbers(d, number)};
    float *x = put(d, MF_F32, 1, ROWS * k);

    call.in[0] = (struct mf_tensor){x + first * k, {MF_F32, 2, {n, k}}};
    call.in[1] = (struct mf_tensor){put(d, type, 2, M * k), {type, 2, {M, k}}};
    call.in[2] = (struct mf_tensor){put(d, MF_F32, 3, M), {MF_F32, 1, {M}}};
    if (type == MF_I8) call.in[3] = (struct mf_tensor){put(d, MF_F32, 4, M), {MF_F32, 1, {M}}};
    call.out[0] = (struct mf_tensor){device_put(d, NULL, n * M * sizeof *y), {MF_F32, 2, {n, M}}};
    carry_out(d, MF_OP_STEADY_LINEAR, &call, 0);
    device_get(d, y, call.out[0].at, n * M * sizeof *y);
    for (int j = 1; j < 4; ++j)
        if (call.in[j].at) device_get(d, NULL, call.in[j].at, 0);
    device_get(d, NULL, x, 0);
}

static void check(struct device *d, enum mf_type type, size_t k)
{
    static float all[ROWS * M], other[ROWS * M];

    d->q->threads = 1;
    run(d, type, k, 0, ROWS, all);
    for (int threads = 1; threads <= 4; ++threads) {
        d->q->threads = threads;
        for (size_t first = 0; first < ROWS; ++first)
            for (size_t n = threads == 1 ? 1 : ROWS - first; first + n <= ROWS; n += 3) {
                run(d, type, k, first, n, other);
                CHECK_SAYS(memcmp(other, all + first * M, n * M * sizeof *all) == 0,
                           "%zu rows from %zu on have other bits with %d threads (%s)", n, first, threads,
                           mf_type_name(type));
            }
    }
}

int main(void)
{
    struct device d = device_open(1, 1, 0);

    check(&d, MF_F32, K);
    check(&d, MF_BF16, K);
    check(&d, MF_F16, K);
    check(&d, MF_I8, K);
    if (!SANITIZED && d.be == &mf_backend_cpu) check(&d, MF_BF16, LONG);
    device_close(&d);
    return failures != 0;
}
