/* One step of Adam for one number: D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015, alg. 1. */
#ifndef MF_KERNELS_FORM_ADAM_H
#define MF_KERNELS_FORM_ADAM_H

#include <math.h>

#include "kernels/form/hd.h"

/** What is the same for all voxels of step t. */
struct mf_adam {
    float keep1, take1; /* beta1, 1 - beta1 */
    float keep2, take2; /* beta2, 1 - beta2 */
    float rate;         /* rate / (1 - beta1^t) */
    float root;         /* 1 / sqrt(1 - beta2^t) */
    float epsilon;
};

MF_HD struct mf_adam mf_adam_at(double rate, double beta1, double beta2, double epsilon, long t)
{
    struct mf_adam a;

    a.keep1 = (float)beta1;
    a.take1 = (float)(1.0 - beta1);
    a.keep2 = (float)beta2;
    a.take2 = (float)(1.0 - beta2);
    a.rate = (float)(rate / (1.0 - pow(beta1, (double)t)));
    a.root = (float)(1.0 / sqrt(1.0 - pow(beta2, (double)t)));
    a.epsilon = (float)epsilon;
    return a;
}

/** Updates the moments m, v with gradient g; returns the new x, not yet projected. */
MF_HD float mf_adam_step(struct mf_adam a, float g, float *m, float *v, float x)
{
    *m = a.keep1 * *m + a.take1 * g;
    *v = a.keep2 * *v + a.take2 * (g * g);
    return x - a.rate * *m / (sqrtf(*v) * a.root + a.epsilon);
}

#endif
