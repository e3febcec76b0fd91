/* A map is of the parts of a model, and of the devices of a machine. For the verbs map and deploy. */
#ifndef MF_CMD_MAP_MODEL_H
#define MF_CMD_MAP_MODEL_H

#include "src/cmd/plan.h"
#include "src/model/language.h"
#include "src/model/model.h"
#include "src/place/devices.h"
#include "src/place/guess.h"
#include "src/place/strategy.h"

struct mf_map_opts {
    struct mf_common common;
    struct mf_plan_wish wish; /* hardware */
    const char *strategy, *map, *algo, *estimate, *policy, *prefer, *dtype;
    struct mf_texts devices, keep;
    int check, recommend, tp_config, tune, lenient;
    long context, requests, layers;
};

struct mf_mapped {
    const char *name; /* file, folder, or the name of --estimate */
    int is_language, is_guess;
    struct mf_language language;
    struct mf_model_card card;
    struct mf_guess guess;
    size_t context, requests; /* that the caches and activations are for */
    size_t rows;              /* of the pass that operations and boundaries are told of */
    struct mf_parts parts;
    struct mf_hardware hardware;
    struct mf_place_devices all, devices; /* of the machine; chosen ones */
};

/** Finds the machine, its devices and the parts. No memory is taken for weights. Refuses with MF_INPUT, MF_USAGE,
 * MF_DEVICE. The caller ends with mf_mapped_close(), also after a refusal. Local. */
int mf_mapped_open(const struct mf_session *session, struct mf_map_opts *o, const char *name, struct mf_mapped *mapped);
void mf_mapped_close(struct mf_mapped *mapped);

/** Takes a device for each rank: those that were chosen, if there are as many, or the cores of ranks. The latter have
 * the names rank:0, rank:1, .. and equal shares of the host memory. Local. */
void mf_mapped_take_ranks(struct mf_mapped *mapped, size_t ranks);

/** The model of a language model, whose modules have names; NULL: it is none. */
static inline const struct mf_language *mf_mapped_language(const struct mf_mapped *m)
{
    return m->is_language ? &m->language : NULL;
}

#endif
