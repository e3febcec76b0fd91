/* See connect_impl.h: the voxels that connecting and parting leave to a new cut as they are. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/recon/connect_impl.h"

enum { VOXELS_PER_PIN = 16 /* of the volume: the most pins */, PINS_LEAST = 256 };

size_t mf_connect_pins_most(const struct mf_connect *c)
{
    const size_t *n = c->slab.dims;

    return n[0] * n[1] * n[2] / VOXELS_PER_PIN + PINS_LEAST;
}

static uint64_t less(uint64_t most, uint64_t used) { return most > used ? most - used : 0; }

uint64_t mf_connect_room(const struct mf_connect *c, uint8_t to)
{
    const uint64_t half = less(c->open[to] / 2, c->pinned[to]);
    uint64_t used = 0, room;

    for (int p = 0; p < c->phases; ++p) used += c->pinned[p];
    room = less(mf_connect_pins_most(c), used);
    return room < half ? room : half;
}

static int by_voxel(const void *a, const void *b)
{
    const struct mf_change *p = a, *q = b;

    return (p->voxel > q->voxel) - (p->voxel < q->voxel);
}

int mf_connect_holds(const struct mf_connect *c, uint64_t voxel)
{
    const struct mf_change at = {.voxel = voxel};

    if (c->fixed && c->fixed[voxel] != MF_LABEL_OPEN) return 1;
    return c->sorted && bsearch(&at, c->pin, c->sorted, sizeof at, by_voxel);
}

void mf_connect_pin(struct mf_connect *c, struct mf_change new)
{
    if (mf_connect_holds(c, new.voxel)) return;
    MF_ASSERT(c->pins < mf_connect_pins_most(c));
    c->pin[c->pins++] = new;
}

uint64_t mf_connect_pinned(struct mf_connect *c, uint8_t phase)
{
    int64_t pinned = (int64_t)(c->pins - c->sorted);

    if (pinned) qsort(c->pin, c->pins, sizeof *c->pin, by_voxel);
    c->sorted = c->pins;
    mf_comm_sum_int(c->comm, 1, &pinned);
    c->pinned[phase] += (uint64_t)pinned;
    return (uint64_t)pinned;
}
