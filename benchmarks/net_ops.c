/* Times an operation of networks on cpu, forward and backward.
 *   bench_net_ops THREADS SECONDS conv2d IMAGES CHANNELS EXTENT OUT WINDOW STRIDE
 *   bench_net_ops THREADS SECONDS conv_depthwise IMAGES CHANNELS EXTENT WINDOW
 *   bench_net_ops THREADS SECONDS group_norm IMAGES CHANNELS EXTENT GROUPS
 *   bench_net_ops THREADS SECONDS pool|mean|upsample|wrap|modulate IMAGES CHANNELS EXTENT
 *   bench_net_ops THREADS SECONDS attention SAMPLES HEADS LENGTH NUMBERS [CAUSAL]
 *   bench_net_ops THREADS SECONDS layer_norm|rms_norm|gated|softmax|blend|normal|quantise ROWS COLUMNS
 *   bench_net_ops THREADS SECONDS gelu|gelu_tanh|silu ROWS COLUMNS
 *   bench_net_ops THREADS SECONDS softmax_loss|squared_loss|logistic_loss|match_loss ROWS COLUMNS
 *   bench_net_ops THREADS SECONDS attention_kept ROWS HEADS KV_HEADS NUMBERS POSITIONS
 *   bench_net_ops THREADS SECONDS rope ROWS COLUMNS HEADS
 *   bench_net_ops THREADS SECONDS gather ROWS WIDTH TABLE
 *   bench_net_ops THREADS SECONDS steady_linear ROWS COLUMNS OUT [1: weights of bf16]
 *   bench_net_ops THREADS SECONDS keep ROWS WIDTH SLOTS
 *   bench_net_ops THREADS SECONDS pick ROWS VOCABULARY
 *   bench_net_ops THREADS SECONDS adamw|average|square_sum NUMBERS
 * prints TSV: pass (forward, or the gradient of one input), least ms, GF/s. For adamw it also prints "stream": a loop
 * that reads and writes the same 28 bytes of a number, and hardly computes. Rows of attention_kept are the last ones of
 * a request. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/backend.h"
#include "kernels/cpu/fast.h"
#include "kernels/net/kept.h"
#include "kernels/net/ops.h"
#include "src/base/cut.h"
#include "src/base/err.h"

struct bench {
    struct mf_queue *queue;
    enum mf_op_id op;
    struct mf_attr attr;
    struct mf_shape in[MF_INS], out[MF_OUTS];
    double seconds;
};

/* One thread: time of the processor, which other programs on the machine disturb less. */
static double now(const struct bench *b)
{
    struct timespec t;

    clock_gettime(b->queue->threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Numbers between -1 and 1, without zeros that would be cheap. */
static struct mf_tensor tensor(const struct bench *b, struct mf_shape shape)
{
    struct mf_tensor made = {.shape = shape};
    const size_t n = mf_shape_count(&shape);
    unsigned state = 1;

    if (!shape.n) return made;
    made.at = MF_MUST(mf_arena_take(b->queue->arena, mf_shape_bytes(&shape), "tensor"), "a tensor");
    memset(made.at, 0x3f, mf_shape_bytes(&shape));
    for (size_t i = 0; i < n; ++i) {
        state = state * 1664525 + 1013904223;
        if (shape.type == MF_I32)
            ((int32_t *)made.at)[i] = (int32_t)(state >> 8) % (int32_t)mf_shape_last(&b->in[0]);
        else if (shape.type == MF_F32)
            ((float *)made.at)[i] = (float)(state >> 8) / 8388608 - 1 + 1e-6F;
    }
    return made;
}

static void give(const struct bench *b, void *at)
{
    if (at) mf_arena_give(b->queue->arena, at);
}

/* Least of at least five runs, after one that does not count. */
static double least(const struct bench *b, const struct mf_call *call,
                    void (*run)(struct mf_queue *queue, const struct mf_call *call))
{
    const double begin = now(b);
    double best = INFINITY;

    run(b->queue, call);
    for (int n = 0; n < 5 || now(b) - begin < b->seconds; ++n) {
        const double start = now(b);

        run(b->queue, call);
        best = fmin(best, now(b) - start);
    }
    return best;
}

/* Reads and writes as adamw does. */
MF_CPU_FAST static void stream_range(float *p, const float *g, float *m, float *v, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        p[i] += g[i];
        m[i] += g[i];
        v[i] += g[i];
    }
}

static void stream(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t n = mf_shape_count(&call->in[0].shape);

#pragma omp parallel for num_threads(queue->threads) schedule(static)
    for (int t = 0; t < queue->threads; ++t) {
        const struct mf_span part = mf_cut(n, (size_t)queue->threads, (size_t)t);

        stream_range((float *)call->in[0].at + part.first, (const float *)call->in[1].at + part.first,
                     (float *)call->in[2].at + part.first, (float *)call->in[3].at + part.first, part.count);
    }
}

/* Pages in their order, and the last rows of a request. */
static void set_request(const struct bench *b, const struct mf_call *call)
{
    const size_t pages = b->in[3].d[1], rows = b->in[4].d[0];
    int32_t *page = call->in[3].at, *row = call->in[4].at;

    for (size_t i = 0; i < pages; ++i) page[i] = (int32_t)i;
    for (size_t r = 0; r < rows; ++r) {
        row[2 * r] = 0;
        row[2 * r + 1] = (int32_t)(16 * pages - rows + r);
    }
}

/* Temperature 1, top-k 50, top-p 0.9. */
static void set_wishes(const struct bench *b, const struct mf_call *call)
{
    for (size_t r = 0; r < b->in[0].d[0]; ++r) {
        ((float *)call->in[1].at)[4 * r] = 1;
        ((float *)call->in[1].at)[4 * r + 1] = 0.9F;
        ((int32_t *)call->in[2].at)[MF_PICK_NUMBERS * r] = 50;
    }
}

/* Input @p j's gradient; forward: -1. */
static int measure(const struct bench *b, int j)
{
    const struct mf_op_calls *calls = mf_backend_cpu.net->calls[b->op];
    const char *const pass[] = {"forward", "data", "weights", "bias"};
    static const double number[MF_NUMBERS] = {
        [MF_NUMBER_LEARNING_RATE] = 1e-3, [MF_NUMBER_STEP] = 5, [MF_NUMBER_ROWS] = 1e3, [MF_NUMBER_SCALE] = 1};
    struct mf_call call = {.attr = &b->attr, .number = number};
    double (*operations)(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out) =
        mf_ops[b->op]->operations;
    size_t work = 0;
    double took;

    for (int i = 0; i < MF_INS; ++i) call.in[i] = tensor(b, b->in[i]);
    for (int i = 0; i < MF_OUTS; ++i) call.out[i] = tensor(b, b->out[i]);
    if (b->op == MF_OP_ATTENTION_KEPT) set_request(b, &call);
    if (b->op == MF_OP_PICK) set_wishes(b, &call);
    if (j >= 0) {
        call.din[j] = tensor(b, b->in[j]);
        call.dout = tensor(b, b->out[0]);
    }
    if (calls->plan) MF_TRY(calls->plan(b->queue, &call, j >= 0, &call.plan, &work));
    call.work = work ? MF_MUST(mf_arena_take(b->queue->arena, work, "work"), "work memory") : NULL;
    took = least(b, &call, j < 0 ? calls->forward : calls->backward);
    printf("%s\t%.3f\t%.2f\n", pass[j + 1], 1e3 * took,
           operations ? 1e-9 * operations(&b->attr, b->in, b->out) / took : 0);
    if (b->op == MF_OP_ADAMW) printf("stream\t%.3f\t0\n", 1e3 * least(b, &call, stream));
    if (call.plan) calls->release(call.plan);
    give(b, call.work);
    give(b, call.dout.at);
    for (int i = 0; i < MF_INS; ++i) give(b, call.in[i].at);
    for (int i = 0; i < MF_INS; ++i) give(b, call.din[i].at);
    for (int i = 0; i < MF_OUTS; ++i) give(b, call.out[i].at);
    return MF_OK;
}

static struct mf_shape shape(int n, size_t a, size_t b, size_t c, size_t d)
{
    return (struct mf_shape){.type = MF_F32, .n = n, .d = {a, b, c, d}};
}

static void images(struct bench *b, const size_t n[])
{
    b->in[0] = shape(4, n[1], n[3], n[3], n[2]);
    if (b->op == MF_OP_CONV2D) {
        b->in[1] = shape(4, n[4], n[2], n[5], n[5]);
        b->in[2] = shape(1, n[4], 0, 0, 0);
        b->attr.stride = (int)n[6];
        b->attr.pad = (int)n[5] / 2;
    }
    if (b->op == MF_OP_CONV_DEPTHWISE) {
        b->in[1] = shape(4, n[2], 1, n[4], n[4]);
        b->in[2] = shape(1, n[2], 0, 0, 0);
        b->attr.stride = 1;
        b->attr.pad = (int)n[4] / 2;
    }
    if (b->op == MF_OP_WRAP) b->attr.pad = 1;
    if (b->op == MF_OP_MODULATE) b->in[1] = shape(2, n[1], 2 * n[2], 0, 0);
    if (b->op == MF_OP_GROUP_NORM) {
        b->in[1] = b->in[2] = shape(1, n[2], 0, 0, 0);
        b->attr.groups = (int)n[4];
    }
}

static void text(struct bench *b, const size_t n[])
{
    const size_t pages = (n[5] + 15) / 16;

    if (b->op == MF_OP_ATTENTION_KEPT) {
        b->attr = (struct mf_attr){.heads = (int)n[2], .kv_heads = (int)n[3]};
        b->in[0] = shape(2, n[1], n[2] * n[4], 0, 0);
        b->in[1] = b->in[2] = shape(2, pages * 16, n[3] * n[4], 0, 0);
        b->in[3] = (struct mf_shape){MF_I32, 2, {1, pages}};
        b->in[4] = (struct mf_shape){MF_I32, 2, {n[1], 2}};
    }
    if (b->op == MF_OP_STEADY_LINEAR) {
        b->in[1] = shape(2, n[3], n[2], 0, 0);
        b->in[1].type = n[4] ? MF_BF16 : MF_F32;
    }
    if (b->op == MF_OP_KEEP) {
        b->in[1] = shape(2, n[3], n[2], 0, 0);
        b->in[2] = (struct mf_shape){MF_I32, 1, {n[1]}};
    }
    if (b->op == MF_OP_PICK) {
        b->in[1] = shape(2, n[1], 4, 0, 0);
        b->in[2] = (struct mf_shape){MF_I32, 2, {n[1], MF_PICK_NUMBERS}};
    }
    if (b->op == MF_OP_ROPE) {
        b->in[1] = (struct mf_shape){MF_I32, 1, {n[1]}};
        b->in[2] = shape(1, n[2] / n[3] / 2, 0, 0, 0);
        b->attr.heads = (int)n[3];
    }
    if (b->op == MF_OP_GATHER) {
        b->in[0] = shape(2, n[3], n[2], 0, 0);
        b->in[1] = (struct mf_shape){MF_I32, 1, {n[1]}};
    }
}

static void rows(struct bench *b, const size_t n[])
{
    b->in[0] = n[2] ? shape(2, n[1], n[2], 0, 0) : shape(1, n[1], 0, 0, 0);
    if (b->op == MF_OP_LAYER_NORM) b->in[1] = b->in[2] = shape(1, n[2], 0, 0, 0);
    if (b->op == MF_OP_RMS_NORM) b->in[1] = shape(1, n[2], 0, 0, 0);
    if (b->op == MF_OP_SOFTMAX_LOSS) b->in[1] = (struct mf_shape){MF_I32, 1, {n[1]}};
    if (b->op == MF_OP_SQUARED_LOSS || b->op == MF_OP_LOGISTIC_LOSS) b->in[1] = b->in[0];
    if (b->op == MF_OP_QUANTISE) b->attr.count = 256;
    if (b->op == MF_OP_AVERAGE) b->in[1] = b->in[0];
    if (b->op == MF_OP_MATCH_LOSS) b->in[1] = b->in[2] = b->in[0];
    if (b->op == MF_OP_BLEND) {
        b->in[1] = b->in[0];
        b->in[2] = b->in[3] = shape(1, n[1], 0, 0, 0);
    }
    if (b->op == MF_OP_ADAMW) {
        b->in[1] = b->in[2] = b->in[3] = b->in[0];
        b->attr = (struct mf_attr){.momentum = 0.9, .second = 0.999, .epsilon = 1e-8};
    }
    if (b->op == MF_OP_ATTENTION) {
        b->in[0] = shape(3, n[1], n[3], 3 * n[2] * n[4], 0);
        b->attr = (struct mf_attr){.heads = (int)n[2], .causal = (int)n[5]};
    }
}

/* The operation named @p argv[0], and its shapes. */
static int read_op(struct bench *b, int argc, char **argv)
{
    size_t n[7] = {0};

    for (int i = 1; i < argc && i < 7; ++i) n[i] = strtoul(argv[i], NULL, 10);
    for (b->op = 0; b->op < MF_OP_COUNT && strcmp(mf_ops[b->op]->name, argv[0]) != 0;) ++b->op;
    if (b->op == MF_OP_COUNT || argc < 2) return mf_fail(MF_USAGE, "no operation '%s' of so many numbers", argv[0]);
    if (b->op == MF_OP_CONV2D || b->op == MF_OP_CONV_DEPTHWISE || b->op == MF_OP_GROUP_NORM || b->op == MF_OP_POOL ||
        b->op == MF_OP_MEAN || b->op == MF_OP_UPSAMPLE || b->op == MF_OP_WRAP || b->op == MF_OP_MODULATE)
        images(b, n);
    else
        rows(b, n);
    text(b, n);
    return mf_ops[b->op]->shape(&b->attr, b->in, b->out);
}

static int run(int argc, char **argv)
{
    struct bench b = {.seconds = atof(argv[2])};
    struct mf_arena *arena;

    MF_TRY(read_op(&b, argc - 3, argv + 3));
    MF_TRY(mf_arena_open(&arena, mf_backend_cpu.mem, 0));
    MF_TRY(mf_backend_cpu.queue_open(&b.queue, 0, atoi(argv[1]), 1, arena, arena));
    for (int j = -1; j < 2; ++j)
        if (j < 0 || (mf_backend_cpu.net->calls[b.op]->backward && b.in[j].n && b.in[j].type == MF_F32 &&
                      !(mf_ops[b.op]->constant >> j & 1)))
            MF_TRY(measure(&b, j));
    mf_backend_cpu.queue_close(b.queue);
    mf_arena_close(arena);
    return MF_OK;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: bench_net_ops THREADS SECONDS OPERATION NUMBERS...\n");
        return MF_USAGE;
    }
    if (run(argc, argv) == MF_OK) return 0;
    fprintf(stderr, "bench_net_ops: %s\n", mf_err_text());
    return 1;
}
