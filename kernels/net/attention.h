/* Where the operands of attention stand: shared by the back ends. See attention.c. */
#ifndef MF_KERNELS_NET_ATTENTION_H
#define MF_KERNELS_NET_ATTENTION_H

#include <math.h>

#include "kernels/form/hd.h"
#include "kernels/op.h"

struct mf_attention {
    size_t samples, rows, keys; /* rows: queries of a sample */
    size_t heads, groups, d;    /* heads of queries; heads of keys and values; numbers of a head */
    size_t q_step, k_step;      /* numbers from one query, or key, to the next */
    size_t k_first, v_first;    /* where the first head of keys, and of values, begins */
    int causal;
    float scale; /* of the scores: 1 / sqrt(d) */
};

/** @p q: of in[0]; @p kv: of in[1]. The shapes fit (mf_op.shape). */
static inline struct mf_attention mf_attention_of(const struct mf_attr *attr, const struct mf_shape *q,
                                                  const struct mf_shape *kv)
{
    const size_t heads = (size_t)attr->heads, groups = attr->kv_heads ? (size_t)attr->kv_heads : heads;
    const int packed = kv->n == 0;
    const size_t d = q->d[2] / (packed ? heads + 2 * groups : heads), keys = packed ? q->d[1] : kv->d[1];

    return (struct mf_attention){.samples = q->d[0],
                                 .rows = q->d[1],
                                 .keys = keys,
                                 .heads = heads,
                                 .groups = groups,
                                 .d = d,
                                 .q_step = q->d[2],
                                 .k_step = packed ? q->d[2] : kv->d[2],
                                 .k_first = packed ? heads * d : 0,
                                 .v_first = (packed ? heads : 0) * d + groups * d,
                                 .causal = attr->causal,
                                 .scale = 1 / sqrtf((float)d)};
}

/** The keys that query @p row sees are the first so many. The last query sees all. */
MF_HD size_t mf_attention_sees(const struct mf_attention *a, size_t row)
{
    return a->causal ? row + 1 + a->keys - a->rows : a->keys;
}

#endif
