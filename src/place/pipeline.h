/* Parts of a model on the stages of a pipeline, of which each is a device. */
#ifndef MF_PLACE_PIPELINE_H
#define MF_PLACE_PIPELINE_H

#include "src/model/language.h"
#include "src/place/device_map.h"

/** How many devices a map names (mf_map_devices()), or 1 without one. Refuses as mf_map_devices(). Local. */
int mf_place_map_stages(const char *text, size_t *stages);

/** Warns of a device of a lawful map (NULL: none) on which no rank computes. It only numbers a stage. Local. */
void mf_place_map_say(const char *text, int on_cores);

/** Gives @p stages stages their parts. With a map its devices are the stages, in its order. Without one (NULL) each
 * stage gets parts that follow each other. The largest memory of a stage is then the least possible, and after that the
 * most operations of one. Networks of ours
 * have no @p model (NULL). Refuses with MF_USAGE a map of other stages, or a stage without a part, and as
 * mf_map_place(). The caller frees the placement, also after a refusal. Local. */
int mf_place_stages(const struct mf_parts *parts, size_t stages, const char *map, const struct mf_language *model,
                    struct mf_device_map *placement);

#endif
