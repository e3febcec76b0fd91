/* A trained model on disk: model.safetensors with a JSON object in its metadata ("mesoforge") that says how to build
 * the model and what it reads and predicts. Lists of nodes are never stored. Not collective. */
#ifndef MF_TRAIN_SAVED_H
#define MF_TRAIN_SAVED_H

#include "io/safetensors.h"
#include "src/base/json.h"
#include "src/train/train.h"

/** What a file says of its model. */
struct mf_saved {
    char *path;
    struct mf_safetensors *file;
    struct mf_json *card; /* the object */
    const struct mf_model *model;
    struct mf_model_args args;
    struct mf_experts experts; /* args.list, if it has any */
    int classify;
    size_t dims[4]; /* of a sample: {nz, ny, nx, channels of the network} */
    int phases;     /* 0: images */
    size_t outputs;
    mf_name *name;              /* [outputs] of classes or columns */
    struct mf_units units;      /* of columns */
    const char *type;           /* of images: "uint8", "float32"; NULL: the file does not say */
    struct mf_channel *channel; /* [channels] of images, over the train split */
};

/** The object of a trainer's model. @p results: put into it and taken over; NULL: none. The caller frees it. */
struct mf_json *mf_saved_card(const struct mf_trainer *trainer, struct mf_json *results);

/** Rank 0 writes weights and card. Collective; MF_OUTPUT (agreed). */
int mf_saved_write(const struct mf_trainer *trainer, const char *path, const struct mf_json *card);

/** Reads everything but the weights. Refuses with MF_INPUT a file without a card, or with one that is not understood.
 * mf_saved_close() frees, also after a refusal. */
int mf_saved_open(const char *path, struct mf_saved *saved);
void mf_saved_close(struct mf_saved *saved);

/** Does the model predict what a training on the set learns: the same classes or columns, in the same order? */
int mf_saved_predicts(const struct mf_saved *saved, const struct mf_dataset *set, const struct mf_train_opts *opts);

/** Refuses with MF_INPUT a dataset whose samples the model cannot read. Otherwise the set takes the model's mean and
 * deviation of images. */
int mf_saved_reads(const struct mf_saved *saved, struct mf_dataset *set);

/** As mf_saved_reads(), and finds classes and columns by name. The set gets the model's classes in its order. Samples
 * of a class that the model does not know lose their label, which rank 0 says. Refuses a set that has none of the
 * classes, or not all columns. Sets the model and its columns in @p opts. @p column [outputs]: room of the caller for
 * these. */
int mf_saved_fit(const struct mf_saved *saved, struct mf_dataset *set, struct mf_train_opts *opts, size_t *column);

/** Gives an open trainer the model's units and weights, and its experts: MF_INPUT, MF_NUMERIC, MF_MEMORY. Collective
 * where these are other ones. */
int mf_saved_load(const struct mf_saved *saved, struct mf_trainer *trainer);

#endif
