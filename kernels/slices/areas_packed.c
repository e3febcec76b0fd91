/* See areas.h. A chunk has as many slices as fit into about a hundred megabytes. With VGG-19 it has five hundred: its
 * last layers have few pixels per slice and many channels. */
#include <string.h>

#include "kernels/form/gram.h"
#include "kernels/form/lineal.h"
#include "kernels/form/structure_tensor.h"
#include "kernels/slices/areas.h"
#include "kernels/slices/masks.h"

static const size_t CHUNK_BYTES = (size_t)1 << 27;
#define VGG_BYTES ((size_t)1 << 29)
enum { CHUNK = 65535 /* most slices: blocks along an axis of a grid */ };

static size_t pixels_of(const struct mf_slice_desc *d) { return d->nu * d->nv; }

void mf_areas_packed(const struct mf_slice_desc *d, const struct mf_packed_memory *m, struct mf_packed_areas *a)
{
    const size_t share = m->share ? m->share : CHUNK_BYTES;
    size_t all = 0, values, each, field[MF_VGG_COLOURS];

    memset(a, 0, sizeof *a);
    a->fields = m->fields == MF_PACKED_ALL ? mf_vgg_colours(d->phases, field) : m->fields;
    a->entries = m->kind->entries(d);
    a->parts = (d->levels * a->entries + MF_PACKED_PART - 1) / MF_PACKED_PART;
    for (size_t l = 0; l < d->levels; ++l) all += (d->nu >> l) * (d->nv >> l);
    values = (d->levels * a->entries + a->parts) * sizeof(double);
    each = (2 * a->fields * all + m->scratch(d)) * sizeof(float) + values;
    a->chunk = share / each < d->count_max ? share / each : d->count_max;
    if (a->chunk > CHUNK) a->chunk = CHUNK;
    if (a->chunk == 0) a->chunk = 1;
    for (size_t l = 0; l < d->levels; ++l) {
        a->from[l] = a->numbers;
        a->numbers += a->chunk * (d->nu >> l) * (d->nv >> l);
    }
    a->pixels = 2 * a->fields * a->numbers * sizeof(float);
    a->value = a->chunk * d->levels * a->entries * sizeof(double);
    a->part = a->chunk * a->parts * sizeof(double);
    a->scratch = a->chunk * m->scratch(d) * sizeof(float);
    a->table = m->table ? m->table(d) : 0;
}

/* -- lineal paths: what pixels give to products; sums of bands, or weights and slopes of the runs of one direction --
 */

static size_t lineal_scratch(const struct mf_slice_desc *d)
{
    const size_t n = pixels_of(d), numbers = 2 * (size_t)MF_LINEAL_DIRECTIONS * (d->lag + 1);
    const size_t sums = (n + MF_LINEAL_BAND - 1) / MF_LINEAL_BAND * numbers * 2, slopes = numbers + d->lag * n;

    return 2 * n + (sums > slopes ? sums : slopes);
}

const struct mf_packed_memory mf_packed_lineal = {&mf_kind_lineal, 1, lineal_scratch, NULL, 0};
const struct mf_packed_memory mf_packed_lineal_exact = {&mf_kind_lineal_exact, 1, lineal_scratch, NULL, 0};

/* -- masks: the slopes of a group -- */

static size_t masks_scratch(const struct mf_slice_desc *d) { return MF_MASKS_GROUP * pixels_of(d); }

static size_t masks_table(const struct mf_slice_desc *d, enum mf_masks_kind kind)
{
    return d->levels * mf_masks_level_bytes(kind, d->lag);
}

static size_t lines_table(const struct mf_slice_desc *d) { return masks_table(d, MF_MASKS_LINES); }
static size_t axes_table(const struct mf_slice_desc *d) { return masks_table(d, MF_MASKS_AXES); }
static size_t pairs_table(const struct mf_slice_desc *d) { return masks_table(d, MF_MASKS_PAIRS); }

const struct mf_packed_memory mf_packed_lineal_soft = {&mf_kind_lineal_soft, 1, masks_scratch, lines_table, 0};
const struct mf_packed_memory mf_packed_line_soft = {&mf_kind_line_soft, 1, masks_scratch, axes_table, 0};
const struct mf_packed_memory mf_packed_two_point = {&mf_kind_two_point, 1, masks_scratch, pairs_table, 0};

