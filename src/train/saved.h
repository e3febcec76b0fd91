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
    const struct mf_arch *arch;
    struct mf_arch_args args;
    struct mf_experts experts;  /* args.list, if it has any */
    struct mf_task task;        /* what it predicts; closed: mf_saved_open_network() has not read it */
    size_t dims[4];             /* of a sample: {nz, ny, nx, channels of the network} */
    int phases;                 /* 0: images */
    const char *type;           /* of images: "uint8", "float32"; NULL: the file does not say */
    struct mf_channel *channel; /* [channels] of images, over the train split */
};

/** The object of a trainer's model. @p results: put into it and taken over; NULL: none. The caller frees it. */
struct mf_json *mf_saved_card(const struct mf_trainer *trainer, struct mf_json *results);

/** Rank 0 writes weights and card. Collective; MF_OUTPUT (agreed). */
int mf_saved_write(const struct mf_trainer *trainer, const char *path, const struct mf_json *card);

/** Reads everything but the weights; the second one not what is predicted. Refuses with MF_INPUT a file without a card,
 * or with one that is not understood. mf_saved_close() frees, also after a refusal. */
int mf_saved_open(const char *path, struct mf_saved *saved);
int mf_saved_open_network(const char *path, struct mf_saved *saved);
void mf_saved_close(struct mf_saved *saved);

/** Refuses with MF_INPUT a dataset whose samples the model cannot read. Otherwise the set takes the model's mean and
 * deviation of images. */
int mf_saved_reads(const struct mf_saved *saved, struct mf_dataset *set);

/** As mf_saved_reads(), and finds the model's outputs in the set by name. The set gets the model's classes in its
 * order. Samples of a class that the model does not know lose their label, which rank 0 says. Refuses a set that has
 * none of the classes, or not all columns. */
int mf_saved_fit(struct mf_saved *saved, struct mf_dataset *set);

/** Options of a trainer with this network and its task, for at most @p batch samples at a time. It does not train. */
struct mf_train_opts mf_saved_opts(const struct mf_saved *saved, size_t batch);

/** Gives an open trainer the model's weights, and its experts: MF_INPUT, MF_NUMERIC, MF_MEMORY. Collective where these
 * are other ones. */
int mf_saved_load(const struct mf_saved *saved, struct mf_trainer *trainer);

#endif
