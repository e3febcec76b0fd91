/* attention_kept on cpu. See kernels/net/text.c. Rows of one request go through its pages together. So keys
 * and values are read once for all of them.
 * Rule: a row adds pages in their order, by the same text whatever other rows there are. So it always has the same
 * bits. */
#include "kernels/net/kept.h"
#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/net.h"
#include "kernels/form/soft.h"
#include "src/base/cut.h"
#include "src/base/err.h"

enum { LANES = 8, ROWS = 16, FEW = 8, AHEAD = 4 };

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t mask __attribute__((vector_size(LANES * 4)));

/* A query, and what is known of its answer. Rows of numbers are padded with zeros to whole vectors. */
struct query {
    const float *q;
    float *sum; /* of the values, times exp(score - most) */
    float *most, *total;
};

/* Rows [first, end) of a page that a query sees; its keys and values. */
struct page {
    const float *k, *v;
    size_t step, first, end;
};

/* -- one query and one page -- */

#define INNER static inline __attribute__((always_inline))

INNER vec join(vec a, vec b, mask low, mask high)
{
    return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
}

/* The sums of the lanes of eight vectors, in their order. */
INNER vec sums_of(const vec x[LANES])
{
    const mask low4 = {0, 1, 2, 3, 8, 9, 10, 11}, high4 = {4, 5, 6, 7, 12, 13, 14, 15};
    const mask low2 = {0, 1, 8, 9, 4, 5, 12, 13}, high2 = {2, 3, 10, 11, 6, 7, 14, 15};
    const mask low1 = {0, 8, 2, 10, 4, 12, 6, 14}, high1 = {1, 9, 3, 11, 5, 13, 7, 15};
    const vec a = join(x[0], x[4], low4, high4), b = join(x[1], x[5], low4, high4);
    const vec c = join(x[2], x[6], low4, high4), d = join(x[3], x[7], low4, high4);

    return join(join(a, c, low2, high2), join(b, d, low2, high2), low1, high1);
}

/* Products of a query with eight keys. */
INNER vec eight_scores(const float *q, const float *k, size_t step, size_t width)
{
    vec sum[LANES] = {{0}};

    for (size_t i = 0; i < width; i += LANES) {
        const vec x = *(const vec *)(q + i);

#pragma GCC unroll 8
        for (size_t j = 0; j < LANES; ++j) sum[j] += x * *(const vec *)(k + j * step + i);
    }
    return sums_of(sum);
}

/* sum = sum scale + weighted values, @p n vectors of them. */
INNER void add_values(const struct page *p, const float *weight, float scale, float *sum, size_t at, size_t n)
{
    vec all[4];

#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) all[i] = *(const vec *)(sum + at + i * LANES) * scale;
    for (size_t j = p->first; j < p->end; ++j)
#pragma GCC unroll 4
        for (size_t i = 0; i < n; ++i) all[i] += weight[j] * *(const vec *)(p->v + j * p->step + at + i * LANES);
#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) *(vec *)(sum + at + i * LANES) = all[i];
}

MF_CPU_WIDE static void add_page(const struct query *x, const struct page *p, size_t width, float scale)
{
    float score[MF_KEPT_PAGE], most = *x->most, total = 0, rest;
    size_t at = 0;

    for (size_t j = 0; j < MF_KEPT_PAGE; j += LANES)
        *(vec *)(score + j) = eight_scores(x->q, p->k + j * p->step, p->step, width) * scale;
    for (size_t j = 0; j < p->first; ++j) score[j] = -INFINITY;
    for (size_t j = p->end; j < MF_KEPT_PAGE; ++j) score[j] = -INFINITY;
#pragma omp simd reduction(max : most)
    for (size_t j = 0; j < MF_KEPT_PAGE; ++j) most = score[j] > most ? score[j] : most;
    if (most == -INFINITY) return;
#pragma omp simd reduction(+ : total)
    for (size_t j = 0; j < MF_KEPT_PAGE; ++j) {
        score[j] = score[j] == -INFINITY ? 0 : mf_soft_exp(score[j] - most);
        total += score[j];
    }
    rest = mf_soft_exp(*x->most - most);
    *x->total = *x->total * rest + total;
    *x->most = most;
    for (; at + 4 * LANES <= width; at += 4 * LANES) add_values(p, score, rest, x->sum, at, 4);
    for (; at < width; at += LANES) add_values(p, score, rest, x->sum, at, 1);
}