/* -- Gram matrices: factors of pixels, what a column of channels counts; the lags of channels -- */

static size_t gram_scratch(const struct mf_slice_desc *d) { return (1 + MF_GRAM_TILE) * pixels_of(d); }
static size_t gram_cross_scratch(const struct mf_slice_desc *d) { return (2 + MF_GRAM_TILE) * pixels_of(d); }

static size_t gram_table(const struct mf_slice_desc *d)
{
    return d->levels * mf_gram_channels(MF_GRAM_HALF, d->lag) * sizeof(struct mf_gram_lag);
}

static size_t gram_axes_table(const struct mf_slice_desc *d)
{
    return d->levels * mf_gram_channels(MF_GRAM_AXES, d->lag) * sizeof(struct mf_gram_lag);
}

const struct mf_packed_memory mf_packed_gram = {&mf_kind_gram, 1, gram_scratch, gram_table, 0};
const struct mf_packed_memory mf_packed_gram_axes = {&mf_kind_gram_axes, 1, gram_scratch, gram_axes_table, 0};
const struct mf_packed_memory mf_packed_gram_cross = {&mf_kind_gram_cross, 2, gram_cross_scratch, gram_table, 0};

/* -- lags: maps and what they count, room to smooth in -- */

static size_t tensor_scratch(const struct mf_slice_desc *d)
{
    return (2 * (size_t)MF_STRUCTURE_TENSOR_MAPS + MF_STRUCTURE_TENSOR_C) * pixels_of(d);
}

static size_t no_scratch(const struct mf_slice_desc *d)
{
    (void)d;
    return 0;
}

const struct mf_packed_memory mf_packed_structure_tensor = {&mf_kind_structure_tensor, 1, tensor_scratch, NULL, 0};
const struct mf_packed_memory mf_packed_cross = {&mf_kind_cross, 2, no_scratch, NULL, 0};

/* -- VGG-19: what all layers of all levels make, and gradients on their way back -- */

static size_t vgg_level(const struct mf_slice_desc *d, size_t level, size_t at, struct mf_vgg_area *a)
{
    a->input[0] = at;
    at += (d->nu >> level) * (d->nv >> level) * MF_VGG_COLOURS;
    for (size_t i = 0; i < MF_VGG_LAYERS; ++i) {
        const struct mf_vgg_layer *l = &mf_vgg_layers[i];
        const size_t nu = d->nu >> level >> l->block, nv = d->nv >> level >> l->block, n = nu * nv * l->out;

        a->sum[i] = a->y[i] = at;
        at += n;
        if (mf_unit_by_sum(d->vgg->unit)) {
            a->sum[i] = at;
            at += n;
        }
        if (!l->last || l->block + 1 == MF_VGG_BLOCKS) continue;
        a->input[l->block + 1] = at;
        at += (nu / 2) * (nv / 2) * l->out;
    }
    return at;
}

size_t mf_areas_vgg(const struct mf_slice_desc *d, size_t level, struct mf_vgg_area *area)
{
    const size_t widest = (d->nu >> d->first) * (d->nv >> d->first) * mf_vgg_layers[0].out;
    struct mf_vgg_area other;
    size_t at = 2 * widest + (size_t)MF_VGG_WIDEST * MF_VGG_WIDEST;

    for (size_t l = d->first; l < d->levels; ++l) at = vgg_level(d, l, at, l == level ? area : &other);
    area->back[0] = 0;
    area->back[1] = widest;
    area->matrix = 2 * widest;
    return at;
}

static size_t vgg_scratch(const struct mf_slice_desc *d)
{
    struct mf_vgg_area area;

    return mf_areas_vgg(d, d->first, &area);
}

const struct mf_packed_memory mf_packed_vgg = {&mf_kind_vgg, 1, vgg_scratch, NULL, VGG_BYTES};
const struct mf_packed_memory mf_packed_vgg_all = {&mf_kind_vgg_all, MF_PACKED_ALL, vgg_scratch, NULL, VGG_BYTES};
