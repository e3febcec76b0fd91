/* grouped_linear on cpu. See kernels/net/route.c. Threads take tiles of the outputs of all experts, so many small
 * experts keep them busy.
 * Rule: one thread computes a tile. So bits do not depend on the number of threads. */
#include <omp.h>
#include <stdlib.h>

#include "kernels/cpu/net/act.h"
#include "kernels/cpu/net/any_product.h"
#include "kernels/cpu/net/bias_act.h"
#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/dnnl.h"
#include "kernels/cpu/net/few_rows.h"
#include "kernels/cpu/net/net.h"
#include "src/base/bounds.h"
#include "src/base/err.h"

/* A tile of an output. Where cores do not multiply 16 bits, so many terms of its sums become f32 at a time. */
enum { TILE_ROWS = 256, TILE_MOST = 384, TILE_COLUMNS = 512, DEPTH = 1024 };

/* Numbers that a thread has for itself: sums of a tile, and in front of them what became f32. */
enum { WIDENED = (TILE_MOST + TILE_COLUMNS) * DEPTH, SUMS = TILE_MOST * TILE_COLUMNS };

/* Handles for bf16, where cores multiply it: by whether the left matrix is turned, and whether they add. */
struct plan {
    struct mf_any_product *product[2][2];
};

struct job {
    const struct mf_call *call;
    size_t groups, experts, m, k;
    const int32_t *offset; /* [groups + 1] */
    const char *slope;     /* backward: gradient of the sums */
    float *lanes;          /* of the threads, if numbers have 16 bits */
};

/* A matrix in memory, from one of its numbers on. */
struct matrix {
    const char *at;
    enum mf_type type;
    size_t step; /* numbers from row to row */
    int turned;  /* the memory holds the transpose */
};

/* The output of a tile: @p rows x @p columns sums of @p depth terms. */
struct tile {
    size_t rows, columns, depth;
};

static struct matrix matrix_at(const void *from, enum mf_type type, size_t step, size_t row, size_t column)
{
    return (struct matrix){(const char *)from + (row * step + column) * mf_type_bytes(type), type, step, 0};
}

static size_t tiles(size_t extent, size_t tile) { return (extent + tile - 1) / tile; }

/* -- products -- */

/* c = a b, or c += a b, of f32. */
static void product_f32(struct matrix a, struct matrix b, struct tile t, float *c, size_t ldc, int add)
{
    const struct mf_gemm gemm = {.ta = a.turned,
                                 .tb = b.turned,
                                 .add = add,
                                 .m = t.rows,
                                 .n = t.columns,
                                 .k = t.depth,
                                 .a = (const void *)a.at,
                                 .lda = a.step,
                                 .b = (const void *)b.at,
                                 .ldb = b.step,
                                 .c = c,
                                 .ldc = ldc};

    if (!mf_few_rows(&gemm)) mf_cpu_gemm_alone(&gemm);
}

/* The first @p rows x @p columns numbers of the memory of a matrix, as f32. */
static struct matrix widened(struct matrix from, size_t rows, size_t columns, float *to)
{
    for (size_t r = 0; r < rows; ++r)
        mf_cpu_widen(from.type, from.at + r * from.step * mf_type_bytes(from.type), to + r * columns, columns);
    return (struct matrix){(const char *)to, MF_F32, columns, from.turned};
}

/* The same matrix from term @p n of its sums on; @p rows: terms are rows of the memory. */
static struct matrix behind(struct matrix x, size_t n, int rows)
{
    x.at += n * (rows ? x.step : 1) * mf_type_bytes(x.type);
    return x;
}

