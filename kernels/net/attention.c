/* attention: y = softmax(q k' / sqrt(d)) v, for every sample and head (Vaswani and others, "Attention is all you need",
 * 2017). in[0] has the columns q, k, v: [samples][rows][(heads + 2 groups) d], or q alone: [samples][rows][heads d].
 * Then in[1] has the columns k, v: [samples][keys][2 groups d]. y [samples][rows][heads d].
 *
 * attr.kv_heads: heads of keys and values, each for heads / groups heads of queries in a row; 0: as many as heads.
 * attr.causal: the last query sees all keys, each one before it one key less. in[2]: keys that are seen,
 * [samples][keys] u8, or none: all. A query that sees no key gives zeros. Saved: the logarithm of the sum of
 * exponentials of every row; backward computes the probabilities again. Their gradients need a row's sum of y dy. */
#include "kernels/net/attention.h"

#include "kernels/net/kinds.h"
#include "src/base/err.h"

/* The columns are whole heads. */
static int fits(const struct mf_attr *attr, const struct mf_shape *q, const struct mf_shape *kv)
{
    const int heads = attr->heads, groups = attr->kv_heads ? attr->kv_heads : heads;

    if (heads < 1 || groups < 1 || heads % groups != 0 || q->n != 3 || (kv->n != 0 && kv->n != 3)) return 0;
    if (kv->n == 0) return q->d[2] % (size_t)(heads + 2 * groups) == 0;
    return q->d[2] % (size_t)heads == 0 && kv->d[0] == q->d[0] &&
           kv->d[2] * (size_t)heads == 2 * (size_t)groups * q->d[2];
}

static int shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    struct mf_attention a;

    if (!fits(attr, &in[0], &in[1]))
        return mf_fail(MF_USAGE, "its %zu columns are not those of %d heads", in[0].n == 3 ? in[0].d[2] : 0,
                       attr->heads);
    a = mf_attention_of(attr, &in[0], &in[1]);
    if (attr->causal && a.keys < a.rows)
        return mf_fail(MF_USAGE, "it is causal and has %zu queries for %zu keys", a.rows, a.keys);
    if (in[2].n && (in[2].n != 2 || in[2].type != MF_U8 || in[2].d[0] != a.samples || in[2].d[1] != a.keys))
        return mf_fail(MF_USAGE, "its mask is not one of %zu samples with %zu keys", a.samples, a.keys);
    out[0] = in[0];
    out[0].d[2] = a.heads * a.d;
    out[1] = (struct mf_shape){MF_F32, 3, {a.samples, a.heads, a.rows}};
    return MF_OK;
}

static void reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 7;
    *out = 3;
}

static double operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    return 4.0 * (double)mf_shape_count(out) * (double)mf_attention_of(attr, &in[0], &in[1]).keys;
}

/* Forward has two products of matrices, and backward two: the probabilities again, and their gradient. Gradients of q,
 * k and v have one each. */
static double back(const struct mf_shape in[], unsigned wanted)
{
    const int packed = !in[1].n;

    return 1 + (wanted & 1 ? 0.5 : 0) + (wanted & 2 || packed ? 1 : 0);
}

const struct mf_op mf_op_attention = {
    .name = "attention", .shape = shape, .reads = reads, .operations = operations, .back = back, .adds = 3};
