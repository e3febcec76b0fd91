/* Oracles and cases of the operations of language models. */
#include <math.h>

#include "src/base/rng.h"
#include "src/base/streams.h"
#include "tests/unit/net_ops.h"

static void gather(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t width = shape[0].d[1];

    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[1]) * width; ++i) {
        const double row = in[1][i / width];

        out[i] = row >= 0 && row < (double)shape[0].d[0] ? in[0][(size_t)row * width + i % width] : 0;
        if (in[2] && out[i] != 0) out[i] *= in[2][(size_t)row];
    }
}

static void rms_norm(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const double epsilon = attr->epsilon > 0 ? attr->epsilon : 1e-5;
    const size_t d = mf_shape_last(&shape[0]);

    for (size_t r = 0; r < mf_shape_rows(&shape[0]); ++r) {
        const double *x = in[0] + r * d;
        double squares = 0;

        for (size_t i = 0; i < d; ++i) squares += x[i] * x[i] / (double)d;
        for (size_t i = 0; i < d; ++i) out[r * d + i] = x[i] / sqrt(squares + epsilon) * in[1][i];
    }
}

static void rope(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t half = shape[2].d[0], heads = (size_t)attr->heads;

    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) {
        const size_t k = i % (2 * half);
        const double angle = (double)((float)in[1][i / (2 * half * heads)] * (float)in[2][k % half]);

        out[i] = in[0][i] * cos(angle) + (k < half ? -in[0][i + half] : in[0][i - half]) * sin(angle);
    }
}

/* Positions of a long text. */
static void far(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[1]); ++i) in[1][i] = (double)(1500 * i);
}

static void gated(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t m = mf_shape_last(&shape[0]) / 2;

    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]) / 2; ++i) {
        const double *x = in[0] + i / m * 2 * m + i % m;

        out[i] = net_act(MF_ACT_SILU, x[0]) * x[m];
    }
}

/* The cache afterwards. */
static void keep(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t width = shape[1].d[1];

    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[1]); ++i) out[i] = in[1][i];
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) {
        const double place = in[2][i / width];

        if (place >= 0 && place < (double)shape[1].d[0]) out[(size_t)place * width + i % width] = in[0][i];
    }
}

/* Places that differ, none, and one behind the last. */
static void some_places(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t r = 0; r < mf_shape_count(&shape[2]); ++r)
        in[2][r] = r % 3 == 1 ? -1 : r == 3 ? (double)shape[1].d[0] : (double)(5 * r % shape[1].d[0]);
}

/* One head of a row. */
static void kept_head(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], size_t r, size_t h,
                      double *y)
{
    const size_t heads = (size_t)attr->heads, groups = attr->kv_heads ? (size_t)attr->kv_heads : heads;
    const size_t d = mf_shape_last(&shape[0]) / heads, pages = shape[3].d[1];
    const double request = in[4][2 * r], position = in[4][2 * r + 1];
    double total = 0;

    for (size_t i = 0; i < d; ++i) y[i] = 0;
    if (request < 0 || request >= (double)shape[3].d[0]) return;
    for (size_t p = 0; (double)p <= position && p < 16 * pages; ++p) {
        const double page = in[3][(size_t)request * pages + p / 16];
        const size_t slot = page < 0 ? 0 : (size_t)page * 16 + p % 16, at = (slot * groups + h / (heads / groups)) * d;
        double score = 0;

        if (page < 0 || (page + 1) * 16 > (double)shape[1].d[0]) continue;
        if (attr->window && (double)(p + attr->window) <= position) continue;
        for (size_t i = 0; i < d; ++i) score += in[0][(r * heads + h) * d + i] * in[1][at + i] / sqrt((double)d);
        total += exp(score);
        for (size_t i = 0; i < d; ++i) y[i] += exp(score) * in[2][at + i];
    }
    for (size_t i = 0; total > 0 && i < d; ++i) y[i] /= total;
}

