/* Advice about devices, without a map. Private to the verb map. */
#ifndef MF_CMD_FILES_MAP_ADVISE_H
#define MF_CMD_FILES_MAP_ADVISE_H

#include "src/cmd/files/map_model.h"

/**
 * Says which devices a model should have, and why. First comes the smallest GPU that holds it with a tenth of its
 * memory to spare. Then come the largest that holds it, several, and the cores. With @p policy "largest" it decides as
 * ipfs_accelerate_py: several GPUs come first, and then the largest that holds the model. Refuses with MF_MEMORY where
 * nothing does.
 */
int mf_map_recommend(const struct mf_mapped *mapped, const char *policy, int as_json);

/** Prints the configuration of ways to cut layers over the chosen GPUs, as JSON. Refuses with MF_USAGE a number of GPUs
 * that does not divide the model, with numbers that do. */
int mf_map_tp_config(const struct mf_mapped *mapped);

#endif
