/* See slice.h. */
#include "src/desc/slice.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"

/** Copies the part of the slice that this rank has, densely; returns the number of elements. */
static size_t copy_mine(const struct mf_slab *slab, enum mf_normal normal, size_t index, size_t size, const char *from,
                        char *to)
{
    size_t ny = slab->dims[1], nx = slab->dims[2], n = 0;

    if (normal == MF_Z) {
        if (index < slab->first || index >= slab->first + slab->count) return 0;
        memcpy(to, from + (index - slab->first) * ny * nx * size, ny * nx * size);
        return ny * nx;
    }
    for (size_t z = 0; z < slab->count; ++z) {
        size_t start = normal == MF_Y ? (z * ny + index) * nx : z * ny * nx + index, step = normal == MF_Y ? 1 : nx;

        for (size_t i = 0; i < (normal == MF_Y ? nx : ny); ++i, ++n)
            memcpy(to + n * size, from + (start + i * step) * size, size);
    }
    return n;
}

int mf_slice_gather(const struct mf_comm *comm, const struct mf_slab *slab, enum mf_normal normal, size_t index,
                    size_t size, const void *from, void **to)
{
    const size_t *n = slab->dims, pixels = n[mf_slice_u(normal)] * n[mf_slice_v(normal)];
    char *mine = mf_room(pixels, size, "a slice");
    size_t *offset = mf_room((size_t)comm->size + 1, sizeof *offset, "a slice");
    int rc = mine && offset ? MF_OK : MF_MEMORY;

    *to = NULL;
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) {
        size_t count = copy_mine(slab, normal, index, size, from, mine);

        rc = mf_comm_gather(comm, mine, count * size, to, offset);
    }
    free(offset);
    free(mine);
    return rc;
}

/** Gathers one array of the volume's slab; the rank that owns the slice's plane keeps it. */
static int gather(const struct mf_comm *comm, const struct mf_slab *slab, enum mf_normal normal, size_t index,
                  size_t size, const void *from, const struct mf_slab *flat, void *to)
{
    void *all;
    int rc = mf_slice_gather(comm, slab, normal, index, size, from, &all);

    if (rc == MF_OK && flat->count) memcpy(to, all, flat->dims[1] * flat->dims[2] * size);
    free(all);
    return rc;
}

static int take_arrays(struct mf_arena *arena, const struct mf_micro *volume, struct mf_micro *slice)
{
    size_t n = slice->slab.count * slice->slab.dims[1] * slice->slab.dims[2];

    if (volume->grey)
        slice->grey = mf_arena_take(arena, n * (size_t)volume->fields * sizeof(float), "slice");
    else
        slice->phase = mf_arena_take(arena, n, "slice");
    return slice->grey || slice->phase ? MF_OK : MF_MEMORY;
}

int mf_slice_take(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *volume,
                  enum mf_normal normal, size_t index, struct mf_micro *slice)
{
    const size_t *n = volume->slab.dims;
    size_t flat[3] = {1, n[mf_slice_u(normal)], n[mf_slice_v(normal)]};
    size_t voxels = mf_slab_voxels(&volume->slab);
    int rc;

    *slice = *volume;
    slice->mask = NULL;
    slice->ndim = 2;
    slice->slab = mf_slab_of(comm, flat, comm->rank);
    slice->arena = arena;
    memset(slice->hashing, 0, sizeof slice->hashing);
    slice->phase = NULL;
    slice->grey = NULL;
    slice->spacing[1] = volume->spacing[mf_slice_u(normal)];
    slice->spacing[2] = volume->spacing[mf_slice_v(normal)];
    rc = mf_agree(comm, take_arrays(arena, volume, slice));
    if (rc == MF_OK && slice->phase)
        rc = gather(comm, &volume->slab, normal, index, 1, volume->phase, &slice->slab, slice->phase);
    for (int f = 0; rc == MF_OK && slice->grey && f < volume->fields; ++f)
        rc = gather(comm, &volume->slab, normal, index, sizeof(float), volume->grey + (size_t)f * voxels, &slice->slab,
                    slice->grey + (size_t)f * mf_slab_voxels(&slice->slab));
    if (rc != MF_OK) mf_micro_free(slice);
    return rc;
}