static void kept(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t heads = (size_t)attr->heads, d = mf_shape_last(&shape[0]) / heads;

    for (size_t r = 0; r < mf_shape_rows(&shape[0]); ++r)
        for (size_t h = 0; h < heads; ++h) kept_head(attr, shape, in, r, h, out + (r * heads + h) * d);
}

/* Requests with pages here and there, and without some; rows one behind the other, blank, and alone. */
static void some_requests(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    const size_t pages = shape[3].d[1], all = shape[1].d[0] / 16;

    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[3]); ++i)
        in[3][i] = i == 1 || i % pages == pages - 1 ? -1 : (double)(3 * i % all);
    for (size_t r = 0; r < shape[4].d[0]; ++r) {
        in[4][2 * r] = r == 2 ? -1 : (double)(r / 4);
        in[4][2 * r + 1] = r == 9 ? -1 : (double)(r % 4 + 13 * (r / 4) + (r > 9 ? 17 : 0));
    }
}

/* How many tokens come before token @p i: those with larger logits, and the first of equal ones. */
static size_t rank_of(const double *x, size_t n, size_t i)
{
    size_t rank = 0;

    for (size_t j = 0; j < n; ++j) rank += x[j] > x[i] || (x[j] == x[i] && j < i);
    return rank;
}

/* The probability of each token, 0: it is left out. @p wish: temperature, top-p; @p most: top-k */
static void chances(const double *x, size_t n, const double *wish, double most, double *p)
{
    double top = x[0], limit, total = 0, sum = 0;

    for (size_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    for (size_t i = 0; i < n; ++i) {
        const double y = (x[i] - top) / wish[0];
        size_t above = 0; /* larger logits */

        for (size_t j = 0; j < n; ++j) above += x[j] > x[i];
        p[i] = (most > 0 && (double)above >= most) || isnan(y) ? 0 : exp(y);
        total += p[i];
    }
    limit = wish[1] * total;
    for (size_t rank = 0; rank < n; ++rank)
        for (size_t i = 0; i < n; ++i)
            if (rank_of(x, n, i) == rank) {
                const double own = p[i];

                if (rank > 0 && sum >= limit && wish[1] < 1) p[i] = 0;
                sum += own;
            }
}

/* Tokens of a row that stand in the pages of its request, before its position. */
static void penalise(const struct mf_shape shape[], double *const in[], size_t r, double *x)
{
    const double *number = in[2] + 5 * r, penalty = in[1][4 * r + 2];
    const size_t n = shape[0].d[1];

    for (size_t token = 0; token < n; ++token) {
        int came = 0;

        for (size_t i = 0; i < 16 * shape[4].d[1] && (double)i < number[2]; ++i) {
            const double page = in[4][(size_t)number[3] * shape[4].d[1] + i / 16];

            came |= page >= 0 && in[3][(size_t)page * 16 + i % 16] == (double)token;
        }
        if (came) x[token] = x[token] < 0 ? x[token] * penalty : x[token] / penalty;
    }
}

static void pick(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = shape[0].d[1];

    (void)attr;
    for (size_t r = 0; r < shape[0].d[0]; ++r) {
        const double *wish = in[1] + 4 * r, *number = in[2] + 5 * r;
        double x[256], p[256], total = 0, at;
        uint32_t four[4];
        size_t i = 0;

        for (size_t j = 0; j < n; ++j) x[j] = in[0][r * n + j];
        if (in[3]) penalise(shape, in, r, x);
        for (size_t j = 0; j < n; ++j) out[r] = rank_of(x, n, j) == 0 ? (double)j : out[r];
        if (wish[0] == 0) continue;
        chances(x, n, wish, number[0], p);
        for (size_t j = 0; j < n; ++j) total += p[j];
        mf_random4((uint64_t)(uint32_t)(int32_t)number[1] | (uint64_t)number[4] << 32, MF_STREAM_PICK,
                   (uint64_t)number[2], four);
        at = four[0] / 4294967296.0 * total;
        for (; i + 1 < n && at >= p[i]; ++i) at -= p[i];
        out[r] = (double)i;
    }
}

/* Temperatures, top-p, top-k, and equal logits. One temperature is infinite, and one logit of that row. */
static void some_wishes(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); i += 2) in[0][i] = floor(2 * in[0][i]);
    for (size_t r = 0; r < shape[0].d[0]; ++r) {
        in[1][4 * r] = r == 3 ? INFINITY : (double)(r % 4) / 2;
        in[1][4 * r + 1] = (double)(float)(r % 3 == 0 ? 1 : r % 3 == 1 ? 0.8 : 0.1);
        in[2][5 * r] = (double)(r % 5 * r % 7);
        in[2][5 * r + 1] = (double)(r / 2) - (r > 8 ? 7 : 0); /* a low half above 2^31 is negative */
        in[2][5 * r + 2] = (double)(1000 * r);
        in[2][5 * r + 4] = (double)(r % 4 == 3 ? r * r : 0);
        if (r == 3) in[0][r * shape[0].d[1] + 1] = -INFINITY;
    }
}

