/* The layers of a U-Net by name, and how it is told the level of the noise. All functions are local. */
#ifndef MF_MODEL_UNET_H
#define MF_MODEL_UNET_H

#include "src/model/registry.h"

/** A layer whose output may be looked at. */
struct mf_unet_tap {
    char name[32]; /* encoder_block_N, encoder_bottleneck, midblock or decoder_block_N, N from 0 */
    char node[48]; /* the value of a list, behind the name of the network if it has one */
    size_t channels, height, width;
};

/** All of them, in the order of execution, for images of @p height x @p width pixels. The last of the encoder is also
 * encoder_bottleneck, and the first of the decoder midblock. The caller frees *tap. Refuses with MF_USAGE as the
 * builder. */
int mf_unet_taps(const struct mf_arch_args *args, size_t height, size_t width, struct mf_unet_tap **tap, size_t *count);

/**
 * The row of a sample in mf_arch_denoise.noise: cos(c f_i), then sin(c f_i), f_i = 10000^(-i / (width / 2)).
 *
 * @param c_noise  ln(sigma) / 4
 * @param width    mf_arch_noise_width()
 * @param to       out [width]
 */
void mf_unet_noise(double c_noise, size_t width, float *to);

#endif