/* -- rows of a request, and heads [group, end) of its keys and values -- */

struct part {
    const struct mf_call *call;
    struct mf_kept k;
    size_t row, rows, group, end;
    size_t width; /* of a head with its padding */
    float *work;
};

static size_t width_of(const struct mf_kept *k) { return (k->d + LANES - 1) / LANES * LANES; }

static size_t each_of(const struct mf_kept *k) { return k->heads / k->groups; }

/* Work memory: queries with their answers, then the keys and values of a page. */
static size_t query_numbers(const struct mf_kept *k) { return 2 * width_of(k) + LANES; }

static size_t work_numbers(const struct mf_kept *k)
{
    return ROWS * k->heads * query_numbers(k) + 2 * MF_KEPT_PAGE * width_of(k) + LANES;
}

static struct query query_of(const struct part *p, size_t r, size_t head)
{
    float *at = p->work + (r * p->k.heads + head) * query_numbers(&p->k);

    return (struct query){at, at + p->width, at + 2 * p->width, at + 2 * p->width + 1};
}

static const char *number_at(const struct mf_tensor *t, size_t i)
{
    return (const char *)t->at + i * mf_type_bytes(t->shape.type);
}

static void begin(const struct part *p)
{
    const struct mf_tensor *from = &p->call->in[0];

    for (size_t r = 0; r < p->rows; ++r)
        for (size_t head = p->group * each_of(&p->k); head < p->end * each_of(&p->k); ++head) {
            const struct query x = query_of(p, r, head);
            float *q = p->work + (x.q - p->work);

            memset(q, 0, query_numbers(&p->k) * sizeof *q);
            mf_cpu_widen(from->shape.type, number_at(from, ((p->row + r) * p->k.heads + head) * p->k.d), q, p->k.d);
            *x.most = -INFINITY;
        }
}

/* Rows that saw nothing give zeros. */
static void end(const struct part *p)
{
    const struct mf_tensor *to = &p->call->out[0];

    for (size_t r = 0; r < p->rows; ++r)
        for (size_t head = p->group * each_of(&p->k); head < p->end * each_of(&p->k); ++head) {
            const struct query x = query_of(p, r, head);
            const size_t at = ((p->row + r) * p->k.heads + head) * p->k.d;

            for (size_t i = 0; i < p->k.d; ++i) x.sum[i] = *x.total == 0 ? 0 : x.sum[i] / *x.total;
            mf_cpu_narrow(to->shape.type, x.sum, (char *)to->at + at * mf_type_bytes(to->shape.type), p->k.d);
        }
}

/* The page's rows of a head in f32 with padding. They are copied where many queries read them. Rows of
 * a cache are often a power of two apart. Then few of them fit in the first cache. */
static const float *page_rows(const struct part *p, const struct mf_tensor *cache, size_t slot, size_t group, float *to)
{
    const size_t columns = p->k.groups * p->k.d;

    if (cache->shape.type == MF_F32 && p->width == p->k.d && p->rows * each_of(&p->k) <= FEW)
        return (const float *)cache->at + slot * columns + group * p->k.d;
    for (size_t j = 0; j < MF_KEPT_PAGE; ++j) {
        memset(to + j * p->width + p->k.d, 0, (p->width - p->k.d) * sizeof *to);
        mf_cpu_widen(cache->shape.type, number_at(cache, (slot + j) * columns + group * p->k.d), to + j * p->width,
                     p->k.d);
    }
    return to;
}

static void one_page(const struct part *p, size_t i, size_t slot, size_t group)
{
    float *copy = p->work + ROWS * p->k.heads * query_numbers(&p->k);
    struct page page = {.k = page_rows(p, &p->call->in[1], slot, group, copy),
                        .v = page_rows(p, &p->call->in[2], slot, group, copy + MF_KEPT_PAGE * p->width),
                        .step = p->width};
    const size_t from = i * MF_KEPT_PAGE;

    if (page.k != copy) page.step = p->k.groups * p->k.d;
    for (size_t r = 0; r < p->rows; ++r) {
        size_t first, last;

        mf_kept_sees(&p->k, p->row + r, &first, &last);
        page.first = first > from ? first - from : 0;
        page.end = last < from + MF_KEPT_PAGE ? last - (last < from ? last : from) : MF_KEPT_PAGE;
        if (page.first >= page.end) continue;
        for (size_t head = group * each_of(&p->k); head < (group + 1) * each_of(&p->k); ++head) {
            const struct query x = query_of(p, r, head);

            add_page(&x, &page, p->width, p->k.scale);
        }
    }
}