/* The same of numbers of 16 bits. */
static void product_half(struct matrix a, struct matrix b, struct tile t, float *lane, float *c, size_t ldc, int add)
{
    float *left_f32 = lane + SUMS, *right_f32 = left_f32 + TILE_MOST * DEPTH;

    for (size_t at = 0; at < t.depth; at += DEPTH) {
        const struct tile part = {t.rows, t.columns, mf_min(DEPTH, t.depth - at)};
        const size_t n = part.depth;
        const struct matrix left = behind(a, at, a.turned), right = behind(b, at, !b.turned);

        product_f32(widened(left, a.turned ? n : t.rows, a.turned ? t.rows : n, left_f32),
                    widened(right, b.turned ? t.columns : n, b.turned ? n : t.columns, right_f32), part, c, ldc,
                    add || at > 0);
    }
}

/* The same of bf16 that cores multiply. */
static void product_bf16(const struct mf_any_product *product, struct matrix a, struct matrix b, struct tile t,
                         float *c, size_t ldc)
{
    const struct mf_product_wish wish = {.ta = a.turned,
                                         .tb = b.turned,
                                         .m = t.rows,
                                         .n = t.columns,
                                         .k = t.depth,
                                         .lda = a.step,
                                         .ldb = b.step,
                                         .ldc = ldc};

    mf_any_product_run(product, &wish, a.at, b.at, c);
}

static void product(const struct job *job, struct matrix a, struct matrix b, struct tile t, float *lane, float *c,
                    size_t ldc, int add)
{
    const struct plan *plan = job->call->plan;

    if (a.type == MF_F32)
        product_f32(a, b, t, c, ldc, add);
    else if (plan)
        product_bf16(plan->product[a.turned][add], a, b, t, c, ldc);
    else
        product_half(a, b, t, lane, c, ldc, add);
}

static size_t lane_size(const struct mf_call *call) { return call->plan ? SUMS : SUMS + WIDENED; }

/* This thread's. */
static float *lane_of(const struct job *job)
{
    return job->lanes ? job->lanes + (size_t)omp_get_thread_num() * lane_size(job->call) : NULL;
}

/* Where the sums of a tile are made: in @p to itself, or in the lane if that has 16 bits. */
static float *sums_of(struct matrix to, float *lane, size_t *ldc)
{
    *ldc = to.type == MF_F32 ? to.step : TILE_COLUMNS;
    return to.type == MF_F32 ? (float *)(void *)to.at : lane;
}

/* -- tiles of rows: outputs, and gradients of inputs -- */

/* A tile of expert @p e from this row and column on. */
typedef void tile_work(const struct job *job, size_t e, size_t row, size_t column, size_t rows, size_t columns);

static size_t rows_of(const struct job *job, size_t g) { return (size_t)(job->offset[g + 1] - job->offset[g]); }

static size_t largest(const struct job *job)
{
    size_t most = 0;

    for (size_t g = 0; g < job->groups; ++g) most = rows_of(job, g) > most ? rows_of(job, g) : most;
    return most;
}

/* Rows of the tiles of a group of @p rows: about TILE_ROWS, at most TILE_MOST, and no small rest. */
static size_t height_of(size_t rows)
{
    const size_t count = rows < TILE_ROWS ? 1 : (rows + TILE_MOST - TILE_ROWS) / TILE_ROWS;

    return (rows + count - 1) / count;
}

/* All tiles of the rows of all groups, of outputs with @p columns columns. */
static void each_rows(const struct mf_queue *queue, const struct job *job, size_t columns, tile_work *work)
{
    const size_t across = tiles(columns, TILE_COLUMNS), down = tiles(largest(job), TILE_ROWS);
    const int threads = mf_cpu_threads(queue, (size_t)(job->offset[job->groups] - job->offset[0]) * columns);

#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (size_t i = 0; i < job->groups * down * across; ++i) {
        const size_t g = i / across / down, rows = rows_of(job, g), height = height_of(rows);
        const size_t row = i / across % down * height, column = i % across * TILE_COLUMNS;

        if (row < rows)
            work(job, g % job->experts, (size_t)job->offset[g] + row, column, mf_min(height, rows - row),
                 mf_min(TILE_COLUMNS, columns - column));
    }
}

