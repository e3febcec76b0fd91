/* See areas.h. A chunk is as many slices as share about a hundred megabytes. */
#include <string.h>

#include "kernels/areas.h"
#include "kernels/form/gram.h"
#include "kernels/form/lineal.h"
#include "kernels/form/tensor.h"
#include "kernels/masks.h"

static const size_t CHUNK_BYTES = (size_t)1 << 27;
enum { CHUNK = 65535 /* most slices: blocks along an axis of a grid */ };

static size_t pixels_of(const struct mf_slice_desc *d) { return d->nu * d->nv; }

void mf_areas_dense(const struct mf_slice_desc *d, const struct mf_dense_kind *kind, struct mf_dense_areas *a)
{
    size_t all = 0, values, each;

    memset(a, 0, sizeof *a);
    a->entries = kind->entries(d);
    a->parts = (d->levels * a->entries + MF_DENSE_PART - 1) / MF_DENSE_PART;
    for (size_t l = 0; l < d->levels; ++l) all += (d->nu >> l) * (d->nv >> l);
    values = (d->levels * a->entries + a->parts) * sizeof(double);
    each = (2 * kind->fields * all + kind->scratch(d)) * sizeof(float) + values;
    a->chunk = CHUNK_BYTES / each < d->count_max ? CHUNK_BYTES / each : d->count_max;
    if (a->chunk > CHUNK) a->chunk = CHUNK;
    if (a->chunk == 0) a->chunk = 1;
    for (size_t l = 0; l < d->levels; ++l) {
        a->from[l] = a->numbers;
        a->numbers += a->chunk * (d->nu >> l) * (d->nv >> l);
    }
    a->pixels = 2 * kind->fields * a->numbers * sizeof(float);
    a->value = a->chunk * d->levels * a->entries * sizeof(double);
    a->part = a->chunk * a->parts * sizeof(double);
    a->scratch = a->chunk * kind->scratch(d) * sizeof(float);
    a->table = kind->table ? kind->table(d) : 0;
}

/* -- lineal paths: what pixels give to products; sums of bands, or weights and slopes of the runs of one direction --
 */

static size_t entries_sharp(const struct mf_slice_desc *d) { return mf_lineal_entries(0, d->lag); }
static size_t entries_exact(const struct mf_slice_desc *d) { return mf_lineal_entries(1, d->lag); }

static size_t lineal_scratch(const struct mf_slice_desc *d)
{
    const size_t n = pixels_of(d), numbers = 2 * (size_t)MF_LINEAL_DIRECTIONS * (d->lag + 1);
    const size_t sums = (n + MF_LINEAL_BAND - 1) / MF_LINEAL_BAND * numbers * 2, slopes = numbers + d->lag * n;

    return 2 * n + (sums > slopes ? sums : slopes);
}

const struct mf_dense_kind mf_dense_lineal = {"lineal paths", 1, entries_sharp, lineal_scratch, NULL};
const struct mf_dense_kind mf_dense_lineal_exact = {"exact lineal paths", 1, entries_exact, lineal_scratch, NULL};

/* -- masks: the slopes of a group -- */

static size_t lines_entries(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_LINES, d->lag); }
static size_t axes_entries(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_AXES, d->lag); }
static size_t pairs_entries(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_PAIRS, d->lag); }
static size_t masks_scratch(const struct mf_slice_desc *d) { return MF_MASKS_GROUP * pixels_of(d); }

static size_t masks_table(const struct mf_slice_desc *d, enum mf_masks_kind kind)
{
    return d->levels * mf_masks_level_bytes(kind, d->lag);
}

static size_t lines_table(const struct mf_slice_desc *d) { return masks_table(d, MF_MASKS_LINES); }
static size_t axes_table(const struct mf_slice_desc *d) { return masks_table(d, MF_MASKS_AXES); }
static size_t pairs_table(const struct mf_slice_desc *d) { return masks_table(d, MF_MASKS_PAIRS); }

const struct mf_dense_kind mf_dense_lineal_soft = {"soft lineal paths", 1, lines_entries, masks_scratch, lines_table};
const struct mf_dense_kind mf_dense_line_soft = {"soft lineal paths along the axes", 1, axes_entries, masks_scratch,
                                                 axes_table};
const struct mf_dense_kind mf_dense_two_point = {"soft two-point correlations", 1, pairs_entries, masks_scratch,
                                                 pairs_table};

/* -- Gram matrices: factors of pixels, what a column of channels counts; the lags of channels -- */

static size_t gram_of(enum mf_gram_kind kind, const struct mf_slice_desc *d)
{
    return mf_gram_channels(kind, d->lag) * mf_gram_channels(kind, d->lag);
}

static size_t gram_entries(const struct mf_slice_desc *d) { return gram_of(MF_GRAM_HALF, d); }
static size_t gram_axes_entries(const struct mf_slice_desc *d) { return gram_of(MF_GRAM_AXES, d); }
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

const struct mf_dense_kind mf_dense_gram = {"soft three-point correlations", 1, gram_entries, gram_scratch, gram_table};
const struct mf_dense_kind mf_dense_gram_axes = {"soft three-point correlations along the axes", 1, gram_axes_entries,
                                                 gram_scratch, gram_axes_table};
const struct mf_dense_kind mf_dense_gram_cross = {"soft cross-correlations", 2, gram_entries, gram_cross_scratch,
                                                  gram_table};

/* -- lags: maps and what they count, room to smooth in -- */

static size_t tensor_entries(const struct mf_slice_desc *d) { return MF_TENSOR_MAPS * mf_tensor_lags(d->lag); }
static size_t tensor_scratch(const struct mf_slice_desc *d)
{
    return (2 * (size_t)MF_TENSOR_MAPS + MF_TENSOR_C) * pixels_of(d);
}

static size_t cross_entries(const struct mf_slice_desc *d) { return (2 * d->lag - 1) * (2 * d->lag - 1); }
static size_t no_scratch(const struct mf_slice_desc *d)
{
    (void)d;
    return 0;
}

const struct mf_dense_kind mf_dense_tensor = {"structure tensors", 1, tensor_entries, tensor_scratch, NULL};
const struct mf_dense_kind mf_dense_cross = {"cross-correlations", 2, cross_entries, no_scratch, NULL};
