/* attention on cpu. See kernels/net/attention.c. A block of queries of one head at a time: its probabilities stay in
 * the cache. The arrays q, k, v are read where they stand. */
#include "kernels/net/attention.h"
#include "kernels/cpu/net/net.h"
#include "kernels/cpu/net/softmax.h"
#include "kernels/form/softmax.h"
#include "src/base/cut.h"
#include "src/base/err.h"

enum { BLOCK_NUMBERS = 1 << 18, BLOCK_LEAST = 32, CAUSAL_BLOCKS = 4 };

/* A block of queries of one sample and one head: rows [row, row + rows), which see the first @p keys keys. */
struct block {
    struct mf_attention a;
    size_t sample, head, row, rows, keys;
    const unsigned char *seen; /* [a.keys] or NULL */
};

/* The probabilities again. @p saved: what mf_softmax_row() returned. */
MF_CPU_FAST static void row_again(float *x, const unsigned char *seen, size_t n, float scale, float saved)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) x[i] = mf_softmax_again(x[i], scale, saved);
    for (size_t i = 0; seen && i < n; ++i) x[i] = seen[i] ? x[i] : 0;
}

/* -- blocks -- */

/* Causal blocks leave out what no query of theirs sees. */
static size_t block_rows(const struct mf_attention *a)
{
    const size_t most = a->causal ? (a->rows + CAUSAL_BLOCKS - 1) / CAUSAL_BLOCKS : a->rows;
    const size_t fits = BLOCK_NUMBERS / a->keys, rows = fits < most ? fits : most;

    return rows > BLOCK_LEAST ? rows : a->rows < BLOCK_LEAST ? a->rows : BLOCK_LEAST;
}

static size_t blocks(const struct mf_attention *a) { return (a->rows + block_rows(a) - 1) / block_rows(a); }

static struct block block_of(const struct mf_call *call, size_t sample, size_t head, size_t k)
{
    const struct mf_attention a = mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);
    struct block b = {.a = a, .sample = sample, .head = head, .row = k * block_rows(&a)};

    b.rows = b.row + block_rows(&a) < a.rows ? block_rows(&a) : a.rows - b.row;
    b.keys = mf_attention_sees(&a, b.row + b.rows - 1);
    b.seen = call->in[2].at ? (const unsigned char *)call->in[2].at + sample * a.keys : NULL;
    return b;
}

/* Where the block's queries, or rows of y, stand; and its head's keys and values. */
static size_t q_at(const struct block *b) { return (b->sample * b->a.rows + b->row) * b->a.q_step + b->head * b->a.d; }

static size_t y_at(const struct block *b) { return ((b->sample * b->a.rows + b->row) * b->a.heads + b->head) * b->a.d; }

static size_t k_at(const struct block *b, size_t first)
{
    return b->sample * b->a.keys * b->a.k_step + first + b->head / (b->a.heads / b->a.groups) * b->a.d;
}

static float *saved_at(const struct mf_call *call, const struct block *b)
{
    return (float *)call->out[1].at + (b->sample * b->a.heads + b->head) * b->a.rows + b->row;
}

static const struct mf_tensor *keys_of(const struct mf_call *call) { return &call->in[call->in[1].at ? 1 : 0]; }

/* p = q k' */
static void scores(const struct mf_call *call, const struct block *b, float *p)
{
    mf_cpu_gemm_alone(&(struct mf_gemm){.tb = 1,
                                        .m = b->rows,
                                        .n = b->keys,
                                        .k = b->a.d,
                                        .a = (const float *)call->in[0].at + q_at(b),
                                        .lda = b->a.q_step,
                                        .b = (const float *)keys_of(call)->at + k_at(b, b->a.k_first),
                                        .ldb = b->a.k_step,
                                        .c = p,
                                        .ldc = b->a.keys});
}

/* -- forward -- */

static void forward_block(const struct mf_call *call, size_t item, float *p)
{
    const struct mf_attention a = mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);
    const size_t each = blocks(&a);
    const struct block b = block_of(call, item / each / a.heads, item / each % a.heads, item % each);
    float *saved = saved_at(call, &b), *y = (float *)call->out[0].at + y_at(&b);

    scores(call, &b, p);
    for (size_t r = 0; r < b.rows; ++r) {
        const size_t sees = mf_attention_sees(&a, b.row + r);

        saved[r] = mf_softmax_row(p + r * a.keys, b.seen, sees, b.a.scale);
        memset(p + r * a.keys + sees, 0, (b.keys - sees) * sizeof *p);
    }
    mf_cpu_gemm_alone(&(struct mf_gemm){.m = b.rows,
                                        .n = a.d,
                                        .k = b.keys,
                                        .a = p,
                                        .lda = a.keys,
                                        .b = (const float *)keys_of(call)->at + k_at(&b, a.v_first),
                                        .ldb = a.k_step,
                                        .c = y,
                                        .ldc = a.heads * a.d});
}

/* -- backward: a group's keys and values get gradients from all its heads and blocks, in one order -- */

