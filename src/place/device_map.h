/* Which device has which part of a model. A single weight may be on another device than its part. Then the nodes that
 * read it are there too. Rule: all functions are local. */
#ifndef MF_PLACE_DEVICE_MAP_H
#define MF_PLACE_DEVICE_MAP_H

#include <stdint.h>

#include "src/place/parts.h"

enum { MF_DEVICE_NAME = 24 };

struct mf_place_device {
    char name[MF_DEVICE_NAME]; /* "cuda:0", "cpu" */
    uint64_t memory, free;     /* bytes; 0: not known */
    int is_cores;              /* host memory, and the cores compute */
    int capability;            /* of a GPU, 10 major + minor */
};

/** The devices that share a model. */
struct mf_place_devices {
    size_t count;
    struct mf_place_device *device;
    unsigned char *linked; /* [count][count] two reach each other without the host */
};

/** A weight that is on another device than its part. */
struct mf_placed_array {
    size_t array, device; /* array: of the parts */
};

struct mf_device_map {
    size_t parts, *device; /* [parts] number of its device */
    size_t exceptions;
    struct mf_placed_array *exception; /* [exceptions] */
};

/** A placement of so many parts, all on device 0. The second frees. */
void mf_device_map_new(struct mf_device_map *placement, size_t parts);
void mf_device_map_free(struct mf_device_map *placement);

/** The device of an array of the parts that is not where its part is; -1: it is there. */
ptrdiff_t mf_device_map_exception(const struct mf_device_map *placement, size_t array);

/** Puts the device of every node of a forward list into @p device [nodes]. */
void mf_device_map_nodes(const struct mf_device_map *placement, const struct mf_parts *parts,
                         const struct mf_list *list, size_t *device);

/** Puts the bytes that each device needs into @p bytes [devices]. A device counts a shared weight once. Work memory is
 * that of the part with the most. */
void mf_device_map_bytes(const struct mf_device_map *placement, const struct mf_parts *parts, size_t devices,
                         size_t *bytes);

/** How often the walk goes from one device to another between neighbouring parts. */
size_t mf_device_map_boundaries(const struct mf_device_map *placement);

void mf_place_devices_free(struct mf_place_devices *devices);

#endif
