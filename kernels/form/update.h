/* One step of the optimisers of networks, for one parameter.
 *
 * adamw (Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2), with momentum a and
 * second b:
 *
 *   m = a m + (1 - a) g,  v = b v + (1 - b) g^2,  p = p (1 - rate decay) - rate m' / (sqrt(v') + epsilon)
 *
 * with m' = m / (1 - a^t), v' = v / (1 - b^t) at step t. adam: g + decay p is the gradient, p keeps its size. sgd:
 * m = a m + g + decay p,  p = p - rate m. */
#ifndef MF_KERNELS_FORM_UPDATE_H
#define MF_KERNELS_FORM_UPDATE_H

#include <math.h>

#include "kernels/form/hd.h"
#include "kernels/op.h"

/** The constants of a step, the same for all parameters. */
struct mf_update {
    float keep, decay, rate, root, scale, momentum, epsilon;
    float first, second; /* 1 - a, 1 - b, subtracted in double: in single precision they are wrong by 1e-5 */
};

/** The learning rate of these parameters; @p number: [MF_NUMBERS] */
MF_HD double mf_update_rate(const struct mf_attr *attr, const double *number)
{
    return number[MF_NUMBER_LEARNING_RATE] * (attr->factor > 0 ? attr->factor : 1);
}

MF_HD double mf_update_decay(const struct mf_attr *attr, const double *number)
{
    return attr->plain ? 0 : number[MF_NUMBER_DECAY];
}

MF_HD struct mf_update mf_update_sgd_of(const struct mf_attr *attr, const double *number)
{
    struct mf_update s;

    s.keep = s.root = 1;
    s.decay = (float)mf_update_decay(attr, number);
    s.rate = (float)mf_update_rate(attr, number);
    s.scale = (float)number[MF_NUMBER_SCALE];
    s.momentum = (float)attr->momentum;
    s.first = (float)(1 - attr->momentum);
    s.second = (float)(1 - attr->second);
    s.epsilon = (float)attr->epsilon;
    return s;
}

MF_HD struct mf_update mf_update_adam_of(const struct mf_attr *attr, const double *number)
{
    struct mf_update s = mf_update_sgd_of(attr, number);

    s.rate = (float)(mf_update_rate(attr, number) / (1 - pow(attr->momentum, number[MF_NUMBER_STEP])));
    s.root = (float)(1 / sqrt(1 - pow(attr->second, number[MF_NUMBER_STEP])));
    return s;
}

MF_HD struct mf_update mf_update_adamw_of(const struct mf_attr *attr, const double *number)
{
    struct mf_update s = mf_update_adam_of(attr, number);

    s.keep = (float)(1 - mf_update_rate(attr, number) * mf_update_decay(attr, number));
    s.decay = 0;
    return s;
}

MF_HD void mf_update_adam(const struct mf_update *s, float *p, float g, float *m, float *v)
{
    const float slope = g * s->scale + s->decay * *p;

    *m += s->first * (slope - *m);
    *v += s->second * (slope * slope - *v);
    *p = *p * s->keep - s->rate * *m / (sqrtf(*v) * s->root + s->epsilon);
}

MF_HD void mf_update_sgd(const struct mf_update *s, float *p, float g, float *m)
{
    *m = s->momentum * *m + g * s->scale + s->decay * *p;
    *p -= s->rate * *m;
}

/** Without momentum. */
MF_HD void mf_update_plain(const struct mf_update *s, float *p, float g)
{
    *p -= s->rate * (g * s->scale + s->decay * *p);
}

/** A moving average comes nearer to a parameter. */
MF_HD void mf_update_average(const struct mf_update *s, float *e, float p) { *e += s->first * (p - *e); }

#endif
