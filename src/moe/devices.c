/* See devices.h. */
#include "src/moe/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

static int same_node(const struct mf_rank_device *a, const struct mf_rank_device *b)
{
    return strcmp(a->node, b->node) == 0;
}

static int same_model(const struct mf_rank_device *a, const struct mf_rank_device *b)
{
    return strcmp(a->name, b->name) == 0;
}

static double gib(const struct mf_rank_device *d) { return rint((double)d->bytes / (1 << 30)); }

/* So that they do the same work in about the same time. */
static int same_gpu(const struct mf_rank_device *a, const struct mf_rank_device *b)
{
    return same_model(a, b) && gib(a) == gib(b);
}

/* Is no earlier rank like this one? */
static int is_first(const struct mf_rank_device *device, size_t rank,
                    int (*same)(const struct mf_rank_device *, const struct mf_rank_device *))
{
    size_t k = 0;

    while (!same(&device[k], &device[rank])) ++k;
    return k == rank;
}

static size_t kinds(size_t ranks, const struct mf_rank_device *device,
                    int (*same)(const struct mf_rank_device *, const struct mf_rank_device *))
{
    size_t n = 0;

    for (size_t r = 0; r < ranks; ++r) n += (size_t)is_first(device, r, same);
    return n;
}

int mf_devices_alike(size_t ranks, const struct mf_rank_device *device)
{
    return kinds(ranks, device, same_model) <= 1;
}

/* Adds to a text, behind a separator. */
static char *joined(char *text, const char *separator, char *more)
{
    char *both = text ? mf_format("%s%s%s", text, separator, more) : mf_format("%s", more);

    free(text);
    free(more);
    return both;
}

static char *text_of_alike(size_t ranks, const struct mf_rank_device *device)
{
    const size_t nodes = kinds(ranks, device, same_node);

    if (ranks == 1) return mf_format("%s", device->name);
    if (nodes == 1) return mf_format("%s, %zu ranks", device->name, ranks);
    return mf_format("%s, %zu ranks on %zu nodes", device->name, ranks, nodes);
}

char *mf_devices_text(size_t ranks, const struct mf_rank_device *device)
{
    char *text = NULL;

    if (ranks == 0 || mf_devices_alike(ranks, device)) return ranks ? text_of_alike(ranks, device) : mf_format("-");
    for (size_t r = 0, end; r < ranks; r = end) {
        const struct mf_rank_device *d = &device[r];

        for (end = r + 1; end < ranks && same_model(d, &device[end]) && same_node(d, &device[end]);) ++end;
        text = joined(text, "\n",
                      end == r + 1 ? mf_format("rank %zu on %s: %s", r, d->node, d->name)
                                   : mf_format("ranks %zu to %zu on %s: %s", r, end - 1, d->node, d->name));
    }
    return text;
}

char *mf_devices_label(size_t ranks, const struct mf_rank_device *device, size_t rank)
{
    const struct mf_rank_device *d = &device[rank];

    if (mf_devices_alike(ranks, device)) return mf_format("%zu", rank);
    if (kinds(ranks, device, same_node) == 1) return mf_format("%zu: %s", rank, d->name);
    return mf_format("%zu, %s: %s", rank, d->node, d->name);
}

char *mf_devices_differ(size_t ranks, const struct mf_rank_device *device)
{
    char *text = NULL;

    if (ranks == 0 || device->bytes == 0 || kinds(ranks, device, same_gpu) == 1) return NULL;
    for (size_t r = 0; r < ranks; ++r) {
        size_t count = 0;

        if (!is_first(device, r, same_gpu)) continue;
        for (size_t k = r; k < ranks; ++k) count += (size_t)same_gpu(&device[r], &device[k]);
        text = joined(text, ", ", mf_format("%zu x %s (%.0f GiB)", count, device[r].name, gib(&device[r])));
    }
    return text;
}
