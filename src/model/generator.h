/* Makes samples by a model that removes noise (train unet). Samples are made in passes of a fixed size: sample i is row
 * i % pass of pass i / pass. So it follows from the weights, the seed, its number, its condition and the size of a pass
 * alone. All functions are local. */
#ifndef MF_MODEL_GENERATOR_H
#define MF_MODEL_GENERATOR_H

#include "src/model/model.h"
#include "src/model/sampler.h"
#include "src/model/unet.h"

struct mf_generator;

/** Reads the card of a model that makes samples. Refuses with MF_INPUT one that does not remove noise; else as
 * mf_model_card_open_as(). The caller closes in every case. */
int mf_generator_card(const char *path, const char *word, struct mf_model_card *card);

/** How a generator is opened. Its layers are those of mf_unet_taps(). */
struct mf_generator_form {
    const char *word;  /* as of mf_model_card_open_as() */
    size_t pass;       /* samples of a pass */
    enum mf_type type; /* as of struct mf_model_wish */
    int guided;        /* the network looks twice, with conditions and without: wish->guidance counts */
    size_t layers;     /* whose activations can be read after a pass; samples have the same bits */
    const struct mf_unet_tap *layer;
    size_t masks; /* in whose place mf_generator_mask() puts others */
    const struct mf_unet_tap *mask;
};

/** Opens the model of a file. @p queue outlives it. Refuses as mf_generator_card() and mf_model_open_as(). *generator
 * is then NULL. */
int mf_generator_open(const char *path, const struct mf_generator_form *form, struct mf_queue *queue,
                      struct mf_generator **generator);

/** The needs of mf_generator_open(), which takes exactly these bytes from the queue's arenas: see mf_model_foresee().
 * Work is that of one look of the network at a pass. */
int mf_generator_foresee(const struct mf_model_card *card, const struct mf_generator_form *form, struct mf_queue *queue,
                         struct mf_model_needs *needs);

/** NULL is accepted. */
void mf_generator_close(struct mf_generator *generator);

/** A request for samples. */
struct mf_generator_wish {
    struct mf_sampling sampling;
    double guidance;   /* of guided generators: g in D0 + g (D - D0), where D0 knows no condition
                        (J. Ho, T. Salimans, arXiv:2207.12598, 2022) */
    size_t mask_steps; /* steps in which masks are there, from the first one on; 0: in all */
    size_t per_class;  /* sample i has class i / per_class, modulo the classes; 0: classes of the train split */
    int32_t label;     /* of all; -1: the above */
    float *value;      /* [columns] of all; NAN: values of the train split. NULL: all are NAN */
};

/** Gives the next pass activations [channels][height][width] for row @p row, in the place of layer form->mask[k]. */
void mf_generator_mask(struct mf_generator *generator, size_t k, size_t row, const float *values);

/** Makes all samples of a pass. Phases have one byte, @p x [pass][voxels]. Values are float, [pass][voxels][channels],
 * or bytes: mf_model_card_bytes(). Their conditions are @p label [pass] and @p value [pass][columns]. Refuses with
 * MF_NUMERIC. */
int mf_generator_make(struct mf_generator *generator, const struct mf_generator_wish *wish, uint64_t number, void *x,
                      int32_t *label, float *value);

/** Copies activations of layer form->layer[k] to @p to [pass][channels][height][width]. They are of the
 * last pass, and of the last time that the network looked at its samples. A masked layer gives its own. */
void mf_generator_layer(struct mf_generator *generator, size_t k, float *to);

#endif
