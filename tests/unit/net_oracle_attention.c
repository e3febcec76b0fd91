/* Oracle and cases of attention. */
#include <math.h>
#include <stdlib.h>

#include "tests/unit/net_ops.h"

/* Where the operands stand, and one query's probabilities. */
struct view {
    size_t rows, keys, heads, groups, d, q_step, k_step;
    const double *q, *k, *v, *seen;
};

static struct view view_of(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], size_t sample)
{
    struct view w = {.rows = shape[0].d[1], .heads = (size_t)attr->heads};

    w.groups = attr->kv_heads ? (size_t)attr->kv_heads : w.heads;
    w.q_step = shape[0].d[2];
    w.d = w.q_step / (in[1] ? w.heads : w.heads + 2 * w.groups);
    w.keys = in[1] ? shape[1].d[1] : w.rows;
    w.k_step = in[1] ? shape[1].d[2] : w.q_step;
    w.q = in[0] + sample * w.rows * w.q_step;
    w.k = in[1] ? in[1] + sample * w.keys * w.k_step : w.q + w.heads * w.d;
    w.v = w.k + w.groups * w.d;
    w.seen = in[2] ? in[2] + sample * w.keys : NULL;
    return w;
}

/* One query of one head; y starts as zeros. */
static void row(const struct view *w, int causal, size_t r, size_t head, double *y)
{
    const size_t group = head / (w->heads / w->groups), sees = causal ? w->keys - w->rows + r + 1 : w->keys;
    double p[1024], sum = 0;

    for (size_t s = 0; s < sees; ++s) {
        p[s] = 0;
        for (size_t i = 0; i < w->d; ++i)
            p[s] += w->q[r * w->q_step + head * w->d + i] * w->k[s * w->k_step + group * w->d + i];
        p[s] = w->seen && w->seen[s] == 0 ? 0 : exp(p[s] / sqrt((double)w->d));
        sum += p[s];
    }
    for (size_t s = 0; s < sees; ++s)
        for (size_t i = 0; sum > 0 && i < w->d; ++i) y[i] += p[s] / sum * w->v[s * w->k_step + group * w->d + i];
}

static void attention(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    for (size_t n = 0; n < shape[0].d[0]; ++n) {
        const struct view w = view_of(attr, shape, in, n);

        for (size_t r = 0; r < w.rows; ++r)
            for (size_t head = 0; head < w.heads; ++head) {
                double *y = out + ((n * w.rows + r) * w.heads + head) * w.d;

                for (size_t i = 0; i < w.d; ++i) y[i] = 0;
                row(&w, attr->causal, r, head, y);
            }
    }
}

#define MASK(n, keys)             \
    {                             \
        MF_U8, 2, { (n), (keys) } \
    }

const struct net_case net_attention[] = {
    {MF_OP_ATTENTION, attention, {.heads = 2}, 1, .in = {F(3, 2, 7, 18)}},
    {MF_OP_ATTENTION, attention, {.heads = 1, .causal = 1}, 1, .in = {F(3, 2, 6, 15)}},
    {MF_OP_ATTENTION, attention, {.heads = 2}, 1, .in = {F(3, 3, 5, 24), {0}, MASK(3, 5)}},
    {MF_OP_ATTENTION, attention, {.heads = 2, .causal = 1}, 1, .in = {F(3, 3, 5, 24), {0}, MASK(3, 5)}},
    {MF_OP_ATTENTION, attention, {.heads = 4, .kv_heads = 2}, 1, .in = {F(3, 2, 5, 24)}},
    {MF_OP_ATTENTION, attention, {.heads = 2}, 3, .in = {F(3, 2, 5, 6), F(3, 2, 8, 12)}},
    {MF_OP_ATTENTION, attention, {.heads = 2}, 2, .in = {F(3, 2, 5, 6), F(3, 2, 8, 12)}},
    {MF_OP_ATTENTION,
     attention,
     {.heads = 4, .kv_heads = 2, .causal = 1},
     3,
     .in = {F(3, 2, 5, 12), F(3, 2, 8, 12), MASK(2, 8)}},
    {MF_OP_ATTENTION, attention, {.heads = 4}, 1, .in = {F(3, 2, 72, 24)}},
    {MF_OP_ATTENTION, attention, {.heads = 2, .causal = 1}, 1, .in = {F(3, 1, 40, 96)}},
    {MF_OP_ATTENTION, attention, {.heads = 2}, 3, .in = {F(3, 1, 18, 48), F(3, 1, 35, 96)}},
    {MF_OP_ATTENTION, attention, {.heads = 2, .kv_heads = 1}, 1, .in = {F(3, 1, 19, 160)}},
    {MF_OP_ATTENTION, attention, {.heads = 1}, 1, .in = {F(3, 1, 5, 330)}},
    {MF_OP_ATTENTION, attention, {.heads = 1}, 1, .in = {F(3, 1, 5, 600)}},
    {MF_OP_ATTENTION, attention, {.heads = 2, .causal = 1}, 3, .in = {F(3, 1, 100, 2), F(3, 1, 700, 4)}},
    {0}};
