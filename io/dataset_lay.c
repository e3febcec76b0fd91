/* The arrays of a dataset's file, and which samples may stand in them. See dataset_priv.h. */
#include <math.h>

#include "io/dataset_priv.h"
#include "src/base/err.h"

/* A chunk holds one compressed sample, or several if there would be more chunks than these. */
enum { CHUNKS = 1 << 13 };

static size_t values_of(const struct mf_dataset_wish *w) { return w->dims[0] * w->dims[1] * w->dims[2] * w->dims[3]; }

void mf_set_lay(const struct mf_dataset_wish *w, struct mf_set_layout *lay)
{
    const uint64_t each = w->phases ? 0 : 2 * w->dims[3];
    const uint64_t columns[MF_PARTS] = {w->classes > 0, w->reals, w->seeded != 0, 1, 1, 1, each, each};

    *lay = (struct mf_set_layout){.bytes = values_of(w) * (w->is_float ? sizeof(float) : 1)};
    lay->rows = w->compress ? (w->samples + CHUNKS - 1) / CHUNKS : 1;
    for (int p = 0; p < MF_PARTS; ++p) lay->columns[p] = columns[p];
}

size_t mf_set_part_row(const struct mf_set_layout *lay, int part)
{
    return lay->columns[part] * mf_set_parts[part].size;
}

size_t mf_set_row(const struct mf_set_layout *lay)
{
    size_t bytes = lay->bytes;

    for (int p = 0; p < MF_PARTS; ++p) bytes += mf_set_part_row(lay, p);
    return bytes;
}

static const char *axes_of(const struct mf_dataset_wish *w)
{
    if (w->ndim == 3) return w->dims[3] > 1 ? "sample z y x channel" : "sample z y x";
    return w->dims[3] > 1 ? "sample y x channel" : "sample y x";
}

static int make_x(struct mf_h5 *file, const struct mf_dataset_wish *w, const struct mf_set_layout *lay)
{
    const enum mf_h5_type type = w->is_float ? MF_H5_F32 : MF_H5_U8;
    const int64_t phases = w->phases, overlaps = 1;
    size_t extent[5] = {w->samples};
    int n = 1;

    for (int a = 3 - w->ndim; a < 3; ++a) extent[n++] = w->dims[a];
    if (w->dims[3] > 1) extent[n++] = w->dims[3];
    MF_TRY(mf_h5_deflated(file, MF_SET_X, type, n, extent, w->compress ? lay->rows : 0, w->compress));
    MF_TRY(mf_h5_put_text(file, MF_SET_X, "axes", axes_of(w)));
    if (w->overlaps) MF_TRY(mf_h5_put_ints(file, MF_SET_X, "overlaps", 1, &overlaps));
    return w->phases ? mf_h5_put_ints(file, MF_SET_X, "phases", 1, &phases) : MF_OK;
}

int mf_set_make(struct mf_h5 *file, const struct mf_dataset_wish *w, struct mf_set_layout *lay)
{
    MF_TRY(make_x(file, w, lay));
    lay->x_at = w->compress ? 0 : mf_h5_place(file, MF_SET_X);
    for (int p = 0; p < MF_PARTS; ++p) {
        const struct mf_set_part_kind *kind = &mf_set_parts[p];

        if (!lay->columns[p]) continue;
        MF_TRY(
            mf_h5_dataset(file, kind->path, kind->type, 1 + kind->is_table, (size_t[2]){w->samples, lay->columns[p]}));
        lay->at[p] = mf_h5_place(file, kind->path);
    }
    if (w->classes)
        MF_TRY(mf_h5_put_texts(file, mf_set_parts[MF_PART_LABEL].path, "classes", w->classes, w->class_name));
    if (!w->reals) return MF_OK;
    MF_TRY(mf_h5_put_texts(file, mf_set_parts[MF_PART_REAL].path, "names", w->reals, w->real_name));
    if (!w->real_said) return MF_OK;
    return mf_h5_put_texts(file, mf_set_parts[MF_PART_REAL].path, MF_SET_SAID, w->reals, w->real_said);
}

int mf_set_check_sample(const struct mf_dataset_wish *w, size_t id, const void *x, int32_t label, const float *real)
{
    const size_t voxels = values_of(w);
    const float *values = x;

    if (w->classes && (label < -1 || label >= (int64_t)w->classes))
        return mf_fail(MF_INPUT, "label %d of sample %zu is not 0 to %zu", label, id, w->classes - 1);
    for (size_t i = 0; i < w->reals; ++i)
        if (!isfinite(real[i]))
            return mf_fail(MF_INPUT, "'%s' of sample %zu is not a finite number", w->real_name[i], id);
    for (size_t i = 0; w->is_float && i < voxels; ++i)
        if (!isfinite(values[i])) return mf_fail(MF_INPUT, "sample %zu holds a value that is not a finite number", id);
    for (size_t i = 0; w->phases && i < voxels; ++i)
        if (((const uint8_t *)x)[i] >= w->phases)
            return mf_fail(MF_INPUT, "sample %zu holds %d, which is none of the phases 0 to %d", id,
                           ((const uint8_t *)x)[i], w->phases - 1);
    return MF_OK;
}

int mf_set_check_filled(const struct mf_dataset_wish *w, const uint8_t *split)
{
    const double share[MF_SPLITS] = {w->part[0], w->part[1], 1 - w->part[0] - w->part[1]};
    size_t count[MF_SPLITS] = {0};

    for (size_t i = 0; i < w->samples; ++i) ++count[split[i]];
    for (int k = 0; w->filled && k < MF_SPLITS; ++k)
        if (share[k] > 1e-9 && count[k] == 0)
            return mf_fail(MF_INPUT, "the %s split would be empty: a share of %g of %zu samples", mf_split_names[k],
                           share[k], w->samples);
    return MF_OK;
}
