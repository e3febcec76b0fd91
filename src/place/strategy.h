/* Ways to share a model among devices. Rule: all functions are local; they place all parts, and only some refuse. */
#ifndef MF_PLACE_STRATEGY_H
#define MF_PLACE_STRATEGY_H

#include "src/place/device_map.h"

/**
 * Puts runs of neighbouring parts on devices (spread.h). The largest share of a device's free memory is the least
 * possible, then boundaries are fewest, then neighbours are linked. Host memory takes part only where the devices do
 * not suffice. It gets each part that is too large for every device. Then it gets as many of the first parts as it
 * must. Refuses with MF_MEMORY where nothing fits, with what is needed, what is there, and what would help.
 */
int mf_place_auto(const struct mf_parts *parts, const struct mf_place_devices *devices,
                  struct mf_device_map *placement);

/** As many blocks on each device, rounded up. Embeddings are on the first device, the head on the last that has blocks.
 */
void mf_place_balanced(const struct mf_parts *parts, const struct mf_place_devices *devices,
                       struct mf_device_map *placement);

/** One device after the other, up to @p share of its free memory. A part that is too large for the whole device goes to
 * a later one alone. The last device takes what is left. */
void mf_place_sequential(const struct mf_parts *parts, const struct mf_place_devices *devices, double share,
                         struct mf_device_map *placement);

/** The sizes of a model's parts, in any unit. */
struct mf_place_sizes {
    size_t layers;
    double embeddings, *layer; /* [layers] */
};

/**
 * The algorithm of ipfs_accelerate_py, to compare with. The largest device gets the embeddings, and each layer goes to
 * the device of which the smallest share is taken. The head goes where most layers are. Devices of unlimited capacity
 * have INFINITY. @p device [layers + 2]: embeddings, layers, head. Source: its document MULTI_GPU_README.md, "Device
 * mapping algorithm".
 */
void mf_place_greedy(const struct mf_place_sizes *sizes, size_t devices, const double *capacity, size_t *device);

/** The same of parts: their weights alone count, and host memory is unlimited. */
void mf_place_greedy_parts(const struct mf_parts *parts, const struct mf_place_devices *devices,
                           struct mf_device_map *placement);

/** Refuses with MF_MEMORY a placement that does not fit, with the bytes of each device and a map that fits. */
int mf_place_fits(const struct mf_parts *parts, const struct mf_place_devices *devices,
                  const struct mf_device_map *placement);

/** The placement as --map reads it: "embeddings=cuda:0,layers.0-5=cuda:0,head=cuda:1". The caller frees. */
char *mf_device_map_text(const struct mf_device_map *placement, const struct mf_parts *parts,
                         const struct mf_place_devices *devices);

/** Is the part a block, and not what stands around blocks? */
int mf_part_is_block(const struct mf_parts *parts, size_t part);

#endif