/* Rows of keys and values come into the caches before they are wanted: strides hide them from the hardware. */
static void prefetch(const struct part *p, int64_t slot, size_t group)
{
    const size_t columns = p->k.groups * p->k.d, bytes = mf_type_bytes(p->call->in[1].shape.type);

    for (size_t j = 0; slot >= 0 && j < MF_KEPT_PAGE; ++j)
        for (int t = 1; t <= 2; ++t) {
            const char *at = number_at(&p->call->in[t], ((size_t)slot + j) * columns + group * p->k.d);

            for (size_t i = 0; i < p->k.d * bytes; i += 64) __builtin_prefetch(at + i, 0, 2);
        }
}

static void all_pages(const struct part *p)
{
    const int32_t request = p->k.row[2 * p->row];
    size_t from = SIZE_MAX, to = 0;

    for (size_t r = 0; r < p->rows; ++r) {
        size_t first, last;

        mf_kept_sees(&p->k, p->row + r, &first, &last);
        if (first == last) continue;
        from = first < from ? first : from;
        to = last > to ? last : to;
    }
    begin(p);
    for (size_t i = from / MF_KEPT_PAGE; i * MF_KEPT_PAGE < to; ++i) {
        const int64_t slot = mf_kept_slot(&p->k, request, i);
        const int64_t next = (i + 1) * MF_KEPT_PAGE < to ? mf_kept_slot(&p->k, request, i + 1) : -1;

        for (size_t group = p->group; group < p->end; ++group) {
            prefetch(p, next, group);
            if (slot >= 0) one_page(p, i, (size_t)slot, group);
        }
    }
    end(p);
}

/* -- over threads: a unit is a few rows and a head of keys and values -- */

/* Rows of a unit; bits do not depend on it. */
static size_t unit_rows(const struct mf_kept *k, size_t threads)
{
    size_t rows = ROWS;

    while (rows > 1 && (k->rows + rows - 1) / rows * k->groups < AHEAD * threads) rows /= 2;
    return rows;
}

/* Rows [row, end) and heads of @p part, one request after the other. */
static void some_rows(struct part part, size_t row, size_t end)
{
    for (; row < end; row += part.rows) {
        const int32_t request = part.k.row[2 * row];

        for (part.rows = 1; row + part.rows < end && part.k.row[2 * (row + part.rows)] == request;) ++part.rows;
        part.row = row;
        all_pages(&part);
    }
}

static void units(const struct mf_call *call, size_t rows, size_t first, size_t count, float *work)
{
    struct part part = {.call = call, .k = mf_kept_of(call), .work = work};
    const size_t groups = part.k.groups;

    part.width = width_of(&part.k);
    for (size_t at = first, n; at < first + count; at += n) {
        const size_t row = at / groups * rows;

        n = groups - at % groups < first + count - at ? groups - at % groups : first + count - at;
        part.group = at % groups;
        part.end = part.group + n;
        some_rows(part, row, row + rows < part.k.rows ? row + rows : part.k.rows);
    }
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_kept k = mf_kept_of(call);
    size_t threads = (size_t)mf_cpu_threads(queue, k.rows * k.pages * MF_KEPT_PAGE * k.heads * k.d);
    const size_t rows = unit_rows(&k, threads), n = (k.rows + rows - 1) / rows * k.groups;

    threads = threads < n ? threads : n;
#pragma omp parallel for num_threads((int)threads) schedule(static) if (threads > 1)
    for (size_t t = 0; t < threads; ++t) {
        const struct mf_span part = mf_cut(n, threads, t);

        units(call, rows, part.first, part.count, (float *)call->work + t * work_numbers(&k));
    }
}

static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    const struct mf_kept k = mf_kept_of(call);

    (void)back;
    *made = NULL;
    *work = (size_t)queue->threads * work_numbers(&k) * sizeof(float);
    return MF_OK;
}

const struct mf_op_calls mf_op_attention_kept_cpu = {.plan = plan, .forward = forward};