/* Penalties, and requests whose tokens come twice, are unknown, or have no page. */
static void some_pasts(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    const size_t pages = shape[4].d[1];

    some_wishes(attr, shape, in);
    for (size_t r = 0; r < shape[0].d[0]; ++r) {
        in[1][4 * r + 2] = (double)(r % 3 == 0 ? 1 : r % 3 == 1 ? 2 : 0.5F);
        in[2][5 * r + 2] = (double)(5 * r % 40);
        in[2][5 * r + 3] = (double)(r % shape[4].d[0]);
    }
    for (size_t i = 0; i < mf_shape_count(&shape[3]); ++i)
        in[3][i] = i % 11 == 3 ? -1 : i % 11 == 5 ? (double)shape[0].d[1] : (double)(7 * i * i % shape[0].d[1]);
    for (size_t i = 0; i < mf_shape_count(&shape[4]); ++i)
        in[4][i] = i % pages == 1 ? -1 : (double)(5 * i % (shape[3].d[0] / 16));
}

static void steady_linear(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t k = shape[1].d[1], m = shape[1].d[0];

    for (size_t i = 0; i < mf_shape_rows(&shape[0]) * m; ++i) {
        double sum = in[2] ? in[2][i % m] : 0;

        for (size_t j = 0; j < k; ++j) sum += in[0][i / m * k + j] * in[1][i % m * k + j] * (in[3] ? in[3][i % m] : 1);
        out[i] = net_act(attr->act, sum);
    }
}

/* Weights of 8 bits, of any sign, and scales. They are inputs 0 and 2 of gather, 1 and 3 of steady_linear. */
static void some_bytes(const struct mf_shape shape[], double *in[], int w)
{
    for (size_t i = 0; i < mf_shape_count(&shape[w]); ++i) in[w][i] = (double)(i * 37 % 255) - 127;
    for (size_t i = 0; i < mf_shape_count(&shape[w + 2]); ++i) in[w + 2][i] = (double)(i + 1) / 512;
}

static void some_table(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    some_bytes(shape, in, 0);
}

static void some_weights(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    some_bytes(shape, in, 1);
}

