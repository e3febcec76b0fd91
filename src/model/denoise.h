/* Facts of a network that removes noise. They are the scale of samples, factors of noise, and conditions of
 * samples that are made. Let x = x0 + sigma z be a sample with noise. The network F sees c_in x, and
 * c_skip x + c_out F is its estimate of x0.
 * Source: T. Karras et al., "Elucidating the design space of diffusion-based generative models", arXiv:2206.00364,
 * 2022, table 1. All functions are local. */
#ifndef MF_MODEL_DENOISE_H
#define MF_MODEL_DENOISE_H

#include <stdint.h>

#include "io/dataset.h"
#include "src/base/json.h"

/** Deviation to which samples are scaled; [MF_NOISE_LEAST, MF_NOISE_MOST] are the noise levels between which samples
 * are made. */
#define MF_NOISE_DATA  0.5
#define MF_NOISE_LEAST 0.002
#define MF_NOISE_MOST  80.0

/** Names of the inputs of such a network [batch][..], which the host fills. */
#define MF_DENOISE_X         "x"
#define MF_DENOISE_LEVEL     "level"
#define MF_DENOISE_CONDITION "condition"

/** Factors at a noise level above 0. */
struct mf_noise_level {
    double skip, out, in, embedded; /* embedded: what the network gets of the level, ln(sigma) / 4 */
};
struct mf_noise_level mf_noise_level(double sigma);

/** Replaces the network's output F [count] by the estimate of x0, which is c_skip x + c_out F. @p x [count]. */
void mf_denoise_estimate(const struct mf_noise_level *level, size_t count, const float *x, float *f);

/** Conditions: a class, and columns of real values. */
struct mf_denoise {
    double mean, deviation; /* of ln(sigma) in training */
    double dropped;         /* share of samples that learn without a condition */
    double start;           /* noise level from which it makes a sample in one step; 0: it needs several */
    size_t classes;         /* 0: none is a condition */
    mf_name *class_name;    /* [classes] */
    size_t columns;
    mf_name *column;                        /* [columns] */
    double *column_mean, *column_deviation; /* [columns] of the train split */
    /* conditions of samples of the train split, so that made samples have the same ones */
    size_t rows;
    int32_t *label; /* [rows] -1: none; NULL: no classes */
    float *value;   /* [rows][columns] */
};

/** Takes arrays for so many classes, columns and rows. mf_denoise_close() frees; all zero is accepted. */
void mf_denoise_take(struct mf_denoise *denoise, size_t classes, size_t columns, size_t rows);
void mf_denoise_close(struct mf_denoise *denoise);

/** A copy; the caller closes it. */
struct mf_denoise mf_denoise_copy(const struct mf_denoise *denoise);

/** Numbers of a condition as a network reads it. Each class has one. Each column has its value in units of the
 * train split, and 1. All are 0 without a condition. */
size_t mf_denoise_width(const struct mf_denoise *denoise);

/** Writes a condition @p to [width]. @p label: -1: no class. @p value [columns]: NULL: no values; NAN: not this one. */
void mf_denoise_condition(const struct mf_denoise *denoise, int32_t label, const float *value, float *to);

/** Draws the condition of made sample number @p i from those of the train split. A value [columns] that is not known
 * is NAN. @p label: the wanted class; -1: any. If the split has samples of it, the condition is of one of them.
 * Returns the class; -1: none.
 */
int32_t mf_denoise_draw(const struct mf_denoise *denoise, uint64_t seed, uint64_t i, int32_t label, float *value);

/** The object of a model's card, and back. MF_INPUT: @p key is wrong. The caller closes in every case. */
struct mf_json *mf_denoise_json(const struct mf_denoise *denoise);
int mf_denoise_read(const struct mf_json *json, struct mf_denoise *denoise, const char **key);

/** Scales the input of a network [count] (struct mf_batch) to samples of deviation MF_NOISE_DATA. @p phases: as in
 * struct mf_dataset. */
void mf_denoise_scale(int phases, size_t count, const float *input, float *x);

/** The way back, from one scaled sample [voxels][channels of the network]. Phases have one byte each: the sign, or the
 * largest channel. A @p soft sample is of a generator of one step. Its two phases keep the volume fraction of the grey
 * image: the largest values are phase 1. The sign would take soft borders from the smaller phase. Values of an image
 * are (x / MF_NOISE_DATA) deviation + mean [voxels][channels]. MF_MEMORY. */
int mf_denoise_phases(int phases, int soft, size_t voxels, const float *x, uint8_t *to);
void mf_denoise_values(size_t voxels, size_t channels, const double *mean, const double *deviation, const float *x,
                       float *to);

/** The same as bytes: the nearest whole numbers, cut to 0 to 255. */
void mf_denoise_bytes(size_t voxels, size_t channels, const double *mean, const double *deviation, const float *x,
                      uint8_t *to);

#endif
