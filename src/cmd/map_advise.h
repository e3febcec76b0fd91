/* Advice about devices, without a map. For the verbs map and deploy. */
#ifndef MF_CMD_MAP_ADVISE_H
#define MF_CMD_MAP_ADVISE_H

#include "src/cmd/map_model.h"

/** Which devices a model should have, and why. */
struct mf_map_advice {
    const char *kind;                  /* "single", "multi" (all chosen GPUs), or "cpu" */
    const char *strategy;              /* of the map for several; NULL */
    const struct mf_place_device *one; /* of "single" */
    uint64_t needed;                   /* bytes of the model */
    char devices[200], reason[240];
};

/**
 * Finds it. First comes the smallest GPU that holds the model with a tenth of its memory to spare. Then come the
 * largest that holds it, several, and the cores. With @p policy "largest" it decides as ipfs_accelerate_py: several
 * GPUs come first, and then the largest that holds the model. Refuses with MF_MEMORY where nothing does.
 */
int mf_map_advise(const struct mf_mapped *mapped, const char *policy, struct mf_map_advice *advice);

/** Prints it. */
int mf_map_recommend(const struct mf_mapped *mapped, const char *policy, int as_json);

/** Prints the configuration of ways to cut layers over the chosen GPUs, as JSON. Refuses with MF_USAGE a number of GPUs
 * that does not divide the model, with numbers that do. */
int mf_map_tp_config(const struct mf_mapped *mapped);

#endif
