/* Weights that another program published, without a card: U-Nets of ADM with the factors of EDM (denoise.h). Their
 * images are square and have one byte for a channel, 0 to 255. */
#ifndef MF_MODEL_FOREIGN_H
#define MF_MODEL_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

#include "io/safetensors.h"
#include "src/base/json.h"

/** The card of such a file, for the network of a word (mf_arch_read()). Extents, channels and classes are those of its
 * arrays. Classes have their numbers as names, and are equally frequent. Refuses with MF_USAGE a word of another kind
 * of network, and with MF_INPUT other arrays. The caller frees *card. Local. */
int mf_foreign_card(const struct mf_safetensors *file, const char *word, struct mf_json **card);

/** Makes bytes of a made sample @p x [count], as these programs do: (x + 1) 127.5, cut to 0 to 255, and truncated. */
void mf_foreign_bytes(size_t count, const float *x, uint8_t *to);

#endif