/* A row of a tile: its bias and its activation. @p at: its first number in the outputs. */
static void finish(const struct mf_call *call, float *sum, const float *bias, size_t at, size_t n)
{
    const enum mf_type type = call->out[0].shape.type;
    char *y = (char *)call->out[0].at + at * mf_type_bytes(type);

    if (bias) mf_cpu_move(bias, sum, n, 1);
    if (type == MF_F32) {
        mf_act_forward(call->attr->act, sum, (float *)(void *)y, n);
        return;
    }
    if (call->out[1].at) mf_cpu_narrow(type, sum, (char *)call->out[1].at + at * mf_type_bytes(type), n);
    mf_act_forward(call->attr->act, sum, sum, n);
    mf_cpu_narrow(type, sum, y, n);
}

static void forward_tile(const struct job *job, size_t e, size_t row, size_t column, size_t rows, size_t columns)
{
    const struct mf_call *call = job->call;
    const enum mf_type type = call->in[0].shape.type;
    const float *bias = call->in[2].at;
    struct matrix w = matrix_at(call->in[1].at, type, job->k, e * job->m + column, 0);
    float *lane = lane_of(job), *sum;
    size_t ldc;

    w.turned = 1;
    sum = sums_of(matrix_at(call->out[call->out[1].at ? 1 : 0].at, type, job->m, row, column), lane, &ldc);
    product(job, matrix_at(call->in[0].at, type, job->k, row, 0), w, (struct tile){rows, columns, job->k}, lane, sum,
            ldc, 0);
    for (size_t r = 0; r < rows; ++r)
        finish(call, sum + r * ldc, bias ? bias + e * job->m + column : NULL, (row + r) * job->m + column, columns);
}

static void data_tile(const struct job *job, size_t e, size_t row, size_t column, size_t rows, size_t columns)
{
    const struct mf_call *call = job->call;
    const enum mf_type type = call->dout.shape.type;
    const struct matrix dx = matrix_at(call->din[0].at, type, job->k, row, column);
    const int add = (int)(call->add & 1);
    float *lane = lane_of(job), *sum, before[TILE_COLUMNS];
    size_t ldc;

    sum = sums_of(dx, lane, &ldc);
    product(job, matrix_at(job->slope, type, job->m, row, 0),
            matrix_at(call->in[1].at, type, job->k, e * job->m, column), (struct tile){rows, columns, job->m}, lane,
            sum, ldc, add && type == MF_F32);
    for (size_t r = 0; type != MF_F32 && r < rows; ++r) {
        void *to = (void *)(dx.at + r * job->k * mf_type_bytes(type));

        if (add) mf_cpu_widen(type, to, before, columns);
        if (add) mf_cpu_move(before, sum + r * ldc, columns, 1);
        mf_cpu_narrow(type, sum + r * ldc, to, columns);
    }
}

/* -- gradients of weights and biases, of all groups of an expert -- */

static void weights_tile(const struct job *job, size_t e, size_t row, size_t column, size_t rows, size_t columns)
{
    const struct mf_call *call = job->call;
    const enum mf_type type = call->dout.shape.type;
    float *dw = (float *)call->din[1].at + (e * job->m + row) * job->k + column, *lane = lane_of(job);
    int add = (int)(call->add >> 1 & 1);

    for (size_t g = e; g < job->groups; g += job->experts) {
        struct matrix slope = matrix_at(job->slope, type, job->m, (size_t)job->offset[g], row);

        if (rows_of(job, g) == 0) continue;
        slope.turned = 1;
        product(job, slope, matrix_at(call->in[0].at, type, job->k, (size_t)job->offset[g], column),
                (struct tile){rows, columns, rows_of(job, g)}, lane, dw, job->k, add);
        add = 1;
    }
    for (size_t r = 0; !add && r < rows; ++r) memset(dw + r * job->k, 0, columns * sizeof *dw);
}

