/* The settings that a published guide to multi-GPU training takes from tables, by the memory of the smallest GPU. They
 * do not depend on the model. Local. */
#ifndef MF_TRAIN_TABLE_H
#define MF_TRAIN_TABLE_H

#include <stdio.h>

#include "src/plan/hardware.h"

struct mf_train_table {
    size_t gpus;           /* 0: cores */
    double memory, least;  /* bytes of all of them; of the smallest */
    size_t batch, passes;  /* per GPU; passes of a step */
    size_t effective;      /* samples of a step */
    size_t readers;        /* of a node */
    int half, zero, again; /* 16 bits; stage; activations are computed again */
};

/** The settings for a machine, or for the first @p ranks of its GPUs (0: all). */
void mf_train_table_of(const struct mf_hardware *hardware, size_t ranks, struct mf_train_table *table);

/** Prints them as the guide does, in YAML. */
void mf_train_table_print(FILE *to, const struct mf_train_table *table);

/** Prints number and memory of the GPUs, and the settings, as lines of a report. */
void mf_train_table_report(FILE *to, const struct mf_train_table *table);

/** The guide's table with its five rows, for so many GPUs. */
void mf_train_table_rows(FILE *to, size_t gpus);

/** The settings as an object; the caller frees it. */
struct mf_json *mf_train_table_json(const struct mf_train_table *table);

#endif
