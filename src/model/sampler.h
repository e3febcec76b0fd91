/* Makes samples of noise, by a network that removes noise. A sample follows from the seed and its
 * number, if the network treats the samples of a batch alike. All functions are local.
 * Source: T. Karras et al., arXiv:2206.00364, 2022: noise levels equation 5 with rho 7; steps algorithm 1, the second
 * order of Heun without added noise. */
#ifndef MF_MODEL_SAMPLER_H
#define MF_MODEL_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

/** Removes noise: @p x [n][count] with noise of level @p sigma -> @p clean [n][count]. Refuses as it likes. */
struct mf_denoiser {
    void *context;
    size_t count; /* numbers of a sample */
    int (*remove)(void *context, size_t n, double sigma, const float *x, float *clean);
};

struct mf_sampling {
    size_t steps; /* at least 1; a step but the last takes two looks of the network */
    uint64_t seed;
    double most; /* noise level at the start, above MF_NOISE_LEAST */
};

/** The noise level at @p position from 0, which is @p first, to 1, MF_NOISE_LEAST. */
double mf_sample_level(double first, double position);

/** The noise levels of so many steps, falling from @p first: @p sigma [steps + 1], of which the last is 0. */
void mf_sample_levels(size_t steps, double first, double *sigma);

/** Makes @p n samples from number @p first on. @p x [n][count] has deviation
 * MF_NOISE_DATA. The memory @p room [3][n][count] is the caller's. Refuses as @p by does. */
int mf_sample(const struct mf_denoiser *by, const struct mf_sampling *how, uint64_t first, size_t n, float *x,
              float *room);

#endif
