/* The devices of a machine that share a model. Rule: all functions are local. */
#ifndef MF_PLACE_DEVICES_H
#define MF_PLACE_DEVICES_H

#include "src/base/lists.h"
#include "src/place/device_map.h"
#include "src/plan/hardware.h"

enum { MF_PLACE_MOST = 2048 /* GPUs of a machine that a map takes, at most */ };

/** All that a machine has: "cuda:0", .. through all of its nodes, and "cpu", the host memory of a node. GPUs that no
 * rank may use are left out. Two are linked by NVLink or one switch. mf_place_devices_free() frees. */
void mf_place_devices_find(const struct mf_hardware *hardware, struct mf_place_devices *all);

/** How devices are chosen. */
struct mf_place_wish {
    const struct mf_texts
        *words;         /* "cuda:0", "cuda:0,cpu", "cuda" (all), or the UUID of a GPU; none: all GPUs, else cpu */
    int lenient;        /* words of devices that are not there are left out */
    const char *prefer; /* "cuda", "rocm" or NULL */
};

/**
 * Chooses from @p all in the order of the words, each once. Refuses with MF_USAGE a word that names no kind of device,
 * and with MF_DEVICE a device that is not there. A lenient wish warns instead, and takes the usual ones where none is
 * left.
 */
int mf_place_devices_choose(const struct mf_hardware *hardware, const struct mf_place_devices *all,
                            const struct mf_place_wish *wish, struct mf_place_devices *chosen);

/** The device with this name; devices->count: there is none. */
size_t mf_place_device_named(const struct mf_place_devices *devices, const char *name);

/** Puts the full name of a word of a map into @p name. Words are "cpu", "cuda:3" or 3, "cuda" for "cuda:0", and
 * "rank:1". Returns 0 for any other word. */
int mf_place_device_word(const char *word, char name[MF_DEVICE_NAME]);

/** The number of "rank:N"; -1: it is another name. */
long mf_place_device_rank(const char *name);

/** Refuses (MF_USAGE, MF_DEVICE) a name, or 0, "cuda" for "cuda:0", of a device that is not among these. */
int mf_place_device_find(const struct mf_place_devices *devices, const char *name, size_t *device);

#endif
