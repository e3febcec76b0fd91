/* See strategy.h: does a placement fit, and how it is written. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/place/strategy.h"

/* -- as text -- */

/* Bytes of the name in front of its last number; 0: it does not end with one. */
static size_t stem(const char *name)
{
    size_t n = strlen(name);

    while (n > 0 && isdigit((unsigned char)name[n - 1])) --n;
    return name[n] ? n : 0;
}

/* Do two neighbours continue a range? Their numbers follow each other. */
static int continues(const char *a, const char *b)
{
    const size_t n = stem(a);

    return n > 0 && n == stem(b) && strncmp(a, b, n) == 0 && strtol(a + n, NULL, 10) + 1 == strtol(b + n, NULL, 10);
}

char *mf_device_map_text(const struct mf_device_map *placement, const struct mf_parts *parts,
                         const struct mf_place_devices *devices)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a placement");

    for (size_t p = 0, end; p < parts->count; p = end) {
        const char *first = parts->part[p].name;

        for (end = p + 1; end < parts->count && placement->device[end] == placement->device[p] &&
                          continues(parts->part[end - 1].name, parts->part[end].name);)
            ++end;
        fprintf(to, "%s%s", p ? "," : "", first);
        if (end > p + 1) fprintf(to, "-%s", parts->part[end - 1].name + stem(first));
        fprintf(to, "=%s", devices->device[placement->device[p]].name);
    }
    for (size_t k = 0; k < placement->exceptions; ++k)
        fprintf(to, ",%s=%s", parts->array[placement->exception[k].array].name,
                devices->device[placement->exception[k].device].name);
    MF_ASSERT(fclose(to) == 0);
    return text;
}

/* -- bytes -- */

/* A placement that fits instead, in words; "": none does. */
static char *instead(const struct mf_parts *parts, const struct mf_place_devices *devices)
{
    struct mf_device_map other;
    char *map, *text;

    if (mf_place_auto(parts, devices, &other) != MF_OK) {
        text = mf_format("%s", "no map for these devices fits");
    } else {
        map = mf_device_map_text(&other, parts, devices);
        text = mf_format("try: --map %s", map);
        free(map);
    }
    mf_err_clear();
    mf_device_map_free(&other);
    return text;
}

int mf_place_fits(const struct mf_parts *parts, const struct mf_place_devices *devices,
                  const struct mf_device_map *placement)
{
    size_t *bytes = MF_MUST(malloc((devices->count + 1) * sizeof *bytes), "bytes of devices"), wrong = 0;
    char all[300] = "", *other;

    mf_device_map_bytes(placement, parts, devices->count, bytes);
    for (size_t d = 0; d < devices->count; ++d) {
        if (bytes[d] <= devices->device[d].free) continue;
        mf_enumerate(all, sizeof all, "%s needs %zu bytes and has %" PRIu64, devices->device[d].name, bytes[d],
                     devices->device[d].free);
        ++wrong;
    }
    free(bytes);
    if (wrong == 0) return MF_OK;
    other = instead(parts, devices);
    mf_fail(MF_MEMORY, "%s; %.500s", all, other);
    free(other);
    return MF_MEMORY;
}