static void weights(const struct mf_queue *queue, const struct job *job)
{
    const size_t across = tiles(job->k, TILE_COLUMNS), down = tiles(job->m, TILE_ROWS);
    const int threads = mf_cpu_threads(queue, job->experts * job->m * job->k);

#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (size_t i = 0; i < job->experts * down * across; ++i) {
        const size_t row = i / across % down * TILE_ROWS, column = i % across * TILE_COLUMNS;

        weights_tile(job, i / across / down, row, column, mf_min(TILE_ROWS, job->m - row),
                     mf_min(TILE_COLUMNS, job->k - column));
    }
}

static void bias_strip(const struct job *job, size_t e, size_t column, size_t columns)
{
    const struct mf_call *call = job->call;
    const enum mf_type type = call->dout.shape.type;
    float *db = (float *)call->din[2].at + e * job->m + column;
    double sum[MF_STRIP], part[MF_STRIP];

    for (size_t i = 0; i < columns; ++i) sum[i] = call->add & 4 ? (double)db[i] : 0;
    for (size_t g = e; g < job->groups; g += job->experts) {
        const struct matrix slope = matrix_at(job->slope, type, job->m, (size_t)job->offset[g], column);

        mf_cpu_strip(type, slope.at, rows_of(job, g), job->m, columns, part);
        for (size_t i = 0; i < columns; ++i) sum[i] += part[i];
    }
    for (size_t i = 0; i < columns; ++i) db[i] = (float)sum[i];
}

static void biases(const struct mf_queue *queue, const struct job *job)
{
    const size_t strips = tiles(job->m, MF_STRIP);
    const int threads = mf_cpu_threads(queue, (size_t)(job->offset[job->groups] - job->offset[0]) * job->m);

#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (size_t i = 0; i < job->experts * strips; ++i) {
        const size_t column = i % strips * MF_STRIP;

        bias_strip(job, i / strips, column, mf_min(MF_STRIP, job->m - column));
    }
}

/* -- calls -- */

static void release(void *made)
{
    struct plan *p = made;

    for (int turned = 0; turned < 2; ++turned)
        for (int add = 0; add < 2; ++add) mf_any_product_close(p->product[turned][add]);
    free(p);
}

/* Forward: x w'. Backward: slope w, and slope' x, which is added behind an expert's first rows. */
static int open_products(const struct mf_queue *queue, const struct mf_call *call, int back, struct plan *p)
{
    for (int turned = 0; turned <= back; ++turned)
        for (int add = 0; add <= turned; ++add) {
            const struct mf_product_wish wish = {.ta = turned, .tb = !back, .add = add};

            if (!back || call->din[turned].shape.n)
                MF_TRY(mf_any_product_open(&p->product[turned][add], &wish, queue->threads));
        }
    return MF_OK;
}

/* The rows of group @p g, by themselves. */
static struct mf_call group_call(const struct mf_call *call, size_t expert, size_t first, size_t rows)
{
    struct mf_call part = *call;
    const size_t k = call->in[1].shape.d[2], m = call->in[1].shape.d[1];

    part.in[0].shape.d[0] = part.out[0].shape.d[0] = rows;
    part.in[1].shape = (struct mf_shape){call->in[1].shape.type, 2, {m, k}};
    part.in[3] = part.in[4]; /* scales */
    part.in[4] = (struct mf_tensor){.at = NULL};
    for (int j = 2; j <= 3; ++j)
        if (part.in[j].shape.n) part.in[j].shape = (struct mf_shape){MF_F32, 1, {m}};
    if (!part.out[0].at) return part;
    part.in[0].at = (char *)part.in[0].at + first * k * mf_type_bytes(call->in[0].shape.type);
    part.in[1].at = (char *)part.in[1].at + expert * m * k * mf_type_bytes(call->in[1].shape.type);
    for (int j = 2; j <= 3; ++j)
        if (part.in[j].at) part.in[j].at = (float *)part.in[j].at + expert * m;
    part.out[0].at = (char *)part.out[0].at + first * m * mf_type_bytes(call->out[0].shape.type);
    return part;
}

