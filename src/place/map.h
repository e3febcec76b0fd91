/* A map that somebody wrote: patterns of names, and the device of each. Rule: all functions are local.
 *
 * A part has a name ("layers.3", "head"), and so has a weight ("layers.3.qkv.weight"). A block also has one by its
 * number ("layer.3"). In a language model the modules of transformers have names, too ("model.layers.3.mlp"). A pattern
 * meets names that it is, or that begin with it and a dot. It may have ranges ("layers.0-11") and the signs *, ?, [..]
 * of file names. "*" and "" meet all. The pattern with the most letters counts, and the last of equal ones. */
#ifndef MF_PLACE_MAP_H
#define MF_PLACE_MAP_H

#include "src/model/language.h"
#include "src/place/device_map.h"

struct mf_map_entry {
    char *pattern, *device;
    int met; /* mf_map_place(): it meets a name */
};

struct mf_map {
    char *file; /* NULL: it was text */
    size_t count;
    struct mf_map_entry *entry;
};

/**
 * Reads "PATTERN=DEVICE,PATTERN=DEVICE" or, where @p text has no '=', the file of this name. The file is a JSON object
 * of patterns and devices, as the device_map of transformers, or has lines "PATTERN DEVICE". There a number means a
 * GPU. Refuses with MF_USAGE, of a file with MF_INPUT. The caller ends with mf_map_free(), also after a refusal.
 */
int mf_map_read(const char *text, struct mf_map *map);
void mf_map_free(struct mf_map *map);

/**
 * Places parts by a map. A part goes where most of its weights go, and other weights are exceptions. Modules have names
 * in a language model @p model; NULL: it is another one. Refuses with MF_USAGE, or MF_INPUT if the map is a file.
 * Reasons: a part without a device, or a pattern that meets nothing. MF_DEVICE: a device is not there. The caller frees
 * the placement, also after a refusal.
 */
int mf_map_place(struct mf_map *map, const struct mf_parts *parts, const struct mf_place_devices *devices,
                 const struct mf_language *model, struct mf_device_map *placement);

/** The devices that a map names, each once, without memory. They are in its order, but ranks ("rank:0", ..) in theirs.
 * Refuses as mf_map_read(): a word is no device, or there are more than MF_PLACE_MOST. Ranks stand alone, without gaps.
 * mf_place_devices_free() frees, also after a refusal. */
int mf_map_devices(const struct mf_map *map, struct mf_place_devices *devices);

struct mf_json;

/** The placement as a device_map of transformers: an object of modules and devices. The caller frees. */
struct mf_json *mf_map_json(const struct mf_device_map *placement, const struct mf_parts *parts,
                            const struct mf_place_devices *devices, const struct mf_language *model);

#endif
