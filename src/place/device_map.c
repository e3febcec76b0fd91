/* See device_map.h. */
#include "src/place/device_map.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

void mf_device_map_new(struct mf_device_map *p, size_t parts)
{
    *p = (struct mf_device_map){.parts = parts};
    p->device = MF_MUST(calloc(parts + 1, sizeof *p->device), "devices of parts");
}

void mf_device_map_free(struct mf_device_map *p)
{
    free(p->device);
    free(p->exception);
    *p = (struct mf_device_map){0};
}

ptrdiff_t mf_device_map_exception(const struct mf_device_map *p, size_t array)
{
    for (size_t k = 0; k < p->exceptions; ++k)
        if (p->exception[k].array == array) return (ptrdiff_t)p->exception[k].device;
    return -1;
}

static ptrdiff_t exception_named(const struct mf_device_map *p, const struct mf_parts *parts, const char *name)
{
    for (size_t k = 0; k < p->exceptions; ++k)
        if (strcmp(parts->array[p->exception[k].array].name, name) == 0) return (ptrdiff_t)p->exception[k].device;
    return -1;
}

void mf_device_map_nodes(const struct mf_device_map *p, const struct mf_parts *parts, const struct mf_list *list,
                         size_t *device)
{
    const struct mf_net *net = list->net;

    MF_ASSERT(mf_parts_number(list, device, NULL) == p->parts);
    for (size_t i = 0; i < list->nodes; ++i) {
        const int *in = list->node[i].in;
        ptrdiff_t other = -1;

        for (int k = 0; p->exceptions > 0 && k < MF_INS && other < 0; ++k)
            if (in[k] >= 0) other = exception_named(p, parts, net->value[mf_value_root(net, in[k], NULL)].name);
        device[i] = other >= 0 ? (size_t)other : p->device[device[i]];
    }
}

/* Is the array on this device, for one of its parts or by itself? */
static int is_there(const struct mf_device_map *p, const struct mf_part_array *array, ptrdiff_t exception,
                    size_t device)
{
    if (exception >= 0) return (size_t)exception == device;
    for (size_t k = 0; k < array->parts; ++k)
        if (p->device[array->part[k]] == device) return 1;
    return 0;
}

void mf_device_map_bytes(const struct mf_device_map *p, const struct mf_parts *parts, size_t devices, size_t *bytes)
{
    for (size_t d = 0; d < devices; ++d) {
        size_t work = 0;

        bytes[d] = 0;
        for (size_t a = 0; a < parts->arrays; ++a) {
            const ptrdiff_t exception = mf_device_map_exception(p, a);

            if (!is_there(p, &parts->array[a], exception, d)) continue;
            bytes[d] += parts->array[a].bytes;
            for (size_t k = 0; exception >= 0 && k < parts->array[a].parts; ++k)
                work = mf_max(work, parts->part[parts->array[a].part[k]].work);
        }
        for (size_t k = 0; k < parts->count; ++k)
            if (p->device[k] == d) work = mf_max(work, parts->part[k].work);
        bytes[d] += work;
    }
}

size_t mf_device_map_boundaries(const struct mf_device_map *p)
{
    size_t n = 0;

    for (size_t k = 1; k < p->parts; ++k) n += p->device[k] != p->device[k - 1];
    return n;
}

void mf_place_devices_free(struct mf_place_devices *d)
{
    free(d->device);
    free(d->linked);
    *d = (struct mf_place_devices){0};
}
