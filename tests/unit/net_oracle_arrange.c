/* Oracles and cases of products and of operations that move numbers. */
#include <math.h>

#include "tests/unit/net_ops.h"

static void mul(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) out[i] = in[0][i] * in[1][i % mf_shape_count(&shape[1])];
}

static void softmax(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = mf_shape_last(&shape[0]);

    (void)attr;
    for (size_t r = 0; r < mf_shape_rows(&shape[0]); ++r) {
        double sum = 0;

        for (size_t i = 0; i < n; ++i) sum += exp(in[0][r * n + i]);
        for (size_t i = 0; i < n; ++i) out[r * n + i] = exp(in[0][r * n + i]) / sum;
    }
}

/* A number of the matrices in a tensor, which may hold transposes. */
static double at(const double *x, const struct mf_shape *shape, int transposed, size_t s, size_t i, size_t j)
{
    const size_t *d = shape->d + shape->n - 2;

    return x[s * d[0] * d[1] + (transposed ? j * d[1] + i : i * d[1] + j)];
}

static void matmul(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t *a = shape[0].d + shape[0].n - 2, *b = shape[1].d + shape[1].n - 2;
    const int ta = (int)(attr->transposed & 1), tb = (int)(attr->transposed >> 1);
    const size_t m = a[ta], k = a[!ta], n = b[!tb];

    for (size_t s = 0; s < mf_shape_count(&shape[0]) / (m * k); ++s)
        for (size_t i = 0; i < m; ++i)
            for (size_t j = 0; j < n; ++j) {
                double sum = 0;

                for (size_t l = 0; l < k; ++l)
                    sum += at(in[0], &shape[0], ta, s, i, l) * at(in[1], &shape[1], tb, s, l, j);
                out[(s * m + i) * n + j] = sum;
            }
}

/* The place of number @p i along each axis; and the number at a place. */
static void places(const struct mf_shape *shape, size_t i, size_t place[MF_DIMS])
{
    for (int k = shape->n; k-- > 0; i /= shape->d[k]) place[k] = i % shape->d[k];
}

static size_t number(const struct mf_shape *shape, const size_t place[MF_DIMS])
{
    size_t i = 0;

    for (int k = 0; k < shape->n; ++k) i = i * shape->d[k] + place[k];
    return i;
}

static void concat(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    struct mf_shape all[MF_OUTS];
    size_t place[MF_DIMS];

    mf_ops[MF_OP_CONCAT]->shape(attr, shape, all);
    for (size_t i = 0; i < mf_shape_count(all); ++i) {
        int j = 0;

        places(all, i, place);
        for (; place[attr->axis] >= shape[j].d[attr->axis]; ++j) place[attr->axis] -= shape[j].d[attr->axis];
        out[i] = in[j][number(&shape[j], place)];
    }
}

static void slice(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    struct mf_shape part = shape[0];
    size_t place[MF_DIMS];

    part.d[attr->axis] = attr->count;
    for (size_t i = 0; i < mf_shape_count(&part); ++i) {
        places(&part, i, place);
        place[attr->axis] += attr->first;
        out[i] = in[0][number(&shape[0], place)];
    }
}

static void transpose(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    struct mf_shape turned = shape[0];
    size_t place[MF_DIMS], kept;

    turned.d[attr->axis] = shape[0].d[attr->other];
    turned.d[attr->other] = shape[0].d[attr->axis];
    for (size_t i = 0; i < mf_shape_count(&turned); ++i) {
        places(&turned, i, place);
        kept = place[attr->axis];
        place[attr->axis] = place[attr->other];
        place[attr->other] = kept;
        out[i] = in[0][number(&shape[0], place)];
    }
}

const struct net_case net_arrange[] = {
    {MF_OP_MUL, mul, {0}, 3, .in = {F(2, 5, 6), F(2, 5, 6)}},
    {MF_OP_MUL, mul, {0}, 3, .in = {F(3, 4, 3, 5), F(2, 3, 5)}},
    {MF_OP_MUL, mul, {0}, 2, .in = {F(3, 4, 3, 5), F(1, 5)}},
    {MF_OP_MUL, mul, {0}, 3, .in = {F(3, 3, 4, 8), F(1, 8)}},
    {MF_OP_SOFTMAX, softmax, {0}, 1, .in = {F(2, 5, 140)}},
    {MF_OP_SOFTMAX, softmax, {0}, 1, .in = {F(3, 2, 7, 19)}},
    {MF_OP_MATMUL, matmul, {0}, 3, .in = {F(2, 5, 7), F(2, 7, 4)}},
    {MF_OP_MATMUL, matmul, {.transposed = 1}, 3, .in = {F(3, 2, 7, 5), F(3, 2, 7, 4)}},
    {MF_OP_MATMUL, matmul, {.transposed = 2}, 3, .in = {F(3, 9, 5, 7), F(3, 9, 4, 7)}},
    {MF_OP_MATMUL, matmul, {.transposed = 3}, 3, .in = {F(4, 2, 2, 7, 5), F(4, 2, 2, 4, 7)}},
    {MF_OP_CONCAT, concat, {0}, 3, .in = {F(2, 3, 4), F(2, 2, 4)}},
    {MF_OP_CONCAT, concat, {.axis = 1}, 5, .in = {F(3, 3, 4, 2), F(3, 3, 1, 2), F(3, 3, 5, 2)}},
    {MF_OP_CONCAT,
     concat,
     {.axis = 2},
     31,
     .in = {F(3, 2, 3, 1), F(3, 2, 3, 2), F(3, 2, 3, 3), F(3, 2, 3, 4), F(3, 2, 3, 5)}},
    {MF_OP_CONCAT, concat, {.axis = 1}, 3, .in = {F(3, 3, 2, 8), F(3, 3, 3, 8)}},
    {MF_OP_SLICE, slice, {.axis = 1, .first = 1, .count = 2}, 1, .in = {F(3, 3, 4, 8)}},
    {MF_OP_SLICE, slice, {.axis = 0, .first = 2, .count = 3}, 1, .in = {F(2, 6, 5)}},
    {MF_OP_SLICE, slice, {.axis = 1, .first = 1, .count = 2}, 1, .in = {F(3, 3, 4, 5)}},
    {MF_OP_SLICE, slice, {.axis = 2, .first = 0, .count = 4}, 1, .in = {F(3, 3, 4, 5)}},
    {MF_OP_TRANSPOSE, transpose, {.axis = 0, .other = 1}, 1, .in = {F(2, 21, 34)}},
    {MF_OP_TRANSPOSE, transpose, {.axis = 0, .other = 1}, 1, .in = {F(3, 5, 6, 8)}},
    {MF_OP_TRANSPOSE, transpose, {.axis = 2, .other = 1}, 1, .in = {F(4, 2, 5, 18, 3)}},
    {MF_OP_TRANSPOSE, transpose, {.axis = 1, .other = 3}, 1, .in = {F(4, 2, 5, 3, 4)}},
    {0}};
