/* Maps that are timed on the ranks that run. Private to the verb map. */
#ifndef MF_CMD_FILES_MAP_TUNE_H
#define MF_CMD_FILES_MAP_TUNE_H

#include "src/cmd/map_model.h"

/**
 * Times maps of a language model on the ranks, each of which has one device, and gives the fastest. It begins with that
 * of a run without a map, and with that of balanced. It moves boundaries of the faster one as long as that gains 3 %.
 * Weights are random, since their numbers take no time. Rank 0 prints a line for each map. Collective; refuses (agreed)
 * with MF_USAGE and as mf_engine_open(). The caller frees the map, also after a refusal.
 */
int mf_map_tune(struct mf_session *session, struct mf_mapped *mapped, struct mf_device_map *best);

#endif
