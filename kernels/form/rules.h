/* One step of Keras 2.15's first-order optimisers for one number (Adam: D. P. Kingma, J. Ba, "Adam: a method for
 * stochastic optimization", 2015, alg. 1, with epsilon beside the corrected root). */
#ifndef MF_KERNELS_FORM_RULES_H
#define MF_KERNELS_FORM_RULES_H

#include <math.h>

#include "kernels/form/hd.h"

enum mf_rule_kind {
    MF_RULE_ADAM,
    MF_RULE_ADAMAX,
    MF_RULE_NADAM,
    MF_RULE_ADADELTA,
    MF_RULE_ADAGRAD,
    MF_RULE_RMSPROP,
    MF_RULE_SGD,
    MF_RULES
};

struct mf_rule_opts {
    double rate, beta1, beta2, rho, momentum, epsilon;
};

/** The constants of step t, the same for all voxels. */
struct mf_rule {
    enum mf_rule_kind kind;
    float keep1, take1; /* of m: beta1, 1 - beta1; momentum, - */
    float keep2, take2; /* of v: beta2, 1 - beta2; rho, 1 - rho */
    float rate;         /* factor of m (SGD, RMSprop, Adagrad: of g) */
    float ahead;        /* Nadam: factor of g */
    float root;         /* 1 / sqrt(1 - beta2^t) */
    float epsilon;
};

/** Initial value of v (that of m is 0); mf_rule_has_m() and mf_rule_has_v() say which of the two a rule has. */
MF_HD float mf_rule_first_v(enum mf_rule_kind kind) { return kind == MF_RULE_ADAGRAD ? 0.1f : 0.0f; }

MF_HD int mf_rule_has_m(enum mf_rule_kind kind, double momentum)
{
    if (kind == MF_RULE_RMSPROP || kind == MF_RULE_SGD) return momentum > 0;
    return kind != MF_RULE_ADAGRAD;
}

MF_HD int mf_rule_has_v(enum mf_rule_kind kind) { return kind != MF_RULE_SGD; }

/** Nadam's rates at step t: the momentum follows the schedule u_i = beta1 (1 - 0.96^i / 2). */
MF_HD void mf_rule_nadam(struct mf_rule *a, double rate, double beta1, long t)
{
    double product = 1, decay = 1, u = 0, next;

    for (long i = 1; i <= t; ++i) {
        decay *= 0.96;
        u = beta1 * (1 - 0.5 * decay);
        product *= u;
    }
    next = beta1 * (1 - 0.5 * decay * 0.96);
    a->rate = (float)(rate * next / (1 - product * next));
    a->ahead = (float)(rate * (1 - u) / (1 - product));
}

/** The rule at step @p t, from 1. */
MF_HD struct mf_rule mf_rule_at(enum mf_rule_kind kind, const struct mf_rule_opts *o, long t)
{
    const int plain = kind == MF_RULE_RMSPROP || kind == MF_RULE_SGD, slow = kind == MF_RULE_ADADELTA;
    struct mf_rule a;

    a.kind = kind;
    a.keep1 = (float)(plain ? o->momentum : o->beta1);
    a.take1 = (float)(1.0 - o->beta1);
    a.keep2 = (float)(plain || slow ? o->rho : o->beta2);
    a.take2 = (float)(1.0 - (plain || slow ? o->rho : o->beta2));
    a.rate = (float)o->rate;
    a.ahead = 0;
    a.root = (float)(1.0 / sqrt(1.0 - pow(o->beta2, (double)t)));
    a.epsilon = (float)o->epsilon;
    if (kind == MF_RULE_ADAM || kind == MF_RULE_ADAMAX) a.rate = (float)(o->rate / (1.0 - pow(o->beta1, (double)t)));
    if (kind == MF_RULE_NADAM) mf_rule_nadam(&a, o->rate, o->beta1, t);
    return a;
}

MF_HD float mf_rule_adam(struct mf_rule a, float g, float *m, float *v, float x)
{
    *m = a.keep1 * *m + a.take1 * g;
    *v = a.keep2 * *v + a.take2 * (g * g);
    return x - a.rate * *m / (sqrtf(*v) * a.root + a.epsilon);
}

MF_HD float mf_rule_adamax(struct mf_rule a, float g, float *m, float *v, float x)
{
    const float old = a.keep2 * *v, size = fabsf(g);

    *m = a.keep1 * *m + a.take1 * g;
    *v = old > size ? old : size;
    return x - a.rate * *m / (*v + a.epsilon);
}

MF_HD float mf_rule_nadam_step(struct mf_rule a, float g, float *m, float *v, float x)
{
    *m = a.keep1 * *m + a.take1 * g;
    *v = a.keep2 * *v + a.take2 * (g * g);
    return x - (a.rate * *m + a.ahead * g) / (sqrtf(*v) * a.root + a.epsilon);
}

MF_HD float mf_rule_adadelta(struct mf_rule a, float g, float *m, float *v, float x)
{
    float d;

    *v = a.keep2 * *v + a.take2 * (g * g);
    d = sqrtf(*m + a.epsilon) / sqrtf(*v + a.epsilon) * g;
    *m = a.keep2 * *m + a.take2 * (d * d);
    return x - a.rate * d;
}

MF_HD float mf_rule_adagrad(struct mf_rule a, float g, float *v, float x)
{
    *v += g * g;
    return x - a.rate * g / sqrtf(*v + a.epsilon);
}

/** SGD: v is unused; without momentum m is unused too. */
MF_HD float mf_rule_momentum(struct mf_rule a, float step, float *m, float x)
{
    if (a.keep1 > 0) step = *m = a.keep1 * *m + step;
    return x - step;
}

MF_HD float mf_rule_rmsprop(struct mf_rule a, float g, float *m, float *v, float x)
{
    *v = a.keep2 * *v + a.take2 * (g * g);
    return mf_rule_momentum(a, a.rate * g / sqrtf(*v + a.epsilon), m, x);
}

/** Updates the state of rule @p kind (that of @p a) with gradient g. Returns the new x, not yet projected. */
MF_HD float mf_rule_step(enum mf_rule_kind kind, struct mf_rule a, float g, float *m, float *v, float x)
{
    switch (kind) {
    case MF_RULE_ADAM: return mf_rule_adam(a, g, m, v, x);
    case MF_RULE_ADAMAX: return mf_rule_adamax(a, g, m, v, x);
    case MF_RULE_NADAM: return mf_rule_nadam_step(a, g, m, v, x);
    case MF_RULE_ADADELTA: return mf_rule_adadelta(a, g, m, v, x);
    case MF_RULE_ADAGRAD: return mf_rule_adagrad(a, g, v, x);
    case MF_RULE_RMSPROP: return mf_rule_rmsprop(a, g, m, v, x);
    default: return mf_rule_momentum(a, a.rate * g, m, x);
    }
}

#endif
