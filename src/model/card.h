/* The card of a model: how to build it, what it reads and what it returns. In a file it is a JSON object in the
 * metadata ("mesoforge") of model.safetensors. Lists of nodes are never stored. All functions are local. */
#ifndef MF_MODEL_CARD_H
#define MF_MODEL_CARD_H

#include "io/dataset.h"
#include "io/safetensors.h"
#include "src/base/json.h"
#include "src/model/denoise.h"
#include "src/model/registry.h"

/** What a model returns: numbers with names. */
struct mf_outputs {
    size_t count; /* 0: the card does not say */
    mf_name *name;
    int classes;              /* logits of classes; else real values */
    double *mean, *deviation; /* of values: y deviation + mean is in units of the dataset */
};

struct mf_model_card {
    char *path; /* of its file; NULL: it has none */
    struct mf_safetensors *file;
    struct mf_json *json; /* all that the file says */
    const struct mf_arch *arch;
    struct mf_arch_args args;
    struct mf_experts experts;  /* args.list, if it has any */
    size_t dims[4];             /* of a sample: {nz, ny, nx, channels of the network} */
    int phases;                 /* 0: images */
    const char *type;           /* of images: "uint8", "float32"; NULL: the file does not say */
    struct mf_channel *channel; /* [channels] of images, over the train split; NULL: unknown */
    struct mf_outputs outputs;
    struct mf_denoise *denoise; /* of a network that removes noise; NULL: it has outputs */
    int foreign;                /* the file has no card, and its makers have images of bytes */
};

/** Reads all but the weights. Refuses with MF_INPUT a file without a card, or with one that is not understood. The
 * caller ends with mf_model_card_close(), also after a refusal. */
int mf_model_card_open(const char *path, struct mf_model_card *card);

/** The same, also of a file without a card, which another program published (foreign.h): @p word is its network. A file
 * with a card must be of that architecture (MF_USAGE). NULL: as mf_model_card_open(). */
int mf_model_card_open_as(const char *path, const char *word, struct mf_model_card *card);
void mf_model_card_close(struct mf_model_card *card);

/** The object for a file. It leaves out outputs without names, and a type that is NULL. The caller frees. */
struct mf_json *mf_model_card_json(const struct mf_model_card *card);

/** Channel @p k of images. Where nothing is known its mean is 0, its deviation 1, and `least` is above `most`. */
struct mf_channel mf_model_card_channel(const struct mf_model_card *card, size_t k);

/** Are its samples images of bytes? Then those that it makes are, too. */
int mf_model_card_bytes(const struct mf_model_card *card);

/** Refuses with MF_INPUT a dataset whose samples the model cannot read. Otherwise the set takes the model's mean and
 * deviation of images. */
int mf_model_card_reads(const struct mf_model_card *card, struct mf_dataset *set);

/** Makes of numbers [n][outputs] of a network those in units of the dataset; of logits probabilities. */
void mf_outputs_units(const struct mf_outputs *outputs, size_t n, float *y);
void mf_outputs_shares(const struct mf_outputs *outputs, size_t n, float *y);

/** Puts outputs into an object, as mf_model_card_open() reads them. */
void mf_outputs_put(const struct mf_outputs *outputs, struct mf_json *to);

/** Returns @p rc of a network by the card's word. If that cannot be (MF_USAGE), it is a fault of the file: MF_INPUT.
 * The user names that of a foreign file. */
int mf_model_card_blame(const struct mf_model_card *card, int rc);

/** Refuses a file's card (MF_INPUT): it does not say @p key as this program writes it. */
int mf_model_card_refuse(const struct mf_model_card *card, const char *key);

#endif
