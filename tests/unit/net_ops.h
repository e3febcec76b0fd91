/* Cases of the operations of networks, and their oracles. Each family has a file net_oracle_*.c with an array of cases,
 * which ends with a case without an oracle. */
#ifndef MF_TESTS_NET_OPS_H
#define MF_TESTS_NET_OPS_H

#include "kernels/net/ops.h"

/** Computes out[0], or the input that changes, from in, in double; labels are numbers, too. NaN: it is not written, and
 * its gradient not read. */
typedef void net_oracle(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out);

struct net_case {
    enum mf_op_id op;
    net_oracle *oracle;
    struct mf_attr attr;
    unsigned wanted; /* gradients */
    struct mf_shape in[MF_INS];
    net_oracle *second; /* computes out[1], where another operation reads it, or NULL */
    /** Sets inputs that may not be random. NaN: a number that nobody reads, and whose gradient nobody writes. */
    void (*fill)(const struct mf_attr *attr, const struct mf_shape shape[], double *in[]);
};

/** A shape of n axes of f32. */
#define F(n, ...)                  \
    {                              \
        MF_F32, n, { __VA_ARGS__ } \
    }

/** An activation (enum mf_act), in double. */
double net_act(int kind, double x);

/** [MF_NUMBERS] what all calls read */
extern double net_number[];

extern const struct net_case net_plain[];
extern const struct net_case net_attention[];
extern const struct net_case net_arrange[];
extern const struct net_case net_image[];
extern const struct net_case net_denoise[];
extern const struct net_case net_route[];
extern const struct net_case net_text[];

/** Shapes that a layer of experts, or an operation of language models, refuses. They end with a case without inputs. */
extern const struct net_case net_route_bad[];
extern const struct net_case net_text_bad[];

#endif
