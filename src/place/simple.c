/* See strategy.h: balanced, sequential, and the algorithm of ipfs_accelerate_py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/place/strategy.h"

int mf_part_is_block(const struct mf_parts *parts, size_t part)
{
    const char *name = parts->part[part].name;

    return !(part == 0 && strcmp(name, "embeddings") == 0) && !(part + 1 == parts->count && strcmp(name, "head") == 0);
}

static size_t count_blocks(const struct mf_parts *parts)
{
    size_t n = 0;

    for (size_t p = 0; p < parts->count; ++p) n += (size_t)mf_part_is_block(parts, p);
    return n;
}

void mf_place_balanced(const struct mf_parts *parts, const struct mf_place_devices *devices,
                       struct mf_device_map *placement)
{
    const size_t blocks = count_blocks(parts), each = mf_max(1, (blocks + devices->count - 1) / devices->count);
    size_t block = 0;

    mf_device_map_new(placement, parts->count);
    for (size_t p = 0; p < parts->count; ++p)
        if (mf_part_is_block(parts, p))
            placement->device[p] = block++ / each;
        else
            placement->device[p] = p > 0 ? placement->device[p - 1] : 0;
}

/* -- sequential -- */

struct filling {
    const struct mf_parts *parts;
    const struct mf_place_devices *devices;
    double share;
    unsigned char *member; /* [devices][parts] */
};

/* Does the device hold the part, with what it has already, or alone? */
static int holds(const struct filling *f, size_t device, size_t part, int alone)
{
    const size_t n = f->parts->count;
    unsigned char *member = MF_MUST(calloc(n + 1, 1), "marks");
    size_t bytes;

    if (!alone) memcpy(member, f->member + device * n, n);
    member[part] = 1;
    bytes = mf_parts_bytes(f->parts, member);
    free(member);
    return (double)bytes <= f->share * (double)f->devices->device[device].free;
}

/* The device of a part; *now is the one that is being filled. */
static size_t next(const struct filling *f, size_t part, size_t *now)
{
    size_t later = *now + 1;

    for (; *now + 1 < f->devices->count && !holds(f, *now, part, 0); ++*now, later = *now + 1) {
        if (holds(f, *now, part, 1)) continue; /* it is only full */
        while (later < f->devices->count && !holds(f, later, part, 0)) ++later;
        if (later < f->devices->count) return later;
    }
    return *now;
}

void mf_place_sequential(const struct mf_parts *parts, const struct mf_place_devices *devices, double share,
                         struct mf_device_map *placement)
{
    struct filling f = {parts, devices, share,
                        MF_MUST(calloc(devices->count + 1, parts->count + 1), "parts of devices")};
    size_t now = 0;

    mf_device_map_new(placement, parts->count);
    for (size_t p = 0; p < parts->count; ++p) {
        const size_t d = next(&f, p, &now);

        placement->device[p] = d;
        f.member[d * parts->count + p] = 1;
    }
    free(f.member);
}

/* -- ipfs_accelerate_py -- */

/* From large to small, equal ones in their order. The caller frees. */
static size_t *by_capacity(size_t devices, const double *capacity)
{
    size_t *order = MF_MUST(malloc((devices + 1) * sizeof *order), "devices");

    for (size_t d = 0; d < devices; ++d) {
        size_t k = d;

        for (; k > 0 && capacity[order[k - 1]] < capacity[d]; --k) order[k] = order[k - 1];
        order[k] = d;
    }
    return order;
}

/* Two devices may have as many layers. Then it is the one that got its first layer first. */
static size_t with_most_layers(size_t layers, const size_t *device)
{
    size_t best = 0, most = 0;

    for (size_t i = 0; i < layers; ++i) {
        size_t n = 0;

        for (size_t k = 0; k < layers; ++k) n += device[k] == device[i];
        if (n <= most) continue;
        most = n;
        best = device[i];
    }
    return best;
}

void mf_place_greedy(const struct mf_place_sizes *sizes, size_t devices, const double *capacity, size_t *device)
{
    size_t *order = by_capacity(devices, capacity);
    double *used = MF_MUST(calloc(devices + 1, sizeof *used), "use of devices");

    device[0] = order[0];
    used[order[0]] = sizes->embeddings;
    for (size_t i = 0; i < sizes->layers; ++i) {
        size_t best = order[0];

        for (size_t k = 1; k < devices; ++k)
            if (used[order[k]] / capacity[order[k]] < used[best] / capacity[best]) best = order[k];
        device[1 + i] = best;
        used[best] += sizes->layer[i];
    }
    device[1 + sizes->layers] = sizes->layers ? with_most_layers(sizes->layers, device + 1) : order[0];
    free(used);
    free(order);
}

void mf_place_greedy_parts(const struct mf_parts *parts, const struct mf_place_devices *devices,
                           struct mf_device_map *placement)
{
    struct mf_place_sizes sizes = {.layer = MF_MUST(calloc(parts->count + 1, sizeof(double)), "sizes")};
    double *capacity = MF_MUST(malloc((devices->count + 1) * sizeof *capacity), "capacities");
    size_t *device = MF_MUST(malloc((parts->count + 2) * sizeof *device), "devices"), layer = 0;

    for (size_t d = 0; d < devices->count; ++d)
        capacity[d] = devices->device[d].is_cores ? (double)INFINITY : (double)devices->device[d].free;
    for (size_t p = 0; p < parts->count; ++p)
        if (mf_part_is_block(parts, p))
            sizes.layer[sizes.layers++] = (double)parts->part[p].weights;
        else if (p == 0)
            sizes.embeddings = (double)parts->part[p].weights;
    mf_place_greedy(&sizes, devices->count, capacity, device);
    mf_device_map_new(placement, parts->count);
    for (size_t p = 0; p < parts->count; ++p)
        placement->device[p] = mf_part_is_block(parts, p) ? device[1 + layer++]
                               : p == 0                   ? device[0]
                                                          : device[1 + layer];
    free(sizes.layer);
    free(capacity);
    free(device);
}
