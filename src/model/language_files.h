/* The weights of language models in files: each family has names of its own, with and without a prefix. All functions
 * are local. */
#ifndef MF_MODEL_LANGUAGE_FILES_H
#define MF_MODEL_LANGUAGE_FILES_H

#include "io/safetensors.h"
#include "src/model/language.h"
#include "src/model/weights.h"

/** Finds out if a file has a head of its own, which wins over a tied one (model->tied). Refuses with MF_INPUT a file
 * without the table of tokens, and a model far larger than its file. It also refuses BERT, which reads whole texts.
 * The file says the type of weights (model->type). */
int mf_decoder_settle(const struct mf_safetensors *file, struct mf_language *model);

/** The same of a model that reads whole texts (encoder.h). *pooler: the file has one. Refuses with MF_INPUT. */
int mf_encoder_settle(const struct mf_safetensors *file, struct mf_language *model, int *pooler);

/** Reads the configuration of a model's folder, of which weights need not be there (*weights). Where they are, it
 * settles. Refuses with MF_INPUT as mf_language_read(), mf_safetensors_open() and mf_decoder_settle(). */
int mf_decoder_read(const char *folder, struct mf_language *model, int *weights);

/** Reads the weights of a net (decoder.h, encoder.h) that last in its walk, by pieces. Where ranks share a weight
 * (mf_shard), no other part of its arrays is read. But rows of weights of 8 bits are read whole. Refuses with MF_INPUT
 * arrays that are missing, have other extents, or are unknown. It names up to ten, also of other ranks. MF_NUMERIC: the
 * first array that is not finite. */
int mf_language_load(const struct mf_language *model, const struct mf_weights *weights, struct mf_safetensors *file);

/** Names of arrays in files. */
enum { MF_LANGUAGE_STACKED = 3, MF_LANGUAGE_PREFIXES = 3, MF_LANGUAGE_NAME = 200 };

/** The arrays of files that make one weight of ours (decoder.h), with the ends of their names. Prefix 0 is that of the
 * model's class in transformers. Files may have others. A table may be the last product (@p in_head). Returns how many
 * arrays there are; 0: such names are not known. */
size_t mf_language_arrays(const struct mf_language *model, const char *weight, int in_head, size_t prefix,
                          char name[MF_LANGUAGE_STACKED][MF_LANGUAGE_NAME]);

#endif