static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    const enum mf_type type = (back ? call->dout : call->in[0]).shape.type;
    const int knows = type == MF_BF16 && mf_dnnl_has_bf16();
    struct plan *p;
    int rc;

    *made = NULL;
    if (call->attr->steady) {
        const struct mf_call all = group_call(call, 0, 0, call->in[0].shape.d[0]);

        MF_TRY(mf_op_steady_linear_cpu.plan(queue, &all, back, made, work));
        MF_ASSERT(!*made);
        return MF_OK;
    }
    *work = back ? mf_bias_act_work(call) : 0;
    if (type != MF_F32) *work += (size_t)queue->threads * (size_t)(knows ? SUMS : SUMS + WIDENED) * sizeof(float);
    if (!knows) return MF_OK;
    p = MF_MUST(calloc(1, sizeof *p), "products");
    rc = open_products(queue, call, back, p);
    if (rc == MF_OK)
        *made = p;
    else
        release(p);
    return rc;
}

static size_t experts_of(const struct mf_call *call)
{
    for (int j = 1; j <= 2; ++j) {
        if (call->in[j].shape.n) return call->in[j].shape.d[0];
        if (call->din[j].shape.n) return call->din[j].shape.d[0];
    }
    return 1;
}

static size_t columns_of(const struct mf_call *call)
{
    if (call->in[0].shape.n) return mf_shape_last(&call->in[0].shape);
    return call->din[0].shape.n ? mf_shape_last(&call->din[0].shape) : 0;
}

static struct job job_of(const struct mf_call *call, const struct mf_shape *y, size_t taken)
{
    const size_t groups = (size_t)call->attr->row_groups;
    struct job job = {
        .call = call, .groups = groups, .experts = experts_of(call), .m = mf_shape_last(y), .k = columns_of(call)};

    job.offset = (const int32_t *)call->in[3].at + mf_shape_count(&call->in[3].shape) - groups - 1;
    if (y->type != MF_F32) job.lanes = (float *)(void *)((char *)call->work + taken);
    return job;
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct job job = job_of(call, &call->out[0].shape, 0);

    if (!call->attr->steady) each_rows(queue, &job, job.m, forward_tile);
    for (size_t g = 0; call->attr->steady && g < job.groups; ++g) {
        const struct mf_call part = group_call(call, g % job.experts, (size_t)job.offset[g], rows_of(&job, g));

        if (rows_of(&job, g) > 0) mf_op_steady_linear_cpu.forward(queue, &part);
    }
}

/* The gradient of the sums, of the rows that groups have. */
static const char *slope_of(const struct mf_queue *queue, const struct job *job)
{
    const size_t first = (size_t)job->offset[0] * job->m * mf_type_bytes(job->call->dout.shape.type);
    struct mf_call part = *job->call;

    part.dout.shape.d[0] = (size_t)(job->offset[job->groups] - job->offset[0]);
    part.dout.at = (char *)part.dout.at + first;
    for (int j = 0; j < MF_OUTS; ++j)
        if (part.out[j].at) part.out[j].at = (char *)part.out[j].at + first;
    return (const char *)mf_bias_act_backward(queue, &part) - first;
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    struct job job = job_of(call, &call->dout.shape, mf_bias_act_work(call));

    job.slope = slope_of(queue, &job);
    if (call->din[0].at) each_rows(queue, &job, job.k, data_tile);
    if (call->din[1].at) weights(queue, &job);
    if (call->din[2].at) biases(queue, &job);
}

const struct mf_op_calls mf_op_grouped_linear_cpu = {
    .plan = plan, .release = release, .forward = forward, .backward = backward};
