/* See areas.h. A chunk has as many slices as fit into about a hundred megabytes. */
#include <string.h>

#include "kernels/slices/areas.h"
#include "src/base/bounds.h"
#include "src/base/err.h"

static const size_t CHUNK_BYTES = (size_t)1 << 27;
enum { CHUNK = 65535, PARTS = MF_PATCH_PARTS };

static size_t parts(size_t n, size_t each) { return (n + each - 1) / each; }

/* Where the example's part of a level begins; those of all levels follow each other. */
static void example(struct mf_patch_areas *a, struct mf_patch_area *to)
{
    const struct mf_patch_image *e = &to->is.example;

    to->patches = mf_patch_count(&to->is.slice);
    to->others = mf_patch_count(e);
    to->image = a->images;
    to->axes = a->axes;
    to->points = a->points;
    if (!to->is.on) return;
    a->images += a->phases * e->nu * e->nv;
    a->axes += (a->phases * MF_PATCH_PIXELS + 1) * PARTS;
    a->points += (PARTS + 1) * to->others;
}

void mf_areas_patch(const struct mf_slice_desc *d, struct mf_patch_areas *a)
{
    struct mf_patch_level level[MF_PYRAMID_MAX];
    size_t all = 0, patches = 0, others = 0, pixels = 0, slice;

    memset(a, 0, sizeof *a);
    a->phases = mf_patch_phases(d);
    a->pull = mf_patch_shape(d, level);
    for (size_t l = 0; l < d->levels; ++l) {
        a->level[l].is = level[l];
        all += level[l].pixels;
        example(a, &a->level[l]);
        if (!level[l].on) continue;
        patches = mf_max(patches, a->level[l].patches);
        others = mf_max(others, a->level[l].others);
        pixels = mf_max(pixels, level[l].pixels);
    }
    a->arrays = mf_max(a->phases, d->flip ? 3 : 2);
    a->bands = mf_max(d->levels * parts(pixels, MF_PATCH_BAND), a->phases * parts(pixels, MF_PATCH_REST));
    if (a->bands == 0) a->bands = 1;
    slice = a->arrays * all * sizeof(float) + (PARTS + 1) * patches * sizeof(float) + (patches + others) * sizeof(int) +
            (1 + 2 * a->phases) * pixels * sizeof(long long);
    MF_ASSERT(slice > 0);
    a->chunk = CHUNK_BYTES / slice < d->count_max ? CHUNK_BYTES / slice : d->count_max;
    if (a->chunk > CHUNK) a->chunk = CHUNK;
    if (a->chunk == 0) a->chunk = 1;
    for (size_t l = 0; l < d->levels; ++l) a->level[l].from = a->chunk * level[l].at;
    a->numbers = a->chunk * all;
    a->images *= sizeof(float);
    a->axes *= sizeof(float);
    a->points *= sizeof(float);
    a->pixels = a->arrays * a->numbers * sizeof(float);
    a->work = a->chunk * (PARTS + 1) * patches * sizeof(float);
    a->near = a->chunk * (patches + others) * sizeof(int);
    a->sums = a->chunk * (1 + 2 * a->phases) * pixels * sizeof(long long);
    a->part = a->chunk * a->bands * sizeof(double);
    a->slope = a->chunk * d->levels * sizeof(double);
}