const struct net_case net_text[] = {
    {MF_OP_GATHER, gather, {0}, 1, .in = {F(2, 4, 21), {MF_I32, 1, {47}}}},
    {MF_OP_GATHER, gather, {0}, 1, .in = {F(2, 3, 16), {MF_I32, 2, {2, 3}}}},
    {MF_OP_GATHER, gather, {.wide = 1}, 0, .in = {F(2, 3, 16), {MF_I32, 2, {2, 3}}}},
    {MF_OP_GATHER, gather, {.wide = 1}, 0, .in = {{MF_I8, 2, {4, 21}}, {MF_I32, 1, {47}}, F(1, 4)}, .fill = some_table},
    {MF_OP_GATHER, gather, {.wide = 1}, 0, .in = {{MF_BF16, 2, {4, 24}}, {MF_I32, 1, {7}}}},
    {MF_OP_ROPE, rope, {.heads = 3}, 1, .in = {F(2, 7, 30), {MF_I32, 1, {7}}, F(1, 5)}},
    {MF_OP_ROPE, rope, {.heads = 2}, 1, .in = {F(3, 2, 3, 24), {MF_I32, 1, {6}}, F(1, 6)}, .fill = far},
    {MF_OP_ROPE, rope, {.heads = 1}, 1, .in = {F(2, 5, 280), {MF_I32, 1, {5}}, F(1, 140)}},
    {MF_OP_GATED, gated, {0}, 1, .in = {F(2, 7, 22)}},
    {MF_OP_GATED, gated, {0}, 1, .in = {F(3, 2, 5, 48)}},
    {MF_OP_KEEP, keep, {0}, 0, .in = {F(2, 7, 9), F(2, 16, 9), {MF_I32, 1, {7}}}, .fill = some_places},
    {MF_OP_KEEP,
     keep,
     {0},
     0,
     .in = {{MF_I32, 2, {6, 1}}, {MF_I32, 2, {20, 1}}, {MF_I32, 1, {6}}},
     .fill = some_places},
    {MF_OP_KEEP, keep, {0}, 0, .in = {F(2, 5, 24), F(2, 32, 24), {MF_I32, 1, {5}}}, .fill = some_places},
    {MF_OP_ATTENTION_KEPT,
     kept,
     {.heads = 4, .kv_heads = 2},
     0,
     .in = {F(2, 12, 36), F(2, 112, 18), F(2, 112, 18), {MF_I32, 2, {3, 4}}, {MF_I32, 2, {12, 2}}},
     .fill = some_requests},
    {MF_OP_ATTENTION_KEPT,
     kept,
     {.heads = 2, .window = 5},
     0,
     .in = {F(2, 12, 80), F(2, 48, 80), F(2, 48, 80), {MF_I32, 2, {3, 4}}, {MF_I32, 2, {12, 2}}},
     .fill = some_requests},
    {MF_OP_PICK, pick, {0}, 0, .in = {F(2, 18, 37), F(2, 18, 4), {MF_I32, 2, {18, 5}}}, .fill = some_wishes},
    {MF_OP_PICK, pick, {0}, 0, .in = {F(2, 3, 256), F(2, 3, 4), {MF_I32, 2, {3, 5}}}, .fill = some_wishes},
    {MF_OP_PICK,
     pick,
     {0},
     0,
     .in = {F(2, 24, 37), F(2, 24, 4), {MF_I32, 2, {24, 5}}, {MF_I32, 2, {112, 1}}, {MF_I32, 2, {3, 3}}},
     .fill = some_pasts},
    {MF_OP_STEADY_LINEAR, steady_linear, {.act = MF_ACT_SILU}, 0, .in = {F(2, 7, 21), F(2, 5, 21), F(1, 5)}},
    {MF_OP_STEADY_LINEAR, steady_linear, {0}, 0, .in = {F(3, 2, 3, 16), F(2, 1, 16)}},
    {MF_OP_STEADY_LINEAR, steady_linear, {0}, 0, .in = {F(2, 5, 24), {MF_BF16, 2, {6, 24}}, F(1, 6)}},
    {MF_OP_STEADY_LINEAR, steady_linear, {0}, 0, .in = {F(2, 3, 5), {MF_F16, 2, {3, 5}}, F(1, 3)}},
    {MF_OP_STEADY_LINEAR, steady_linear, {0}, 0, .in = {F(2, 1, 33), {MF_F16, 2, {31, 33}}}},
    {MF_OP_STEADY_LINEAR, steady_linear, {0}, 0, .in = {F(2, 2, 33), {MF_BF16, 2, {31, 33}}}},
    {MF_OP_STEADY_LINEAR,
     steady_linear,
     {.act = MF_ACT_RELU},
     0,
     .in = {F(2, 13, 24), {MF_I8, 2, {26, 24}}, F(1, 26), F(1, 26)},
     .fill = some_weights},
    {MF_OP_STEADY_LINEAR,
     steady_linear,
     {0},
     0,
     .in = {F(2, 2, 19), {MF_I8, 2, {9, 19}}, {0}, F(1, 9)},
     .fill = some_weights},
    {MF_OP_STEADY_LINEAR, steady_linear, {0}, 0, .in = {F(2, 1, 2050), F(2, 1, 2050)}},
    {MF_OP_RMS_NORM, rms_norm, {.epsilon = 1e-6}, 3, .in = {F(3, 2, 5, 21), F(1, 21)}},
    {MF_OP_RMS_NORM, rms_norm, {0}, 2, .in = {F(2, 9, 4), F(1, 4)}},
    {MF_OP_RMS_NORM, rms_norm, {.epsilon = 0.5}, 3, .in = {F(2, 5, 140), F(1, 140)}},
    {0}};

