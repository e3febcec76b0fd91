/* The card of a model's file: a JSON object in its metadata that says how to build the model, and what it predicts.
 * All functions are local. */
#ifndef MF_TRAIN_CARD_H
#define MF_TRAIN_CARD_H

#include "io/dataset.h"
#include "src/base/json.h"

/** Refuses a card (MF_INPUT): it does not say @p key as this program writes it. */
int mf_card_refuse(const char *path, const char *key);

/** Up to @p n numbers of an array; how many there are. 0: one of them is no number. */
size_t mf_card_numbers(const struct mf_json *at, const char *key, size_t n, double *values);

/** Refuses (MF_INPUT) values that a network divides by, and cannot. */
int mf_card_divisors(const char *path, const char *key, size_t n, const double *values);

/** Reads an array of names, which tell outputs apart: MF_INPUT. The caller frees *name in every case. */
int mf_card_names(const char *path, const struct mf_json *card, const char *key, size_t *n, mf_name **name);

/** Puts an array of names. */
void mf_card_put_names(struct mf_json *card, const char *key, size_t n, const mf_name *name);

#endif
