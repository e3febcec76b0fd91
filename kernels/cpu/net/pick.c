/* pick on cpu. See kernels/net/text.c. Limits of logits are found digit by digit of their keys, without sorting. */
#include <math.h>

#include "kernels/cpu/net/net.h"
#include "kernels/form/wish.h"
#include "kernels/net/kept.h"
#include "src/base/cut.h"
#include "src/base/err.h"

/* The logits of a row as keys and weights, and with the penalty. */
struct tokens {
    size_t n;
    uint32_t *key;
    uint64_t *weight;
    float *other;
};

MF_CPU_FAST static float largest(const float *x, size_t n)
{
    float top = -INFINITY;

#pragma omp simd reduction(max : top)
    for (size_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    return top;
}

static size_t first_of(const float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; ++i)
        if (x[i] == value) return i;
    return 0;
}

MF_CPU_FAST static void weigh(const struct tokens *t, const struct mf_wish *wish, const float *x, float top)
{
    const struct mf_wish p = *wish;

#pragma omp simd
    for (size_t i = 0; i < t->n; ++i) {
        t->key[i] = mf_pick_key(x[i]);
        t->weight[i] = mf_wish_weight(&p, x[i], top);
    }
}

/* Finds the largest key such that tokens with it or larger ones have @p wanted weight. Without @p weight each counts 1.
 * Keys below @p least do not count. Tokens with larger keys have the weight @p above. */
static uint32_t reach(const struct tokens *t, const uint64_t *weight, uint32_t least, uint64_t wanted, uint64_t *above)
{
    uint32_t found = 0, known = 0;

    *above = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        uint64_t bin[256] = {0};
        uint32_t b = 255;

        for (size_t i = 0; i < t->n; ++i)
            if ((t->key[i] & known) == found && t->key[i] >= least)
                bin[t->key[i] >> shift & 255] += weight ? weight[i] : 1;
        for (; b > 0 && *above + bin[b] < wanted; --b) *above += bin[b];
        found |= b << shift;
        known |= 255U << shift;
    }
    return found;
}

static size_t draw(const struct tokens *t, const struct mf_wish *wish)
{
    uint64_t above, total = 0, equal, n;
    uint32_t least = 0;
    size_t last = 0;

    if (wish->most > 0 && (size_t)wish->most < t->n) least = reach(t, NULL, 0, (uint64_t)wish->most, &above);
    for (size_t i = 0; i < t->n; ++i) total += t->key[i] >= least ? t->weight[i] : 0;
    least = reach(t, t->weight, least, mf_wish_limit(wish, total), &above);
    for (size_t i = 0; i < t->n; ++i) last = t->key[i] == least ? i : last;
    equal = (mf_wish_limit(wish, total) - above + t->weight[last] - 1) / t->weight[last];
    n = mf_wish_draw(wish, above + equal * t->weight[last]);
    for (size_t i = 0; i < t->n; ++i) {
        const int same = t->key[i] == least;

        if (t->key[i] < least || (same && equal == 0)) continue;
        if (n < t->weight[i]) return i;
        n -= t->weight[i];
        equal -= (uint64_t)same;
    }
    return last;
}

/* Logits with the penalty of tokens that came before. A token that came twice is penalised once. */
static const float *penalised(const struct mf_past *past, const struct mf_wish *wish, const float *x, float *other)
{
    memcpy(other, x, (size_t)past->vocabulary * sizeof *x);
    for (int32_t i = 0; i < wish->before; ++i) {
        const int32_t token = mf_past_token(past, wish->request, (size_t)i);

        if (token >= 0) other[token] = mf_wish_again(wish, x[token]);
    }
    return other;
}

static void one_row(const struct mf_call *call, size_t r, const struct tokens *t)
{
    const struct mf_wish wish = mf_wish_of(call->in[1].at, call->in[2].at, r);
    const struct mf_past past = mf_past_of(call);
    const float *x = (const float *)call->in[0].at + r * t->n;
    float top;
    size_t token;

    if (past.token && mf_wish_repels(&wish)) x = penalised(&past, &wish, x, t->other);
    top = largest(x, t->n);
    if (mf_wish_is_plain(&wish, top)) {
        token = first_of(x, t->n, top);
    } else {
        weigh(t, &wish, x, top);
        token = draw(t, &wish);
    }
    ((int32_t *)call->out[0].at)[r] = (int32_t)token;
}

/* Bytes of one thread. */
static size_t work_bytes(const struct mf_call *call)
{
    return mf_whole_lines(call->in[0].shape.d[1] *
                          (sizeof(uint64_t) + sizeof(uint32_t) + (call->in[3].shape.n ? sizeof(float) : 0)));
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t rows = call->in[0].shape.d[0], n = call->in[0].shape.d[1];
    size_t threads = (size_t)mf_cpu_threads(queue, rows * n);

    threads = threads < rows ? threads : rows;
#pragma omp parallel for num_threads((int)threads) schedule(static) if (threads > 1)
    for (size_t t = 0; t < threads; ++t) {
        const struct mf_span part = mf_cut(rows, threads, t);
        uint64_t *weight = (uint64_t *)(void *)((char *)call->work + t * work_bytes(call));
        uint32_t *key = (uint32_t *)(void *)(weight + n);
        const struct tokens own = {n, key, weight, (float *)(void *)(key + n)};

        for (size_t r = part.first; r < part.first + part.count; ++r) one_row(call, r, &own);
    }
}

static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    (void)back;
    *made = NULL;
    *work = (size_t)queue->threads * work_bytes(call);
    return MF_OK;
}

const struct mf_op_calls mf_op_pick_cpu = {.plan = plan, .forward = forward};