const struct net_case net_text_bad[] = {
    {MF_OP_GATHER, NULL, {0}, 0, .in = {F(1, 5), {MF_I32, 1, {3}}}},
    {MF_OP_GATHER, NULL, {0}, 0, .in = {F(2, 5, 6), F(1, 3)}},
    {MF_OP_GATHER, NULL, {0}, 0, .in = {{MF_I8, 2, {5, 6}}, {MF_I32, 1, {3}}, F(1, 5)}},
    {MF_OP_GATHER, NULL, {.wide = 1}, 0, .in = {{MF_I8, 2, {5, 6}}, {MF_I32, 1, {3}}}},
    {MF_OP_STEADY_LINEAR, NULL, {0}, 0, .in = {F(2, 5, 7), {MF_I8, 2, {4, 7}}, {0}, F(1, 3)}},
    {MF_OP_STEADY_LINEAR, NULL, {0}, 0, .in = {F(2, 5, 7), {MF_U8, 2, {4, 7}}}},
    {MF_OP_RMS_NORM, NULL, {0}, 0, .in = {F(2, 5, 6), F(1, 5)}},
    {MF_OP_ROPE, NULL, {.heads = 2}, 0, .in = {F(2, 5, 12), {MF_I32, 1, {5}}, F(1, 4)}},
    {MF_OP_ROPE, NULL, {.heads = 2}, 0, .in = {F(2, 5, 16), {MF_I32, 1, {4}}, F(1, 4)}},
    {MF_OP_GATED, NULL, {0}, 0, .in = {F(2, 5, 7)}},
    {MF_OP_STEADY_LINEAR, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 5, 8)}},
    {MF_OP_PICK, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 5, 3), {MF_I32, 2, {5, 5}}}},
    {MF_OP_PICK, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 5, 4), {MF_I32, 2, {5, 4}}}},
    {MF_OP_PICK, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 5, 4), {MF_I32, 2, {5, 5}}, F(2, 16, 1), {MF_I32, 2, {1, 1}}}},
    {MF_OP_PICK, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 5, 4), {MF_I32, 2, {5, 5}}, {MF_I32, 2, {16, 1}}}},
    {MF_OP_ATTENTION_KEPT,
     NULL,
     {.heads = 4, .kv_heads = 3},
     0,
     .in = {F(2, 5, 32), F(2, 16, 24), F(2, 16, 24), {MF_I32, 2, {1, 1}}, {MF_I32, 2, {5, 2}}}},
    {MF_OP_ATTENTION_KEPT,
     NULL,
     {.heads = 4},
     0,
     .in = {F(2, 5, 32), F(2, 16, 32), F(2, 16, 32), {MF_I32, 2, {1, 1}}, {MF_I32, 2, {4, 2}}}},
    {MF_OP_KEEP, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 16, 8), {MF_I32, 1, {5}}}},
    {MF_OP_KEEP, NULL, {0}, 0, .in = {F(2, 5, 8), F(2, 16, 8), {MF_I32, 1, {4}}}},
    {0}};
