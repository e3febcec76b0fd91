/* steady_linear on cpu. See kernels/net/text.c. Weights come straight from memory, two rows of them at a time, for a
 * few rows of x.
 * Rule: a sum has eight parts, each with every eighth term, whatever other rows there are. So it always has the same
 * bits. */
#include "kernels/cpu/net/act.h"
#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/net.h"
#include "src/base/cut.h"
#include "src/base/err.h"

enum { LANES = 8, ROWS = 4, WEIGHTS = 2 };

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(LANES * 4)));
typedef uint16_t halves __attribute__((vector_size(LANES * 2), aligned(2), may_alias));

#define INNER static inline __attribute__((always_inline))

/* Some rows of x and of weights. Their product [i][j] is number i step + j of y. */
struct block {
    const float *x;
    const char *w[WEIGHTS];
    float *y;
    size_t k, step;
};

INNER vec load(int half, const char *w, size_t i)
{
    if (!half) return *(const vec *)(const void *)(w + i * sizeof(float));
    return (vec)(__builtin_convertvector(*(const halves *)(const void *)(w + i * sizeof(uint16_t)), words) << 16);
}

/* The last numbers, fewer than LANES, and zeros. */
INNER vec load_rest(int half, const char *w, size_t i, size_t n)
{
    const size_t bytes = half ? sizeof(uint16_t) : sizeof(float);
    float rest[LANES] = {0};

    memcpy(rest, w + i * bytes, n * bytes);
    return load(half, (const char *)rest, 0);
}

INNER float sum_of(vec x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

/* @p rows, @p half: constants. */
INNER void products(const struct block *b, int rows, int half)
{
    vec sum[ROWS][WEIGHTS] = {{{0}}};
    const size_t whole = b->k / LANES * LANES;

    for (size_t i = 0; i < whole; i += LANES) {
        const vec first = load(half, b->w[0], i), second = load(half, b->w[1], i);

#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            const vec x = *(const vec *)(b->x + (size_t)r * b->k + i);

            sum[r][0] += x * first;
            sum[r][1] += x * second;
        }
    }
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < WEIGHTS; ++j) {
            const vec x = load_rest(0, (const char *)(b->x + (size_t)r * b->k), whole, b->k - whole);

            sum[r][j] += x * load_rest(half, b->w[j], whole, b->k - whole);
            b->y[(size_t)r * b->step + (size_t)j] = sum_of(sum[r][j]);
        }
}

MF_CPU_WIDE static void products_f32(const struct block *b, size_t rows)
{
    switch (rows) {
    case 1: products(b, 1, 0); break;
    case 2: products(b, 2, 0); break;
    case 3: products(b, 3, 0); break;
    default: products(b, 4, 0); break;
    }
}

MF_CPU_WIDE static void products_bf16(const struct block *b, size_t rows)
{
    switch (rows) {
    case 1: products(b, 1, 1); break;
    case 2: products(b, 2, 1); break;
    case 3: products(b, 3, 1); break;
    default: products(b, 4, 1); break;
    }
}

/* -- a call -- */

/* The call in f32: x and y, or work memory that stands for them. */
struct steady {
    size_t rows, k, m;
    enum mf_type type; /* of the weights */
    const char *w;
    float *x, *y, *wide; /* wide: weights of f16, for each thread */
};

static struct steady steady_of(const struct mf_call *call)
{
    const struct mf_shape *w = &call->in[1].shape;
    struct steady s = {mf_shape_rows(&call->in[0].shape),
                       w->d[1],
                       w->d[0],
                       w->type,
                       call->in[1].at,
                       call->in[0].at,
                       call->out[0].at,
                       call->work};

    if (call->in[0].shape.type == MF_F32) return s;
    s.x = call->work;
    s.y = s.x + mf_whole_lines(s.rows * s.k * sizeof(float)) / sizeof(float);
    s.wide = s.y + mf_whole_lines(s.rows * s.m * sizeof(float)) / sizeof(float);
    return s;
}

/* Two rows of weights from @p column on, as f32 where they are f16. */
static const char *weights_at(const struct steady *s, size_t column, float *wide)
{
    const char *w = s->w + column * s->k * mf_type_bytes(s->type);

    if (s->type != MF_F16) return w;
    mf_cpu_widen(MF_F16, w, wide, (s->m > 1 ? WEIGHTS : 1) * s->k);
    return (const char *)wide;
}

/* Rows [from, to) of the weights; the last ones may be computed twice. */
static void columns(const struct steady *s, size_t from, size_t to, float *wide)
{
    const size_t bytes = s->k * (s->type == MF_BF16 ? sizeof(uint16_t) : sizeof(float));
    float pair[ROWS * WEIGHTS];

    for (size_t j = from; j < to; j += WEIGHTS) {
        const size_t column = j + 1 < s->m ? j : s->m > 1 ? s->m - WEIGHTS : 0;
        const char *w = weights_at(s, column, wide);

        for (size_t r = 0; r < s->rows; r += ROWS) {
            const size_t rows = r + ROWS < s->rows ? ROWS : s->rows - r;
            const struct block b = {s->x + r * s->k, {w, s->m > 1 ? w + bytes : w}, pair, s->k, WEIGHTS};

            (s->type == MF_BF16 ? products_bf16 : products_f32)(&b, rows);
            for (size_t i = 0; i < rows; ++i)
                memcpy(s->y + (r + i) * s->m + column, pair + i * WEIGHTS, (s->m > 1 ? WEIGHTS : 1) * sizeof *pair);
        }
    }
}

static void add_bias(float *y, const float *bias, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y[i] += bias[i];
}

/* The bias, the activation, and the type of y. */
static void end_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct steady s = steady_of(call);
    const enum mf_type type = call->out[0].shape.type;

    for (size_t r = from; r < to; ++r) {
        float *y = s.y + r * s.m;

        if (call->in[2].at) add_bias(y, call->in[2].at, s.m);
        mf_act_forward(call->attr->act, y, y, s.m);
        if (type != MF_F32) mf_cpu_narrow(type, y, (char *)call->out[0].at + r * s.m * mf_type_bytes(type), s.m);
    }
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct steady s = steady_of(call);
    const size_t pairs = (s.m + WEIGHTS - 1) / WEIGHTS;
    size_t threads = (size_t)mf_cpu_threads(queue, s.rows * s.k * s.m);

    if (call->in[0].shape.type != MF_F32)
        mf_cpu_widen_all(queue, call->in[0].shape.type, call->in[0].at, s.x, s.rows * s.k);
    threads = threads < pairs ? threads : pairs;
#pragma omp parallel for num_threads((int)threads) schedule(static) if (threads > 1)
    for (size_t t = 0; t < threads; ++t) {
        const struct mf_span part = mf_cut(pairs, threads, t);

        columns(&s, part.first * WEIGHTS, (part.first + part.count) * WEIGHTS, s.wide + t * WEIGHTS * s.k);
    }
    mf_cpu_rows(queue, s.rows, s.m, end_rows, call);
}

static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    const size_t rows = mf_shape_rows(&call->in[0].shape), k = call->in[1].shape.d[1], m = call->in[1].shape.d[0];

    (void)back;
    *made = NULL;
    *work = call->in[1].shape.type == MF_F16 ? (size_t)queue->threads * WEIGHTS * k * sizeof(float) : 0;
    if (call->in[0].shape.type != MF_F32)
        *work += mf_whole_lines(rows * k * sizeof(float)) + mf_whole_lines(rows * m * sizeof(float));
    return MF_OK;
}

const struct mf_op_calls mf_op_steady_linear_cpu = {.plan = plan, .forward = forward};
