/* A map for people and as JSON. Private to the verb map. */
#ifndef MF_CMD_FILES_MAP_SHOW_H
#define MF_CMD_FILES_MAP_SHOW_H

#include "src/cmd/map_model.h"

/** Prints a table of parts, and one of devices. Parts that follow each other and are alike share a line. */
void mf_map_print(const struct mf_mapped *mapped, const struct mf_device_map *placement);

/** The same as an object, part by part; the caller frees. */
struct mf_json *mf_map_object(const struct mf_mapped *mapped, const struct mf_device_map *placement,
                              const char *strategy);

#endif
