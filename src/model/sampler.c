/* See sampler.h. */
#include "src/model/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/model/denoise.h"

double mf_sample_level(double first, double position)
{
    const double rho = 7, most = pow(first, 1 / rho), least = pow(MF_NOISE_LEAST, 1 / rho);

    return pow(most + position * (least - most), rho);
}

void mf_sample_levels(size_t steps, double first, double *sigma)
{
    for (size_t i = 0; i < steps; ++i)
        sigma[i] = mf_sample_level(first, steps > 1 ? (double)i / (double)(steps - 1) : 0);
    sigma[steps] = 0;
}

static void begin(const struct mf_denoiser *by, uint64_t seed, uint64_t first, size_t n, double sigma, float *x)
{
    for (size_t r = 0; r < n; ++r)
        for (size_t i = 0; i < by->count; ++i)
            x[r * by->count + i] =
                (float)(sigma * mf_random_normal(seed, MF_STREAM_MADE, (first + r) << 32 | (uint64_t)i));
}

/* x + (next - sigma) (x - clean) / sigma */
static void step(size_t count, double sigma, double next, const float *x, const float *clean, float *to)
{
    const double keep = next / sigma;

    for (size_t i = 0; i < count; ++i) to[i] = (float)(keep * (double)x[i] + (1 - keep) * (double)clean[i]);
}

/* The same by the mean of the slopes at both ends; @p end, @p end_clean: those of the step above. */
static void correct(size_t count, double sigma, double next, const float *clean, const float *end,
                    const float *end_clean, float *x)
{
    for (size_t i = 0; i < count; ++i) {
        const double slope = ((double)x[i] - (double)clean[i]) / sigma,
                     other = ((double)end[i] - (double)end_clean[i]) / next;

        x[i] = (float)((double)x[i] + (next - sigma) * (slope + other) / 2);
    }
}

int mf_sample(const struct mf_denoiser *by, const struct mf_sampling *how, uint64_t first, size_t n, float *x,
              float *room)
{
    const size_t count = n * by->count;
    float *clean = room, *end = clean + count, *end_clean = end + count;
    double *sigma = MF_MUST(calloc(how->steps + 1, sizeof *sigma), "noise levels");
    int rc = MF_OK;

    mf_sample_levels(how->steps, how->most, sigma);
    begin(by, how->seed, first, n, sigma[0], x);
    for (size_t i = 0; rc == MF_OK && i < how->steps; ++i) {
        rc = by->remove(by->context, n, sigma[i], x, clean);
        if (rc != MF_OK) break;
        step(count, sigma[i], sigma[i + 1], x, clean, sigma[i + 1] > 0 ? end : x);
        if (sigma[i + 1] == 0) break;
        rc = by->remove(by->context, n, sigma[i + 1], end, end_clean);
        if (rc == MF_OK) correct(count, sigma[i], sigma[i + 1], clean, end, end_clean, x);
    }
    free(sigma);
    return rc;
}
