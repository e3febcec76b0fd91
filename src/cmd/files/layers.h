/* Layers of a network that makes samples, by the names of an option: --layers NAME,... All functions are local. */
#ifndef MF_CMD_FILES_LAYERS_H
#define MF_CMD_FILES_LAYERS_H

#include "src/base/opt.h"
#include "src/model/card.h"
#include "src/model/unet.h"

/** Is it "list" alone? */
int mf_layers_is_list(const struct mf_texts *words);

/** The layers that @p words of option @p option name, in the order of execution; "none": none. Refuses with MF_USAGE a
 * layer that the model has not, one that is named twice, and more than MF_WRITER_ARRAYS. The caller frees *layer in
 * every case. */
int mf_layers_find(const struct mf_model_card *card, const char *option, const struct mf_texts *words,
                   struct mf_unet_tap **layer, size_t *count);

/** Prints all layers with their extents, as text or (@p json) as an object. MF_OUTPUT. */
int mf_layers_tell(const struct mf_model_card *card, int json);

#endif
