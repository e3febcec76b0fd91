/* See slices.h. */
#include "kernels/form/axes.h"
#include "kernels/form/gram.h"
#include "kernels/form/lineal.h"
#include "kernels/form/tensor.h"
#include "kernels/masks.h"
#include "kernels/slices.h"

static size_t one(const struct mf_slice_desc *desc)
{
    (void)desc;
    return 1;
}

static size_t window(const struct mf_slice_desc *d) { return (2 * d->lag - 1) * (2 * d->lag - 1); }

const struct mf_slice_kind mf_kind_corr = {"S2", "S2", window};
const struct mf_slice_kind mf_kind_cross = {"cross", "cross-correlations", window};
const struct mf_slice_kind mf_kind_vari = {"vari", "interface densities", one};
const struct mf_slice_kind mf_kind_frac = {"frac", "volume fractions", one};
const struct mf_slice_kind mf_kind_patch = {"patch", "patches", one};

static size_t lineal(const struct mf_slice_desc *d) { return mf_lineal_entries(0, d->lag); }
static size_t lineal_exact(const struct mf_slice_desc *d) { return mf_lineal_entries(1, d->lag); }

const struct mf_slice_kind mf_kind_lineal = {"lineal", "lineal paths", lineal};
const struct mf_slice_kind mf_kind_lineal_exact = {"lineal_exact", "exact lineal paths", lineal_exact};

static size_t lines(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_LINES, d->lag); }
static size_t axes(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_AXES, d->lag); }
static size_t pairs(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_PAIRS, d->lag); }

const struct mf_slice_kind mf_kind_lineal_soft = {"lineal_soft", "soft lineal paths", lines};
const struct mf_slice_kind mf_kind_line_soft = {"line_soft", "soft lineal paths along the axes", axes};
const struct mf_slice_kind mf_kind_two_point = {"two_point", "soft two-point correlations", pairs};

static size_t surface(const struct mf_slice_desc *d) { return mf_surface_entries(d->lag); }
static size_t chords(const struct mf_slice_desc *d) { return mf_chord_entries(d->lag); }

const struct mf_slice_kind mf_kind_surface = {"surface", "surface correlations", surface};
const struct mf_slice_kind mf_kind_chord = {"chord", "chords", chords};

static size_t square(size_t n) { return n * n; }
static size_t gram(const struct mf_slice_desc *d) { return square(mf_gram_channels(MF_GRAM_HALF, d->lag)); }
static size_t gram_axes(const struct mf_slice_desc *d) { return square(mf_gram_channels(MF_GRAM_AXES, d->lag)); }

const struct mf_slice_kind mf_kind_gram = {"gram", "soft three-point correlations", gram};
const struct mf_slice_kind mf_kind_gram_axes = {"gram_axes", "soft three-point correlations along the axes", gram_axes};
const struct mf_slice_kind mf_kind_gram_cross = {"gram_cross", "soft cross-correlations", gram};

static size_t tensor(const struct mf_slice_desc *d) { return MF_TENSOR_MAPS * mf_tensor_lags(d->lag); }

const struct mf_slice_kind mf_kind_tensor = {"tensor", "structure tensors", tensor};

static size_t vgg(const struct mf_slice_desc *desc)
{
    (void)desc;
    return MF_VGG_ENTRIES;
}

const struct mf_slice_kind mf_kind_vgg = {"vgg", "Gram matrices of VGG-19", vgg};
const struct mf_slice_kind mf_kind_vgg_all = {"vgg_all", "Gram matrices of VGG-19", vgg};
