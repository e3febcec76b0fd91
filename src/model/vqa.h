/* vqa: a network that answers questions about images. It has an image tower, a text encoder of the kind of BERT (J.
 * Devlin et al., "BERT", 2018), and attention between what both find (A. Vaswani et al., "Attention is all you need",
 * 2017). mf_arch_ask() of registry.h has its inputs and outputs.
 *
 * Rule: names of the towers' weights begin with "image." and "text.". Behind that they are those of the cnn, and of
 * transformers. */
#ifndef MF_MODEL_VQA_H
#define MF_MODEL_VQA_H

#include "src/model/registry.h"

/** A network that reads the image. Functions are local. */
struct mf_image_tower {
    /** x [n][1][ny][nx][c] -> its last feature map [n][rows][columns][channels]. Refuses by the builder, MF_USAGE. */
    int (*map)(struct mf_build *build, int x, const struct mf_arch_args *args);
    /** An extent of that map, for one of the image. */
    size_t (*extent)(size_t extent, const struct mf_arch_args *args);
};

/** [MF_IMAGES] */
extern const struct mf_image_tower mf_image_towers[];

/** The text encoder: @p in->tokens -> [n][length][text_width]. @p words: rows of words alone, of the
 * same shape. Refuses, by the builder, a text that is too long. */
int mf_vqa_text_tower(struct mf_build *build, const struct mf_arch_ask *in, const struct mf_arch_args *args,
                      int *words);

/** Dropout of x [n each][..], rows of questions. They draw as their images do, so that any ranks draw the same. */
int mf_vqa_dropout(struct mf_build *build, const struct mf_arch_ask *in, const char *name, int x, double rate);

#endif