/* The block's probabilities once more. */
static void probabilities(const struct mf_call *call, const struct block *b, float *p)
{
    const float *saved = saved_at(call, b);

    scores(call, b, p);
    for (size_t r = 0; r < b->rows; ++r) {
        const size_t sees = mf_attention_sees(&b->a, b->row + r);

        row_again(p + r * b->a.keys, b->seen, sees, b->a.scale, saved[r]);
        memset(p + r * b->a.keys + sees, 0, (b->keys - sees) * sizeof *p);
    }
}

/* Gradient of the keys, or values: to = p' from, or to += it. */
static void to_keys(const struct block *b, const float *p, const float *from, size_t step, float *to, int add)
{
    mf_cpu_gemm_alone(&(struct mf_gemm){.ta = 1,
                                        .add = add,
                                        .m = b->keys,
                                        .n = b->a.d,
                                        .k = b->rows,
                                        .a = p,
                                        .lda = b->a.keys,
                                        .b = from,
                                        .ldb = step,
                                        .c = to,
                                        .ldc = b->a.k_step});
}

/* @p add: to the gradients of keys and values. */
static void backward_block(const struct mf_call *call, const struct block *b, float *work, int add)
{
    const size_t d = b->a.d, keys = b->a.keys;
    const float *q = (const float *)call->in[0].at + q_at(b), *dy = (const float *)call->dout.at + y_at(b);
    const float *k = (const float *)keys_of(call)->at;
    float *p = work, *dp = work + block_rows(&b->a) * keys;
    float *dq = call->din[0].at, *dk = call->din[call->in[1].at ? 1 : 0].at;

    probabilities(call, b, p);
    if (dk) to_keys(b, p, dy, b->a.heads * d, dk + k_at(b, b->a.v_first), add);
    mf_cpu_gemm_alone(&(struct mf_gemm){.tb = 1,
                                        .m = b->rows,
                                        .n = b->keys,
                                        .k = d,
                                        .a = dy,
                                        .lda = b->a.heads * d,
                                        .b = k + k_at(b, b->a.v_first),
                                        .ldb = b->a.k_step,
                                        .c = dp,
                                        .ldc = keys});
    for (size_t r = 0; r < b->rows; ++r)
        mf_softmax_row_back(p + r * keys, dp + r * keys, dp + r * keys, b->keys, b->a.scale, 0);
    if (dk) to_keys(b, dp, q, b->a.q_step, dk + k_at(b, b->a.k_first), add);
    if (dq)
        mf_cpu_gemm_alone(&(struct mf_gemm){.add = call->add & 1,
                                            .m = b->rows,
                                            .n = d,
                                            .k = b->keys,
                                            .a = dp,
                                            .lda = keys,
                                            .b = k + k_at(b, b->a.k_first),
                                            .ldb = b->a.k_step,
                                            .c = dq + q_at(b),
                                            .ldc = b->a.q_step});
}

/* All heads of a group of a sample. The last block comes first: it sees all keys. */
static void backward_group(const struct mf_call *call, size_t item, float *work)
{
    const struct mf_attention a = mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);
    const size_t heads = a.heads / a.groups, sample = item / a.groups, first = item % a.groups * heads;
    int add = call->add >> (call->in[1].at ? 1 : 0) & 1;

    for (size_t head = first; head < first + heads; ++head)
        for (size_t k = blocks(&a); k-- > 0; add = 1) {
            const struct block b = block_of(call, sample, head, k);

            backward_block(call, &b, work, add);
        }
}

/* -- over threads -- */

/* Numbers of work memory of one thread. */
static size_t work_of(const struct mf_call *call, int back)
{
    const struct mf_attention a = mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);

    return (size_t)(1 + back) * block_rows(&a) * a.keys;
}

/* Does items [0, n), each on one thread with @p work numbers of its own. An item touches @p cost numbers. */
static void share(struct mf_queue *queue, const struct mf_call *call, size_t n, size_t cost, size_t work,
                  void (*one)(const struct mf_call *call, size_t item, float *work))
{
    size_t threads = (size_t)mf_cpu_threads(queue, n * cost);

    threads = threads < n ? threads : n;
#pragma omp parallel for num_threads((int)threads) schedule(static) if (threads > 1)
    for (size_t t = 0; t < threads; ++t) {
        const struct mf_span part = mf_cut(n, threads, t);

        for (size_t i = part.first; i < part.first + part.count; ++i) one(call, i, (float *)call->work + t * work);
    }
}

static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    *made = NULL;
    *work = (size_t)queue->threads * work_of(call, back) * sizeof(float);
    return MF_OK;
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_attention a = mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);

    share(queue, call, a.samples * a.heads * blocks(&a), block_rows(&a) * a.keys, work_of(call, 0), forward_block);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_attention a = mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);

    share(queue, call, a.samples * a.groups, a.rows * a.keys, work_of(call, 1), backward_group);
}

const struct mf_op_calls mf_op_attention_cpu = {.plan = plan, .forward = forward, .backward = backward};
