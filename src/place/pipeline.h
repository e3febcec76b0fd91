/* Parts of a model on the stages of a pipeline, of which each is a device. */
#ifndef MF_PLACE_PIPELINE_H
#define MF_PLACE_PIPELINE_H

#include "src/model/language.h"
#include "src/place/device_map.h"

/** How many stages a map has: as many as devices, or 1 without a map. With one rank the cores beside another device are
 * no stage (mf_place_map_has_cores()). @p ranks 0: they are. Refuses as mf_map_devices(). Local. */
int mf_place_map_stages(const char *text, size_t ranks, size_t *stages);

/** Does a map (NULL: none) name the cores and one other device? Then a rank that is alone needs no stages: some parts
 * are on its GPU, and others on its cores. Local. */
int mf_place_map_has_cores(const char *text);

/** Warns of a device of a lawful map (NULL: none) on which none of the ranks computes. It only numbers a stage. Local.
 */
void mf_place_map_say(const char *text, size_t ranks, int on_cores);

/** Gives @p stages stages their parts. With a map its devices are the stages, in its order. Without one (NULL) each
 * stage gets parts that follow each other. The largest memory of a stage is then the least possible, and after that the
 * most operations of one. Networks of ours
 * have no @p model (NULL). Refuses with MF_USAGE a map of other stages, or a stage without a part, and as
 * mf_map_place(). The caller frees the placement, also after a refusal. Local. */
int mf_place_stages(const struct mf_parts *parts, size_t stages, const char *map, const struct mf_language *model,
                    struct mf_device_map *placement);

/** The same by a map that names the cores and one other device. The number of the cores goes to @p cores. */
int mf_place_cores(const struct mf_parts *parts, const char *map, const struct mf_language *model,
                   struct mf_device_map *placement, size_t *cores);

/** Cuts a chain of parts into runs for stages, each of at least one part. Their speeds [stages] are operations per
 * second. The longest time of a stage is the least possible. Returns it, and puts the stages of parts into @p stage
 * [parts]. There are at least as many parts as stages. Local. */
double mf_place_by_speed(size_t parts, const double *operations, size_t stages, const double *speed, size_t *stage);

#endif
