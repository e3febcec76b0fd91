/* See pipeline.h. */
#include "src/place/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/place/devices.h"
#include "src/place/map.h"
#include "src/place/strategy.h"

/* Stages of equal memory. */
static void equal_stages(size_t n, struct mf_place_devices *to)
{
    to->count = n;
    to->device = MF_MUST(calloc(n, sizeof *to->device), "stages");
    to->linked = MF_MUST(calloc(n * n, 1), "stages");
    for (size_t k = 0; k < n; ++k) {
        snprintf(to->device[k].name, sizeof to->device[k].name, "stage %u", (unsigned)k);
        to->device[k].memory = to->device[k].free = UINT64_C(1) << 60;
    }
    memset(to->linked, 1, n * n);
}

static int place(const struct mf_parts *parts, size_t count, struct mf_device_map *placement)
{
    struct mf_place_devices stages;
    int rc;

    equal_stages(count, &stages);
    rc = mf_place_auto(parts, &stages, placement);
    mf_place_devices_free(&stages);
    return rc;
}

int mf_place_map_stages(const char *text, size_t *stages)
{
    struct mf_place_devices devices;
    struct mf_map map = {.count = 0};
    int rc = MF_OK;

    *stages = 1;
    if (text) rc = mf_map_read(text, &map);
    if (text && rc == MF_OK) {
        mf_map_devices(&map, &devices);
        *stages = devices.count;
        mf_place_devices_free(&devices);
    }
    mf_map_free(&map);
    return rc;
}

/* Every stage has something to do. */
static int check_stages(const struct mf_device_map *placement, size_t count, const struct mf_place_devices *stages)
{
    if (stages->count != count)
        return mf_fail(MF_USAGE, "--map names %zu devices, and there are %zu stages; leave --pp out", stages->count,
                       count);
    for (size_t d = 0; d < stages->count; ++d) {
        size_t k = 0;

        while (k < placement->parts && placement->device[k] != d) ++k;
        if (k == placement->parts)
            return mf_fail(MF_USAGE, "--map gives no part to %s; leave it out", stages->device[d].name);
    }
    return MF_OK;
}

static int place_by_map(const struct mf_parts *parts, size_t count, const char *text, const struct mf_language *model,
                        struct mf_device_map *placement)
{
    struct mf_place_devices stages = {.count = 0};
    struct mf_map map;
    int rc = mf_map_read(text, &map);

    if (rc == MF_OK) {
        mf_map_devices(&map, &stages);
        rc = mf_map_place(&map, parts, &stages, model, placement);
    }
    if (rc == MF_OK) rc = check_stages(placement, count, &stages);
    mf_place_devices_free(&stages);
    mf_map_free(&map);
    return rc;
}

int mf_place_stages(const struct mf_parts *parts, size_t stages, const char *map, const struct mf_language *model,
                    struct mf_device_map *placement)
{
    *placement = (struct mf_device_map){.parts = 0};
    return map ? place_by_map(parts, stages, map, model, placement) : place(parts, stages, placement);
}
